"""Odd texts of kernels: each is read, drafted, and judged for the CPU, or refused in one line."""

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from gemmbench.backends.code_hash import hash_file
from gemmbench.errors import GemmbenchError
from gemmbench.planning.drafts.draft import draft_manifest
from gemmbench.planning.files import data_folder
from gemmbench.planning.manifests.catalog import read_variant

from .conftest import CASES

KERNELS = sorted(data_folder("cuda").rglob("*.cu"))
PIECES = """
__global__ __device__ __managed__ __shared__ extern "C" void template<int\xa0BM> template<typename\xa0T> const int
float* A B C M N K alpha beta gemm gemm<<< >>> <<<grid,block>>> ( ) { } [ ] < > , ; = == + - * / % & \\ " ' ' /* */ //
#define #include\xa0"x.cuh" #include\xa0<x.h> #if #endif #pragma\xa0once namespace struct dim3\xa0grid(1,2); typedef
using return for(int\xa0k=0;k<K;++k) if(row<M) __launch_bounds__(256) __align__(16) alignas(8) R"(x)" u8"x" 1'000 0x1f
1e9f 'a' '\\'' asm __syncthreads(); cudaStream_t\xa0s blockIdx.x threadIdx.y static_cast<int>(M) cdiv(M,BM)
\x00 \x1b é \u202e \U0001f600
""".replace("\n", " ").split(" ")
pieces = st.sampled_from([piece.replace("\xa0", " ") for piece in PIECES] + [" ", "\n", "\\\n", "\t"])


@st.composite
def texts(draw):
    """A kernel of ours with pieces put in or taken out, or pieces alone."""
    if draw(st.booleans()):
        return "".join(draw(st.lists(pieces, max_size=60))) * draw(st.sampled_from([1, 1, 1, 50]))
    text = draw(st.sampled_from(KERNELS)).read_text().partition("---*/\n")[2]
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(text)))
        count = draw(st.sampled_from([1, 1, 1, 3, 2000]))
        text = text[:at] + draw(pieces) * count + text[at + draw(st.sampled_from([0, 0, 1, 40, 1000])) :]
    return text


@given(text=texts(), data=st.data())
def test_an_odd_text_is_drafted_or_refused(tmp_path, text, data):
    path = tmp_path / "x.cuh"
    path.write_bytes(text.encode(errors="surrogatepass"))
    try:
        draft = draft_manifest(text, path, tmp_path)
    except GemmbenchError as fault:
        event(f"refused: {type(fault).__name__}")
        assert "\n" not in str(fault)
        return
    event("drafted")
    (tmp_path / "x.yaml").write_text(draft.text)
    try:
        assert read_variant(tmp_path / "x.yaml").text == path.read_text(encoding="utf-8")
    except GemmbenchError as fault:
        assert "\n" not in str(fault)


@given(text=texts())
def test_an_odd_text_has_a_hash(tmp_path, text):
    path = tmp_path / "y.cuh"
    path.write_text(text, encoding="utf-8")
    assert len(hash_file(path)) == 16


@pytest.mark.parametrize("command", [["new", "x", "--from", "x.cu"], ["list", "--kernels", "."], ["verify", "./x.cu"]])
@settings(max_examples=int(CASES or 30))
@given(text=texts())
def test_commands_take_an_odd_text_or_refuse_it(tmp_path, run_command, command, text):
    (tmp_path / "x.cu").write_bytes(text.encode(errors="surrogatepass"))
    (tmp_path / "x.yaml").unlink(missing_ok=True)
    event(f"{command[0]}: {run_command(*command, *(['--device', 'fake'] if command[0] != 'new' else []))}")
