// Found next to the file that includes it.
#ifndef FOREIGN_BOUNDS_CUH
#define FOREIGN_BOUNDS_CUH

__device__ inline bool inside(int row, int column, int rows, int columns) { return row < rows && column < columns; }

#endif
