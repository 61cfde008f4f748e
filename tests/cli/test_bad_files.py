"""Bad scripts, configs and manifests: the message names the file, the line and the fault; exit code 2."""

import pytest

FAST = ["--sizes", "16", "--rounds", "2", "--cache", "hot"]


@pytest.mark.parametrize(
    "content",
    [
        "",
        "- 1",
        "times: [",
        "other: {}",
        "times: {naive: 2e-3}",
        "times: {naive: []}",
        "faults: {naive: crahs}",
        "times: 3",
    ],
)
def test_a_script_that_is_none_is_refused(refused, tmp_path, content):
    (tmp_path / "s.yaml").write_text(content)
    assert refused("run", "naive", "--device", "fake:s.yaml", *FAST).startswith("s.yaml")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("variants: [naive]\nsizes: [16", "mine.yaml:3: broken YAML: "),
        ("variants: [naive]\nsizes: [16]\nround: 3\n", "mine.yaml:3: unknown key 'round'"),
        ("variants: [naive]\nsize: [16]\n", "mine.yaml:2: unknown key 'size' (did you mean 'sizes'?)"),
        ("variants: [naive]\nsizes: [16]\nsizes: [8]\n", "mine.yaml:3: duplicate key 'sizes' (first on line 2)"),
        ("variants: naive\nsizes: [16]\n", "mine.yaml:1: variants: Expected `array`, got `str`"),
        (
            "variants: [naive]\nsizes: [16]\nmeasure: {rounds: x}\n",
            "mine.yaml:3: measure.rounds: Expected `int | null`, got `str`",
        ),
        ("sizes: [16]\n", "mine.yaml: no variants; add `variants: [tiled]`"),
        ("variants: [nave]\nsizes: [16]\n", "mine.yaml:1: unknown variant 'nave' (did you mean 'naive'?)"),
        ("variants: [naive]\nsizes: [16]\nbaseline: cubals\n", "mine.yaml:3: unknown variant 'cubals'"),
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
        (
            {"symbol": "sgemm"},
            "kernels/bad.cu:4: symbol: no `__global__ void sgemm(...)` in bad.cu; it",
        ),
        ({"grid": None}, "kernels/bad.cu:2: grid: 0 expressions; give 1 to 3, such as `- cdiv(N, BN)`"),
        (
            {"require": ["__import__('os').system('true')"]},
            "kernels/bad.cu:14: require: '__import__('os').system('true')'",
        ),
        ({"require": ["M.real > 1"]}, "kernels/bad.cu:14: require: 'M.real > 1': Attribute is not allowed"),
        ({"require": ["9**9**9 > K"]}, "kernels/bad.cu:14: require: '9**9**9 > K': Pow is not allowed"),
        ({"require": ["K %% 8"]}, "kernels/bad.cu:14: require: 'K %% 8' is not an expression"),
        ({"block": ["16", "TILE"]}, "kernels/bad.cu:12: block: 'TILE': unknown name 'TILE'"),
        ({"params": {"M": "[8]"}}, "kernels/bad.cu:14: params: the name 'M' is taken; choose another"),
        ({"precisions": "[f32, f16x]"}, "kernels/bad.cu:5: precisions: unknown 'f16x'"),
        ({"xyz": "red"}, "kernels/bad.cu:13: unknown key 'xyz'; known: summary, order"),
    ],
)
def test_a_fault_in_a_manifest_names_the_file_and_the_line(refused, write_kernel, keys, message):
    write_kernel("bad.cu", **keys)
    assert refused("run", "bad", "--kernels", "kernels", "--device", "fake", *FAST).startswith(message)


def test_a_name_that_stands_twice_is_refused(refused, write_kernel):
    write_kernel("naive.cu")
    message = refused("run", "--kernels", "kernels", "--device", "fake", *FAST)
    assert message == "kernels/naive.cu: the name 'naive' is taken by cuda/naive.cu; rename one"


def test_two_files_that_read_alike_are_named_in_full(refused, write_kernel, tmp_path):
    write_kernel("naive.cu", folder="cuda")
    message = refused("run", "--kernels", "cuda", "--device", "fake", *FAST)
    assert message.startswith(f"{tmp_path}/cuda/naive.cu: the name 'naive' is taken by /")


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
