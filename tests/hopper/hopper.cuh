// What the functions of cuda/common/hopper.cuh and cuda/tensor/{wgmma,planes}.cuh do, in C++. Products and stores happen as late as they may, when a
// thread waits for them: a tile that is overwritten too early gives a wrong result.
#pragma once
#include "machine.h"

template <int COUNT> struct Maps {
    CUtensorMap map[COUNT];
};

inline unsigned address(const void*) { return 0; }
inline unsigned uniform(unsigned value) { return value; }

inline void initialize(unsigned barrier, int arrivals) { machine.block().barriers[barrier] = {arrivals, arrivals}; }
inline void publish_barriers() {}
inline void arrive(unsigned barrier) { machine.change(machine.me->block, barrier, 1, 0); }
inline void arrive_and_expect(unsigned barrier, int bytes) { machine.change(machine.me->block, barrier, 1, bytes); }
inline void arrive_at(unsigned barrier, int rank) { machine.change(machine.first_of_cluster() + rank, barrier, 1, 0); }
inline void await(unsigned barrier, unsigned parity) {
    while (machine.barrier(machine.me->block, barrier).phase % 2 == parity) machine.yield();
}

template <int COUNT> void release_registers() {}
template <int COUNT> void take_registers() {}
inline void prefetch(const CUtensorMap*) {}
inline int rank_in_cluster() { return machine.me->block % machine.cluster; }
inline void meet_cluster() {
    machine.clusters[machine.me->block / machine.cluster].wait(machine.cluster * machine.threads);
}

inline void sync_cluster() { meet_cluster(); }
inline void meet_group(int group) { machine.block().each_group[group].wait(128); }

// Where the element in row r and column c of a box lies, of `bytes` each.
template <typename T> T& find_in_box(Block& block, const CUtensorMap* map, unsigned box, int r, int c) {
    const int pitch = std::min(128, map->box_width * int(sizeof(T)));
    if (pitch != std::max(map->swizzle, 16)) {
        printf("a box has rows of %d bytes and a swizzle of %d\n", pitch, map->swizzle);
        exit(2);
    }
    return block.swizzled<T>(box + r * pitch + c * sizeof(T), pitch);
}

constexpr long kBytes = sizeof(TA);  // of an element of A and B
inline void fetch_into(int block, unsigned tile, const CUtensorMap* map, int plane, int row, int column, unsigned barrier) {
    if (plane >= map->planes) {
        printf("no plane %d\n", plane);
        exit(2);
    }
    const char* const base = map->base + plane * map->plane_pitch;
    for (int r = 0; r < map->box_height; ++r)
        for (int c = 0; c < map->box_width; ++c) {
            TA element{};
            if (row + r < map->height && column + c < map->width)
                memcpy(&element, base + (row + r) * map->pitch + (column + c) * kBytes, kBytes);
            find_in_box<TA>(machine.blocks[block], map, tile, r, c) = element;
        }
    machine.change(block, barrier, 0, -kBytes * map->box_width * map->box_height);
}
inline void fetch_plane(unsigned tile, const CUtensorMap* map, int plane, int row, int column, unsigned barrier) {
    fetch_into(machine.me->block, tile, map, plane, row, column, barrier);
}
inline void fetch_plane_for(uint16_t blocks, unsigned tile, const CUtensorMap* map, int plane, int row, int column,
                            unsigned barrier) {
    for (int rank = 0; rank < machine.cluster; ++rank)
        if (blocks >> rank & 1) fetch_into(machine.first_of_cluster() + rank, tile, map, plane, row, column, barrier);
}
inline void fetch(unsigned tile, const CUtensorMap* map, int row, int column, unsigned barrier) {
    fetch_plane(tile, map, 0, row, column, barrier);
}
inline void fetch_for(uint16_t blocks, unsigned tile, const CUtensorMap* map, int row, int column, unsigned barrier) {
    fetch_plane_for(blocks, tile, map, 0, row, column, barrier);
}

inline void publish_writes() {}
inline void store_box(const CUtensorMap* map, int row, int column, unsigned box) {
    Block& block = machine.block();
    machine.me->stores.push_back([=, &block] {
        for (int r = 0; r < map->box_height && row + r < map->height; ++r)
            for (int c = 0; c < map->box_width && column + c < map->width; ++c)
                memcpy(map->base + (row + r) * map->pitch + (column + c) * sizeof(TC),
                       &find_in_box<TC>(block, map, box, r, c), sizeof(TC));
    });
}
template <int LATER> void wait_for_reads() {
    Thread& thread = *machine.me;
    while (thread.stored + LATER < thread.stores.size()) thread.stores[thread.stored++]();
}

inline unsigned load_shared(unsigned from) { return machine.block().at<unsigned>(from); }
inline void load_shared(unsigned from, unsigned& v, unsigned& next) {
    machine.expect_aligned(from, 8);
    v = load_shared(from), next = load_shared(from + 4);
}
inline void store_shared(unsigned to, float v, float next) {
    machine.expect_aligned(to, 8);
    machine.block().at<float>(to) = v, machine.block().at<float>(to + 4) = next;
}

inline uint4 load_part(unsigned from) {
    machine.expect_aligned(from, 16);
    return machine.block().at<uint4>(from);
}
inline void store_part(unsigned to, uint4 v) { machine.block().at<uint4>(to) = v; }

inline unsigned pack(float low, float high) {  // two elements of 16 bits
    const TC pair[2] = {TC(low), TC(high)};
    unsigned bits;
    memcpy(&bits, pair, 4);
    return bits;
}
inline float2 unpack(unsigned pair) {
    __half both[2];
    memcpy(both, &pair, 4);
    return {both[0], both[1]};
}
inline void store_matrices(unsigned row, const unsigned (&v)[4]) {
    Block& block = machine.block();
    const int lane = machine.me->number % 32;
    const auto rows = exchange(row);
    for (int j = 0; j < 4; ++j) block.at<unsigned>(rows[8 * j + lane / 4] + lane % 4 * 4) = v[j];
    __syncwarp();
}

// Matrix j of those whose rows the lanes point at; its element (r, c) goes to row c.
template <int COUNT> void store_turned(unsigned column, const unsigned* v) {
    Block& block = machine.block();
    const int lane = machine.me->number % 32;
    const auto rows = exchange(column);
    for (int j = 0; j < COUNT; ++j)
        for (int half = 0; half < 2; ++half)
            block.at<uint16_t>(rows[8 * j + lane % 4 * 2 + half] + lane / 4 * 2) = v[j] >> 16 * half;
    __syncwarp();
}
inline void store_transposed(unsigned column, const unsigned (&v)[4]) { store_turned<4>(column, v); }
inline void store_transposed(unsigned column, unsigned v, unsigned next) {
    const unsigned both[2] = {v, next};
    store_turned<2>(column, both);
}

inline void store_in_block(unsigned to, int rank, float4 v) {
    machine.expect_aligned(to, 16);
    machine.blocks[machine.first_of_cluster() + rank].at<float4>(to) = v;
}
inline void store_sum(unsigned to, float v) {
    machine.expect_aligned(to, 4);
    machine.block().at<float>(to) = v;
}
inline float4 load_quad(unsigned from) { return machine.block().at<float4>(from); }

inline void store_past_l1(float4* to, float4 v) { *to = v; }
inline float4 load_past_l1(const float4* from) { return *from; }
inline void publish_to_device() {}
inline void raise_flag(int* flag) {
    *flag = 1;
    machine.moved = true;
}
inline int count_arrival(int* counter) {
    machine.moved = true;
    return (*counter)++;
}
inline void await_arrivals(const int* counter, int count) {
    while (*counter < count) machine.yield();
}
inline void await_flag(const int* flag) { await_arrivals(flag, 1); }
template <int THREADS> void meet_groups() { machine.block().groups.wait(THREADS); }
inline void meet_pair(int number) { machine.block().pairs[number].wait(64); }
inline void start_next_launch() {}
inline void await_launch_before() {}

inline void begin_products() {}
inline WarpGroup& find_group() { return machine.block().warp_groups[machine.me->number / 128]; }
inline void commit_products() {
    ++machine.me->committed;
    find_group().meeting.wait(128);
}
template <int LATER> void wait_for_products() {
    WarpGroup& group = find_group();
    for (; group.done + LATER < machine.me->committed; ++group.done) {
        for (Task& product : group.batches.at(group.done)) product();
        group.batches[group.done].clear();
    }
}

// What the tensor cores read of an element: of 32 bits they ignore 13.
template <typename T> float read_element(const T& element) {
    if constexpr (sizeof(T) == 4) return __uint_as_float(__float_as_uint(element) & ~0x1fffu);
    else return element;
}

// Element k of row or column x of an operand: PTX ISA, "Matrix descriptor" and "Strides" of wgmma.
template <typename T> float read_operand(Block& block, uint64_t descriptor, bool along_m_or_n, int x, int k) {
    const auto field = [&](int bit) { return unsigned(descriptor >> bit & 0x3fff) * 16; };
    constexpr int kSpans[] = {16, 128, 64, 32};  // bytes of a row, by the kind of swizzle
    const int span = kSpans[descriptor >> 62], width = span / sizeof(T);
    const unsigned start = field(0), chunks = field(span == 16 ? 32 : 16), blocks = field(span == 16 ? 16 : 32);
    const unsigned offset = along_m_or_n ? x / width * chunks + k / 8 * blocks + k % 8 * span + x % width * sizeof(T)
                                         : x / 8 * blocks + x % 8 * 128 + k * sizeof(T);
    return read_element(block.swizzled<T>(start + offset, span));
}

// A sum as the tensor cores keep it: of products of 8 bits they have 14 bits, otherwise those of f32, and they cut off
// the rest.
inline float cut_sum(double sum) {
    constexpr int kKept = sizeof(TA) == 1 ? 14 : 24, kOfDouble = 53;
    uint64_t bits;
    memcpy(&bits, &sum, 8);
    bits &= ~0ull << (kOfDouble - kKept);
    memcpy(&sum, &bits, 8);
    return sum;
}

// Queue d += A B, or d = A B if not `adds`, of 64 rows, N columns and 32 bytes along K. `read_a` and `read_b` give the
// element of a row and k, or of a column and k, when the product is done.
template <int N, typename SUM, typename READ_A, typename READ_B>
void queue_product(SUM* sums, int adds, READ_A read_a, READ_B read_b) {
    const int lane = machine.me->number % 32, row = machine.me->number % 128 / 32 * 16 + lane / 4;
    WarpGroup& group = find_group();
    const size_t batch = machine.me->committed;
    if (group.batches.size() <= batch) group.batches.resize(batch + 1);
    group.batches[batch].push_back([=] {
        constexpr int kDeep = 32 / kBytes;
        float a[2][kDeep], b[kDeep];
        for (int k = 0; k < 2 * kDeep; ++k) a[k / kDeep][k % kDeep] = read_a(row + k / kDeep * 8, k % kDeep);
        for (int j = 0; j < N / 4; ++j) {
            for (int k = 0; k < kDeep; ++k) b[k] = read_b(j / 2 * 8 + lane % 4 * 2 + j % 2, k);
            for (int half = 0; half < 2; ++half) {
                SUM& kept = sums[j / 2 * 4 + half * 2 + j % 2];
                double sum = adds ? float(kept) : 0;
                for (int k = 0; k < kDeep; ++k) sum += double(a[half][k]) * b[k];
                kept = SUM(cut_sum(sum));
            }
        }
    });
}

template <int N, int MAJOR_A = 0, int MAJOR_B = 0> void multiply_add(float (&d)[N / 2], uint64_t a, uint64_t b, int adds) {
    Block& block = machine.block();
    queue_product<N>(
        d, adds, [=, &block](int m, int k) { return read_operand<TA>(block, a, MAJOR_A, m, k); },
        [=, &block](int n, int k) { return read_operand<TB>(block, b, MAJOR_B, n, k); });
}
template <int N, int MAJOR_A = 0, int MAJOR_B = 0> void multiply_add(unsigned (&d)[N / 4], uint64_t a, uint64_t b, int adds) {
    Block& block = machine.block();
    queue_product<N>(
        reinterpret_cast<__half*>(d), adds, [=, &block](int m, int k) { return read_operand<TA>(block, a, MAJOR_A, m, k); },
        [=, &block](int n, int k) { return read_operand<TB>(block, b, MAJOR_B, n, k); });
}
// The registers of A are read when the product is done, those of other lanes too.
template <int N> void multiply_add(float (&d)[N / 2], const unsigned (&a)[4], uint64_t b, int adds) {
    Block& block = machine.block();
    const int number = machine.me->number, warp = number / 32 * 32;
    block.registers[number].push_back(a);
    const size_t turn = block.registers[number].size() - 1;
    queue_product<N>(
        d, adds,
        [=, &block](int m, int k) {
            const unsigned* const held = block.registers[warp + m % 8 * 4 + k % 4][turn];
            return read_element(__uint_as_float(held[k / 4 * 2 + m % 16 / 8]));
        },
        [=, &block](int n, int k) { return read_operand<TB>(block, b, false, n, k); });
}
