/* Kernels that find the limits of a device; never variants.

   outer_products: FFMA in registers alone. A thread holds ROWS x COLUMNS sums and adds a[i] * b[j] to each, row by
   row in snake order:

           b0  b1  b2 ... b15
      a0   -->--->--->---->-.      a[i] stays for a whole row, and b[j] at the turn: one of the three registers that
      a1   .-<---<---<----<-'      an FFMA reads comes from the reuse cache, which leaves one read for each of the
      a2   '->--->--->---->-.      two banks of the register file. In plain row order every turn would cost more.
      ...

   A sum takes part once in ROWS x COLUMNS FFMA, so that none waits for another; the loop holds UNROLL outer products
   and three other instructions. Whether b[j] and the sum lie in one bank is ptxas's choice: with sums that begin as
   a[i], nvcc 13.0 for sm_90 keeps them apart in all but one of 1024 FFMA; with sums that begin as 0 in two thirds.

   THREADS, ROWS, COLUMNS and UNROLL come from peaks.py. */

extern "C" __global__ void __launch_bounds__(THREADS, 1) outer_products(float* out, int rounds, float one, float other)
{
    float a[ROWS], b[COLUMNS], sum[ROWS][COLUMNS];
    for (int i = 0; i < ROWS; ++i) a[i] = one * (threadIdx.x + i);
    for (int j = 0; j < COLUMNS; ++j) b[j] = other * (threadIdx.x + j);
    for (int i = 0; i < ROWS; ++i)
        for (int j = 0; j < COLUMNS; ++j) sum[i][j] = a[i];

#pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
#pragma unroll
        for (int k = 0; k < UNROLL; ++k)
#pragma unroll
            for (int i = 0; i < ROWS; ++i)
#pragma unroll
                for (int step = 0; step < COLUMNS; ++step) {
                    const int j = i % 2 ? COLUMNS - 1 - step : step;
                    sum[i][j] = fmaf(a[i], b[j], sum[i][j]);  // not `+=`: the product would leave the loop
                }
    }

    float total = 0;  // so that every sum is needed
    for (int i = 0; i < ROWS; ++i)
        for (int j = 0; j < COLUMNS; ++j) total += sum[i][j];
    out[blockIdx.x * THREADS + threadIdx.x] = total;
}

/* What a launch alone costs. */
extern "C" __global__ void empty() {}
