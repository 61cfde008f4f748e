// Found through `include: [headers]`.
#pragma once

__device__ inline size_t at(int row, int column, int ld) { return size_t(row) * ld + column; }
