#include "nowhere/tile.cuh"
__global__ void lost(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
    C[M * TILE] = 0;
}
