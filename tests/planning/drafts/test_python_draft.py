"""Manifests of Python files: KernelBench, GPU MODE, plain functions, and bindings of CUDA text in a string."""

import re
from pathlib import Path

import pytest

from gemmbench.errors import SpecError, UsageError
from gemmbench.planning.drafts.python_draft import draft_python
from gemmbench.planning.yaml_document import parse_document


@pytest.fixture
def draft(tmp_path):
    """The keys of the manifest of a text, and the draft."""

    def read(text, symbol=None):
        path = tmp_path / "mine.py"
        path.write_text(text)
        drafted = draft_python(text, path, tmp_path, symbol)
        return parse_document(drafted.text, "draft").data, drafted

    return read


MODEL = """
import torch
from torch import nn
SIZE = 1024
class ModelNew(nn.Module):
    def __init__(self, scale):
        pass
    def forward(self, A, B):
        return A @ B
def get_init_inputs():
    return [1]
def get_inputs():
    {}
"""


@pytest.mark.parametrize(
    ("body", "layout", "precision", "size"),
    [
        ("return [torch.rand(128, 64), torch.rand(64, 32)]", "nn", "f32", "128x32x64"),
        ("M, K = 64, 8 * 2; return [torch.rand(M, K), torch.rand(K, 8)]", "nn", "f32", "64x8x16"),
        ("M = 2 * SIZE; A = torch.rand(M, 8); B = torch.rand(32, 8).cuda(); return [A, B]", "nt", "f32", "2048x32x8"),
        ("return [torch.randn((64, 16)).half(), torch.randn((64, 8)).half()]", "tn", "f16", "16x8x64"),
        ("return [torch.rand(64, 16, dtype=torch.bfloat16), torch.rand(8, 64)]", "tt", "bf16", "16x8x64"),
        ("return [torch.rand(SIZE, SIZE), torch.rand(SIZE, SIZE)]", "nn", "f32", "1024x1024x1024"),
        ("return [torch.rand(unknown, 8), torch.rand(8, 16)]", "nn", "f32", ""),
    ],
)
def test_an_answer_to_kernelbench_has_the_shapes_of_its_inputs(draft, body, layout, precision, size):
    keys, drafted = draft(MODEL.format(body))
    assert keys["call"] == "ModelNew(*get_init_inputs()).cuda()(A, B)" and keys["returns"] is True
    assert (keys["layouts"], keys["precisions"], drafted.sizes) == ([layout], [precision], size)
    wanted = dict(zip("MNK", size.split("x"), strict=True)) if size else {}
    assert keys.get("require", []) == ([" and ".join(f"{side} == {n}" for side, n in wanted.items())] if size else [])
    assert drafted.doubts == (size.startswith("1024x1024"))


@pytest.mark.parametrize(
    ("body", "call", "returns", "layout"),
    [
        ("a, b = data\n    return a @ b", "custom_kernel((A, B))", True, "nn"),
        ("a, b, c = data\n    c[:] = a @ b.T\n    return c", "custom_kernel((A, B, C))", None, "nt"),
        ("return data[0].t() @ data[1]", "custom_kernel((A, B))", True, "tn"),
    ],
)
def test_a_submission_to_gpu_mode_takes_a_tuple(draft, body, call, returns, layout):
    keys, _ = draft(f"from task import input_t\nimport torch\ndef custom_kernel(data):\n    {body}\n")
    assert (keys["call"], keys.get("returns"), keys["layouts"]) == (call, returns, [layout])
    assert (keys["precisions"], keys["packages"]) == (["f16"], ["torch"])


@pytest.mark.parametrize(
    ("function", "call", "returns"),
    [
        ("def matmul(a, b): return a @ b", "matmul(A, B)", True),
        ("def matmul(a, b, bias=None, *, out=None): return a @ b", "matmul(A, B)", True),
        ("def gemm(x, w, out): pass", "gemm(A, B, C)", None),
        ("def gemm(a, b, *, c): pass", "gemm(A, B, c=C)", None),
        ("def gemm(M, N, K, alpha, A, B, beta, C, stream): pass", "gemm(M, N, K, alpha, A, B, beta, C, stream)", None),
    ],
)
def test_a_plain_function_is_called_by_its_parameters(draft, function, call, returns):
    keys, _ = draft(f"import cupy\n{function}\n")
    assert (keys["call"], keys.get("returns"), keys["packages"]) == (call, returns, ["cupy"])


def test_code_for_the_device_and_helpers_are_not_called(draft):
    text = """
import torch, triton
@triton.autotune([], key=[])
@triton.jit
def matmul_kernel(a, b, c): pass
def multiply(a, b): return a
def test_multiply(a, b): return a
def add_bias(x, w, bias): return x
def get_config(a): return a
def prints(a, b): print(a, b)
"""
    keys, drafted = draft(text)
    assert (keys["call"], drafted.others) == ("multiply(A, B)", ("test_multiply",))
    assert draft(text, "test_multiply")[0]["call"] == "test_multiply(A, B)"
    with pytest.raises(
        UsageError, match=re.escape("'multipli' cannot be called as a product (did you mean 'multiply'?")
    ):
        draft(text, "multipli")


SOURCE = "source = '''\n__global__ void mm(float* a) {}\nvoid run() { mm<<<1, 1>>>(a); }'''\n"


def test_functions_of_load_inline_are_called_and_launch_on_the_default_stream(draft):
    keys, drafted = draft(f"from torch.utils.cpp_extension import load_inline\n{SOURCE}"
                          "ops = load_inline('x', '', source, functions=['mm', 'other'])\n")  # fmt: skip
    assert (keys["call"], keys["stream"], drafted.others) == ("ops.mm(A, B)", "default", ("ops.other",))
    text = SOURCE.replace("1, 1", "1, 1, 0, at::cuda::getCurrentCUDAStream()")
    assert "stream" not in draft(f"import torch\n{text}def product(a, b): return a\n")[0]


def test_text_of_cuda_that_nothing_launches_is_explained(draft):
    with pytest.raises(UsageError, match=r"mine.py: line 1 is CUDA text in a string \(mm\), which only a function"):
        draft(SOURCE)


@pytest.mark.parametrize(
    "text",
    ["import torch\n", "class ModelNew:\n    def forward(self, x): pass\n", "def custom_kernel(data): return data\n"],
)
def test_a_file_without_a_product_is_refused(draft, text):
    with pytest.raises(UsageError, match=r"mine.py: no function of it takes A and B; write a function such as"):
        draft(text)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("def matmul(a, b, tile): return a @ b", r"matmul takes `tile` besides A and B; .*`call: matmul\(A, B, tile="),
        ("def f(a, b, /, *, M, x): return a", r"f takes `x` besides A and B; .*`call: f\(A, B, M=M, x=\.\.\.\)`"),
        ("def f(m, a, b, scale_a): return a", r"f takes `scale_a` .*`call: f\(M, A, B, scale_a=scale_a\)`"),
        (
            "class ModelNew:\n    def forward(self, a, b, c, d): return a @ b",
            r"ModelNew takes `c` and `d` besides A and B; .*`call: ModelNew\(\)\.cuda\(\)\(A, B, c=",
        ),
        ("async def matmul(a, b): return a @ b", "matmul is `async`, so a call returns no product; write it with"),
        ("matmul = lambda a, b: a @ b", "matmul is a lambda; write it with `def`"),
    ],
)
def test_a_function_that_almost_fits_is_told_what_is_wrong(draft, text, fault):
    with pytest.raises(UsageError, match=f"mine.py: {fault}"):
        draft(f"import torch\n{text}\n")
    name = "ModelNew" if "class" in text else "f" if "def f(" in text else "matmul"
    with pytest.raises(UsageError, match=f"mine.py: {fault}"):
        draft(f"import torch\n{text}\ndef product(a, b): return a @ b\n", name)


@pytest.mark.parametrize("body", ["print(a @ b)", "raise NotImplementedError"])
def test_a_function_that_returns_nothing_is_told_so(draft, body):
    with pytest.raises(
        UsageError, match=r"mine.py: f takes A and B but returns nothing; return the product, or take C"
    ):
        draft(f"def f(a, b):\n    {body}\n")


def test_a_function_that_returns_a_numpy_array_is_refused(draft):
    text = "def f(a, b): return a @ b\n"
    with pytest.raises(UsageError, match=r"mine.py: f returns a NumPy array; Python kernels need a GPU and PyTorch or"):
        draft(f"import numpy as np\n{text}")
    with pytest.raises(UsageError, match=r"mine.py: f returns a result, but the file imports neither torch nor"):
        draft(text)


BATCH = "B, M = 16, 8; return [torch.rand(B, M, 64), torch.rand(B, 64, 32)]"


def test_inputs_with_three_dimensions_are_a_batch_of_the_size_that_they_have(draft):
    keys, drafted = draft(MODEL.format(BATCH))
    assert (keys["kinds"], keys["layouts"], drafted.sizes) == (["many"], ["nn"], "16*8x32x64")
    assert keys["require"] == ["M == 8 and N == 32 and K == 64"] and not drafted.doubts
    keys, drafted = draft(MODEL.format(BATCH.replace("B, 64, 32", "unknown, 64, 32")))
    assert "kinds" not in keys and drafted.sizes == ""


@pytest.mark.parametrize("body", ["return torch.bmm(a, b)", "batch, m, k = a.shape\n    return a @ b"])
def test_code_that_takes_three_dimensions_is_taken_for_a_function_of_batches(draft, body):
    keys, drafted = draft(f"import torch\ndef matmul(a, b):\n    {body}\n")
    assert keys["kinds"] == ["many"] and "kinds: [many]  # check: the code takes operands with three" in drafted.text


def test_a_function_of_helion_is_called_unlike_one_of_triton(draft):
    keys, _ = draft("import helion, torch\n@helion.kernel()\ndef matmul(x, y):\n    return x @ y\n")
    assert keys["call"] == "matmul(A, B)"


@pytest.mark.parametrize(
    ("body", "doubt"),
    [
        ("return [torch.rand(4, 5), torch.rand(6, 7)]", "the inner dimensions of A (4 x 5) and B (6 x 7) do not match"),
        ("return [torch.rand(a, 5), torch.rand(6, b)]", "nothing tells which dimensions of A (a x 5) and B (6 x b)"),
        ("return [torch.rand(8, 8), torch.rand(8, 5)]", "A (8 x 8) and B (8 x 5) fit several layouts"),
        ("return [torch.rand(8, 8), torch.rand(8, 8)]", "A and B are square"),
    ],
)
def test_shapes_that_do_not_tell_the_layout_are_doubted_for_what_they_are(draft, body, doubt):
    assert f"layouts: [nn]  # check: {doubt}" in draft(MODEL.format(body))[1].text


def test_sizes_tell_the_layout_where_their_names_do_not(draft):
    keys, drafted = draft(MODEL.format("K = 16; return [torch.rand(64, K), torch.rand(8, 16)]"))
    assert (keys["layouts"], drafted.sizes) == (["nt"], "64x8x16")


def test_the_manifest_in_the_guide_is_what_is_drafted():
    folder = Path(__file__).parents[3] / "docs" / "guides" / "my-python"
    path = folder / "model_new.py"
    assert draft_python(path.read_text(), path, folder).text == (folder / "model.yaml").read_text()


def test_text_that_is_not_python_is_an_error_on_its_line(draft):
    with pytest.raises(SpecError, match=r"mine.py:1: not valid Python"):
        draft("def f(:\n")
