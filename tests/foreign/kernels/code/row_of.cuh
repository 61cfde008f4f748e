__device__ inline int row_of() { return blockIdx.y * ROWS + threadIdx.y; }
