// Copies the operands that TMA cannot fetch. TMA cannot fetch rows that do not begin at multiples of 16 bytes, and it
// does not transpose. An N x K operand B would have to be read along K, but a thread needs one k of all its columns.
// Such operands are copied to the workspace, in a separate launch. An A stored as K x M needs no transposition, because
// its fragments are read along M.

#pragma once

__device__ constexpr int padded(int columns) { return (columns + 3) / 4 * 4; }  // to a multiple of 16 bytes

struct Arranged {
    int rows_a, columns_a, rows_b, columns_b;  // as stored
    bool a, b;                                 // copied?

    __device__ Arranged(int M, int N, int K, bool copies_b)
        : rows_a(TRANS_A ? K : M), columns_a(TRANS_A ? M : K), rows_b(TRANS_B ? N : K), columns_b(TRANS_B ? K : N),
          a(columns_a % 4 != 0), b(copies_b) {}

    __device__ size_t floats_a() const { return a ? size_t(rows_a) * padded(columns_a) : 0; }
    __device__ size_t floats_b(int N, int K) const { return b ? size_t(K) * padded(N) : 0; }

    // A block of 256 threads copies 64 x 64 elements of A, or of B as K x N, to `copies`; the copy of B follows that of
    // A. Each thread has 16 loads in flight.
    __device__ void copy_tile(int M, int K, const float* A, const float* B, float* copies) const {
        constexpr int TILE = 64, ROWS = 8;
        __shared__ float tile[TILE][TILE + 1];
        const int blocks_a = a ? (M + TILE - 1) / TILE * ((K + TILE - 1) / TILE) : 0;
        const bool is_a = int(blockIdx.x) < blocks_a, transpose = TRANS_B && !is_a;
        const int rows = is_a ? rows_a : rows_b, columns = is_a ? columns_a : columns_b;
        const int block = blockIdx.x - (is_a ? 0 : blocks_a), across = (columns + TILE - 1) / TILE;
        const int row0 = block / across * TILE, column0 = block % across * TILE;
        const int y = threadIdx.x / 32, x = threadIdx.x % 32;
        const float* const from = is_a ? A : B;
        float* const to = copies + (is_a ? 0 : floats_a());

        float v[TILE / ROWS][TILE / 32];
        const auto each = [&](const auto& work) {  // the 16 elements of a thread
#pragma unroll
            for (int i = 0; i < TILE / ROWS; ++i)
#pragma unroll
                for (int j = 0; j < TILE / 32; ++j) work(v[i][j], y + i * ROWS, x + j * 32);
        };
        each([=](float& element, int r, int c) {
            if (row0 + r < rows && column0 + c < columns) element = from[size_t(row0 + r) * columns + column0 + c];
        });
        if (!transpose) {
            each([=](float element, int r, int c) {
                if (row0 + r < rows && column0 + c < columns) to[size_t(row0 + r) * padded(columns) + column0 + c] = element;
            });
            return;
        }
        each([&](float element, int r, int c) { tile[c][r] = element; });
        __syncthreads();
        each([&](float, int c, int r) {
            if (row0 + r < rows && column0 + c < columns) to[size_t(column0 + c) * padded(rows) + row0 + r] = tile[c][r];
        });
    }
};
