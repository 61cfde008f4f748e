"""Manifests: a good one becomes a variant; a bad one names the file, the line, the fault and the fix."""

import pytest

from gemmbench.errors import SpecError
from gemmbench.planning.files import display_path
from gemmbench.planning.manifests.catalog import read_variant
from gemmbench.session.machine import open_catalog

NO_LAUNCH = {"symbol": None, "grid": None, "block": None}
HOST = {"name": "mine.cpp", "body": 'extern "C" void gemm(int M, int N, int K, float alpha) {}'}
HOST |= {"grid": None, "block": None}
TWO = ["symbol: gemm\n    grid: [N]\n    block: [64]", "symbol: gemm\n    grid: [N]\n    block: [64]\n    pdl: true"]


def test_a_full_manifest_becomes_a_variant(write_kernel, line_of):
    path = write_kernel(
        order="12.5",
        layouts="[nn, tt]",
        min_sm="80",
        arch="[90a, 100]",
        params={"BM": "[128, 64]", "BK": "8"},
        require=["BM % BK == 0", "K % BK == 0"],
        grid=["cdiv(N, BM)", "cdiv(M, BM)", "min(SMS, 4)"],
        block=["256"],
        shared="4 * BM * BK",
        source="https://example.org",
    )
    variant = read_variant(path)
    assert (variant.name, variant.kind, variant.devices) == ("mine", "kernel", ("cuda", "cpu"))
    assert (variant.order, variant.layouts, variant.min_sm) == (12.5, ("nn", "tt"), 80)
    assert variant.arch == ("90a", "100")
    assert variant.params == (("BM", (128, 64)), ("BK", (8,)))
    assert variant.default() == {"BM": 128, "BK": 8}
    assert variant.text == path.read_text()
    assert [rule.line for rule in variant.require] == [line_of(path, "BM % BK"), line_of(path, "K % BK")]
    assert [str(axis) for axis in variant.launch.grid] == ["cdiv(N, BM)", "cdiv(M, BM)", "min(SMS, 4)"]
    assert [axis.line for axis in variant.launch.block] == [line_of(path, "- 256")]
    assert variant.launch.shared.value({"BM": 4, "BK": 2}) == 32


def test_what_is_left_out_has_its_default(write_kernel):
    variant = read_variant(write_kernel())
    assert (variant.params, variant.require, variant.arch, variant.min_sm) == ((), (), (), 50)
    assert variant.launch.shared.value({}) == 0


def test_a_cpp_file_is_a_host_function_without_a_grid(write_kernel):
    variant = read_variant(write_kernel(**HOST))
    assert (variant.kind, variant.devices, variant.min_sm) == ("host", ("cpu",), 0)


@pytest.mark.parametrize(
    "text", ["", "// code\n", "/* --- */\n", "// first\n/*---\nsummary: x\n---*/\n", "/*---\n note\n"]
)
def test_a_file_that_does_not_begin_with_a_manifest_says_how(tmp_path, text):
    path = tmp_path / "bare.cu"
    path.write_text(text)
    with pytest.raises(SpecError) as fault:
        read_variant(path)
    message = f"{display_path(path)}:1: no manifest: the file must begin with `/*---`, YAML lines, and `---*/`; or"
    assert str(fault.value).startswith(message)


@pytest.mark.parametrize(
    ("end", "near"), [("", ""), ("--- */\n", "; line 3 has `--- */`"), (" ---*/\n", "; line 3 has `---*/`")]
)
def test_a_manifest_without_an_end_is_told_with_what_was_meant(tmp_path, end, near):
    path = tmp_path / "bare.cu"
    path.write_text(f"/*---\nsummary: x\n{end}")
    with pytest.raises(SpecError) as fault:
        read_variant(path)
    place = f"{display_path(path)}:1: the manifest has no end"
    assert str(fault.value) == f"{place}: write `---*/` at the start of a line{near}"


def test_lines_are_counted_from_the_top_of_the_file(write_kernel, line_of):
    path = write_kernel(precisions="[f23]")
    path.write_text("\n\n" + path.read_text())
    with pytest.raises(SpecError) as fault:
        read_variant(path)
    assert fault.value.line == line_of(path, "f23") == 7


def test_a_file_with_windows_line_ends_is_read_and_a_binary_one_is_not(write_kernel):
    path = write_kernel()
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert read_variant(path).launch.symbol == "gemm"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SpecError, match=r"mine\.cu: is not UTF-8 text \(byte 0\)"):
        read_variant(path)


@pytest.mark.parametrize("key", ["summary", "symbol", "precisions", "layouts"])
def test_a_missing_key_is_named(write_kernel, key):
    path = write_kernel(**{key: None})
    with pytest.raises(SpecError) as fault:
        read_variant(path)
    assert str(fault.value).startswith(f"{display_path(path)}:") and f"`{key}`" in str(fault.value)


@pytest.mark.parametrize(
    ("at", "changed"),
    [
        ("order:", {"order": "first"}),
        ("precisions:", {"precisions": "{f32: 1}"}),
        ("- 8", {"require": ["8"]}),
        ("min_sm:", {"min_sm": "8.0"}),
        ("params:", {"params": "[BM, BN]"}),
        ("shared:", {"shared": "1.5"}),
        ("- 2.5", {"block": ["16", "2.5"]}),
    ],
)
def test_a_wrong_type_names_the_key_and_both_types(faulty, at, changed):
    message = faulty(at, **changed)
    assert message.startswith(next(iter(changed))) and " should be " in message


def test_a_list_of_one_needs_no_brackets_and_precisions_have_the_names_of_types(write_kernel):
    variant = read_variant(write_kernel(precisions="float", layouts="NN", require="M % 16 == 0"))
    assert (variant.precisions, variant.layouts, len(variant.require)) == (("f32",), ("nn",), 1)
    assert read_variant(write_kernel(precisions="[half, fp16, Double]")).precisions == ("f16", "f64")


def test_a_kernel_without_a_rung_comes_after_those_of_gemmbench_and_before_libraries(write_kernel):
    variants, _ = open_catalog(None).read_all()
    last = max(variant.order for variant in variants if variant.kind != "library")
    first = min(variant.order for variant in variants if variant.kind == "library")
    assert last < read_variant(write_kernel(order=None)).order < first


def test_launch_bounds_may_stand_before_the_symbol(write_kernel):
    body = 'extern "C" __global__ void __launch_bounds__(16 * 16)\n    gemm(int M, int N, int K) {}'
    assert read_variant(write_kernel(body=body)).launch.symbol == "gemm"


def test_a_launch_may_begin_before_the_one_in_front_of_it_has_ended(write_kernel):
    assert read_variant(write_kernel(pdl="true")).launch.pdl
    assert [launch.pdl for launch in read_variant(write_kernel(**NO_LAUNCH, launches=TWO)).launches] == [False, True]


PDL = {**NO_LAUNCH, "pdl": "false"}
OTHER = "__global__ void gemm(const float* A, const float* B, float* C, int n) {}"
HOST_ONLY = "because it contains one host function; remove it"
NEAREST = "unknown name 'BNN' (did you mean 'BN'?); known: BM, BN, M, N, K, BYTES, BYTES_C, TRANS_A, "


@pytest.mark.parametrize(
    ("at", "changed", "message"),
    [
        ("requires:", {"requires": ["M > 1"]}, "unknown key 'requires' (did you mean 'require'?); known:"),
        ("precisions:", {"precisions": "[f23]"}, "precisions: unknown 'f23'"),
        ("precisions:", {"precisions": "[]"}, "precisions: empty; choose from f32, tf32"),
        ("layouts:", {"layouts": "[nnn]"}, "layouts: unknown 'nnn' (did you mean 'nn'?); known: nn, nt, tn, tt"),
        ("layouts:", {"layouts": "[]"}, "layouts: empty; choose from nn, nt, tn, tt"),
        ("symbol:", {"symbol": "gem"}, "symbol: no `__global__ void gem(...)` in mine.cu; it defines gemm"),
        (
            "symbol:",
            {"body": OTHER},
            "symbol: gemm does not have the standard arguments; list its arguments under `args`",
        ),
        ("grid:", {**HOST, "grid": ["N"]}, f"grid: a .cpp file has no grid, {HOST_ONLY}"),
        ("block:", {**HOST, "block": ["64"]}, f"block: a .cpp file has no block, {HOST_ONLY}"),
        ("pdl:", {**HOST, "pdl": "true"}, f"pdl: a .cpp file has no pdl, {HOST_ONLY}"),
        ("pdl:", {**PDL, "launches": TWO, "min_sm": "90"}, "pdl: cannot be combined with `launches`; remove it"),
        ("pdl:", {**PDL, "host": "run"}, "pdl: cannot be combined with `host`; remove it"),
        ("pdl:", {**PDL, "pick": ["variant: tiled"]}, "pdl: cannot be combined with `pick`; remove it"),
        ("packages:", {"packages": "[torch]"}, "packages: only a Python function has packages; remove it"),
        ("BM:", {"params": {"BM": "[8, 16, 8]"}}, "params.BM: duplicate value 8 in [8, 16, 8]"),
        ("grid:", {"grid": ["1"] * 4}, "grid: 4 expressions; give 1 to 3"),
        ("block:", {"block": ["1"] * 4}, "block: 4 expressions; give 1 to 3"),
        ("summary:", {"grid": None}, "grid: 0 expressions; give 1 to 3, such as `- cdiv(N, BN)`"),
        ("summary:", {"block": None}, "block: 0 expressions; give 1 to 3, such as `- cdiv(N, BN)`"),
        ("BNN)", {"params": {"BM": "8", "BN": "8"}, "grid": ["cdiv(N, BNN)"]}, f"grid: 'cdiv(N, BNN)': {NEAREST}"),
        ("layouts:", {"precisions": "[f32"}, "broken YAML: "),
        ("010", {"order": "010"}, "YAML reads `010` as an octal"),
        ("[no]", {"layouts": "[no]"}, "YAML reads `no` as a truth value"),
        ("1e3", {"order": "1e3"}, "YAML reads `1e3` as text; write 1000"),
        ("grid:", {"grid": None, "min_sm": "80\ngrid: [cdiv(N, 16)]"}, "'cdiv(N' was cut at a comma"),
        ("summary: twice", {"source": "x\nsummary: twice"}, "duplicate key 'summary' (first on line 2)"),
        ("order: .nan", {"order": ".nan"}, "`.nan` is not a valid number"),
    ],
)
def test_a_faulty_key_is_named_with_its_line(faulty, at, changed, message):
    assert faulty(at, **changed).startswith(message)


@pytest.mark.parametrize("name", ["M", "alpha", "C", "TA", "TACC", "TRANS_A", "SMEM", "maps", "workspace"])
def test_a_parameter_named_like_an_argument_is_refused(faulty, name):
    message = faulty(f"{name}: 1", params={name: "1"})
    assert message == f"params: the name '{name}' is taken; choose another"


@pytest.mark.parametrize("name", ["tile", "Tile", "_T", "4K", "T-1", "TÄ"])
def test_a_parameter_that_is_no_upper_case_word_is_refused(faulty, name):
    message = faulty(f"{name}: 1", params={name: "1"})
    assert message == f"params: the name '{name}' must be upper-case letters, digits and _; choose another"


@pytest.mark.parametrize("values", ["[]", "[8, x]", "[8, 1.5]", "x", "[true]", "[[8]]"])
def test_parameter_values_are_integers(faulty, values):
    message = faulty("BM:", params={"BM": values})
    assert message.startswith("params.BM: ") and message.endswith("should be integers, such as [8, 16]")


@pytest.mark.parametrize("key", ["grid", "block", "require", "shared"])
@pytest.mark.parametrize("evil", ["__import__('os')", "M.real", "9**9**9", "cdiv(K", "QQ + 1", "M +"])
def test_an_evil_or_broken_expression_names_its_key_and_line(faulty, key, evil):
    changed = {"shared": f'"{evil}"'} if key == "shared" else {key: [f'"{evil}"']}
    message = faulty(evil, **changed)
    assert message.startswith(f"{key}: '{evil}'")
