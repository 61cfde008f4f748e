// Executes a kernel: reads commands from its connection and replies to each (channel.h).
//
//     bind <the fields of Binding>     -> bound
//     time FIRST LAUNCHES              -> seconds S N     on operand set FIRST and those after it in turn; N: see
//                                                         `absent` in block.h
//
// or with `fault TEXT`, after which it exits. A crash ends it with the signal of the crash.
#include "workers.h"

namespace gb {

void fault(const char* format, ...) {
    char text[kComplaint];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    if (connection < 0) memcpy(control->complaint, text, sizeof text);  // this is a worker
    else reply("fault", text);
    _exit(1);
}

static double now() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

static dim3 shape() {
    const unsigned x = small(), y = small(), z = small();
    return {x, y, z};
}

// Map `bytes` of a file, shared by all processes, and close it: a kernel that writes to all its
// descriptors must not write into operands.
static char* map(int file, size_t bytes) {
    const size_t margin = 64 << 20;  // unmapped on both sides, so that a stray access faults
    char* room = static_cast<char*>(mmap(nullptr, bytes + 2 * margin, PROT_NONE,
                                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (room == MAP_FAILED) fault("cannot map the operands: %s", strerror(errno));
    void* place = mmap(room + margin, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0);
    if (place == MAP_FAILED) fault("cannot map the operands: %s", strerror(errno));
    close(file);
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
    arguments.alpha = real(), arguments.beta = real();
    const size_t count = large();
    double* numbers = new double[count];
    for (size_t i = 0; i < count; ++i) numbers[i] = real();
    arguments.numbers = numbers;
    const int scratch = small();
    const size_t scratch_bytes = large(), workspace = large();
    if (scratch_bytes) arguments.workspace = map(scratch, scratch_bytes) + workspace;
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
    await_workers();
    reply("bound", "");
}

static void time_launches() {
    turn = large();
    const unsigned launches = small();
    const double begin = now();
    for (unsigned i = 0; i < launches; ++i) launch();
    char seconds[60];
    const double elapsed = now() - begin;
    snprintf(seconds, sizeof seconds, "%.9e %u", elapsed, control->absent.load());
    reply("seconds", seconds);
}

static void serve() {
    while (const char* command = read_command()) {
        if (!strcmp(command, "bind")) bind();
        else if (!strcmp(command, "time")) time_launches();
        else fault("unknown command %s", command);
    }
}

}  // namespace gb

// The argument is the descriptor of the connection.
int main(int, char** arguments) {
    setvbuf(stdout, nullptr, _IOLBF, 0);
    gb::open_connection(atoi(arguments[1]));
    gb::serve();
    gb::end_workers();
}
