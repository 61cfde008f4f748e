// Hopper instructions that kernels share: barriers in shared memory, TMA copies, and signals between blocks. Each
// function does one thing and is named after it; all are described in the PTX ISA reference.

#pragma once

#include <cuda.h>

#include <cstdint>

#include "cluster.cuh"
#include "launch.cuh"

__device__ inline unsigned address(const void* shared) { return unsigned(__cvta_generic_to_shared(shared)); }

// A number that is the same in all lanes of a warp. The compiler can then keep it, and values derived from it, in
// uniform registers.
__device__ inline unsigned uniform(unsigned value) { return __shfl_sync(~0u, value, 0); }

// ---- Barriers: they count arrivals and bytes. A phase is over when both are complete.

__device__ inline void initialize(unsigned barrier, int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

// Make initialized barriers visible to TMA and to the other blocks of the cluster.
__device__ inline void publish_barriers() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

__device__ inline void arrive(unsigned barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

__device__ inline void arrive_and_expect(unsigned barrier, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

__device__ inline void await(unsigned barrier, unsigned parity) {
    asm volatile(
        "{ .reg .pred p; AGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @p bra DONE; bra AGAIN; DONE: }" ::"r"(
            barrier),
        "r"(parity)
        : "memory");
}

// ---- Moving registers from one warpgroup of a block to another. All threads of a group call this.

template <int COUNT> __device__ void release_registers() {  // keep COUNT
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(COUNT));
}
template <int COUNT> __device__ void take_registers() {  // have COUNT from now on
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(COUNT));
}

// ---- TMA: copies of boxes that a tensor map describes. Elements outside the array read as zero.

__device__ inline void prefetch(const CUtensorMap* map) {
    asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

__device__ inline void fetch(unsigned tile, const CUtensorMap* map, int row, int column, unsigned barrier) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
            tile),
        "l"(map), "r"(column), "r"(row), "r"(barrier)
        : "memory");
}

// Like fetch, but into the same place of every block of the cluster whose bit is set in `blocks`; each block's own
// barrier counts the bytes that arrive there.
__device__ inline void fetch_for(uint16_t blocks, unsigned tile, const CUtensorMap* map, int row, int column,
                                 unsigned barrier) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
        "[%1, {%2, %3}], [%4], %5;" ::"r"(tile),
        "l"(map), "r"(column), "r"(row), "r"(barrier), "h"(blocks)
        : "memory");
}

// Store a box from shared memory, except for elements outside the array. Only one thread calls these three, after all
// threads that wrote to the box have called publish_writes and synchronised.
__device__ inline void store_box(const CUtensorMap* map, int row, int column, unsigned box) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map), "r"(column),
                 "r"(row), "r"(box)
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
template <int LATER> __device__ void wait_for_reads() {  // of the boxes of all stores but the last LATER
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(LATER) : "memory");
}

__device__ inline void publish_writes() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// ---- Signals between blocks through device memory.

__device__ inline void store_past_l1(float4* to, float4 v) { __stcg(to, v); }
__device__ inline float4 load_past_l1(const float4* from) { return __ldcg(from); }
__device__ inline void publish_to_device() { __threadfence(); }

__device__ inline void raise_flag(int* flag) {
    asm volatile("st.release.gpu.global.s32 [%0], 1;" ::"l"(flag) : "memory");
}

// Arrive at a counter; returns how many arrived before. Blocks that arrive or wait later see everything published
// before.
__device__ inline int count_arrival(int* counter) {
    int before;
    asm volatile("atom.acq_rel.gpu.global.add.s32 %0, [%1], 1;" : "=r"(before) : "l"(counter) : "memory");
    return before;
}
__device__ inline void await_arrivals(const int* counter, int count) {
    for (int arrived = 0; arrived < count;)
        asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(arrived) : "l"(counter) : "memory");
}
__device__ inline void await_flag(const int* flag) { await_arrivals(flag, 1); }

// Synchronise the first THREADS threads of the block.
template <int THREADS> __device__ void meet_groups() {
    asm volatile("bar.sync 1, %0;" ::"n"(THREADS) : "memory");
}

// Synchronise the two warps of pair `number`, which is below 8.
__device__ inline void meet_pair(int number) { asm volatile("bar.sync %0, 64;" ::"r"(2 + number) : "memory"); }

// ---- Clusters: blocks that run at the same time and can access each other's shared memory.

// Synchronise all threads of the cluster. This does not order memory accesses; barriers do that.
__device__ inline void meet_cluster() {
    asm volatile("barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned;" ::: "memory");
}

// Arrive at the barrier of another block. Without `.release.cluster`, which ptxas would turn into a fence for the whole
// device in every step. It is not needed, because the products that read the stage are already complete.
__device__ inline void arrive_at(unsigned barrier, int rank) {
    asm volatile(
        "{ .reg .b32 there; mapa.shared::cluster.u32 there, %0, %1; mbarrier.arrive.shared::cluster.b64 _, [there]; }" ::"r"(
            barrier),
        "r"(rank)
        : "memory");
}

__device__ inline unsigned load_shared(unsigned from) {
    unsigned value;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(value) : "r"(from) : "memory");
    return value;
}
__device__ inline void load_shared(unsigned from, unsigned& v, unsigned& next) {
    asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(v), "=r"(next) : "r"(from) : "memory");
}
__device__ inline void store_shared(unsigned to, float v, float next) {
    asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(to), "f"(v), "f"(next) : "memory");
}

// 16 bytes of a row.
__device__ inline uint4 load_part(unsigned from) {
    uint4 v;
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "r"(from)
                 : "memory");
    return v;
}
__device__ inline void store_part(unsigned to, uint4 v) {
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
}
