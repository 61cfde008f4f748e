// Runs one block: its threads are coroutines if they meet at barriers; otherwise they run one after
// the other.
//
// A thread runs until it stops at a barrier or returns. Then the first ready thread continues: of
// its own warp if there is one, otherwise of the next warp in order. When the last thread arrives
// at a barrier, all threads that wait there become ready. Threads that have returned do not count.
//
// A runtime that watches its threads defines GB_WATCHED, and the functions below that begin with note_.
#pragma once
#include <sys/mman.h>

#include <algorithm>

#include "abi.h"
#include "channel.h"
#include "coroutine.h"
#include "vectors.h"

uint3 threadIdx, blockIdx;  // the kernel's half reads them as constants
dim3 blockDim, gridDim;

namespace gb {

#ifdef GB_WATCHED
static void note_start();              // the running thread begins,
static void note_end();                // or has returned
static void note_arrival(void* call);  // it waits at a barrier, of its block or its warp, called from there
static void note_release();            // all threads of the block that have not returned wait at __syncthreads
static void note_passage(bool block);  // the running thread continues after a barrier
#else
static void note_start() {}
static void note_end() {}
static void note_arrival(void*) {}
static void note_release() {}
static void note_passage(bool) {}
#endif

constexpr unsigned kThreads = 1024;
constexpr size_t kStack = 256 << 10;

struct Warp {
    uint32_t alive, ready, waiting;  // lanes that have not returned, can run, wait for other lanes
    uint32_t mask[kWarp];            // the lanes that a waiting lane waits for
    uint64_t slot[kWarp];            // the value it publishes meanwhile
};

unsigned thread;  // the running thread
static unsigned threads, alive, arrived;
static unsigned absent;  // the most threads of a block that had returned when others left a barrier
static unsigned warp_count, cursor;  // cursor: the running warp
static bool reversed;
static Warp warps[kThreads / kWarp];
static uint3 index_of[kThreads];
static Context contexts[kThreads], outside;
static const Arguments* arguments;

static uint32_t lane_bit() { return 1u << thread % kWarp; }

static void select(unsigned next) {
    thread = next;
    threadIdx = index_of[next];
}

static void release_block() {
    if (arrived) note_release();
    for (unsigned w = 0; w < warp_count; ++w) warps[w].ready = warps[w].alive;
    absent = std::max(absent, threads - alive);
    arrived = 0;
    cursor = reversed ? warp_count - 1 : 0;
}

// Make the lanes of `mask` ready if all of them that are alive wait for exactly this mask.
static void release_lanes(Warp& warp, uint32_t mask) {
    const uint32_t needed = mask & warp.alive;
    if (needed & ~warp.waiting) return;
    for (uint32_t rest = needed; rest; rest &= rest - 1)
        if (warp.mask[__builtin_ctz(rest)] != mask) return;
    warp.waiting &= ~needed;
    warp.ready |= needed;
}

// The first thread that can run. Ends the process of the block if there is none.
static unsigned next_ready() {
    for (; cursor < warp_count; cursor += reversed ? -1 : 1)  // below 0 wraps around
        if (const uint32_t ready = warps[cursor].ready)
            return cursor * kWarp + (reversed ? 31 - __builtin_clz(ready) : __builtin_ctz(ready));
    fault("the threads of block (%u, %u, %u) wait at different barriers: %u of %u at __syncthreads",
          blockIdx.x, blockIdx.y, blockIdx.z, arrived, alive);
}

static void run_next() {
    const unsigned here = thread, next = next_ready();
    if (next == here) return;
    select(next);
    switch_to(contexts[here], contexts[next]);
}

void sync_block() {
    note_arrival(__builtin_return_address(0));
    warps[thread / kWarp].ready &= ~lane_bit();
    if (++arrived == alive) release_block();
    run_next();
    note_passage(true);
}

static void wait_for_lanes(unsigned mask) {
    Warp& warp = warps[thread / kWarp];
    warp.mask[thread % kWarp] = mask;
    warp.waiting |= lane_bit();
    warp.ready &= ~lane_bit();
    release_lanes(warp, mask);
    run_next();
    note_passage(false);
}

void sync_warp(unsigned mask) {
    note_arrival(__builtin_return_address(0));
    wait_for_lanes(mask);
}

const uint64_t* publish(unsigned mask, uint64_t value) {
    note_arrival(__builtin_return_address(0));
    Warp& warp = warps[thread / kWarp];
    warp.slot[thread % kWarp] = value;
    wait_for_lanes(mask);
    return warp.slot;
}

// This thread has returned: threads that waited only for it can continue.
static void leave() {
    Warp& warp = warps[thread / kWarp];
    warp.alive &= ~lane_bit();
    warp.ready &= ~lane_bit();
    warp.slot[thread % kWarp] = kExited;
    for (uint32_t rest = warp.waiting; rest; rest &= rest - 1)
        release_lanes(warp, warp.mask[__builtin_ctz(rest)]);
    if (--alive == 0) return switch_to(contexts[thread], outside);
    if (arrived == alive) release_block();
    run_next();
}

static void run_thread(const Arguments& launch) {
    note_start();
    entry(launch);
    note_end();
}

static void body() {
    for (;;) {  // once for every block
        run_thread(*arguments);
        leave();
    }
}

// Stacks begin at different offsets in their pages; otherwise all would compete for the same cache
// lines.
static void allocate_stacks(unsigned threads) {
    const size_t page = 64 << 10, color = 17 * 64;
    char* base = static_cast<char*>(mmap(nullptr, threads * kStack, PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (base == MAP_FAILED) fault("no memory for the stacks of %u threads", threads);
    for (unsigned t = 0; t < threads; ++t) {
        char* stack = base + t * kStack;
        mprotect(stack, 4096, PROT_NONE);  // an overflow ends in SIGSEGV, not in another stack
        contexts[t] = prepare(stack, kStack - t * color % page, body);
    }
}

// Prepare to run blocks of at most this many threads. Called once per process.
static void prepare_threads(unsigned most, bool reverse) {
    reversed = reverse;
    if (synchronises) allocate_stacks(most);
}

// Set the shape of the blocks that follow.
static void shape_block(dim3 block) {
    blockDim = block;
    threads = block.x * block.y * block.z;
    warp_count = (threads + kWarp - 1) / kWarp;
    for (unsigned t = 0; t < threads; ++t)
        index_of[t] = {t % block.x, t / block.x % block.y, t / block.x / block.y};
}

static void run_coroutines() {
    for (unsigned w = 0; w < warp_count; ++w) {
        const unsigned lanes = threads - w * kWarp;
        warps[w].alive = lanes < kWarp ? (1u << lanes) - 1 : ~0u;
        warps[w].waiting = 0;
    }
    alive = threads;
    release_block();
    select(next_ready());
    switch_to(outside, contexts[thread]);
}

// Run block blockIdx from its first thread to its last, or from its last to its first.
static void run_block(const Arguments& launch) {
    arguments = &launch;
    if (synchronises) return run_coroutines();
    for (unsigned t = 0; t < threads; ++t) {
        select(reversed ? threads - 1 - t : t);
        run_thread(launch);
    }
}

}  // namespace gb
