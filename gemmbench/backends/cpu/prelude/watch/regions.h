// Where an address lies: in an operand, in an array of shared memory, or in the room around one of these.
#pragma once
#include <stdint.h>
#include <sys/mman.h>

#include <vector>

#include "shadow.h"

namespace gb {

constexpr size_t kMargin = 64 << 20;  // on both sides of an operand
constexpr size_t kNear = 4096;        // before an array in shared memory

enum class Space { input, output, scratch, shared };

// The bytes [begin, end), and the room [low, high) in which an address counts as a miss of this region.
struct Region {
    Space space;
    unsigned number, element;  // of the regions as gemmbench counts them; bytes of an element
    uintptr_t begin, end, low, high;
    Cell* cells;  // for each granule; null: no need to know who touched it
};

static std::vector<Region> regions;
static unsigned granule = 2;  // log2 of the bytes of a cell

// Only pages that are touched take memory.
static char* reserve(size_t bytes) {
    void* room = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED) fault("no memory to watch the accesses of a kernel");
    return static_cast<char*>(room);
}

static Cell* make_cells(size_t bytes) {
    return reinterpret_cast<Cell*>(reserve(((bytes >> granule) + 2) * sizeof(Cell)));
}

// Map a file, which the kernel cannot change, with room on both sides; without a file it is zero.
static char* add_operand(Space space, unsigned number, int file, size_t bytes, unsigned element, bool has_cells) {
    const size_t whole = (bytes + kPage - 1) / kPage * kPage;
    char* begin = reserve(whole + 2 * kMargin) + kMargin;
    if (file >= 0) {
        void* place = mmap(begin, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, file, 0);
        if (place == MAP_FAILED) fault("cannot map the operands: %s", strerror(errno));
        close(file);
    }
    const uintptr_t at = reinterpret_cast<uintptr_t>(begin);
    Cell* cells = has_cells ? make_cells(bytes) : nullptr;
    regions.push_back({space, number, element, at, at + bytes, at - kMargin, at + whole + kMargin, cells});
    return begin;
}

// The bytes of guards, which the compiler puts next to static arrays.
static std::vector<std::pair<uintptr_t, uintptr_t>> guards;

static bool is_guard(uintptr_t address) {
    for (const auto& [begin, end] : guards)
        if (address >= begin && address < end) return true;
    return false;
}

static void add_shared(unsigned number, uintptr_t begin, size_t bytes, size_t room, unsigned element) {
    regions.push_back({Space::shared, number, element, begin, begin + bytes, begin - kNear, begin + room,
                       make_cells(room)});
}

static int find_region(uintptr_t address) {
    for (size_t i = 0; i < regions.size(); ++i)
        if (address - regions[i].low < regions[i].high - regions[i].low) return int(i);
    return -1;
}

}  // namespace gb
