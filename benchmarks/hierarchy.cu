/* How fast and how far away each level of memory is, for hierarchy.py.

   read          every block walks round a region of `size` bytes in chunks, with four loads of 16
                 bytes per thread in flight. Blocks begin `start` bytes apart. A small region lies
                 in L1, one of some megabytes in L2, one of gigabytes in DRAM.
   read_shared   the same from shared memory; a warp reads 512 adjacent bytes, so no bank conflicts.
   chase         one thread follows a chain of addresses: each load waits for the one before.
   chase_shared  the same in shared memory.

   The loads are volatile or depend on each other: the compiler can neither drop nor merge them.
   THREADS and L1 (1: L1 may serve the loads, 0: only L2 and DRAM) come from hierarchy.py. */

constexpr int kLoads = 4, kBlocks = 2048 / THREADS;  // in flight per thread; per multiprocessor

#if L1
#define CACHED "ca"
#else
#define CACHED "cg"
#endif

extern "C" __global__ void __launch_bounds__(THREADS, kBlocks)
    read(const char* data, long long size, long long start, int steps, float* out)
{
    long long at = blockIdx.x * start % size;
    float sum = 0;
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
        float4 v[kLoads];
#pragma unroll
        for (int i = 0; i < kLoads; ++i)
            asm volatile("ld.global." CACHED ".v4.f32 {%0, %1, %2, %3}, [%4];"
                         : "=f"(v[i].x), "=f"(v[i].y), "=f"(v[i].z), "=f"(v[i].w)
                         : "l"(data + at + (i * THREADS + threadIdx.x) * 16));
#pragma unroll
        for (int i = 0; i < kLoads; ++i) sum += v[i].x + v[i].y + v[i].z + v[i].w;
        at += kLoads * THREADS * 16;
        if (at >= size) at -= size;
    }
    if (sum == 1) *out = sum;  // never: the data are zeros
}

extern "C" __global__ void __launch_bounds__(THREADS, kBlocks) read_shared(int steps, float* out)
{
    __shared__ float4 tile[THREADS];
    tile[threadIdx.x] = make_float4(0, 0, 0, 0);
    __syncthreads();
    const unsigned from = unsigned(__cvta_generic_to_shared(tile + threadIdx.x));
    float sum = 0;
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
        float4 v[kLoads];
#pragma unroll
        for (int i = 0; i < kLoads; ++i)
            asm volatile("ld.volatile.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                         : "=f"(v[i].x), "=f"(v[i].y), "=f"(v[i].z), "=f"(v[i].w)
                         : "r"(from));
#pragma unroll
        for (int i = 0; i < kLoads; ++i) sum += v[i].x + v[i].y + v[i].z + v[i].w;
    }
    if (sum == 1) *out = sum;
}

/* `place` holds the address to begin with and gets the one to go on with in the next launch. */
extern "C" __global__ void chase(unsigned long long* place, int steps)
{
    unsigned long long at = *place;
#pragma unroll 16
    for (int step = 0; step < steps; ++step)
        asm volatile("ld.global." CACHED ".u64 %0, [%0];" : "+l"(at));
    *place = at;
}

extern "C" __global__ void chase_shared(unsigned* out, int steps)
{
    __shared__ unsigned chain[1024];
    const unsigned first = unsigned(__cvta_generic_to_shared(chain));
    for (int i = 0; i < 1024; ++i) chain[i] = first + (i + 33) % 1024 * 4;
    unsigned at = first;
#pragma unroll 16
    for (int step = 0; step < steps; ++step) asm volatile("ld.shared.u32 %0, [%0];" : "+r"(at));
    *out = at;
}
