// Which blocks of a grid run if not all do, and how many other blocks each of them represents.
#pragma once
#include <stdint.h>

namespace gb {

inline uint64_t count_blocks(const dim3& grid) { return uint64_t(grid.x) * grid.y * grid.z; }

inline uint64_t find_middle_block(const dim3& grid) {
    return (uint64_t(grid.z / 2) * grid.y + grid.y / 2) * grid.x + grid.x / 2;
}

inline bool is_sample(unsigned at, unsigned count) { return at == 0 || at == count / 2 || at == count - 1; }

// The first block from this number on that is at a corner or in the middle in each direction.
inline uint64_t find_next_sample(const dim3& grid, uint64_t number) {
    const uint64_t blocks = count_blocks(grid);
    while (number < blocks && !(is_sample(number % grid.x, grid.x) && is_sample(number / grid.x % grid.y, grid.y) &&
                                is_sample(number / grid.x / grid.y, grid.z)))
        ++number;
    return number;
}

inline uint64_t weigh_place(unsigned at, unsigned count) { return at == count / 2 && count > 2 ? count - 2 : 1; }

// How many blocks a sample represents: in each direction, those between the ends, or itself.
inline uint64_t weigh_sample(const dim3& grid, uint64_t number) {
    return weigh_place(number % grid.x, grid.x) * weigh_place(number / grid.x % grid.y, grid.y) *
           weigh_place(number / grid.x / grid.y, grid.z);
}

}  // namespace gb
