// TMA copies from an array of three dimensions, such as the matrices B of all groups: the box lies in one plane. The
// functions do what fetch and fetch_for do in two dimensions. Elements outside the plane read as zero.

#pragma once

#include "../common/hopper.cuh"

__device__ inline void fetch_plane(unsigned tile, const CUtensorMap* map, int plane, int row, int column,
                                   unsigned barrier) {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];" ::"r"(
            tile),
        "l"(map), "r"(column), "r"(row), "r"(plane), "r"(barrier)
        : "memory");
}

__device__ inline void fetch_plane_for(uint16_t blocks, unsigned tile, const CUtensorMap* map, int plane, int row,
                                       int column, unsigned barrier) {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
        "[%1, {%2, %3, %4}], [%5], %6;" ::"r"(tile),
        "l"(map), "r"(column), "r"(row), "r"(plane), "r"(barrier), "h"(blocks)
        : "memory");
}
