// What the accesses of a launch cost on a GPU, for each instruction and region: the counts of the blocks that run, and
// of all blocks that they represent.
#pragma once
#include <stdint.h>

#include <algorithm>
#include <string>
#include <vector>

#include "faults.h"
#include "regions.h"
#include "requests.h"
#include "sample.h"

namespace gb {

// The accesses of one instruction to one region: those of the running block, and those of all blocks so far.
struct Counted {
    uintptr_t at;  // the return address of its hook
    unsigned site;
    int region;
    Count block;
    Count sum;
};

constexpr uint64_t kMostAccesses = 30 << 20;  // of the blocks that run, if more than one: about a second

class Counter {
  public:
    bool is_on = false;

    // An access by the running thread, which has passed this many barriers of its block and its warp. Sites are
    // numbered from 1.
    void note(unsigned site, uintptr_t at, int region, uintptr_t address, size_t bytes, bool write, uint32_t barriers) {
        if ((address < regions[region].begin || address >= regions[region].end) && is_guard(address)) return;
        if (thread / kWarp != open_warp || barriers > open_barriers) {
            settle_all();
            open_warp = thread / kWarp, open_barriers = barriers;
        }
        // A GPU has no wider accesses and splits others into parts.
        const size_t widest = bytes > kWidest || bytes & (bytes - 1) ? std::min<size_t>(bytes & -bytes, kWidest) : bytes;
        Counted& found = find(site, at, region, widest, write);
        if (!found.block.length) touched.push_back(&found - counted.data());
        for (size_t offset = 0; offset < bytes; offset += widest) found.block.note(thread % kWarp, address + offset);
        ++accesses;
    }

    // Count a launch, of which `run` runs the block with a given number. All blocks run, or those at the corners and in
    // the middle, each representing similar ones, or the middle one for all: as many as can run quickly.
    template <class Run>
    void count_launch(const dim3& grid, Run run) {
        const uint64_t blocks = count_blocks(grid), middle = find_middle_block(grid);
        uint64_t samples = 0;
        for (uint64_t i = find_next_sample(grid, 0); i < blocks; i = find_next_sample(grid, i + 1)) ++samples;
        all_blocks += blocks;
        const uint64_t before = accesses;
        count_block(middle, run);
        const uint64_t each = accesses - before;
        const bool every = each * blocks <= kMostAccesses, some = each * samples <= kMostAccesses;
        add_block(every ? 1 : some ? weigh_sample(grid, middle) : blocks);
        if (!every && !some) return;
        for (uint64_t i = every ? 0 : find_next_sample(grid, 0); i < blocks;
             i = every ? i + 1 : find_next_sample(grid, i + 1)) {
            if (i == middle) continue;
            count_block(i, run);
            add_block(every ? 1 : weigh_sample(grid, i));
        }
    }

    // All counts, as the fields of an object of JSON.
    std::string list() const {
        std::string text = format(", \"ran\": %lu, \"blocks\": %lu, \"counts\": [", ran, all_blocks);
        for (const Counted& each : counted) {
            const Count& sum = each.sum;
            text += format("%s{\"at\": %lu, \"region\": %u, \"bytes\": %u, \"shared\": %s, \"writes\": %s, \"used\": %lu, "
                           "\"ragged\": %lu, \"most\": %lu", &each == counted.data() ? "" : ", ", each.at,
                           regions[each.region].number, each.block.bytes, each.block.shared ? "true" : "false",
                           each.block.write ? "true" : "false", sum.used, sum.ragged, sum.most);
            text += list_cost("written", sum.written) + list_cost("joined", sum.joined);
            text += list_cost("united", each.block.write ? sum.joined : sum.united) + "}";
        }
        return text + "]";
    }

  private:
    std::vector<Counted> counted;
    std::vector<unsigned> last;     // by site: the number in `counted` of its last access, most often that of the next
    std::vector<unsigned> touched;  // those with requests that are not settled
    unsigned open_warp = ~0u;       // whose requests they are,
    uint32_t open_barriers = 0;     // and how many barriers it has passed
    uint64_t accesses = 0;          // by threads
    uint64_t ran = 0, all_blocks = 0;

    Counted& find(unsigned site, uintptr_t at, int region, unsigned bytes, bool write) {
        if (site >= last.size()) last.resize(site + 1, ~0u);
        unsigned& number = last[site];
        const auto is_it = [&](const Counted& each) { return each.site == site && each.region == region; };
        if (number < counted.size() && is_it(counted[number])) return counted[number];
        const auto found = std::find_if(counted.begin(), counted.end(), is_it);
        number = found - counted.begin();
        if (found != counted.end()) return *found;
        counted.push_back({at, site, region, {}, {}});
        Count& count = counted.back().block;
        count.bytes = bytes, count.shared = regions[region].space == Space::shared, count.write = write;
        return counted.back();
    }

    template <class Run>
    void count_block(uint64_t number, Run run) {
        open_warp = ~0u, open_barriers = 0;
        ++ran;
        run(number);
        settle_all();
    }

    void settle_all() {
        for (const unsigned number : touched) settle(counted[number].block);
        touched.clear();
    }

    // Add what the block that has just run counted, once for every block like it.
    void add_block(uint64_t weight) {
        for (Counted& each : counted) {
            Count &from = each.block, &to = each.sum;
            to.written.add(from.written, weight), to.joined.add(from.joined, weight);
            to.united.add(from.united, weight);
            to.used += weight * from.used, to.ragged += weight * from.ragged, to.most = std::max(to.most, from.most);
            from.written = from.joined = from.united = {};
            from.used = from.ragged = from.most = 0;
        }
    }

    static std::string list_cost(const char* key, const Cost& cost) {
        return format(", \"%s\": [%lu, %lu, %lu, %lu, %lu]", key, cost.requests, cost.sectors, cost.lines,
                      cost.wavefronts, cost.conflicts);
    }
};

static Counter counter;

}  // namespace gb
