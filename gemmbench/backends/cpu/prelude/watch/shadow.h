// Who touched each granule of memory last, and whether two accesses are ordered.
//
// Two accesses are ordered if one thread makes both, if a barrier of their block lies between them, if they are
// in the same warp and a barrier of that warp does (whatever its mask, which is an approximation), or if they
// belong to different launches. Blocks of one launch are not ordered here (see is_published in watch.cpp), and
// atomic accesses need no order.
#pragma once
#include <stdint.h>

namespace gb {

struct Access {
    uint32_t block;      // from 1, counted over all launches; 0: nobody
    uint32_t passed;     // barriers of the block that the thread has passed
    uint16_t exchanges;  // barriers of its warp that it has passed
    uint16_t thread;
    uint16_t site;       // see watch.cpp
    bool atomic;
};

// `other` is a read by another thread than `read`, of another warp if possible, so that no writer takes part in
// both.
struct Cell {
    Access write, read, other;
};

constexpr bool is_same_warp(const Access& a, const Access& b) { return a.thread / kWarp == b.thread / kWarp; }

inline bool is_ordered(const Access& before, const Access& now) {
    if (before.block != now.block) return false;
    if (before.thread == now.thread || before.passed != now.passed) return true;
    return is_same_warp(before, now) && before.exchanges != now.exchanges;
}

// `first_block` is the first of this launch; for memory of a block it is the block itself.
inline bool is_conflict(const Access& before, const Access& now, uint32_t first_block) {
    return before.block && before.block >= first_block && !(before.atomic && now.atomic) && !is_ordered(before, now);
}

// Record an access. Returns whether it races with an earlier one, which is copied to `before`.
inline bool touch(Cell& cell, const Access& now, bool write, uint32_t first_block, Access& before) {
    bool found = false;
    auto compare = [&](const Access& earlier) {
        if (!found && is_conflict(earlier, now, first_block)) before = earlier, found = true;
    };
    compare(cell.write);
    if (write) {
        compare(cell.read);
        compare(cell.other);
        cell.write = now;
        return found;
    }
    const bool is_fresh = cell.other.block == now.block && cell.other.passed == now.passed;
    if (cell.read.thread != now.thread && (!is_fresh || !is_same_warp(cell.read, now))) cell.other = cell.read;
    cell.read = now;
    return found;
}

}  // namespace gb
