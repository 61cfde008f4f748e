// The products of a tile for one warpgroup, stage by stage as the ring delivers them.

#pragma once

#include "members.cuh"

#ifdef PROMOTED_EVERY  // precisions whose sums lose bits in the tensor cores
constexpr bool kPromotes = PROMOTED_EVERY > 0;
static_assert(!kPromotes || PROMOTED_EVERY == kDepth, "sums are promoted once per stage");
#else
constexpr bool kPromotes = false;
#endif
constexpr bool kInPairs = std::is_same_v<TACC, __half>;  // the tensor cores have sums in f16, two to a register
constexpr bool kTakesRegisters = ((kParts + kPromotes) * 2 + kInPairs * kParts) * BN / 4 > 128;  // for the sums

// Add the products of a stage to the sums of a group, and wait for them.
template <typename RING> __device__ void promote_stage(const RING& ring, int stage, int group, float (&sum)[kParts][BN / 2]) {
    const uint64_t b = TileB::describe(ring.b(stage), 0);
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
        const uint64_t a = TileA::describe(ring.a(stage), (group * kParts + part) * 64);
        float partial[BN / 2];
        begin_products();
#pragma unroll
        for (int i = 0; i < kSteps; ++i)
            multiply_add<BN>(partial, a + i * TileA::STEP, b + i * TileB::STEP, i > 0);
        commit_products();
        wait_for_products<0>();
#pragma unroll
        for (int i = 0; i < BN / 2; ++i) sum[part][i] += partial[i];
    }
}

// Add up the products of `steps` stages, starting with the one at `place`. A stage is released once its products are
// done, while the tensor cores work on those of the next one.
template <typename CLUSTER, typename RING, typename SUM, int COUNT>
__device__ void add_products(const RING& ring, Place& place, int steps, int group, int fetcher, SUM (&sum)[kParts][COUNT]) {
    int last = 0;  // the previous stage
    for (int step = 0; step < steps; ++step, place.advance()) {
        await(ring.filled(place.stage), place.parity);
        multiply_stage(ring, place.stage, group, sum, step > 0);
        wait_for_products<1>();
        if (step > 0) CLUSTER::release(ring.emptied(last), fetcher);
        last = place.stage;
    }
    wait_for_products<0>();
    CLUSTER::release(ring.emptied(last), fetcher);
}

// The sums of `steps` stages in f32, whatever type the tensor cores use.
template <typename CLUSTER, typename RING>
__device__ void multiply_stages(const RING& ring, Place& place, int steps, int group, int fetcher,
                                float (&sum)[kParts][BN / 2]) {
    if constexpr (kPromotes) {
#pragma unroll
        for (int part = 0; part < kParts; ++part)
#pragma unroll
            for (int i = 0; i < BN / 2; ++i) sum[part][i] = 0;
        for (int step = 0; step < steps; ++step, place.advance()) {
            await(ring.filled(place.stage), place.parity);
            promote_stage(ring, place.stage, group, sum);
            CLUSTER::release(ring.emptied(place.stage), fetcher);
        }
    } else if constexpr (kInPairs) {
        unsigned pairs[kParts][BN / 4];
        add_products<CLUSTER>(ring, place, steps, group, fetcher, pairs);
#pragma unroll
        for (int part = 0; part < kParts; ++part)
#pragma unroll
            for (int i = 0; i < BN / 4; ++i) {
                const float2 both = unpack(pairs[part][i]);
                sum[part][2 * i] = both.x, sum[part][2 * i + 1] = both.y;
            }
    } else {
        add_products<CLUSTER>(ring, place, steps, group, fetcher, sum);
    }
}
