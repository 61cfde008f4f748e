/* Kernels that find the limits of a device. They are not variants.

   outer_products: nothing but FFMA in registers. A thread holds ROWS x COLUMNS sums and adds
   a[i] * b[j] to each, row by row in snake order:

           b0  b1  b2 ... b15
      a0   -->--->--->---->-.      a[i] stays for a whole row, and b[j] at the turn. So one of
      a1   .-<---<---<----<-'      the three registers that an FFMA reads comes from the reuse
      a2   '->--->--->---->-.      cache, which leaves one read for each of the two banks of the
      ...                          register file. In plain row order every turn would cost more.

   Each sum is used once per ROWS x COLUMNS FFMA, so no FFMA waits for another. The loop holds
   UNROLL outer products and three other instructions. ptxas chooses whether b[j] and the sum lie in
   one bank: with sums that start as a[i], nvcc 13.0 for sm_90 keeps them apart in all but one of
   1024 FFMA; with sums that start as 0, in two thirds.

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

    float total = 0;  // so that no sum is optimized away
    for (int i = 0; i < ROWS; ++i)
        for (int j = 0; j < COLUMNS; ++j) total += sum[i][j];
    out[blockIdx.x * THREADS + threadIdx.x] = total;
}

/* Measures the cost of a launch. */
extern "C" __global__ void empty() {}
