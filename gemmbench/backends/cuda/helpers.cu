/* Kernels that time other kernels, and some that scale what they read and compare what they wrote.
   They are not variants.

   The stream while one window is measured:

       gate | stamp | event | launch launch ... launch | event | stamp
        `-- spins until the rest is queued, so no host time lies between the events

   %globaltimer counts nanoseconds, in steps of up to 1 us. %smid is the SM that a block runs
   on, and clock64() that SM's own cycle counter. */

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

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

/* Every time of a product run alone includes the time of an empty launch. */
extern "C" __global__ void nothing() {}

struct Stamp {
    unsigned long long sm, cycles, nanoseconds;
};

/* Record where and when each block runs. Launched with blocks of one thread, several for each
   SM, so two stamps share most SMs. */
extern "C" __global__ void stamp(Stamp* slots)
{
    unsigned sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    slots[blockIdx.x] = {sm, static_cast<unsigned long long>(clock64()), nanoseconds()};
}

/* Add up `value` of all threads of a block in *total. Every thread of the block must call it. */
__device__ void add_to(unsigned long long* total, unsigned long long value)
{
    for (int lane = 16; lane; lane /= 2) value += __shfl_down_sync(~0u, value, lane);
    if (threadIdx.x % 32 == 0 && value) atomicAdd(total, value);
}

/* Add to *unlike the differences of two ranges of `bytes` bytes, which begin at multiples of 16. */
extern "C" __global__ void differ(const unsigned char* one, const unsigned char* other, unsigned long long bytes,
                                  unsigned long long* unlike)
{
    const uint4* const wide = reinterpret_cast<const uint4*>(one);
    const uint4* const wide_other = reinterpret_cast<const uint4*>(other);
    const unsigned long long first = blockIdx.x * blockDim.x + threadIdx.x, step = gridDim.x * blockDim.x;
    unsigned long long found = 0;
    for (unsigned long long i = first; i < bytes / 16; i += step) {
        const uint4 a = wide[i], b = wide_other[i];
        found += a.x != b.x || a.y != b.y || a.z != b.z || a.w != b.w;
    }
    for (unsigned long long i = bytes / 16 * 16 + first; i < bytes; i += step) found += one[i] != other[i];
    add_to(unlike, found);
}

struct ScaledArray {
    unsigned long long source, target;  // addresses
    double factor;                      // a power of two
};

/* Sixteen and eight bits are scaled and compared as floats, which hold all of their values exactly. */
template <class T> struct Wide { using type = float; };
template <> struct Wide<double> { using type = double; };
template <> struct Wide<int> { using type = double; };

/* target = factor * source, for the arrays of gridDim.y pairs. */
template <class T> __device__ void scale(const ScaledArray* arrays, unsigned long long count)
{
    const ScaledArray array = arrays[blockIdx.y];
    const T* const source = reinterpret_cast<const T*>(array.source);
    T* const target = reinterpret_cast<T*>(array.target);
    const typename Wide<T>::type factor = array.factor;
    for (unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
        target[i] = T(typename Wide<T>::type(source[i]) * factor);
}

/* Change the sign of the elements at these addresses. */
template <class T> __device__ void negate(const unsigned long long* addresses, unsigned long long count)
{
    for (unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        T* const element = reinterpret_cast<T*>(addresses[i]);
        *element = T(-typename Wide<T>::type(*element));
    }
}

/* Count in unlike[y] the elements of pair y where target is not factor * source. A NaN is unlike
   anything. Below `normal` source or target was rounded to a multiple of `step`, and they may differ by one. */
template <class T> __device__ void count_unlike(const ScaledArray* arrays, unsigned long long count, double normal,
                                                double step, unsigned long long* unlike)
{
    using Value = typename Wide<T>::type;
    const ScaledArray array = arrays[blockIdx.y];
    const T* const source = reinterpret_cast<const T*>(array.source);
    const T* const target = reinterpret_cast<const T*>(array.target);
    const Value factor = array.factor, tiny = normal, apart = step;
    unsigned long long found = 0;
    for (unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        const Value stored = Value(source[i]), a = stored * factor, b = Value(target[i]);
        const bool near = fabs(a - b) <= apart && (fabs(stored) < tiny || fabs(a) < tiny || fabs(b) < tiny);
        found += !(a == b || near);
    }
    add_to(unlike + blockIdx.y, found);
}

#define FOR_TYPE(T, name)                                                                                     \
    extern "C" __global__ void scale_##name(const ScaledArray* arrays, unsigned long long count)               \
    {                                                                                                         \
        scale<T>(arrays, count);                                                                              \
    }                                                                                                         \
    extern "C" __global__ void negate_##name(const unsigned long long* addresses, unsigned long long count)    \
    {                                                                                                         \
        negate<T>(addresses, count);                                                                          \
    }                                                                                                         \
    extern "C" __global__ void count_unlike_##name(const ScaledArray* arrays, unsigned long long count,        \
                                                   double normal, double step, unsigned long long* unlike)    \
    {                                                                                                         \
        count_unlike<T>(arrays, count, normal, step, unlike);                                                 \
    }
FOR_TYPE(float, float32)
FOR_TYPE(double, float64)
FOR_TYPE(__half, float16)
FOR_TYPE(__nv_bfloat16, bfloat16)
FOR_TYPE(__nv_fp8_e4m3, float8_e4m3fn)
FOR_TYPE(__nv_fp8_e5m2, float8_e5m2)
FOR_TYPE(signed char, int8)
FOR_TYPE(int, int32)

struct Range {
    unsigned long long start, end;  // addresses
};

/* Scrambles the bits of a word together with its place (the finalizer of SplitMix64). */
__device__ unsigned long long scramble(unsigned long long word, unsigned long long place)
{
    word += (place + 1) * 0x9e3779b97f4a7c15ull;
    word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9ull;
    word = (word ^ word >> 27) * 0x94d049bb133111ebull;
    return word ^ word >> 31;
}

/* sums[y] = the sum of the scrambled words of range y, and of the bytes before and after them. */
extern "C" __global__ void checksum(const Range* ranges, unsigned long long* sums)
{
    const Range range = ranges[blockIdx.y];
    const unsigned long long first = min((range.start + 7) / 8 * 8, range.end), last = max(range.end / 8 * 8, first);
    const unsigned long long thread = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long sum = 0;
    for (unsigned long long at = first + 8 * thread; at < last; at += 8ull * gridDim.x * blockDim.x)
        sum += scramble(*reinterpret_cast<const unsigned long long*>(at), at - range.start);
    const unsigned long long edge = thread < 8 ? range.start + thread : last + thread - 8;
    if (thread < 16 && edge < (thread < 8 ? first : range.end))
        sum += scramble(*reinterpret_cast<const unsigned char*>(edge), edge - range.start);
    add_to(sums + blockIdx.y, sum);
}
