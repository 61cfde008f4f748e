"""`gemmbench verify`: correctness only; and --sanitize, with a compute-sanitizer that is played."""

from csv import DictReader
from pathlib import Path

import pytest

from gemmbench.analysis import toolkit as tools
from gemmbench.planning.plans import configurations
from gemmbench.report.store.reading import read_results


def rows(said):
    """The cells of each line of a TSV table."""
    return [[cell.strip() for cell in line.split("\t")] for line in said.out.splitlines() if "\t" in line][1:]


def cells(said, name):
    """What follows the name of a variant in the table."""
    (found,) = (found for variant, *found in rows(said) if variant == name)
    return found


def test_a_variant_is_checked_over_the_awkward_problems_in_every_layout(gemmbench, few_shapes):
    said = gemmbench("verify", "tiled", "--param", "TILE=16", "--device", "fake", "--format", "tsv")
    assert (said.code, said.err) == (0, "")
    # a batch, few, many and long groups, padded rows, D, bias and relu, each of them alone, and all of padded rows, D,
    # bias and relu with a batch and with groups
    forms = 11
    checks = (len(configurations.SHAPES) * 4 + 1 + forms) * 9  # layouts, the large problem once; precisions
    *counts, error, device = cells(said, "tiled")
    assert (counts, device) == (["1", str(checks), "0", "0"], "fake")
    assert 0 < float(error) < 16


def test_nothing_is_timed(gemmbench, windows, tmp_path):
    gemmbench("verify", "naive", "--device", "fake", "--sizes", "8", "--layout", "nn")
    assert set(windows[0]) == {1}
    assert not (tmp_path / "results").exists()


def test_checks_are_kept_in_a_file_if_asked(gemmbench, script):
    call = ["verify", "naive", "tiled", "--sizes", "8", "--precision", "f32", "--layout", "nn", "--out", "kept"]
    said = gemmbench(*call, "--device", script(faults={"tiled": "zero"}))
    (path,) = Path("kept").glob("*.jsonl")
    assert said.code == 1 and f"results: {path} and .csv" in said.err
    run = read_results(path)
    assert run.finished and not any(record.samples for record in run.records)
    assert {record.variant: record.status for record in run.records} == {"naive": "ok", "tiled": "wrong"}
    with path.with_suffix(".csv").open(newline="") as file:
        assert [row["status"] for row in DictReader(file)] == ["ok"] * 6 + ["wrong"] * 3
    assert gemmbench("verify", "naive", "--device", "fake", "--sizes", "8", "--out", path).code == 2


@pytest.mark.parametrize("fault", ["unwritten", "zero", "last_column", "overrun", "crash", "build"])
def test_a_wrong_kernel_is_told_with_its_configuration_and_first_problem(gemmbench, script, fault):
    call = ["verify", "tiled", "naive", "--precision", "f32", "--sizes", "17"]
    said = gemmbench(*call, "--device", script(faults={"tiled": fault}))
    assert said.code == 1
    status = "failed" if fault in ("crash", "build") else "wrong"
    assert f"\ntiled: {status} at 17 nn f32 TILE=16: " in said.out
    more = 2 if fault == "build" else 11  # what does not compile is not tried on other problems
    assert f"(and {more} more checks, in 3 configurations)" in said.out
    assert "naive:" not in said.out


@pytest.mark.parametrize("flag", ["-x", "--exitfirst"])
def test_the_first_failure_can_end_it(gemmbench, script, flag):
    call = ["verify", "naive", "tiled", "--precision", "f32", "--sizes", "17,33", "--layout", "nn", flag]
    said = gemmbench(*call, "--device", script(faults={"tiled": "zero"}), "--format", "tsv")
    assert said.code == 1
    assert said.err.startswith("tiled TILE=16 at 17 nn f32 alpha=1.5 beta=-0.5: wrong; the causes follow below\n")
    assert "tiled TILE=16: wrong at 17 nn f32: " in said.text and "more problems" not in said.text


def test_what_did_not_compile_is_not_tried_on_further_shapes(gemmbench, script):
    call = ["verify", "naive", "tiled", "--precision", "f32", "--sizes", "17,33,65", "--layout", "nn"]
    said = gemmbench(*call, "--device", script(faults={"tiled": "build"}))
    assert said.code == 1
    (row,) = (line for line in said.out.splitlines() if line.startswith("tiled  "))
    assert row.split()[1:5] == ["3", "0", "3", "6"]
    assert said.err.count(": failed; ") == 1 and said.out.count(": failed at ") == 1


def test_what_is_asked_for_is_checked_and_nothing_else(gemmbench):
    call = ["verify", "tiled", "--device", "fake", "--sizes", "8,3x5x7", "--layout", "tn,tt", "--precision", "f32"]
    assert cells(gemmbench(*call, "--format", "tsv", "--all"), "tiled")[:4] == ["3", str(3 * 2 * 2), "0", "0"]


def test_every_configuration_or_one_change_each(gemmbench, write_kernel):
    write_kernel("mine.cu", params={"A1": "[1, 2, 3]", "B1": "[1, 2]"}, require=["A1 + B1 < 5"])
    call = ["verify", "mine", "--kernels", "kernels", "--device", "fake", "--sizes", "8", "--format", "tsv"]
    assert cells(gemmbench(*call), "mine")[:4] == ["4", "4", "0", "0"]
    assert cells(gemmbench(*call, "--all"), "mine")[:4] == ["5", "5", "0", "1"]


def test_all_variants_are_checked_unless_some_are_named(gemmbench):
    call = ["verify", "--device", "fake", "--sizes", "8", "--layout", "nn", "--precision", "f32", "--format", "tsv"]
    names = {name for name, *_ in rows(gemmbench(*call))}
    assert {"naive", "tiled", "blocktile_2d", "cublas", "cpu_naive"} <= names


def test_what_a_variant_cannot_do_is_skipped_with_the_reason_and_nothing_ran(gemmbench):
    said = gemmbench("verify", "tiled", "--device", "fake", "--sizes", "8", "--precision", "tf32")
    assert said.code == 3
    assert "tiled: skipped: does not support precision tf32; supports f32" in said.out
    assert "nothing ran" in said.err


def test_a_time_limit_that_ends_it_promises_no_resuming(gemmbench):
    said = gemmbench("verify", "naive", "--device", "fake", "--sizes", "8", "--sweep-limit", "0.000001")
    said_last = (
        "the sweep reached its time limit of 1e-06 s\ninterrupted before the first check; "
        "start again with: gemmbench verify naive --sizes 8 --device fake --sweep-limit 1e-06\n"
    )
    assert said.code == 130 and said.err.endswith(said_last)


def test_the_first_failure_of_a_variant_is_printed_when_it_happens_and_its_cause_once(gemmbench, script):
    faulty = script(faults={"tiled": "zero"})
    said = gemmbench("verify", "tiled", "--precision", "f32", "--sizes", "17,33", "--layout", "nn", "--device", faulty)
    assert said.err.startswith("tiled TILE=16 at 17 nn f32 alpha=1.5 beta=-0.5: wrong; the causes follow below\n")
    assert said.out.count("hold 0") == 1


def test_a_single_failure_is_printed_once(gemmbench, script):
    call = ["verify", "naive", "--precision", "f32", "--sizes", "17", "--layout", "nn"]
    said = gemmbench(*call, "--device", script(faults={"naive": "zero"}))
    assert said.err == "" and said.out.count("hold 0") == 1


def test_sizes_that_the_rules_allow_are_tried_and_what_was_skipped_is_told(gemmbench, write_kernel):
    write_kernel("mine.cu", require=["K % 16 == 0"])
    said = gemmbench(
        "verify", "mine", "--kernels", "kernels", "--device", "fake", "--precision", "f32", "--layout", "nn"
    )
    assert said.code == 0
    (row,) = (line for line in said.out.splitlines() if line.startswith("mine  "))
    passed, failed, skipped = map(int, row.split()[2:5])
    assert passed > 10 and failed == 0 and skipped > 8
    assert f"mine: {skipped} skipped: require K % 16 == 0 (" in said.out


ROOT = Path(__file__).resolve().parents[2]
CLEAN = "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n"
INVALID = (
    "========= COMPUTE-SANITIZER\n========= Invalid __global__ read of size 4 bytes\n=========     at gemm+0x1b0 in "
    "cuda/tiled.cu:25\n=========\n========= ERROR SUMMARY: 3 errors\n"
)
# Logs by a word of the command line, the first that fits.
PLAYED = """
logs = {logs!r}
words = arguments[arguments.index('gemmbench') + 1:]
calls.write(after('--tool') + ' ' + ' '.join(words) + '\\n')
log = next((log for word, log in logs.items() if word in arguments), {clean!r})
if log == 'sleep':
    time.sleep(60)
open(after('--log-file'), 'w').write(log)
sys.exit(log != {clean!r})
"""


@pytest.fixture
def sanitize(gemmbench, fake_tool, gpu):
    """Run `verify --sanitize`; returns what it said and the calls of the tool."""

    def run(*arguments, **logs):
        calls = fake_tool("compute-sanitizer", PLAYED.format(logs=logs.pop("logs", {}), clean=CLEAN))
        said = gemmbench("verify", *arguments, "--format", "tsv")
        return said, calls.read_text().splitlines() if calls.exists() else []

    return run


def test_a_clean_variant_is_one_line_a_tool_and_one_process_a_tool(sanitize):
    said, calls = sanitize("tiled", "--sanitize")
    assert (said.code, said.err) == (0, "")
    assert rows(said) == [
        ["tiled", "all 3", "memcheck", "0", "clean"],
        ["tiled", "all 3", "racecheck", "0", "clean"],
    ]
    words = "verify tiled --sizes 33x65x17,256x256x64 --precision f32 --device cuda:1 --no-pdl --no-watch"
    assert calls == [f"memcheck {words}", f"racecheck {words}"]


def test_tools_shapes_layouts_and_parameters_may_be_chosen(sanitize):
    options = "--sanitize initcheck --sizes 8 --layout tn --param TILE=16,32 --seed 4"
    said, (call,) = sanitize("tiled", *options.split())
    assert rows(said) == [["tiled", "all 2", "initcheck", "0", "clean"]]
    options = "--sizes 8 --precision f32 --layout tn --seed 4 --device cuda:1 --no-pdl --no-watch --param TILE=16,32"
    assert call == f"initcheck verify tiled {options}"


def test_an_error_is_looked_for_in_each_configuration_alone_and_told_with_its_line(sanitize):
    logs = {"TILE=32": INVALID, "TILE=16": CLEAN, "tiled": INVALID}
    said, calls = sanitize("tiled", "--sanitize", "memcheck", logs=logs)
    assert said.code == 1
    assert sorted(rows(said)) == [
        ["tiled", "TILE=16", "memcheck", "0", "clean"],
        ["tiled", "TILE=32", "memcheck", "3", "errors"],
        ["tiled", "TILE=8", "memcheck", "3", "errors"],
    ]
    place = "Invalid __global__ read of size 4 bytes at gemm+0x1b0 in cuda/tiled.cu:25"
    assert f"tiled TILE=32 memcheck: {place}" in said.text
    assert len(calls) == 4 and calls[1].endswith("--param TILE=16")


def test_an_error_that_shows_only_with_all_configurations_together_is_kept(sanitize):
    alone = {f"TILE={size}": CLEAN for size in (8, 16, 32)}
    said, _ = sanitize("tiled", "--sanitize", "memcheck", logs={**alone, "tiled": INVALID})
    assert said.code == 1
    assert rows(said)[-1] == ["tiled", "all 3", "memcheck", "3", "errors"]


def test_one_variant_without_end_hides_no_other(sanitize):
    options = "--sanitize racecheck --sanitize-limit 1 --param BX=16 --param BY=16"
    said, _ = sanitize("naive", "mlp_fused", *options.split(), logs={"naive": "sleep"})
    assert said.code == 1
    assert [row[0] + " " + row[-1] for row in rows(said)] == ["naive timeout", "mlp_fused clean"]
    assert "naive BX=16 BY=16 racecheck: did not finish within 1 s" in said.text


def test_kernels_of_networks_run_through_mlp(sanitize):
    said, (call,) = sanitize("mlp_fused", "--sanitize", "memcheck")
    assert said.code == 0
    assert call.startswith("memcheck mlp mlp_fused --batch 33 --weights random --rounds 1 ")
    assert call.endswith("--device cuda:1") and "--baseline mlp_fused" in call


def test_by_default_every_kernel_that_can_be_read_and_no_library_is_watched(
    sanitize, write_kernel, tmp_path, monkeypatch
):
    folder = write_kernel("good.cu", folder="cuda").parent
    (folder / "broken.cu").write_text("no manifest")
    for name in ("cpu_naive.cpp", "mlp/mlp_fused.cu"):
        (folder / Path(name).name).symlink_to(ROOT / "cuda" / name)
    monkeypatch.setattr("gemmbench.session.machine.data_folder", lambda name: tmp_path / name)
    said, calls = sanitize("--sanitize", "memcheck")
    assert said.code == 2 and said.err.startswith("left out: cuda/broken.cu:1: no manifest: ")
    assert {row[0] for row in rows(said)} == {"good", "mlp_fused"} and len(calls) == 2


def test_what_cannot_run_is_skipped_with_its_reason_and_if_nothing_can_that_is_told(sanitize):
    said, calls = sanitize("tiled", "--sanitize", "memcheck", "--precision", "tf32")
    assert (said.code, calls) == (3, [])
    assert rows(said) == [["tiled", "-", "-", "-", "skipped"]]
    assert "tiled: skipped: does not support precision tf32" in said.text
    assert "nothing ran" in said.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--sanitize", "memchek"], "--sanitize: unknown tool 'memchek' (did you mean 'memcheck'?); known: memcheck, "),
        (["--sanitize", "tiled"], "--sanitize: unknown tool 'tiled'; name KERNELs before --sanitize; known: "),
        (["nive", "--sanitize"], "unknown kernel 'nive' (did you mean 'naive'"),
        (["tiled", "--sanitize", "memcheck", "--param", "TIL=8"], "none of the chosen kernels has a parameter 'TIL'"),
    ],
)
def test_bad_input_of_sanitize_is_refused(sanitize, arguments, words):
    said, calls = sanitize(*arguments)
    assert (said.code, said.out, calls) == (2, "", [])
    assert words in said.err


def test_a_tool_that_may_not_watch_ends_the_command(sanitize):
    said, _ = sanitize("tiled", "--sanitize", logs={"tiled": "========= Device not supported.\n"})
    assert said.code == 3
    assert "compute-sanitizer cannot watch this GPU: Device not supported." in said.err


def test_a_missing_tool_is_told(gemmbench, gpu, monkeypatch):
    monkeypatch.setattr(tools, "find_tool", lambda tool, beside: None)
    said = gemmbench("verify", "tiled", "--sanitize")
    assert (said.code, said.out) == (3, "")
    assert "no compute-sanitizer found: it comes with the CUDA toolkit" in said.err


def test_without_a_gpu_there_is_nothing_to_watch(gemmbench):
    said = gemmbench("verify", "tiled", "--sanitize", "memcheck", "--device", "cpu")
    assert (said.code, said.out) == (3, "")
    assert said.err == "gemmbench: --sanitize needs an NVIDIA GPU: --device cpu is not a GPU\n"


def test_with_sizes_the_forms_that_are_not_tried_are_named(gemmbench):
    done = gemmbench("verify", "tiled", "--device", "fake", "--sizes", "3*5,7", "--epilogue", "bias")
    assert "not tried: groups, padded rows, D apart from C; verify without --sizes tries them" in done.out
    assert "not tried" not in gemmbench("verify", "openblas", "naive", "--device", "fake", "--sizes", "5").out


def test_batches_and_groups_of_a_precision_with_scales_are_not_tried_and_not_promised(gemmbench, write_kernel):
    path = write_kernel(precisions="[e4m3_rows]", kinds="[one, many, groups]")
    assert gemmbench("verify", path, "--device", "fake").code == 1  # the fake device ignores scales
    assert "not tried" not in gemmbench("verify", path, "--device", "fake", "--sizes", "5").out


def test_a_variant_that_dispatches_is_one_row_and_is_not_split(sanitize, write_kernel):
    write_kernel("best.cu", symbol=None, grid=None, block=None, body="", pick=["variant: tiled\n    params: {TILE: 8}"])
    said, (call,) = sanitize("best", "--kernels", "kernels", "--sanitize", "memcheck", logs={"best": INVALID})
    assert said.code == 1
    assert rows(said) == [["best", "-", "memcheck", "3", "errors"]]
    assert "--param" not in call and "--kernels kernels" in call


def test_the_cpu_device_verifies_one_precision_and_layout_and_counts_the_rest(gemmbench):
    done = gemmbench("verify", "openblas", "--device", "cpu", "--sizes", "5", "--format", "simple")
    assert done.out.rstrip().endswith("f32, nn only; --all checks 7 more combinations")
    done = gemmbench("verify", "naive", "--device", "fake", "--sizes", "5", "--format", "simple")
    assert done.out.rstrip().endswith("\n--all checks 6 more configurations")
    named = ["--param", "BX=8,16"]
    assert "--all" not in gemmbench("verify", "naive", "--device", "fake", "--sizes", "5", *named).out
    done = gemmbench("verify", "openblas", "--device", "cpu", "--sizes", "5", "--all", "--format", "simple")
    assert "--all" not in done.out


FORMED = """extern "C" __global__ void gemm(int M, int N, int K, TACC alpha, const TA* A, int lda, const TB* B, int ldb,
                                TACC beta, const TC* C, int ldc, TC* D, int ldd, const TC* bias, int count) {
    const int row = blockIdx.y * 8 + threadIdx.y, column = blockIdx.x * 8 + threadIdx.x;
    if (row >= M || column >= N) return;
    for (int product = 0; product < count; ++product) {
        TACC sum = 0;
        for (int k = 0; k < K; ++k) {
            sum += A[(product * M + row) * lda + k] * B[(product * K + k) * ldb + column];
        }
        const TACC old = beta == 0 ? 0 : beta * C[(product * M + row) * ldc + column];
        sum = alpha * sum + old;
        if (BIAS) sum += bias[product * N + column];
        D[(product * M + row) * ldd + column] = RELU && sum < 0 ? 0 : sum;
    }
}
"""
FORMED_MANIFEST = {
    "args": "[M, N, K, alpha, A, lda, B, ldb, beta, C, ldc, D, ldd, bias, count]",
    "kinds": "[one, many, padded, separate_c]",
    "epilogue": "[bias, relu]",
    "grid": ["cdiv(N, 8)", "cdiv(M, 8)"],
    "block": [8, 8],
}
DECLARED = [
    ("product < count", "product < 1", "wrong at 3*13x11x9 nn f32: ", "products 1 to 2 were never written"),
    ("+ k) * ldb", "+ k) * N", "wrong at 13x11x9 nn f32, rows of A+8, B+4, C+3: ", "ldb"),
    ("beta * C[", "beta * D[", "wrong at 13x11x9 nn f32, result in D: ", "D was read"),
    ("if (BIAS)", "if (false)", "wrong at 13x11x9 nn f32, then bias, relu: ", "bias was"),
    (
        "bias[product * N",
        "bias[(RELU ? 0 : product) * N",
        "wrong at 3*13x11x9 nn f32, then bias, relu, rows of",
        "bias",
    ),
]


@pytest.mark.parametrize(("right", "mistake", "where", "cause"), DECLARED)
def test_what_a_manifest_declares_is_checked_without_being_asked_for(
    gemmbench, write_kernel, few_shapes, monkeypatch, right, mistake, where, cause
):
    assert FORMED.count(right) == 1
    monkeypatch.setattr(configurations, "AWKWARD", (13, 11, 9))
    write_kernel("right.cu", body=FORMED, precisions="[f32]", layouts="[nn]", **FORMED_MANIFEST)
    body = FORMED.replace(right, mistake)
    write_kernel("mine.cu", body=body, precisions="[f32]", layouts="[nn]", order="99", **FORMED_MANIFEST)
    said = gemmbench("verify", "right", "mine", "--kernels", "kernels", "--device", "cpu", "--format", "tsv")
    assert said.code == 1
    assert cells(said, "right")[:4] == ["1", str(len(configurations.SHAPES) + 7), "0", "0"]
    lines = [line.removeprefix("mine: ").strip() for line in said.text.splitlines()]  # a watched fault comes first
    told = [line for line in lines if line.startswith(where)]
    assert len(told) == 1 and cause in told[0] and "race" not in said.text, said.text


def test_a_kernel_that_takes_only_batches_is_checked_on_batches(gemmbench, few_shapes):
    many = ROOT / "tests" / "hostile_many"
    said = gemmbench("verify", "products_modulo_4", "--kernels", many, "--device", "fake", "--format", "tsv")
    assert cells(said, "products_modulo_4")[:4] == ["1", str(len(configurations.SHAPES) + 1), "0", "0"]


STRAY = """extern "C" __global__ void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B,
                                TACC beta, TC* C) {
    const int row = blockIdx.y * 8 + threadIdx.y, column = blockIdx.x * 8 + threadIdx.x;
    TACC sum = 0;
    for (int k = 0; k < K; ++k) {
        const TA a = A[row * K + k];
        if (row < M && column < N) sum += a * B[k * N + column];
    }
    if (row < M && column < N) C[row * N + column] = alpha * sum + (beta == 0 ? 0 : beta * C[row * N + column]);
}
"""


def test_a_right_result_does_not_hide_a_read_outside_unless_nothing_is_watched(gemmbench, write_kernel):
    path = write_kernel("stray.cu", body=STRAY, grid=["cdiv(N, 8)", "cdiv(M, 8)"], block=[8, 8])
    line = path.read_text().splitlines().index("        const TA a = A[row * K + k];") + 1
    call = ["verify", "stray", "--kernels", "kernels", "--device", "cpu", "--sizes", "9x7x5", "--format", "tsv"]
    said = gemmbench(*call)
    assert said.code == 1
    assert cells(said, "stray")[:3] == ["1", "1", "1"]
    assert f"stray: failed at 129x67x50 nn f32: stray.cu:{line}: reads outside A: element 6,450, 1 past" in said.text
    assert gemmbench(*call, "--no-watch").code == 0


VARYING = """extern "C" __global__ void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B,
                                TACC beta, TC* C) {
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    if (row >= M || column >= N) return;
    const int parts = PARTS, length = (K + parts - 1) / parts;
    TACC sum = 0;
    for (int first = 0; first < K; first += length) {
        TACC part = 0;
        for (int k = first; k < min(K, first + length); ++k) {
            const int at = BACKWARDS ? K - 1 - k : k;
            part += A[row * K + at] * B[at * N + column];
        }
        sum += part;
    }
    C[row * N + column] = alpha * sum + (beta == 0 ? 0 : beta * C[row * N + column]);
}
"""
INVARIANCE = ("--invariance", "--device", "cpu", "--sizes", "33x9x65", "--no-watch", "--format", "simple")


def test_rows_that_are_batch_invariant_are_told_from_those_that_are_not(gemmbench, write_kernel):
    for name, parts, backwards in (("splits", "M > 64 ? 4 : 1", "false"), ("turns", "1", "blockIdx.y % 2")):
        body = VARYING.replace("PARTS", parts).replace("BACKWARDS", backwards)
        write_kernel(f"{name}.cu", body=body, order="99")
    names = ("naive", "tiled", "splits", "turns")
    said = gemmbench("verify", *names, "--kernels", "kernels", "--param", "TILE=16", *INVARIANCE, "--out", "kept")
    found = {
        "naive": "invariant",
        "tiled": "invariant",
        "splits": "depends on M: 129 and 4096 differ from 1",
        "turns": "depends on the row's place at M = 64, 129 and 4096",
    }
    assert said.code == 0
    assert [line for line in said.out.splitlines() if ": batch invariance: " in line] == [
        f"{name}: batch invariance: {words}" for name, words in found.items()
    ]
    (path,) = Path("kept").glob("*.jsonl")
    assert {record.variant: record.invariance for record in read_results(path).records} == found
    with path.with_suffix(".csv").open(newline="") as file:
        assert {row["variant"]: row["invariance"] for row in DictReader(file)} == found
    assert found["turns"] in gemmbench("show", path, "--format", "simple").out


FIND_B = """    int group = 0;
    while (row >= offsets[group + 1]) ++group;
    B += size_t(group) * K * N;
    const int parts"""


def test_groups_whose_bits_depend_on_the_others_are_told(gemmbench, write_kernel):
    of_groups = VARYING.replace("TC* C)", "TC* C, const int* offsets)").replace("    const int parts", FIND_B)
    own, others = "offsets[group + 1] - offsets[group] > 100", "offsets[3] > 100 && group"
    changes = (
        ("splits", "M > 100 ? 4 : 1", "false"),
        ("turns", "1", "group == 2"),
        ("own", "1", own),
        ("others", "1", others),
    )
    for name, parts, backwards in changes:
        body = of_groups.replace("PARTS", parts).replace("BACKWARDS", backwards)
        write_kernel(f"{name}.cu", body=body, order="99", kinds=["groups"])
    names, sizes = ("naive", "tiled", "splits", "turns", "own", "others"), ("--sizes", "3+0+4x9x65")
    said = gemmbench("verify", *names, "--kernels", "kernels", "--param", "TILE=16", *INVARIANCE, *sizes)
    unlike = "129 and 4096 differ from 1"
    assert said.code == 0
    assert [line for line in said.out.splitlines() if ": batch invariance: " in line] == [
        "naive: batch invariance: invariant",
        "tiled: batch invariance: invariant",
        f"others: batch invariance: depends on the rows of other groups: {unlike}",
        f"own: batch invariance: depends on the rows of its group: {unlike}",
        f"splits: batch invariance: depends on the rows of all groups: {unlike}",
        "turns: batch invariance: depends on the row's place or group in groups of 2 rows",
    ]


def test_a_pick_is_compared_as_picked_and_with_one_configuration(gemmbench, write_kernel):
    write_kernel("parts.cu", body=VARYING.replace("BACKWARDS", "false"), params={"PARTS": "[1, 4]"}, require=["M != 2"])
    rows = ["when: M > 100\n    variant: parts\n    params: {PARTS: 4}", "variant: parts"]
    write_kernel("best.cu", symbol=None, grid=None, block=None, body="", pick=rows)
    said = gemmbench("verify", "best", "--kernels", "kernels", *INVARIANCE)
    words = (
        "held fixed: invariant (M = 2: skipped); as picked: depends on M: 129 and 4096 differ from 1 (M = 2: skipped)"
    )
    assert said.code == 0 and f"best: batch invariance: {words}" in said.out


def test_invariance_is_asked_of_right_rows_once_for_each_kind_and_not_unless_asked(gemmbench, script, few_shapes):
    call = ["verify", "naive", "tiled", "--layout", "nn,tn", "--precision", "f32", "--format", "simple"]
    device = script(faults={"tiled": "zero"})
    assert "invariance" not in gemmbench(*call, "--device", device).out
    said = gemmbench(*call, "--device", device, "--invariance", "--out", "kept")
    told = [line for line in said.out.splitlines() if "batch invariance: " in line]
    assert said.code == 1 and told and all(line.startswith("naive") for line in told)  # sums depend on NumPy's library
    (path,) = Path("kept").glob("*.jsonl")
    asked = [record for record in read_results(path).records if record.invariance]
    assert {record.variant for record in asked} == {"naive"} and len(asked) == 6 * 2  # configurations and layouts
    assert {(record.problem.layout, record.problem.size) for record in asked} == {("nn", "17x18x19"), ("tn", "9x8x7")}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--sanitize", "memcheck"], "--sanitize verifies nothing else; leave out --invariance"),
        (["--fleet", "local"], "--invariance uses one device; leave out --fleet"),
    ],
)
def test_what_cannot_be_asked_with_invariance_is_refused(gemmbench, options, words):
    said = gemmbench("verify", "tiled", "--invariance", *options)
    assert (said.code, said.err) == (2, f"gemmbench: {words}\n")
