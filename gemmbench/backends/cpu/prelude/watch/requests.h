// From the accesses of threads to the requests of warps, and what a GPU needs for each.
//
// The k-th execution of an instruction by each lane of a warp is one request; the count restarts after each barrier.
#pragma once
#include <stdint.h>

#include <algorithm>
#include <unordered_set>
#include <vector>

namespace gb {

constexpr unsigned kSector = 32, kLine = 128, kBanks = 32, kWord = 4, kWidest = 16;

struct Request {
    uint32_t lanes;
    uintptr_t at[kWarp];
};

// Requests; distinct sectors of 32 bytes and lines of 128; passes over the banks, and how many of them a group of
// lanes needs beyond its first.
struct Cost {
    uint64_t requests, sectors, lines, wavefronts, conflicts;

    void add(const Cost& other, uint64_t weight) {
        requests += weight * other.requests, sectors += weight * other.sectors, lines += weight * other.lines;
        wavefronts += weight * other.wavefronts, conflicts += weight * other.conflicts;
    }
};

template <class Visit>
static void visit_lanes(uint32_t lanes, Visit visit) {
    for (; lanes; lanes &= lanes - 1) visit(unsigned(__builtin_ctz(lanes)));
}

// Distinct units of a given number of bytes that the lanes touch with `bytes` each.
static unsigned count_units(const Request& request, unsigned bytes, unsigned unit) {
    static uintptr_t units[kWarp * (kWidest + 1)];
    unsigned count = 0;
    visit_lanes(request.lanes, [&](unsigned lane) {
        for (uintptr_t each = request.at[lane] / unit; each <= (request.at[lane] + bytes - 1) / unit; ++each)
            if (!count || units[count - 1] != each) units[count++] = each;
    });
    std::sort(units, units + count);
    return std::unique(units, units + count) - units;
}

// Passes over the banks for some lanes: the largest number of distinct words in one bank.
static unsigned count_passes(const Request& request, uint32_t lanes, unsigned bytes) {
    uintptr_t words[kBanks][kWarp * 2];
    unsigned used[kBanks] = {}, most = 0;
    visit_lanes(lanes, [&](unsigned lane) {
        for (uintptr_t word = request.at[lane] / kWord; word <= (request.at[lane] + bytes - 1) / kWord; ++word) {
            uintptr_t* held = words[word % kBanks];
            unsigned& count = used[word % kBanks];
            if (std::find(held, held + count, word) == held + count) held[count++] = word;
            most = std::max(most, count);
        }
    });
    return most;
}

// Whether each lane has the address of its neighbour at this distance, if that neighbour takes part.
static bool do_pairs_agree(const Request& request, uint32_t lanes, unsigned distance) {
    bool agree = true;
    visit_lanes(lanes, [&](unsigned lane) {
        const unsigned other = lane ^ distance;
        agree &= !(lanes >> other & 1) || request.at[lane] == request.at[other];
    });
    return agree;
}

// Lanes are served together: all 32 for up to 4 bytes, halves for 8 and quarters for 16. Two such groups share a pass
// if lanes agree in pairs; the halves of a warp never do for 16 bytes.
static void add_passes(Cost& cost, const Request& request, unsigned bytes) {
    const auto serve = [&](uint32_t lanes) {
        if (const unsigned passes = count_passes(request, lanes, bytes)) {
            cost.wavefronts += passes;
            cost.conflicts += passes - 1;
        }
    };
    if (bytes <= kWord) return serve(request.lanes);
    const unsigned pair = bytes <= 8 ? 32 : 16;
    for (unsigned first = 0; first < kWarp; first += pair) {
        const uint32_t both = request.lanes & uint32_t(((uint64_t(1) << pair) - 1) << first);
        const uint32_t lower = both & uint32_t(((uint64_t(1) << pair / 2) - 1) << first);
        if (do_pairs_agree(request, both, 1) || do_pairs_agree(request, both, 2)) serve(both);
        else serve(lower), serve(both & ~lower);
    }
}

static uint64_t hash_request(const Request& request, uintptr_t base, uint64_t seed) {
    uint64_t key = (uint64_t(request.lanes) << 32 ^ seed) * 0x9e3779b97f4a7c15;
    visit_lanes(request.lanes, [&](unsigned lane) {
        key = (key ^ (request.at[lane] - base)) * 0xbf58476d1ce4e5b9;
        key ^= key >> 29;
    });
    return key;
}

// What one request costs, and the distinct bytes that it touches. That depends on the addresses relative to the line
// of the first. A kernel has few such patterns, so each is computed once.
struct Pattern {
    uint64_t key;
    Cost cost;
    unsigned used;
};

static const Pattern& find_pattern(const Request& request, unsigned bytes) {
    static Pattern known[1 << 12];
    const uintptr_t first = request.at[__builtin_ctz(request.lanes)];
    const uint64_t key = hash_request(request, first / kLine * kLine, bytes) | 1;
    Pattern& pattern = known[(key >> 1) % (1 << 12)];
    if (pattern.key == key) return pattern;
    const unsigned unit = std::min(bytes, kWord);
    pattern = {key, {1, count_units(request, bytes, kSector), count_units(request, bytes, kLine), 0, 0},
               count_units(request, bytes, unit) * unit};
    add_passes(pattern.cost, request, bytes);
    return pattern;
}

// The accesses of one instruction to one region. `written` counts them as the text has them. For arrays in shared
// memory, `joined` counts accesses to neighbouring words between two barriers as one of up to 16 bytes if that is
// aligned. `united` also assumes that nothing is loaded twice between two barriers, as when loops are unrolled.
struct Count {
    unsigned bytes;  // of one access
    bool shared, write;
    Cost written, joined, united;
    uint64_t used;    // bytes of the requests
    uint64_t ragged;  // stretches between barriers in which lanes executed it at different times
    uint64_t most;    // united requests of a warp between two barriers

    uint32_t length, turns[kWarp];
    std::vector<Request> open;

    void note(unsigned lane, uintptr_t address) {
        const uint32_t turn = turns[lane]++;
        if (turn >= open.size()) open.resize(std::max<size_t>(16, 2 * turn));
        length = std::max(length, turn + 1);
        open[turn].lanes |= 1u << lane;
        open[turn].at[lane] = address;
    }
};

constexpr unsigned kFar = 64;  // requests between two neighbours that are joined: those of an inner loop

// Whether in each lane a request continues where another one, this many bytes earlier, stops.
static bool continues(const Request& next, const Request& head, size_t offset) {
    if (next.lanes != head.lanes) return false;
    bool goes_on = true;
    visit_lanes(head.lanes, [&](unsigned lane) { goes_on &= next.at[lane] == head.at[lane] + offset; });
    return goes_on;
}

static bool is_aligned(const Request& request, size_t bytes) {
    bool aligned = true;
    visit_lanes(request.lanes, [&](unsigned lane) { aligned &= request.at[lane] % bytes == 0; });
    return aligned;
}

// Charge requests of `bytes`, with neighbours as one. Returns how many requests that makes. Requests are used up.
static unsigned charge_joined(Cost& cost, std::vector<Request>& requests, unsigned bytes) {
    unsigned made = 0;
    for (size_t i = 0; i < requests.size(); ++i) {
        if (!requests[i].lanes) continue;
        size_t run[kWidest] = {i};
        unsigned count = 1;
        if (2 * bytes <= kWidest && is_aligned(requests[i], 2 * bytes))
            for (size_t j = i + 1; j < requests.size() && j < run[count - 1] + kFar && (count + 1) * bytes <= kWidest; ++j)
                if (continues(requests[j], requests[i], count * bytes)) run[count++] = j;
        while (count & (count - 1)) --count;
        while (count > 1 && !is_aligned(requests[i], count * bytes)) count /= 2;
        cost.add(find_pattern(requests[i], count * bytes).cost, 1);
        ++made;
        for (unsigned j = 0; j < count; ++j) requests[run[j]].lanes = 0;
    }
    return made;
}

// Charge the requests of a warp that is behind a barrier or at its end, and forget them.
static void settle(Count& count) {
    static std::vector<Request> requests;
    for (const uint32_t turns : count.turns)
        if (turns && turns != count.length) {  // lanes that did not take part are not counted
            ++count.ragged;
            break;
        }
    for (uint32_t i = 0; i < count.length; ++i) {
        const Pattern& pattern = find_pattern(count.open[i], count.bytes);
        count.written.add(pattern.cost, 1);
        count.used += pattern.used;
    }
    if (count.shared) {
        requests.assign(count.open.begin(), count.open.begin() + count.length);
        unsigned made = charge_joined(count.joined, requests, count.bytes);
        if (!count.write) {
            static std::unordered_set<uint64_t> seen;
            seen.clear();
            requests.clear();
            for (uint32_t i = 0; i < count.length; ++i)
                if (seen.insert(hash_request(count.open[i], 0, 0)).second) requests.push_back(count.open[i]);
            made = charge_joined(count.united, requests, count.bytes);
        }
        count.most = std::max<uint64_t>(count.most, made);
    }
    for (uint32_t i = 0; i < count.length; ++i) count.open[i].lanes = 0;
    count.length = 0;
    std::fill(count.turns, count.turns + kWarp, 0);
}

}  // namespace gb
