/*---
summary: the last stage of post 003 as the post has it, WPT results per thread, activation apart
order: 141.5
symbol: forward
args: [B, "0", A, C, K, N, M, lda]
precisions: [f32]
layouts: [nn]
params:
  TILE: [16]
  WPT: [4, 8, 2]
require:
  - TILE % WPT == 0
  - max(M * K, K * N, M * N) <= 2147483647   # its indices are of type int
tile: [TILE, TILE]
grid:
  - cdiv(N, TILE)
  - cdiv(M, TILE)
block:
  - TILE
  - TILE / WPT
accesses:
  - load_sectors <= 4
  - store_sectors <= 4
  - conflicts == 0
source: "https://medium.com/@robinheijmans/building-a-matrix-multiplication-kernel-from-scratch-using-\
  cuda-and-applying-it-to-neural-networks-8da95a296de5"
---*/

// The last stage of "Building a matrix-multiplication kernel from scratch using CUDA and applying it
// to Neural Networks", with the loop over tiles, the guards, the barriers and the accesses that the
// post prints. The post prints this loop only. We reconstructed the list of parameters (every name
// that the loop reads), the indices before it, the store after it, and WPT, which the post does not
// give. Bias and activation are a separate pass, as in the post. The rows of a batch lie `stride`
// elements apart. In the post that is the width of the widest layer; here it is the width of the
// layer's input, and for the store that of its output. wpt_coalesced is the corrected kernel.

__global__ void forward(const float* weights, int offset, const float* inputs, float* outputs, int n_inputs,
                        int n_outputs, int batch, int stride) {
    const int rts = TILE / WPT;
    const int row = threadIdx.x;
    const int col = threadIdx.y;
    const int global_row = blockIdx.x * TILE + row;
    const int global_col = blockIdx.y * TILE + col;
    __shared__ float weights_tile[TILE][TILE];
    __shared__ float inputs_tile[TILE][TILE];
    float acc[WPT];
    for (int w = 0; w < WPT; w++) acc[w] = 0.0f;

    const int tiles = ceil(static_cast<float>(n_inputs) / TILE);
    for (int t = 0; t < tiles; t++) {
        for (int w = 0; w < WPT; w++) {
            const int tiled_row = TILE * t + row;
            const int tiled_col = TILE * t + col;
            if ((tiled_col + w * rts) < n_inputs && global_row < n_outputs)
                weights_tile[col + w * rts][row] = weights[offset + (tiled_col + w * rts) * n_outputs + global_row];
            else
                weights_tile[col + w * rts][row] = 0.0f;
            if ((global_col + w * rts) < batch && tiled_row < n_inputs)
                inputs_tile[col + w * rts][row] = inputs[(global_col + w * rts) * stride + tiled_row];
            else
                inputs_tile[col + w * rts][row] = 0.0f;
        }
        __syncthreads();
        for (int i = 0; i < TILE; i++) {
            for (int w = 0; w < WPT; w++) acc[w] += weights_tile[i][row] * inputs_tile[col + w * rts][i];
        }
        __syncthreads();
    }

    for (int w = 0; w < WPT; w++) {
        if (global_row < n_outputs && (global_col + w * rts) < batch)
            outputs[(global_col + w * rts) * n_outputs + global_row] = acc[w];
    }
}
