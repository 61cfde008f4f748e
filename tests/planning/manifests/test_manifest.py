"""Manifests: a good one becomes a variant; a bad one names the file, the line, the fault and the fix."""

import pytest

from gemmbench.errors import SpecError
from gemmbench.planning.files import display_path
from gemmbench.planning.manifests.catalog import read_variant


def test_a_full_manifest_becomes_a_variant(write_kernel, line_of):
    path = write_kernel(
        "mine.cu",
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
    body = 'extern "C" void gemm(int M, int N, int K, float alpha) {}'
    variant = read_variant(write_kernel("mine.cpp", body=body, grid=None, block=None))
    assert (variant.kind, variant.devices, variant.min_sm) == ("host", ("cpu",), 0)


@pytest.mark.parametrize("key", ["grid", "block"])
def test_a_cpp_file_with_a_grid_is_refused(faulty, key):
    body = 'extern "C" void gemm(int M, int N, int K, float alpha) {}'
    other = {"grid": "block", "block": "grid"}[key]
    message = faulty(f"{key}:", name="mine.cpp", body=body, **{other: None})
    assert message == f"{key}: a .cpp file has no {key}, because it is one host function; remove it"


@pytest.mark.parametrize(
    "text", ["", "// code\n", "/* --- */\n", "// first\n/*---\nsummary: x\n---*/\n", "/*---\nsummary: x\n"]
)
def test_a_file_that_does_not_begin_with_a_manifest_says_how(tmp_path, text):
    path = tmp_path / "bare.cu"
    path.write_text(text)
    with pytest.raises(SpecError) as fault:
        read_variant(path)
    message = f"{display_path(path)}:1: no manifest: the file must begin with `/*---`, YAML lines, and `---*/`; or"
    assert str(fault.value).startswith(message)


def test_lines_are_counted_from_the_top_of_the_file(write_kernel, line_of):
    path = write_kernel(precisions="[f23]")
    path.write_text("\n\n" + path.read_text())
    with pytest.raises(SpecError) as fault:
        read_variant(path)
    assert fault.value.line == line_of(path, "f23") == 7


def test_a_file_with_windows_line_ends_is_read(write_kernel):
    path = write_kernel()
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert read_variant(path).launch.symbol == "gemm"


def test_a_file_that_is_no_text_cannot_be_read(tmp_path):
    path = tmp_path / "binary.cu"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SpecError, match=r"binary\.cu: is not UTF-8 text \(byte 0\)"):
        read_variant(path)


@pytest.mark.parametrize("key", ["summary", "order", "symbol", "precisions", "layouts"])
def test_a_missing_key_is_named(write_kernel, key):
    path = write_kernel(**{key: None})
    with pytest.raises(SpecError) as fault:
        read_variant(path)
    assert str(fault.value).startswith(f"{display_path(path)}:") and f"`{key}`" in str(fault.value)


def test_an_unknown_key_offers_the_nearest(faulty):
    assert faulty("requires:", requires=["M > 1"]).startswith(
        "unknown key 'requires' (did you mean 'require'?); known:"
    )


@pytest.mark.parametrize(
    ("at", "changed"),
    [
        ("order:", {"order": "first"}),
        ("precisions:", {"precisions": "f32"}),
        ("- 8", {"require": ["8"]}),
        ("min_sm:", {"min_sm": "8.0"}),
        ("params:", {"params": "[BM, BN]"}),
        ("shared:", {"shared": "1.5"}),
        ("- 2.5", {"block": ["16", "2.5"]}),
    ],
)
def test_a_wrong_type_names_the_key_and_both_types(faulty, at, changed):
    message = faulty(at, **changed)
    assert message.startswith(next(iter(changed))) and "Expected" in message


def test_a_wrong_symbol_lists_those_of_the_file(faulty):
    message = faulty("symbol:", symbol="gem")
    assert message == "symbol: no `__global__ void gem(...)` in mine.cu; it defines gemm"


def test_a_kernel_with_other_arguments_must_list_them(faulty):
    message = faulty("symbol:", body="__global__ void gemm(const float* A, const float* B, float* C, int n) {}")
    assert message == "symbol: gemm does not have the standard arguments; list its own under `args`"


def test_launch_bounds_may_stand_before_the_symbol(write_kernel):
    body = 'extern "C" __global__ void __launch_bounds__(16 * 16)\n    gemm(int M, int N, int K) {}'
    assert read_variant(write_kernel(body=body)).launch.symbol == "gemm"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"precisions": "[f23]"}, "precisions: unknown 'f23'"),
        ({"precisions": "[]"}, "precisions: empty; choose from f32, tf32"),
        ({"layouts": "[nnn]"}, "layouts: unknown 'nnn' (did you mean 'nn'?); known: nn, nt, tn, tt"),
        ({"layouts": "[]"}, "layouts: empty; choose from nn, nt, tn, tt"),
    ],
)
def test_precisions_and_layouts_are_known_ones(faulty, changed, message):
    ((key, text),) = changed.items()
    assert faulty(f"{key}: {text}", **changed).startswith(message)


TWO = ["symbol: gemm\n    grid: [N]\n    block: [64]", "symbol: gemm\n    grid: [N]\n    block: [64]\n    pdl: true"]
SEVERAL = {"symbol": None, "grid": None, "block": None, "launches": TWO}


def test_a_launch_may_begin_before_the_one_in_front_of_it_has_ended(write_kernel):
    assert read_variant(write_kernel(pdl="true")).launch.pdl
    assert [launch.pdl for launch in read_variant(write_kernel(**SEVERAL)).launches] == [False, True]


@pytest.mark.parametrize(
    ("present", "keys"),
    [
        ("launches", {**SEVERAL, "min_sm": "90"}),
        ("host", {"symbol": None, "grid": None, "block": None, "host": "run"}),
        ("pick", {"symbol": None, "grid": None, "block": None, "pick": ["variant: tiled"]}),
    ],
)
def test_pdl_belongs_to_a_launch_of_gemmbench(faulty, present, keys):
    assert faulty("pdl: false", pdl="false", **keys) == f"pdl: cannot be combined with `{present}`; remove it"


def test_a_cpp_file_has_no_pdl(faulty):
    body = 'extern "C" void gemm(int M, int N, int K, float alpha) {}'
    message = faulty("pdl: true", name="mine.cpp", body=body, grid=None, block=None, pdl="true")
    assert message == "pdl: a .cpp file has no pdl, because it is one host function; remove it"


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


def test_a_parameter_value_that_stands_twice_is_refused(faulty):
    assert faulty("BM:", params={"BM": "[8, 16, 8]"}) == "params.BM: duplicate value 8 in [8, 16, 8]"


@pytest.mark.parametrize("key", ["grid", "block"])
def test_no_grid_and_four_axes_are_refused(faulty, write_kernel, key):
    assert faulty(f"{key}:", **{key: ["1", "1", "1", "1"]}).startswith(f"{key}: 4 expressions; give 1 to 3")
    path = write_kernel(**{key: None})
    with pytest.raises(SpecError, match=rf"{key}: 0 expressions; give 1 to 3, such as `- cdiv\(N, BN\)`"):
        read_variant(path)


@pytest.mark.parametrize("key", ["grid", "block", "require", "shared"])
@pytest.mark.parametrize("evil", ["__import__('os')", "M.real", "9**9**9", "cdiv(K", "QQ + 1", "M +"])
def test_an_evil_or_broken_expression_names_its_key_and_line(faulty, key, evil):
    changed = {"shared": f'"{evil}"'} if key == "shared" else {key: [f'"{evil}"']}
    message = faulty(evil, **changed)
    assert message.startswith(f"{key}: '{evil}'")


def test_a_mistyped_parameter_in_an_expression_offers_the_nearest(faulty):
    message = faulty("cdiv(N, BNN)", params={"BM": "8", "BN": "8"}, grid=["cdiv(N, BNN)"])
    assert "unknown name 'BNN' (did you mean 'BN'?); known: BM, BN, M, N, K, BYTES, BYTES_C, TRANS_A, " in message


@pytest.mark.parametrize(
    ("at", "changed", "words"),
    [
        ("010", {"order": "010"}, "octal"),
        ("[no]", {"layouts": "[no]"}, "truth value"),
        ("1e3", {"order": "1e3"}, "write 1000"),
        ("grid:", {"grid": None, "min_sm": "80\ngrid: [cdiv(N, 16)]"}, "was cut at a comma"),
        ("summary: twice", {"source": "x\nsummary: twice"}, "duplicate key 'summary' (first on line 2)"),
        ("order: .nan", {"order": ".nan"}, ".nan"),
    ],
)
def test_the_traps_of_yaml_are_refused_in_a_manifest(faulty, at, changed, words):
    assert words in faulty(at, **changed)


def test_broken_yaml_names_the_line_in_the_kernel_file(faulty):
    assert faulty("layouts:", precisions="[f32").startswith("broken YAML: ")
