/* Kernels that time other kernels, and one that compares what they wrote. They are not variants.

   The stream while one window is measured:

       gate | stamp | event | launch launch ... launch | event | stamp
        `-- spins until the rest is queued, so that no host time lies between the events

   %globaltimer counts nanoseconds, in steps of up to 1 us. %smid is the SM that a block runs
   on, and clock64() that SM's own cycle counter. */

__device__ unsigned long long nanoseconds()
{
    unsigned long long now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

/* Hold the stream until the host has written `ticket`, or a later one, to *opened.

   Runs as one thread. After `limit` nanoseconds it gives up, releases the stream and writes
   its ticket to *expired, so that a host that never opens the gate cannot hang the GPU. Both
   words are mapped host memory. Tickets increase, so no word needs a reset. */
extern "C" __global__ void gate(const volatile unsigned* opened, volatile unsigned* expired, unsigned ticket,
                                unsigned long long limit)
{
    const unsigned long long start = nanoseconds();
    while (*opened < ticket) {
        if (nanoseconds() - start > limit) {
            *expired = ticket;
            return;
        }
    }
}

struct Stamp {
    unsigned long long sm, cycles, nanoseconds;
};

/* Record where and when each block runs. Launched with blocks of one thread, several for each
   SM, so that two stamps share most SMs. */
extern "C" __global__ void stamp(Stamp* slots)
{
    unsigned sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    slots[blockIdx.x] = {sm, static_cast<unsigned long long>(clock64()), nanoseconds()};
}

/* Set *found if the `bytes` bytes at two addresses, both multiples of 16, differ. */
extern "C" __global__ void differ(const unsigned char* one, const unsigned char* other, unsigned long long bytes,
                                  unsigned* found)
{
    const uint4* const wide = reinterpret_cast<const uint4*>(one);
    const uint4* const wide_other = reinterpret_cast<const uint4*>(other);
    const unsigned long long first = blockIdx.x * blockDim.x + threadIdx.x, step = gridDim.x * blockDim.x;
    bool same = true;
    for (unsigned long long i = first; i < bytes / 16; i += step) {
        const uint4 a = wide[i], b = wide_other[i];
        same &= a.x == b.x && a.y == b.y && a.z == b.z && a.w == b.w;
    }
    for (unsigned long long i = bytes / 16 * 16 + first; i < bytes; i += step) same &= one[i] == other[i];
    if (!same) *found = 1;
}
