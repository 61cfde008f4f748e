// Executes a kernel whose text was compiled with hooks (hooks.h), one block at a time, and reports what is wrong with
// its accesses and its barriers, or has them counted (counts.h). If SAMPLED, only blocks at the corners and in the
// middle of the grid run, because the operands are too large to touch completely. Commands and replies are as in
// ../runtime.cpp:
//
//     bind GRANULE SAMPLED M N K alpha beta NUMBERS REGIONS STEPS   -> bound
//     watch SECONDS                                         -> seen {...}     as JSON
//     count SECONDS                                         -> seen {...}     as JSON
//
// NUMBERS, REGIONS and STEPS are lists, each after its length; see bind and read_regions.
#include <signal.h>

#define GB_WATCHED
#include "block.h"
#include "counts.h"
#include "faults.h"
#include "hooks.h"
#include "regions.h"
#include "sample.h"
#include "shadow.h"

extern char gb_shared_begin[], gb_shared_end[];  // by watch.ld
extern "C" char __executable_start[], etext[], _end[];
constexpr size_t kDynamic = 228 << 10;
alignas(65536) __attribute__((section(".bss.gb_dynamic"))) char gb_dynamic_shared[kDynamic];

namespace gb {

int last_return;

// An instruction that touches memory.
struct Site {
    uintptr_t at;
    int region;  // where its last access was: most stay there
    bool write;
};

struct Step {
    dim3 grid, block;
    size_t shared;  // dynamic bytes
};

static std::vector<Site> sites;
static std::vector<uint16_t> site_at;  // by offset of the address in the program; 0: none yet
static std::vector<Step> steps;
static Arguments launch;
constexpr size_t kMostNumbers = 1 << 12;
static double numbers[kMostNumbers];  // static, so that the call, which reads them, is no stray access
static unsigned element_of_shared = 4;

static bool watching, sampled;
static uint32_t block_number, first_block;   // from 1; of the launch
static uint32_t passed[kThreads];            // barriers of the block
static uint16_t exchanges[kThreads];         // barriers of the warp
static uintptr_t waits_at[kThreads];         // return address of the last barrier
static int left_at[kThreads];                // line of the return of a thread, 0 if not known; -1: it has not left
static uintptr_t last_access;
static std::vector<bool> fenced;  // by block: it has published what it wrote, by __threadfence
static bool has_looked;           // this block has used an atomic function, by which it may learn of that
static size_t smallest = 16;  // bytes of an access: with larger granules, neighbours would seem to race

static std::string name_thread(const char* key, unsigned number) { return name_index(key, index_of[number]); }

static std::string name_place() { return name_index("block", blockIdx) + name_thread("thread", thread); }

static std::string name_element(const Region& region, uintptr_t address) {
    const long offset = long(address) - long(region.begin), size = region.element;
    const long element = offset < 0 ? -((-offset + size - 1) / size) : offset / size;
    return format(", \"region\": %u, \"element\": %ld, \"elements\": %lu", region.number, element,
                  (region.end - region.begin) / region.element) + name_place();
}

static unsigned find_site(uintptr_t at, bool write) {
    uint16_t& number = site_at[at - reinterpret_cast<uintptr_t>(__executable_start)];
    if (!number) {
        if (sites.size() > UINT16_MAX) fault("the kernel has too many accesses to watch");
        number = sites.size();
        sites.push_back({at, -1, write});
    }
    return number;
}

// The block that was the `one`-th to run in this launch.
static std::string name_block(uint32_t one) {
    const uint32_t number = one - first_block;
    return name_index("other_block", {number % gridDim.x, number / gridDim.x % gridDim.y, number / gridDim.x / gridDim.y});
}

static void report_race(const Region& region, uintptr_t address, const Access& before, uintptr_t at, bool write) {
    const Site& site = sites[before.site];
    Fault* fault = note_fault("race", at, site.at);
    if (!fault) return;
    fault->example = name_element(region, address) + name_thread("other_thread", before.thread) + name_block(before.block) +
                     format(", \"writes\": %s, \"other_writes\": %s", write ? "true" : "false",
                            site.write ? "true" : "false");
}

// Whether more than barriers orders another block's access, as where the last block adds up what others wrote.
static bool is_published(const Access& before) {
    return before.block != block_number && has_looked && fenced[before.block];
}

static void check_access(const Region& region, unsigned number, uintptr_t address, size_t bytes, bool write,
                         bool atomic) {
    const uintptr_t at = sites[number].at;
    if (address < region.begin || address + bytes > region.end) {
        if (is_guard(address)) return;
        const uintptr_t first = address < region.begin ? address : std::max(address, region.end);
        if (Fault* fault = note_fault(write ? "writes outside" : "reads outside", at))
            fault->example = name_element(region, first);
        return;
    }
    if (write && region.space == Space::input)
        if (Fault* fault = note_fault("writes input", at)) fault->example = name_element(region, address);
    if (address % bytes && !(bytes & (bytes - 1)) && bytes <= 16)
        if (Fault* fault = note_fault("misaligned", at))
            fault->example = name_element(region, address) + format(", \"bytes\": %zu", bytes);
    if (!region.cells) return;
    smallest = std::min(smallest, bytes);
    const bool is_shared = region.space == Space::shared;
    const Access now{block_number, passed[thread], exchanges[thread], uint16_t(thread), uint16_t(number), atomic};
    const size_t begin = (address - region.begin) >> granule, end = (address - region.begin + bytes - 1) >> granule;
    for (size_t i = begin; i <= end; ++i) {
        Cell& cell = region.cells[i];
        if (!write && is_shared && cell.write.block != block_number)
            if (Fault* fault = note_fault("read before written", at)) fault->example = name_element(region, address);
        Access before;
        if (touch(cell, now, write, is_shared ? block_number : first_block, before) && !is_published(before))
            report_race(region, address, before, at, write);
    }
}

void watch_access(void* pointer, size_t bytes, bool write, bool atomic, void* caller) {
    if (!watching) return;
    last_return = 0;
    has_looked |= atomic;
    const uintptr_t address = reinterpret_cast<uintptr_t>(pointer), at = reinterpret_cast<uintptr_t>(caller);
    const uintptr_t frame = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
    if (address - frame < kStack) return;  // the thread's own variables: registers of a GPU
    last_access = at;
    const unsigned number = find_site(at, write);
    int& region = sites[number].region;
    if (region < 0 || address - regions[region].low >= regions[region].high - regions[region].low) {
        region = find_region(address);
        if (region < 0) {
            const uintptr_t program = reinterpret_cast<uintptr_t>(__executable_start);
            if (address - program < uintptr_t(_end - __executable_start)) return;  // constants, and our own data
            if (Fault* fault = note_fault(write ? "writes nowhere" : "reads nowhere", at))
                fault->example = format(", \"address\": %lu", address) + name_place();
            return;
        }
    }
    if (counter.is_on) counter.note(number, at, region, address, bytes, write, passed[thread] + exchanges[thread]);
    else check_access(regions[region], number, address, bytes, write, atomic);
}

void watch_fence() {
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (watching) fenced[block_number] = true;
}

void watch_index(long index, const char* type, void* caller) {
    if (!watching) return;
    if (Fault* fault = note_fault("index", reinterpret_cast<uintptr_t>(caller)))
        fault->example = format(", \"index\": %ld, \"type\": ", index) + quote(type) + name_place();
}

void watch_overflow(long left, char sign, long right, const char* type, void* caller) {
    if (!watching) return;
    if (Fault* fault = note_fault("overflow", reinterpret_cast<uintptr_t>(caller)))
        fault->example = format(", \"left\": %ld, \"sign\": \"%c\", \"right\": %ld, \"type\": ", left, sign, right) +
                         quote(type) + name_place();
}

static void note_start() { last_return = 0; }
static void note_end() { left_at[thread] = last_return; }
static void note_passage(bool block) {
    last_return = 0;
    if (block) ++passed[thread];
    else ++exchanges[thread];
}
static void note_arrival(void* call) { waits_at[thread] = reinterpret_cast<uintptr_t>(call); }

// All threads that have not returned wait at __syncthreads: check that they wait at the same one and that none has
// returned.
static void note_release() {
    unsigned waiting = threads, other = threads, gone = 0, example = 0;
    for (unsigned t = 0; t < threads; ++t) {
        if (left_at[t] >= 0) ++gone, example = t;
        else if (waiting == threads) waiting = t;
        else if (waits_at[t] != waits_at[waiting]) other = t;
    }
    if (gone && waiting < threads)
        if (Fault* fault = note_fault("absent", waits_at[waiting]))
            fault->example = format(", \"gone\": %u, \"threads\": %u, \"line\": %d", gone, threads, left_at[example]) +
                             name_index("block", blockIdx) + name_thread("thread", example);
    if (other < threads)
        if (Fault* fault = note_fault("divergent", waits_at[waiting], waits_at[other]))
            fault->example = name_index("block", blockIdx) + name_thread("thread", waiting) +
                             name_thread("other_thread", other);
}

static void answer() {
    watching = false;
    const std::string counts = counter.is_on ? counter.list() : "";
    reply("seen", (format("{\"smallest\": %zu, \"faults\": ", smallest) + list_faults() + counts + "}").c_str());
}

// The process cannot continue; if a kernel is running, because of what the kernel did.
void fault(const char* pattern, ...) {
    char text[400];
    va_list values;
    va_start(values, pattern);
    vsnprintf(text, sizeof text, pattern, values);
    if (!watching) {
        reply("fault", text);
        _exit(1);
    }
    unsigned waiting = threads, other = threads;
    for (unsigned t = 0; t < threads; ++t) {
        if (left_at[t] >= 0) continue;
        if (waiting == threads) waiting = t;
        else if (waits_at[t] != waits_at[waiting]) other = t;
    }
    if (other == threads) other = waiting;
    if (waiting < threads)
        if (Fault* fault = note_fault("stuck", waits_at[waiting], waits_at[other]))
            fault->example = name_index("block", blockIdx) + name_thread("thread", waiting) +
                             name_thread("other_thread", other);
    answer();
    _exit(0);
}

static void note_end_by_signal(int signal) {
    if (watching) {
        const bool refuses = signal == SIGABRT || signal == SIGILL;  // an assertion, or __trap
        if (Fault* fault = refuses ? nullptr : note_fault(signal == SIGALRM ? "endless" : "crash", last_access))
            fault->example = format(", \"signal\": %d", signal) + name_place();
        answer();
    }
    _exit(0);
}

static void catch_signals() {
    static char stack[256 << 10];
    stack_t place{};
    place.ss_sp = stack, place.ss_size = sizeof stack;
    sigaltstack(&place, nullptr);
    struct sigaction action{};
    action.sa_handler = note_end_by_signal;
    action.sa_flags = SA_ONSTACK | SA_RESETHAND;
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM}) sigaction(signal, &action, nullptr);
}

static dim3 read_shape() {
    const unsigned x = small(), y = small(), z = small();
    return {x, y, z};
}

// BYTES of a D apart from C, or 0; FILE BYTES ELEMENT of A, B, C, bias, residual, scale, workspace, offsets, scale_a and
// scale_b, without a file -1; then ADDRESS BYTES ROOM of static arrays, the room 0 for a guard.
static void read_regions() {
    char** const operands[] = {&launch.A,         &launch.B,       &launch.C,       &launch.bias,   &launch.residual, &launch.scale,
                               &launch.workspace, &launch.offsets, &launch.scale_a, &launch.scale_b};
    const size_t apart = large();
    const Space spaces[] = {Space::input, Space::input, apart ? Space::input : Space::output, Space::input,
                            Space::input, Space::input, Space::scratch, Space::input,
                            Space::input, Space::input};
    unsigned number = 0;
    size_t element_of_c = 0;
    for (; number < 10; ++number) {
        const int file = int(real());
        const size_t bytes = large(), element = large();
        if (number == 2) element_of_c = element;
        if (bytes) *operands[number] = add_operand(spaces[number], number, file, bytes, element,
                                                    spaces[number] == Space::output && !sampled);
    }
    launch.D = apart ? add_operand(Space::output, number, -1, apart, element_of_c, !sampled) : launch.C;
    ++number;
    element_of_shared = small();
    add_shared(number++, reinterpret_cast<uintptr_t>(gb_dynamic_shared), 0, kDynamic + kNear, element_of_shared);
    for (unsigned count = small(); count; --count, ++number) {
        const size_t begin = large(), bytes = large(), room = large();
        if (room) add_shared(number, begin, bytes, room, element_of_shared);
        else guards.push_back({begin, begin + bytes});
    }
}

static void bind() {
    granule = small();
    sampled = small();
    launch.M = small(), launch.N = small(), launch.K = small();
    launch.alpha = real(), launch.beta = real();
    const size_t count = large();
    if (count > kMostNumbers) fault("the kernel has too many arguments to watch");
    for (size_t i = 0; i < count; ++i) numbers[i] = real();
    launch.numbers = numbers;
    read_regions();
    unsigned most = 0;
    for (unsigned left = small(); left; --left) {
        const dim3 grid = read_shape(), block = read_shape();
        steps.push_back({grid, block, large()});
        most = std::max(most, block.x * block.y * block.z);
    }
    sites.push_back({});  // 0 is none
    site_at.resize(etext - __executable_start + 1);
    prepare_threads(most, false);
    catch_signals();
    reply("bound", "");
}

static void start_block(uint64_t number) {
    blockIdx.x = number % gridDim.x;
    blockIdx.y = number / gridDim.x % gridDim.y;
    blockIdx.z = number / gridDim.x / gridDim.y;
    ++block_number;
    fenced.resize(block_number + 1);
    has_looked = false;
    std::fill(passed, passed + threads, 0);
    std::fill(exchanges, exchanges + threads, 0);
    std::fill(waits_at, waits_at + threads, 0);
    std::fill(left_at, left_at + threads, -1);
    for (const Region& region : regions)  // NaN, as in a verification
        if (region.space == Space::shared) memset(reinterpret_cast<void*>(region.begin), 0xff, region.end - region.begin);
}

static dim3 prepare_step(const Step& step) {
    gridDim = step.grid;
    shape_block(step.block);
    first_block = block_number + 1;
    for (Region& region : regions)
        if (region.begin == reinterpret_cast<uintptr_t>(gb_dynamic_shared)) region.end = region.begin + step.shared;
    return step.grid;
}

static void run_numbered_block(uint64_t number) {
    start_block(number);
    watching = true;
    run_block(launch);
    watching = false;
}

static void run_step(const Step& step) {
    const dim3 grid = prepare_step(step);
    const uint64_t blocks = count_blocks(grid);
    for (uint64_t i = 0; i < blocks; ++i) {
        if (sampled) i = find_next_sample(grid, i);
        if (i < blocks) run_numbered_block(i);
    }
}

// Elements of C that no thread has written.
static void find_unwritten() {
    for (const Region& region : regions) {
        if (region.space != Space::output) continue;
        const size_t each = std::max(1u, region.element >> granule);
        const size_t elements = (region.end - region.begin) / region.element;
        size_t missing = 0, first = 0;
        for (size_t i = 0; i < elements; ++i)
            if (!region.cells[i * each].write.block && !missing++) first = i;
        if (!missing) continue;
        if (Fault* fault = note_fault("never written", 0))
            fault->example = format(", \"region\": %u, \"missing\": %zu, \"elements\": %zu, \"element\": %zu",
                                    region.number, missing, elements, first);
    }
}

static void watch() {
    alarm(small());
    for (const Step& step : steps) {
        launch.step = unsigned(&step - steps.data());
        run_step(step);
    }
    if (!sampled) find_unwritten();
    answer();
}

static void count() {
    alarm(small());
    counter.is_on = true;
    for (const Step& step : steps) {
        launch.step = unsigned(&step - steps.data());
        counter.count_launch(prepare_step(step), run_numbered_block);
    }
    answer();
}

static void serve() {
    while (const char* command = read_command()) {
        if (!strcmp(command, "bind")) bind();
        else if (!strcmp(command, "watch")) watch();
        else if (!strcmp(command, "count")) count();
        else fault("unknown command %s", command);
    }
}

}  // namespace gb

// The argument is the descriptor of the connection.
int main(int, char** arguments) {
    setvbuf(stdout, nullptr, _IOLBF, 0);
    gb::open_connection(atoi(arguments[1]));
    gb::serve();
}
