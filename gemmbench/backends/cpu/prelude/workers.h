// The processes that run a kernel, one per core: this one and its workers. They take blocks in turn
// and share little besides the operands.
#pragma once
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "block.h"
#include "channel.h"

extern char gb_shared_begin[], gb_shared_end[];  // by shared.ld

constexpr size_t kComplaint = 400;
alignas(kPage) char gb_dynamic_shared[228 << 10];

namespace gb {

using Word = std::atomic<unsigned>;

struct Set {
    size_t A, B, C, bias, residual, scale, scale_a, scale_b, D, offsets;
};

// One kernel of a launch.
struct Step {
    dim3 grid, block;
    size_t shared;  // dynamic bytes
};

struct Binding {
    size_t steps = 0;
    Step* step = nullptr;
    bool timed = true;    // otherwise every block starts with shared memory full of NaN
    bool reversed = false;
    unsigned processes = 1;
    char* memory = nullptr;
    Arguments arguments{};  // including the workspace, which all processes share
    Set bytes{};
    size_t products = 1;  // of a batch, each of which is launched
    Set stride{};         // bytes from one of them to the next
    size_t count = 0;
    Set* sets = nullptr;  // offsets in the memory
};

// What the processes share besides the operands.
struct Control {
    Word launch, running;  // launches begun; workers that have not finished the last one
    Word ready;  // workers that have touched the operands
    std::atomic<unsigned long> next;  // the next block to run
    size_t set, product;
    unsigned step;
    std::atomic<unsigned> absent;  // of all processes: see block.h
    bool over;  // workers must exit
    char complaint[kComplaint];  // of a worker that has ended
    char crash[kComplaint];      // where a process crashed, "" if that is not known
};

static Binding binding;
static Control* control;
static unsigned workers;
static size_t turn;  // modulo the operand sets: which of them the next launch uses
static const Step* current;  // the one for which this process is prepared

// Return when `word` is no longer `value`, or at the latest after `limit`; may return early. Spins first,
// because within a window the next launch follows at once.
static void wait_while(Word& word, unsigned value, const timespec* limit) {
    for (int spin = 0; spin < 2000; ++spin) {
        if (word.load(std::memory_order_acquire) != value) return;
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
    }
    syscall(SYS_futex, &word, FUTEX_WAIT, value, limit, nullptr, 0);
}

static void wake(Word& word) { syscall(SYS_futex, &word, FUTEX_WAKE, 1 << 20, nullptr, nullptr, 0); }

// If a worker died, die the same way: the parent watches only this process.
static void share_fate() {
    int status;
    if (waitpid(-1, &status, WNOHANG) <= 0) return;
    if (WIFSIGNALED(status)) {
        if (*control->crash) reply("crash", control->crash);
        raise(WTERMSIG(status));
    }
    if (*control->complaint) fault("%s", control->complaint);
    _exit(1);
}

static void fill_shared() {
    memset(gb_shared_begin, 0xff, gb_shared_end - gb_shared_begin);
    memset(gb_dynamic_shared, 0xff, current->shared);
}

// Prepare this process for a step. A block must not touch shared memory that it did not request: past the last
// page it gets SIGSEGV, and within it NaN.
static void enter(const Step& step) {
    if (current == &step) return;
    current = &step;
    gridDim = step.grid;
    shape_block(step.block);
    mprotect(gb_dynamic_shared, sizeof gb_dynamic_shared, PROT_READ | PROT_WRITE);
    mprotect(gb_dynamic_shared + step.shared, sizeof gb_dynamic_shared - step.shared, PROT_NONE);
}

static unsigned long block_count(dim3 grid) { return (unsigned long)grid.x * grid.y * grid.z; }

static void run_blocks() {
    enter(binding.step[control->step]);
    const Set& set = binding.sets[control->set];
    Arguments arguments = binding.arguments;
    arguments.A = binding.memory + set.A + control->product * binding.stride.A;
    arguments.B = binding.memory + set.B + control->product * binding.stride.B;
    arguments.C = binding.memory + set.C + control->product * binding.stride.C;
    arguments.bias = binding.memory + set.bias + control->product * binding.stride.bias;
    arguments.residual = binding.memory + set.residual + control->product * binding.stride.residual;
    arguments.scale = binding.memory + set.scale;
    arguments.scale_a = binding.memory + set.scale_a;
    arguments.scale_b = binding.memory + set.scale_b;
    arguments.D = binding.memory + set.D + control->product * binding.stride.D;
    arguments.offsets = binding.memory + set.offsets;
    arguments.step = control->step;
    const unsigned long blocks = block_count(gridDim);
    for (unsigned long taken; (taken = control->next.fetch_add(1)) < blocks;) {
        const unsigned long block = binding.reversed ? blocks - 1 - taken : taken;
        blockIdx.x = block % gridDim.x;
        blockIdx.y = block / gridDim.x % gridDim.y;
        blockIdx.z = block / gridDim.x / gridDim.y;
        if (!binding.timed) fill_shared();
        run_block(arguments);
    }
    if (absent > control->absent) control->absent = absent;
}

// Stay on the core of this index: when two processes wake, the system tends to put them on one
// core.
static void pin(unsigned place, const cpu_set_t& allowed) {
    cpu_set_t only;
    CPU_ZERO(&only);
    for (int core = 0; core < CPU_SETSIZE; ++core)
        if (CPU_ISSET(core, &allowed) && place-- == 0) CPU_SET(core, &only);
    sched_setaffinity(0, sizeof only, &only);  // fails if there is no such core; then the process is not pinned
}

static void touch(size_t offset, size_t bytes) {
    for (size_t at = 0; at < bytes; at += kPage)
        static_cast<void>(*static_cast<volatile char*>(binding.memory + offset + at));
}

// Touch every page of the operands now, so that no page fault falls into a timed window.
static void touch_operands() {
    for (size_t i = 0; i < binding.count; ++i) {
        touch(binding.sets[i].A, binding.bytes.A);
        touch(binding.sets[i].B, binding.bytes.B);
        touch(binding.sets[i].C, binding.bytes.C);
    }
}

[[noreturn]] static void work(pid_t parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    close_connection();
    touch_operands();
    control->ready.fetch_add(1);
    wake(control->ready);
    for (unsigned seen = 0;; ++seen) {
        while (control->launch.load() == seen) wait_while(control->launch, seen, nullptr);
        if (control->over) _exit(0);
        run_blocks();
        if (control->running.fetch_sub(1) == 1) wake(control->running);
    }
}

// Wait until all workers are ready, or they would disturb whatever is timed next.
static void await_workers() {
    const timespec glance{0, 20'000'000};
    for (unsigned ready; (ready = control->ready.load()) < workers;) {
        wait_while(control->ready, ready, &glance);
        share_fate();
    }
}

static void run_step(unsigned step) {
    control->step = step;
    control->next = 0;
    control->running = workers;
    control->launch.fetch_add(1);
    if (workers) wake(control->launch);
    run_blocks();
    const timespec glance{0, 20'000'000};
    while (const unsigned left = control->running.load()) {
        wait_while(control->running, left, &glance);
        share_fate();
    }
}

static void launch() {
    control->set = turn++ % binding.count;
    for (control->product = 0; control->product < binding.products; ++control->product)
        for (unsigned step = 0; step < binding.steps; ++step) run_step(step);
}

static void start_workers() {
    unsigned long blocks = 0;
    for (size_t i = 0; i < binding.steps; ++i) blocks = std::max(blocks, block_count(binding.step[i].grid));
    const pid_t parent = getpid();
    cpu_set_t allowed;
    sched_getaffinity(0, sizeof allowed, &allowed);
    if (binding.timed) pin(0, allowed);
    while (workers + 1 < binding.processes && workers + 1 < blocks) {
        const pid_t child = fork();
        if (child < 0) break;  // fewer processes are only slower
        ++workers;
        if (child > 0) continue;
        if (binding.timed) pin(workers, allowed);
        work(parent);
    }
}

static void end_workers() {
    if (!workers) return;
    control->over = true;
    control->launch.fetch_add(1);
    wake(control->launch);
    while (wait(nullptr) > 0) continue;
}

}  // namespace gb
