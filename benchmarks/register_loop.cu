/* Nothing but multiply-adds in registers: what a thread tile of ROWS x COLUMNS sums allows.

   A thread adds a[i] * b[j] to each of its sums. With SNAKE every second row runs backwards, so at
   the turn b[j] stays:

           b0  b1  b2 ...  b15
      a0   -->--->--->---->-.      Three registers for each FFMA, from a register file of two banks
      a1   .-<---<---<----<-'      that give one each per cycle: the third must come from the reuse
      a2   '->--->--->---->-.      cache, which holds what the instruction before has read.
      ...

   THREADS, ROWS, COLUMNS, SNAKE and UNROLL come from register_loop.py. */

extern "C" __global__ void __launch_bounds__(THREADS, 1) multiply(float* out, int rounds, float one, float other)
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
                    const int j = SNAKE && i % 2 ? COLUMNS - 1 - step : step;
                    asm volatile("fma.rn.f32 %0, %1, %2, %0;" : "+f"(sum[i][j]) : "f"(a[i]), "f"(b[j]));
                }
    }

    float total = 0;  // so that no sum is optimized away
    for (int i = 0; i < ROWS; ++i)
        for (int j = 0; j < COLUMNS; ++j) total += sum[i][j];
    out[blockIdx.x * THREADS + threadIdx.x] = total;
}
