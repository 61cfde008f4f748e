"""Odd files: scripts, configs, manifests, folders and results that are broken; each costs only itself."""

import json
import os

import pytest

FAST = ["--sizes", "16", "--rounds", "2", "--cache", "hot"]


NO_SCRIPT = "s.yaml: not a script for the fake device"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "s.yaml:1: expected `key: value` lines"),
        ("[1, 2]", "s.yaml:1: expected `key: value` lines"),
        ("times: [", "s.yaml:2: broken YAML: "),
        ("other: {}", f"{NO_SCRIPT}: "),
        ("times: {naive: 2e-3}", "s.yaml:1: YAML reads `2e-3` as text; write 0.002"),
        ("times: {naive: []}", f"{NO_SCRIPT}: times.naive: [] should be seconds"),
        ("times: {naive: -1}", f"{NO_SCRIPT}: times.naive: -1 should be seconds"),
        ("faults: {naive: crahs}", f"{NO_SCRIPT}: faults.naive: unknown 'crahs' (did you mean 'crash'?)"),
        ("times: 3", f"{NO_SCRIPT}: "),
    ],
)
def test_a_script_that_is_none_is_refused(refused, tmp_path, content, message):
    (tmp_path / "s.yaml").write_text(content)
    assert refused("run", "naive", "--device", "fake:s.yaml", *FAST).startswith(message)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("variants: [naive]\nsizes: [16", "mine.yaml:3: broken YAML: "),
        ("variants: [naive]\nsizes: [16]\nround: 3\n", "mine.yaml:3: unknown key 'round'"),
        ("variants: [naive]\nsize: [16]\n", "mine.yaml:2: unknown key 'size' (did you mean 'sizes'?)"),
        ("variants: [naive]\nsizes: [16]\nsizes: [8]\n", "mine.yaml:3: duplicate key 'sizes' (first on line 2)"),
        (
            "variants: 3\nsizes: [16]\n",
            "mine.yaml:1: variants item 1: should be text or `key: value` lines, not a whole number",
        ),
        (
            "sizes: [16]\nmeasure: {rounds: x}\n",
            "mine.yaml:2: measure.rounds: should be a whole number or nothing, not text",
        ),
        ("sizes: [16]\n", "mine.yaml: no kernels; add `variants: [tiled]`"),
        ("variants: [nave]\nsizes: [16]\n", "mine.yaml:1: unknown kernel 'nave' (did you mean 'naive'"),
        ("variants: [naive]\nsizes: [16]\nbaseline: cubals\n", "mine.yaml:3: unknown kernel 'cubals'"),
    ],
)
def test_a_fault_in_a_config_names_the_file_and_the_line(refused, tmp_path, content, message):
    (tmp_path / "mine.yaml").write_text(content)
    assert refused("run", "-c", "mine.yaml", "--device", "fake").startswith(message)


@pytest.mark.parametrize(
    ("variants", "name"),
    [("- naive\n- tiled: {TILES: 8}", "TILES"), ("- tiled\n- naive: {TILE: 8}", "TILE")],
    ids=["no kernel has it", "another kernel has it"],
)
def test_a_parameter_that_its_variant_lacks_names_the_line(refused, tmp_path, variants, name):
    (tmp_path / "mine.yaml").write_text(f"variants:\n{variants}\nsizes: [16]\n")
    message = refused("run", "-c", "mine.yaml", "--device", "fake")
    assert message.startswith("mine.yaml:3: ") and f"'{name}'" in message


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"symbol": "sgemm"}, "kernels/bad.cu:4: symbol: no `__global__ void sgemm(...)` in bad.cu; it"),
        ({"grid": None}, "kernels/bad.cu:2: grid: 0 expressions; give 1 to 3, such as `- cdiv(N, BN)`"),
        ({"require": ["__import__('os').system('true')"]}, "kernels/bad.cu:14: require: '__import__('os').sy"),
        ({"require": ["M.real > 1"]}, "kernels/bad.cu:14: require: 'M.real > 1': Attribute is not allowed"),
        ({"require": ["9**9**9 > K"]}, "kernels/bad.cu:14: require: '9**9**9 > K': Pow is not allowed"),
        ({"require": ["K %% 8"]}, "kernels/bad.cu:14: require: 'K %% 8' is not an expression"),
        ({"block": ["16", "TILE"]}, "kernels/bad.cu:12: block: 'TILE': unknown name 'TILE'"),
        ({"params": {"M": "[8]"}}, "kernels/bad.cu:14: params: the name 'M' is taken; choose another"),
        ({"precisions": "[f32, f16x]"}, "kernels/bad.cu:5: precisions: unknown 'f16x'"),
        ({"xyz": "red"}, "kernels/bad.cu:13: unknown key 'xyz'; known: summary, precisions"),
    ],
)
def test_a_fault_in_a_manifest_names_the_file_and_the_line(refused, write_kernel, keys, message):
    write_kernel("bad.cu", **keys)
    assert refused("run", "bad", "--kernels", "kernels", "--device", "fake", *FAST).startswith(message)


def test_a_name_that_stands_twice_is_refused_and_files_that_read_alike_are_named_in_full(
    refused, write_kernel, tmp_path
):
    call = ["run", "naive", "--device", "fake", *FAST, "--kernels"]
    write_kernel("naive.cu")
    assert refused(*call, "kernels") == "kernels/naive.cu: the name 'naive' is taken by cuda/naive.cu; rename one"
    write_kernel("naive.cu", folder="cuda")
    assert refused(*call, "cuda").startswith(f"{tmp_path}/cuda/naive.cu: the name 'naive' is taken by /")


def test_a_manifest_that_cannot_be_read_costs_its_row_only(gemmbench, write_kernel):
    write_kernel("bad.cu", folder=".", blok="[1]")
    said = gemmbench("run", "naive", "./bad.cu", "--device", "fake", *FAST)
    assert said.code == 1
    rows = {line.split()[0]: line for line in said.out.splitlines() if "failed" in line or " ok" in line}
    assert " ok" in rows["naive"] and "failed" in rows["./bad.cu"]
    assert "bad.cu:13: unknown key 'blok'" in said.out


def test_a_manifest_that_cannot_be_read_is_left_out_of_a_verification(gemmbench, write_kernel):
    write_kernel("bad.cu", folder=".", blok="[1]")
    options = "--sizes", "8", "--layout", "nn", "--precision", "f32"
    said = gemmbench("verify", "naive", "./bad.cu", "--device", "fake", *options)
    assert said.code == 2 and "naive" in said.out and "left out: bad.cu:" in said.err


WRONG = {
    "fifo.cu": "is a FIFO, not a file; remove it",
    "loop.cu": "cannot be read: Too many levels of symbolic links",
    "nowhere.cu": "cannot be read: No such file or directory",
    "zero.cu": "is a device, not a file; remove it",
    "huge.cu": "has more than 1,048,576 characters; shorten or remove it",
    "bytes.cu": "is not UTF-8 text (byte 6); convert or remove it",
    **dict.fromkeys(
        (r"bad\xff.cu", r"new\nline.cu", 'quo"te.cu', "a|b.cu", "=cmd.cu", "::error::pwned.cu", "é.cu"),
        "the name of a kernel may have only ASCII letters, digits and _ . + -; rename the file",
    ),
}


@pytest.fixture
def folder(write_kernel):
    """Two good kernels, and all that is wrong."""
    home = write_kernel("good.cu").parent
    for name in ("g++-1.2.cu", 'quo"te.cu', "a|b.cu", "=cmd.cu", "::error::pwned.cu", "é.cu"):
        write_kernel(name)
    os.mkfifo(home / "fifo.cu")
    for name, target in {"loop.cu": "loop.cu", "nowhere.cu": "gone", "zero.cu": "/dev/zero", "self": "."}.items():
        (home / name).symlink_to(target)
    (home / "huge.cu").touch()
    os.truncate(home / "huge.cu", 2**40)
    (home / "bytes.cu").write_bytes(b"/*---\n\xff")
    (home / os.fsdecode(b"bad\xff.cu")).touch()
    (home / "new\nline.cu").touch()
    return home


@pytest.mark.parametrize(
    ("command", "start"),
    [
        (["list", "--details"], "gemmbench: "),
        (["verify", "--sizes", "8", "--layout", "nn", "--precision", "f32"], "left out: "),
    ],
    ids=["list", "verify"],
)
def test_each_file_is_named_in_one_line_and_the_others_are_used(gemmbench, folder, command, start):
    said = gemmbench(*command, "--device", "fake", "--kernels", folder)
    assert said.code == 2
    told = sorted(line for line in said.err.splitlines() if "kernels/" in line)
    assert told == sorted(f"{start}kernels/{name}: {fault}" for name, fault in WRONG.items())
    assert {"good", "g++-1.2"} <= {line.split()[0] for line in said.out.splitlines() if line}


@pytest.mark.parametrize("command", [["verify", "--sizes", "8"], ["run", "g++-1.2", *FAST]], ids=["verify", "run"])
def test_whoever_names_good_kernels_hears_nothing_of_the_others(gemmbench, folder, command):
    said = gemmbench(*command, "good", "--device", "fake", "--kernels", folder)
    assert said.code == 0 and "kernels/" not in said.err


@pytest.mark.parametrize("name", WRONG)
def test_to_run_one_of_them_is_refused(refused, folder, name):
    said = refused("run", name.removesuffix(".cu"), "--device", "fake", "--kernels", folder)
    assert said == f"kernels/{name}: {WRONG[name]}"


def test_an_argument_that_is_not_utf8_is_refused(gemmbench):
    said = gemmbench("list", "--kernels", os.fsdecode(b"k\xff"))
    assert said.code == 2 and r"'k\xff' is not UTF-8; rename the file, or correct the option" in said.err


@pytest.mark.parametrize("option", ["--weights", "--kernels"])
def test_a_name_that_is_too_long_is_refused(refused, option):
    assert refused("mlp", option, "x" * 300, "--device", "fake").count("\n") == 0


@pytest.mark.parametrize("name", ["c" * 300, "/dev/zero"])
def test_a_config_that_no_file_can_be_is_unknown(refused, name):
    assert refused("run", "-c", name, "--device", "fake").startswith(f"unknown config '{name}'")


CONTROLS = {"\x1b", "\x07", "\u202e"}
ODD = "na\x1b]0;owned\x07ive\u202e"


@pytest.fixture
def odd_file(run_naive, saved):
    """A results file in which every text of the first row and much of the header has control sequences."""
    run_naive()
    path, _ = saved()
    header, row, *rest = map(json.loads, path.read_text().splitlines())
    texts = "run", "sweep", "command", "gemmbench", "revision", "host", "post"
    header |= {name: header[name] + ODD for name in texts}
    header |= {"software": {ODD: ODD}, "device": header["device"] + ODD}
    row |= {"variant": ODD, "reason": ODD, "diagnosis": ODD, "stopped": "interrupted", "data": ODD, "path": f"{ODD}@1"}
    row |= {"config": {ODD: 1}, "picked": ODD, "wrong_map": ODD, "cache": ODD, "check_rule": ODD}
    path.write_text("".join(json.dumps(line) + "\n" for line in [header, row, *rest]))
    return path


@pytest.mark.parametrize(
    "options",
    ["", "--wide", "--explain 1", "--format github", "--format html", "--format tsv", "--explain none"],
)
def test_show_sends_no_control_sequence(gemmbench, odd_file, options):
    said = gemmbench("show", odd_file, *options.split())
    assert not set(said.out + said.err) & CONTROLS
    assert r"\x1b]0;owned\x07" in said.out + said.err


def test_no_export_for_people_has_a_control_sequence(gemmbench, odd_file, tmp_path):
    gemmbench("show", odd_file, "--export-markdown", "x.md")
    gemmbench("report", odd_file, "-o", "x.html")
    gemmbench("plot", odd_file, "-o", "x.svg")
    for name in ("x.md", "x.html", "x.svg"):
        text = (tmp_path / name).read_text()
        assert not set(text) & CONTROLS and r"\x1b]0;owned\x07" in text


def test_a_folder_with_an_odd_file_is_listed(gemmbench, odd_file):
    said = gemmbench("show", odd_file.parent)
    assert said.code == 0 and "\x1b" not in said.out


def test_a_pipe_among_the_results_is_left_alone(gemmbench, run_naive, saved):
    run_naive()
    path, _ = saved()
    os.mkfifo(path.with_name("zz.jsonl"))
    assert gemmbench("show").code == 0
    said = gemmbench("show", path.with_name("zz.jsonl"))
    message = f"gemmbench: {path.parent}/zz.jsonl: not a file but a pipe or a device; choose a .jsonl file\n"
    assert (said.code, said.err) == (2, message)


@pytest.mark.parametrize(
    "content",
    [b'{"row":"environment","run":"\xff"}\n', b'{"row":"environment","schema":"x"}\n', b"[" * 9000, b"\x00" * 99],
)
def test_a_damaged_file_does_not_hide_a_good_one(gemmbench, run_naive, saved, content):
    run_naive()
    path, _ = saved()
    path.with_name("zz.jsonl").write_bytes(content)
    assert gemmbench("show").code == gemmbench("show", path).code == 0
    assert gemmbench("show", "results").err.startswith("left out: results/zz.jsonl:1: ")
