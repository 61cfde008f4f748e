// The executor of a kernel: reads commands from its input, one a line, and answers one line each.
//
//     shared                           -> bytes N         static shared memory of a block
//     bind <the fields of Binding>     -> bound
//     time LAUNCHES                    -> seconds S       on the sets in turn, from where the last window ended
//
// or `fault TEXT`, after which it ends; a crash ends it with the signal of the crash. Blocks are
// dealt to one process a core: this one and helpers, which share the operands and little else.
#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

#include "block.h"

extern char gb_shared_begin[], gb_shared_end[];  // by shared.ld
alignas(1024) char gb_dynamic_shared[228 << 10];

namespace gb {

using Word = std::atomic<unsigned>;

struct Set {
    size_t A, B, C;  // offsets in the operand memory
};

struct Binding {
    dim3 grid, block;
    unsigned shared = 0;  // dynamic bytes
    bool filled = false;  // shared memory is full of NaN when a block begins
    bool reversed = false;
    unsigned workers = 1;
    char* memory = nullptr;
    Arguments arguments{};
    size_t count = 0;
    Set* sets = nullptr;
};

// What the processes share beside the operands.
struct Control {
    Word launch, running;  // launches begun; helpers that have not finished the last one
    std::atomic<unsigned long> next;  // the next block to run
    size_t set;
};

static Binding binding;
static Control* control;
static unsigned helpers;
static size_t turn;  // launches so far
static int reply;    // the parent listens here; what a kernel prints goes to stderr

void fault(const char* format, ...) {
    va_list values;
    va_start(values, format);
    char text[400];
    vsnprintf(text, sizeof text, format, values);
    dprintf(reply, "fault %s\n", text);
    _exit(1);
}

// Waiting and waking, between processes

// Wait while `word` is `value`: first awake, for the next launch mostly comes at once. Returns
// early every 20 ms.
static void wait_while(Word& word, unsigned value) {
    for (int spin = 0; spin < 2000; ++spin) {
        if (word.load(std::memory_order_acquire) != value) return;
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
    }
    const timespec limit{0, 20'000'000};
    syscall(SYS_futex, &word, FUTEX_WAIT, value, &limit, nullptr, 0);
}

static void wake(Word& word) { syscall(SYS_futex, &word, FUTEX_WAKE, 1 << 20, nullptr, nullptr, 0); }

// If a helper died, die the same death: the parent looks at this process only.
static void share_fate() {
    int status;
    if (waitpid(-1, &status, WNOHANG) <= 0) return;
    if (WIFSIGNALED(status)) raise(WTERMSIG(status));
    _exit(1);
}

// Running

static void fill_shared() {
    memset(gb_shared_begin, 0xff, gb_shared_end - gb_shared_begin);
    memset(gb_dynamic_shared, 0xff, binding.shared);
}

static void run_blocks() {
    const Set& set = binding.sets[control->set];
    Arguments arguments = binding.arguments;
    arguments.A = binding.memory + set.A;
    arguments.B = binding.memory + set.B;
    arguments.C = binding.memory + set.C;
    const unsigned long blocks = (unsigned long)gridDim.x * gridDim.y * gridDim.z;
    for (unsigned long taken; (taken = control->next.fetch_add(1)) < blocks;) {
        const unsigned long block = binding.reversed ? blocks - 1 - taken : taken;
        blockIdx.x = block % gridDim.x;
        blockIdx.y = block / gridDim.x % gridDim.y;
        blockIdx.z = block / gridDim.x / gridDim.y;
        if (binding.filled) fill_shared();
        run_block(arguments);
    }
}

[[noreturn]] static void help(pid_t parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    for (unsigned seen = 0;; ++seen) {
        while (control->launch.load() == seen) wait_while(control->launch, seen);
        run_blocks();
        if (control->running.fetch_sub(1) == 1) wake(control->running);
    }
}

static void launch() {
    control->set = turn++ % binding.count;
    control->next = 0;
    control->running = helpers;
    control->launch.fetch_add(1);
    if (helpers) wake(control->launch);
    run_blocks();
    while (const unsigned left = control->running.load()) {
        wait_while(control->running, left);
        share_fate();
    }
}

static double now() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

// Commands

template <class T> static T number(const char* format) {
    T value;
    if (scanf(format, &value) != 1) fault("a command is not understood");
    return value;
}
static unsigned small() { return number<unsigned>("%u"); }
static size_t large() { return number<size_t>("%zu"); }

static char* map(int file, size_t bytes) {
    const size_t margin = 64 << 20;  // nothing lies near the operands, so that a wild access is seen
    char* room = static_cast<char*>(mmap(nullptr, bytes + 2 * margin, PROT_NONE,
                                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (room == MAP_FAILED) fault("cannot map the operands: %s", strerror(errno));
    void* place = mmap(room + margin, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0);
    if (place == MAP_FAILED) fault("cannot map the operands: %s", strerror(errno));
    return static_cast<char*>(place);
}

static void read_binding() {
    const int file = small();
    binding.memory = map(file, large());
    binding.grid.x = small(), binding.grid.y = small(), binding.grid.z = small();
    binding.block.x = small(), binding.block.y = small(), binding.block.z = small();
    binding.shared = small();
    binding.filled = small();
    binding.reversed = small();
    binding.workers = small();
    Arguments& arguments = binding.arguments;
    arguments.M = small(), arguments.N = small(), arguments.K = small();
    arguments.alpha = number<double>("%lf"), arguments.beta = number<double>("%lf");
    binding.count = large();
    binding.sets = new Set[binding.count];
    for (size_t i = 0; i < binding.count; ++i) binding.sets[i] = {large(), large(), large()};
}

static void bind() {
    read_binding();
    gridDim = binding.grid;
    control = static_cast<Control*>(
        mmap(nullptr, sizeof(Control), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    prepare_threads(binding.block, binding.reversed);
    const unsigned long blocks = (unsigned long)gridDim.x * gridDim.y * gridDim.z;
    const pid_t parent = getpid();
    while (helpers + 1 < binding.workers && helpers + 1 < blocks) {
        const pid_t child = fork();
        if (child == 0) help(parent);
        if (child < 0) break;  // fewer processes only take longer
        ++helpers;
    }
    dprintf(reply, "bound\n");
}

static void time_launches() {
    const unsigned launches = small();
    const double begin = now();
    for (unsigned i = 0; i < launches; ++i) launch();
    dprintf(reply, "seconds %.9e\n", now() - begin);
}

static void serve() {
    char command[16];
    while (scanf("%15s", command) == 1) {
        if (!strcmp(command, "bind")) bind();
        else if (!strcmp(command, "time")) time_launches();
        else if (!strcmp(command, "shared")) dprintf(reply, "bytes %zu\n", size_t(gb_shared_end - gb_shared_begin));
        else fault("unknown command %s", command);
    }
}

}  // namespace gb

int main() {
    gb::reply = dup(STDOUT_FILENO);
    dup2(STDERR_FILENO, STDOUT_FILENO);
    setvbuf(stdout, nullptr, _IOLBF, 0);
    const rlimit none{0, 0};
    setrlimit(RLIMIT_CORE, &none);  // a kernel that crashes is an answer, not a file
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    gb::serve();
}
