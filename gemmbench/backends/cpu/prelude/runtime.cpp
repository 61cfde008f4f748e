// Executes a kernel: reads commands from its input, one per line, and answers each with one line.
//
//     shared                           -> bytes N         static shared memory of a block
//     bind <the fields of Binding>     -> bound
//     time FIRST LAUNCHES              -> seconds S       on operand set FIRST and those after it in turn
//
// or with `fault TEXT`, after which it exits. A crash ends it with the signal of the crash.
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/resource.h>

#include "workers.h"

namespace gb {

static int reply;  // the parent reads this; output of a kernel goes to stderr

void fault(const char* format, ...) {
    va_list values;
    va_start(values, format);
    char text[400];
    vsnprintf(text, sizeof text, format, values);
    dprintf(reply, "fault %s\n", text);
    _exit(1);
}

static double now() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

template <class T> static T number(const char* format) {
    T value;
    if (scanf(format, &value) != 1) fault("a command is not understood");
    return value;
}
static unsigned small() { return number<unsigned>("%u"); }
static size_t large() { return number<size_t>("%zu"); }

static dim3 shape() {
    const unsigned x = small(), y = small(), z = small();
    return {x, y, z};
}

// Map `bytes` of a file, or of zeros if the file is -1, shared by all processes.
static char* map(int file, size_t bytes) {
    const size_t margin = 64 << 20;  // unmapped on both sides, so that a stray access faults
    char* room = static_cast<char*>(mmap(nullptr, bytes + 2 * margin, PROT_NONE,
                                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (room == MAP_FAILED) fault("cannot map the operands: %s", strerror(errno));
    const int kind = MAP_SHARED | MAP_FIXED | (file < 0 ? MAP_ANONYMOUS : 0);
    void* place = mmap(room + margin, bytes, PROT_READ | PROT_WRITE, kind, file, 0);
    if (place == MAP_FAILED) fault("cannot map the operands: %s", strerror(errno));
    return static_cast<char*>(place);
}

static void read_binding() {
    const int file = small();
    binding.memory = map(file, large());
    binding.steps = large();
    binding.step = new Step[binding.steps];
    for (size_t i = 0; i < binding.steps; ++i) {
        const dim3 grid = shape(), block = shape();
        binding.step[i] = {grid, block, (large() + kPage - 1) / kPage * kPage};
    }
    binding.timed = small();
    binding.reversed = small();
    binding.processes = small();
    Arguments& arguments = binding.arguments;
    arguments.M = small(), arguments.N = small(), arguments.K = small();
    arguments.alpha = number<double>("%lf"), arguments.beta = number<double>("%lf");
    if (const size_t bytes = large()) arguments.workspace = map(-1, bytes);
    binding.bytes = {large(), large(), large(), 0};
    binding.count = large();
    binding.sets = new Set[binding.count];
    for (size_t i = 0; i < binding.count; ++i) binding.sets[i] = {large(), large(), large(), large()};
}

static void bind() {
    read_binding();
    control = static_cast<Control*>(
        mmap(nullptr, sizeof(Control), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    unsigned threads = 0;
    for (size_t i = 0; i < binding.steps; ++i) {
        const dim3 block = binding.step[i].block;
        threads = std::max(threads, block.x * block.y * block.z);
    }
    prepare_threads(threads, binding.reversed);
    start_workers();
    touch_operands();
    dprintf(reply, "bound\n");
}

static void time_launches() {
    turn = large();
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
        else if (!strcmp(command, "shared")) dprintf(reply, "bytes %td\n", gb_shared_end - gb_shared_begin);
        else fault("unknown command %s", command);
    }
}

}  // namespace gb

int main() {
    gb::reply = dup(STDOUT_FILENO);
    dup2(STDERR_FILENO, STDOUT_FILENO);
    setvbuf(stdout, nullptr, _IOLBF, 0);
    const rlimit none{0, 0};
    setrlimit(RLIMIT_CORE, &none);  // a crash of a kernel must leave no core file
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    gb::serve();
    gb::end_workers();
}
