// Tries launches of a kernel: reads one launch per line and runs it in a child, which may crash.
//
//     MEMORY BYTES REPLIES   arguments of the program: descriptor and size of the operands, descriptor for replies
//     grid block shared reversed seconds A B C scratch numbers...    a line; the four are offsets in the operands
//
// The reply is the exit code of the child, or minus the signal that ended it.
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "block.h"

extern char gb_shared_begin[], gb_shared_end[];  // by shared.ld
alignas(kPage) char gb_dynamic_shared[228 << 10];

namespace gb {

void fault(const char*, ...) { _exit(3); }

static dim3 read_shape(std::istringstream& line) {
    dim3 shape;
    line >> shape.x >> shape.y >> shape.z;
    return shape;
}

[[noreturn]] static void run(std::istringstream& line, int file, size_t bytes) {
    const dim3 grid = read_shape(line), block = read_shape(line);
    size_t shared, reversed, seconds, at[4];
    line >> shared >> reversed >> seconds;
    for (size_t& offset : at) line >> offset;
    std::vector<double> numbers;
    for (double number; line >> number;) numbers.push_back(number);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(seconds);
    const size_t margin = 64 << 20;  // unmapped on both sides, so that a stray access faults
    char* room = static_cast<char*>(mmap(nullptr, bytes + 2 * margin, PROT_NONE,
                                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (room == MAP_FAILED) _exit(4);
    void* place = mmap(room + margin, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0);
    if (place == MAP_FAILED) _exit(4);
    char* memory = static_cast<char*>(place);
    Arguments arguments{};
    arguments.A = memory + at[0], arguments.B = memory + at[1];
    arguments.C = memory + at[2], arguments.workspace = memory + at[3];
    arguments.numbers = numbers.data();
    gridDim = grid;
    prepare_threads(block.x * block.y * block.z, reversed);
    shape_block(block);
    const unsigned long blocks = (unsigned long)grid.x * grid.y * grid.z;
    for (unsigned long i = 0; i < blocks; ++i) {
        const unsigned long index = reversed ? blocks - 1 - i : i;
        blockIdx.x = index % grid.x, blockIdx.y = index / grid.x % grid.y, blockIdx.z = index / grid.x / grid.y;
        memset(gb_shared_begin, 0xff, gb_shared_end - gb_shared_begin);
        memset(gb_dynamic_shared, 0xff, shared);
        run_block(arguments);
    }
    _exit(0);
}

}  // namespace gb

int main(int, char** given) {
    const int file = atoi(given[1]), replies = atoi(given[3]);
    const size_t bytes = strtoull(given[2], nullptr, 10);
    for (std::string text; std::getline(std::cin, text);) {
        std::istringstream line(text);
        const pid_t child = fork();
        if (child == 0) {
            close(replies);
            gb::run(line, file, bytes);
        }
        int status = 0;
        if (child < 0 || waitpid(child, &status, 0) < 0) return 1;
        dprintf(replies, "%d\n", WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status));
    }
}
