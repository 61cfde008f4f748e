// Executes a kernel: reads commands from its connection and replies to each (channel.h).
//
//     bind <the fields of Binding>     -> bound
//     time FIRST LAUNCHES              -> seconds S N     on operand set FIRST and those after it in turn; N: see
//                                                         `absent` in block.h
//
// or with `fault TEXT`, after which it exits. A crash ends it with the signal of the crash, after a reply `crash TEXT`
// if it is known what was accessed.
#include <cassert>
#include <ucontext.h>

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

constexpr size_t kNear = 1 << 20;  // bytes after static shared memory that a wrong index may reach

constexpr size_t kFar = 64 << 20;  // bytes from an operand that no wrong index reaches

static size_t measure_distance(const char* begin, size_t bytes, const char* at) {
    return at < begin ? begin - at : at < begin + bytes ? 0 : at - (begin + bytes);
}

// Whether a crash was a write, if the processor reports that.
static bool is_write([[maybe_unused]] const void* context) {
#if defined(__x86_64__) && defined(REG_ERR)
    return static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR] & 2;
#else
    return false;
#endif
}

// Record an access `at` far from all operands. A read may have been meant for any of them; only C is written.
static void note_access(const Set& set, const char* at, const void* context) {
    const char* c = binding.memory + set.C;
    const size_t from_c = measure_distance(c, binding.bytes.C, at);
    const size_t others[] = {measure_distance(binding.memory + set.A, binding.bytes.A, at),
                             measure_distance(binding.memory + set.B, binding.bytes.B, at)};
    if (is_write(context) && from_c && from_c < kFar) {
        snprintf(control->crash, kComplaint, "a write %zu bytes %s C", from_c, at < c ? "before" : "after the end of");
    } else if (from_c < kFar || others[0] < kFar || others[1] < kFar) {
        snprintf(control->crash, kComplaint, "an access outside A, B and C");
    }
}

// Record what was accessed; then the same access ends the process by its signal.
static void note_crash(int, siginfo_t* found, void* context) {
    if (found->si_code != SEGV_MAPERR && found->si_code != SEGV_ACCERR) return;
    const char* at = static_cast<const char*>(found->si_addr);
    const bool is_static = at >= gb_shared_begin && at < gb_shared_end + kNear;
    const bool is_dynamic = at >= gb_dynamic_shared && at < gb_dynamic_shared + sizeof gb_dynamic_shared;
    if (at < reinterpret_cast<const char*>(kPage)) {
        snprintf(control->crash, kComplaint, "an access through a null pointer");
    } else if (is_static || is_dynamic) {
        snprintf(control->crash, kComplaint, "an access to shared memory outside its %zu static and %zu dynamic bytes",
                 size_t(gb_shared_end - gb_shared_begin), current ? current->shared : 0);
    } else {
        note_access(binding.sets[control->set], at, context);
    }
    if (connection >= 0 && *control->crash) reply("crash", control->crash);
}

static void watch_crashes() {
    static char stack[64 << 10];
    stack_t place{};
    place.ss_sp = stack, place.ss_size = sizeof stack;
    sigaltstack(&place, nullptr);
    struct sigaction action{};
    action.sa_sigaction = note_crash;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESETHAND;
    sigaction(SIGSEGV, &action, nullptr);
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

// Map `bytes` of a file, shared by all processes, and close the file: a kernel that writes to all its descriptors must
// not write into operands.
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

static Set read_set() {
    return {large(), large(), large(), large(), large(), large(), large(), large(), large(), large()};
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
    binding.bytes = read_set();
    binding.products = large();
    binding.stride = read_set();
    binding.count = large();
    binding.sets = new Set[binding.count];
    for (size_t i = 0; i < binding.count; ++i) binding.sets[i] = read_set();
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
    watch_crashes();
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

#ifdef __GLIBC__
// Called by assert in place of glibc's function, whose message begins with the name of this executable and the
// kernel's type.
extern "C" void __assert_fail(const char* condition, const char* file, unsigned line, const char*) noexcept {
    fprintf(stderr, "%s:%u: assertion `%s` failed\n", file, line, condition);
    abort();
}
#endif
