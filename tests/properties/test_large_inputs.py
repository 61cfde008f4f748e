"""Inputs aimed at time and memory: each is read, or refused in one line, and soon.

A few pieces that patterns and parsers stumble over, repeated up to a million characters, where any file has them;
headers that include each other many times; manifests and configs with very many counts; archives that expand.
"""

import functools
import gzip

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from gemmbench.planning.files import data_folder

from .conftest import CASES

LENGTHS = [2_000, 20_000, 200_000, 1_000_000]
CODE = """
__device__ __managed__ __global__ __shared__ __launch_bounds__( __align__( alignas( extern "C" template< struct using
typedef const static constexpr namespace operator dim3\xa0g( <<< >>> ( ) { } [ ] < > , ; = == :: . -> + - * / % & ! ? #
# #define #define\xa0A #include #include\xa0"x.cuh" #pragma\xa0once #if // /* */ " ' R"( R"x( )" )x" \\ \\\n \n \t \r
\xa0 a A int float* gemm gemm( __syncthreads() beta beta\xa0== 0 1 9 0x 1' blockIdx.x threadIdx.y for( if( return auto
\xa0\xa0\xa0\xa0 (M+BM-1)/BM extern\xa0__shared__\xa0float static_cast< asm volatile cuda::barrier K M /*--- ---*/ é
"""
YAML = """
a: a:\xa0a file:\xa0 file:\xa0x\n file:\n pick:\xa0 - -\xa0 -\xa0-\xa0 [ ] { } {a:\xa0 , : ? ?\xa0 | > | |\n & &a\xa0 *a
* !! !!str\xa0 % --- ... # " ' '' \\ \n \n\xa0\xa0 \t \xa0 1 9 1, x ( ) cdiv( M+ M* params:\xa0 {A:\xa0[1,2]}
TILE:\xa0[1,2] sizes:\xa0 1:1000000:1 - <<:\xa0 é 0 1. e9 _ 1_ variants:\n layers:\n grid:\n args:\xa0[
: """
JSON = """{ } [ ] , : " \\" \\u0000 \\ \n null 1 9 1e9 - . {"a": "a": [1, \xa0 x"""


def list_pieces(text):
    return [piece.replace("\xa0", " ") for piece in text.replace("\n", "\n ").split(" ") if piece.strip(" ")]


@st.composite
def repeated(draw, pieces):
    """Some pieces, and others that are repeated very often."""
    few = st.lists(st.sampled_from(pieces), max_size=3).map("".join)
    unit = draw(st.lists(st.sampled_from(pieces), min_size=1, max_size=3).map("".join))
    return draw(few) + unit * (draw(st.sampled_from(LENGTHS)) // len(unit.encode())) + draw(few)


CODES, DOCUMENTS = repeated(list_pieces(CODE)), repeated(list_pieces(YAML))
LIST, PLAN = ["list", "--kernels", "."], ["run", "x", "--kernels", ".", "--dry-run", "--sizes", "32"]
few_by_default = settings(max_examples=int(CASES or 12))


@functools.cache
def read_tiled():
    """The manifest and the code of a kernel."""
    head, end, code = next(data_folder("cuda").rglob("tiled.cu")).read_text().partition("---*/\n")
    return head, end + code


def clear(folder):
    for path in folder.glob("x.*"):
        path.unlink()


@pytest.mark.parametrize("device", ["fake", "cpu"])
@few_by_default
@given(text=CODES, place=st.sampled_from(["body", "header", "end", "python", "draft"]), cut=st.booleans())
def test_long_code_is_read_or_refused(tmp_path, run_command, device, text, place, cut):
    clear(tmp_path)
    head, code = read_tiled()
    if place == "python":
        (tmp_path / "x.py").write_text(
            f'"""\nsummary: x\norder: 1\n"""\n{text}\ndef gemm(problem, A, B, C, stream): pass\n'
        )
    elif place == "draft":
        (tmp_path / "x.cu").write_text(code.removeprefix("---*/\n").replace("{", "{" + text, 1) if cut else text)
        event(f"new: {run_command('new', 'y', '--from', 'x.cu')}")
        (tmp_path / "y.yaml").unlink(missing_ok=True)
    elif place == "header":
        (tmp_path / "x.cuh").write_text(text)
        (tmp_path / "x.cu").write_text(head + code.replace("---*/\n", '---*/\n#include "x.cuh"\n', 1))
    else:
        (tmp_path / "x.cu").write_text(
            head + (code + text if place == "end" else code.replace("{", "{" + text, 1) if cut else "---*/\n" + text)
        )
    for command in (LIST, PLAN):
        event(f"{place}: {command[0]}: {run_command(*command, '--device', device)}")


@few_by_default
@given(text=DOCUMENTS, place=st.sampled_from(["any", "manifest", "header", "python", "config", "network", "faults"]))
def test_long_yaml_is_read_or_refused(tmp_path, run_command, text, place):
    clear(tmp_path)
    head, code = read_tiled()
    if place in ("any", "manifest"):
        begin = "summary: x\norder: 1\nfile: y.cu\n" if place == "manifest" else ""
        (tmp_path / "x.yaml").write_text(begin + text)
        commands = [LIST, PLAN]
    elif place == "header":
        (tmp_path / "x.cu").write_text(head + text + "\n" + code)
        commands = [LIST, PLAN]
    elif place == "python":
        (tmp_path / "x.py").write_text(f'"""\n{text}\n"""\ndef gemm(problem, A, B, C, stream): pass\n')
        commands = [LIST, PLAN]
    else:
        names = {"config": "quick.yaml", "network": "mlp.yaml", "faults": "quick.yaml"}
        config = "" if place == "faults" else next(data_folder("configs").rglob(names[place])).read_text()
        (tmp_path / "x.yml").write_text(config + text)
        commands = [["mlp", "-c", "x.yml", "--dry-run"] if place == "network" else ["run", "-c", "x.yml", "--dry-run"]]
    for command in commands:
        device = "fake:x.yml" if place == "faults" else "fake"
        words = ["run", "naive", "--sizes", "8", "--dry-run"] if place == "faults" else command
        event(f"{place}: {command[0]}: {run_command(*words, '--device', device)}")


@few_by_default
@given(
    params=st.dictionaries(
        st.sampled_from(["BM", "BN", "BK", "TM"]), st.sampled_from([1, 2, 7, 30, 300]), max_size=4
    ).flatmap(lambda others: st.sampled_from([1, 3, 30, 500]).map(lambda tiles: {"TILE": tiles, **others})),
    let=st.integers(0, 90),
    require=st.integers(0, 90),
    sizes=st.lists(st.sampled_from(["32", "32", "8", "1:1000:1", "1:100000:1", "1:9999999:1"]), max_size=4),
    precisions=st.booleans(),
)
def test_very_many_counts_are_planned_or_refused(tmp_path, run_command, params, let, require, sizes, precisions):
    clear(tmp_path)
    lines = [f"  {name}: [{', '.join(map(str, range(1, count + 1)))}]" for name, count in params.items()]
    lines += ["let:", *(f"  v{n}: {' + '.join([f'v{n - 1}'] * 8) if n else 'TILE'}" for n in range(let))] if let else []
    rules = [f"  - TILE * {n + 1} * M < {1 << 40}" for n in range(require)] + [f"  - v{let - 1} > 0"] * bool(let)
    lines += ["require:", *rules] if rules else []
    head, code = read_tiled()
    (tmp_path / "x.cu").write_text(head.replace("  TILE: [16, 8, 32]\n", "\n".join([*lines, ""])) + code)
    words = ["--kernels", ".", "--device", "fake"]
    for command in (
        ["run", "x", "--param", "all", "--dry-run"],
        ["tune", "x", "--budget", "1s", "--out", "out", "--rounds", "2", "--max-time", "0.01"],
    ):
        counts = ["--sizes", ",".join(sizes)[:100_000] or "32"] if command[0] == "run" else ["--sizes", "32"]
        more = ["--precision", "all", "--layout", "all"] if precisions and command[0] == "run" else []
        event(f"{command[0]}: {run_command(*command, *words, *counts, *more)}")


@few_by_default
@given(
    depth=st.integers(1, 300),
    width=st.integers(1, 5),
    once=st.booleans(),
    missing=st.booleans(),
    lines=st.sampled_from([0, 0, 1, 5000]),
)
def test_headers_that_include_each_other_often_are_read_or_refused(
    tmp_path, run_command, depth, width, once, missing, lines
):
    clear(tmp_path)
    head, code = read_tiled()
    (tmp_path / "x.cu").write_text(head + code.replace("---*/\n", '---*/\n#include "x.0.cuh"\n', 1))
    for number in range(depth):
        text = "#pragma once\n" * once + f'#include "x.{number + 1}.cuh"\n' * width + "int a;\n" * lines
        (tmp_path / f"x.{number}.cuh").write_text(text)
    if not missing:
        (tmp_path / f"x.{depth}.cuh").write_text("")
    for command in (LIST, PLAN):
        event(f"{command[0]}: {run_command(*command, '--device', 'cpu')}")


@functools.cache
def compress(unit, count):
    return gzip.compress(unit * count, compresslevel=1, mtime=0)


@few_by_default
@given(
    text=repeated(list_pieces(JSON)),
    place=st.sampled_from(["plain", "gzip", "winners", "bomb"]),
    count=st.sampled_from([1, 10, 100, 200]),
    command=st.sampled_from([["show"], ["report", "-o", "y.html"], ["plot", "-o", "y.svg"], ["compare", "x.jsonl"]]),
)
def test_long_results_are_shown_or_refused(tmp_path, run_command, monkeypatch, text, place, count, command):
    clear(tmp_path)
    monkeypatch.setenv("GEMMBENCH_DATA_DIR", str(tmp_path))
    name = "x.jsonl" if place == "plain" else "x.jsonl.gz"
    if place == "winners":
        (tmp_path / "tuned.json").write_text(text)
        event(f"{place}: {run_command('tune', '--show')}")
        return
    if place == "bomb":
        (tmp_path / name).write_bytes(compress(b"{}\n" if count % 2 else b" " * 100, count * 10_000))
    else:
        content = text.encode()
        (tmp_path / name).write_bytes(content if place == "plain" else gzip.compress(content, 1))
    event(f"{place}: {command[0]}: {run_command(command[0], name, *command[1:])}")
