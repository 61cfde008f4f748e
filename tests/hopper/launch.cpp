// Launches the kernel in KERNEL once: `launch FOLDER M N K BETA GRID_X GRID_Y THREADS CLUSTER [WIDTH HEIGHT PITCH
// BOX_WIDTH BOX_HEIGHT OPERAND]...`. FOLDER holds the files A, B, C and bias; C is written back.
#include <fstream>
#include <iterator>
#include <string>

#include "machine.h"

Index threadIdx, blockIdx, gridDim;
char shared[1];
Machine machine;

#include KERNEL

static std::string folder;
static std::vector<char> read_file(const char* name) {
    std::ifstream file(folder + "/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

static int M, N, K;
static float beta;
static std::vector<char> A, B, C, bias;
static std::vector<CUtensorMap> maps;

static void run_thread() {
    gemm(M, N, K, 1.5f, reinterpret_cast<TA*>(A.data()), reinterpret_cast<TB*>(B.data()), beta,
         reinterpret_cast<TC*>(C.data()), reinterpret_cast<TC*>(bias.data()), maps.data());
    machine.me->ended = machine.moved = true;
    machine.yield();
}

int main(int, char** arguments) {
    char** next = arguments + 1;
    folder = *next++;
    const auto number = [&] { return atol(*next++); };
    M = number(), N = number(), K = number();
    beta = atof(*next++);
    gridDim.x = number(), gridDim.y = number();
    machine.threads = number(), machine.cluster = number();
    A = read_file("A"), B = read_file("B"), C = read_file("C"), bias = read_file("bias");
    while (*next) {
        CUtensorMap map{nullptr, number(), number(), number(), int(number()), int(number())};
        const char operand = **next++;
        map.base = (operand == 'A' ? A : operand == 'B' ? B : C).data();
        maps.push_back(map);
    }
    machine.blocks.resize(gridDim.x * gridDim.y);
    machine.clusters.resize(machine.blocks.size() / machine.cluster);
    for (Block& block : machine.blocks) block.memory.assign(232448, char(0xff));
    machine.all.resize(machine.blocks.size() * machine.threads);
    for (size_t i = 0; i < machine.all.size(); ++i) {
        constexpr size_t kStack = 64 << 10;
        Thread& thread = machine.all[i];
        thread.block = i / machine.threads, thread.number = i % machine.threads;
        getcontext(&thread.context);
        thread.context.uc_stack.ss_sp = malloc(kStack);
        thread.context.uc_stack.ss_size = kStack;
        makecontext(&thread.context, run_thread, 0);
    }
    bool alive = true;
    for (int idle = 0; alive && idle < 3; idle = machine.moved ? 0 : idle + 1) {
        alive = machine.moved = false;
        for (Thread& thread : machine.all) {
            if (thread.ended) continue;
            alive = true;
            machine.me = &thread;
            threadIdx.x = thread.number;
            blockIdx = {thread.block % gridDim.x, thread.block / gridDim.x};
            swapcontext(&machine.scheduler, &thread.context);
        }
    }
    const bool waits = std::any_of(machine.all.begin(), machine.all.end(), [](const Thread& thread) {
        return !thread.stores.empty() || !thread.groups.empty() || !thread.products.empty();
    });
    if (alive || waits) {
        printf(alive ? "deadlock\n" : "a thread ended before its products or stores\n");
        return 1;
    }
    std::ofstream(folder + "/C", std::ios::binary).write(C.data(), C.size());
    return 0;
}
