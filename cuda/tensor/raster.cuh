// The order in which persistent clusters take the tiles of a product.

#pragma once

#include "members.cuh"

constexpr int kRasterRows = 2048;  // of C that are walked together

// The tiles of a cluster, in order; each is CM x CN blocks.
template <int CM, int CN> struct Raster {
    int rows, columns;

    __device__ Raster(int M, int N) : rows((M + BM * CM - 1) / (BM * CM)), columns((N + BN * CN - 1) / (BN * CN)) {}

    __device__ int2 origin(int tile, const Member<CM, CN>& block) const {
        constexpr int kHeight = kRasterRows / (BM * CM);
        const int band = tile / (kHeight * columns), rest = tile % (kHeight * columns);
        const int height = min(rows - band * kHeight, kHeight), column = rest / height;
        const int row = band * kHeight + rest % height;
        return make_int2((row * CM + block.row) * BM, ((band % 2 ? columns - 1 - column : column) * CN + block.column) * BN);
    }
};
