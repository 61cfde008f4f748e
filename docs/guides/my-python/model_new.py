import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <torch/extension.h>
__global__ void multiply(const float* A, const float* B, float* C, int M, int N, int K) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || column >= N) return;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
    C[row * N + column] = sum;
}
torch::Tensor matmul(torch::Tensor A, torch::Tensor B) {
    int M = A.size(0), K = A.size(1), N = B.size(1);
    auto C = torch::empty({M, N}, A.options());
    multiply<<<dim3((N + 31) / 32, (M + 7) / 8), dim3(32, 8)>>>(
        A.data_ptr<float>(), B.data_ptr<float>(), C.data_ptr<float>(), M, N, K);
    return C;
}
"""
DECLARATION = "torch::Tensor matmul(torch::Tensor A, torch::Tensor B);"
operators = load_inline("matmul", DECLARATION, SOURCE, functions=["matmul"])


class ModelNew(nn.Module):
    def forward(self, A, B):
        return operators.matmul(A, B)


M, N, K = 1024, 2048, 512


def get_inputs():
    return [torch.rand(M, K), torch.rand(K, N)]
