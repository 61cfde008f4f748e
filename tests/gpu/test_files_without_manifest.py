"""A file as it is downloaded, in a folder below: the draft that the CPU device finds is what nvcc compiles."""

import subprocess
import sys

import pytest

from gemmbench.backends.cuda.system import probe

SIZES = "#define TILE 16\n"
PROGRAM = """
#include <cstdio>
#include <cuda_runtime.h>
#include "sizes.h"
typedef struct { int width, height; float* elements; } Matrix;
__global__ void mm(const Matrix A, const Matrix B, Matrix C) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= C.height || col >= C.width) return;
    float sum = 0;
    for (int i = 0; i < A.width; ++i) sum += A.elements[row * A.width + i] * B.elements[i * B.width + col];
    C.elements[row * C.width + col] = sum;
}
int main() {
    Matrix a{64, 64}, b{64, 64}, c{64, 64};
    mm<<<dim3(64 / TILE, 64 / TILE), dim3(TILE, TILE)>>>(a, b, c);
    printf("%d\\n", cudaDeviceSynchronize());
}
"""


@pytest.mark.parametrize("command", ["verify", "run"])
def test_a_program_with_a_header_gives_a_verdict(tmp_path, command):
    if why := probe.why_no_gpu():
        pytest.skip(why)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "sizes.h").write_text(SIZES)
    (tmp_path / "mine" / "mm.cu").write_text(PROGRAM)
    words = [sys.executable, "-m", "gemmbench", command, "mine/mm.cu", "--device", "cuda", "--sizes", "64"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "mine/mm.cu has no manifest; found the arguments of mm by trying" in done.stderr
