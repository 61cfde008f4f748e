// Launches the kernels SYMBOLS of the file KERNEL one after the other: `launch FOLDER M N K BETA LAST
// {GRID_X GRID_Y THREADS CLUSTER}... {WIDTH HEIGHT PLANES PITCH PLANE_PITCH BOX_WIDTH BOX_HEIGHT SWIZZLE OPERAND OFFSET}...`. FOLDER holds the files A, B,
// C, bias, scale_a, scale_b, offsets and workspace; C and workspace are written back. LAST is a number that some kernels want.
#include "machine.h"

#include <string>

Index threadIdx, blockIdx, gridDim;
char shared[1];
Machine machine;

#include KERNEL

static std::string folder;
static std::vector<char> read_file(const char* name) {
    FILE* const file = fopen((folder + "/" + name).c_str(), "rb");
    fseek(file, 0, SEEK_END);
    std::vector<char> content(ftell(file));
    rewind(file);
    if (fread(content.data(), 1, content.size(), file) != content.size()) exit(2);
    fclose(file);
    return content;
}
static void write_file(const char* name, const std::vector<char>& content) {
    FILE* const file = fopen((folder + "/" + name).c_str(), "wb");
    if (fwrite(content.data(), 1, content.size(), file) != content.size()) exit(2);
    fclose(file);
}

static int M, N, K, last;
static float beta;
static std::vector<char> A, B, C, bias, scale_a, scale_b, offsets, workspace;
static std::vector<CUtensorMap> maps;
static std::function<void()> kernel;

// A kernel has the standard arguments up to bias, and then some of its own.
template <typename... OWN> using Kernel = void(int, int, int, TACC, const TA*, const TB*, TACC, TC*, const TC*, OWN...);
template <typename... OWN> static void call_with(Kernel<OWN...>* function, OWN... own) {
    function(M, N, K, TACC(1.5f), reinterpret_cast<TA*>(A.data()), reinterpret_cast<TB*>(B.data()), TACC(beta),
             reinterpret_cast<TC*>(C.data()), reinterpret_cast<TC*>(bias.data()), own...);
}
template <int COUNT> static Maps<COUNT> pass_maps() {
    Maps<COUNT> passed;
    for (int i = 0; i < COUNT; ++i) passed.map[i] = maps.at(i);
    return passed;
}
template <int COUNT> static void call(Kernel<Maps<COUNT>>* function) {
    call_with<Maps<COUNT>>(function, pass_maps<COUNT>());
}
template <int COUNT> static void call(Kernel<const int*, void*, int, Maps<COUNT>>* function) {
    call_with<const int*, void*, int, Maps<COUNT>>(function, reinterpret_cast<int*>(offsets.data()), workspace.data(),
                                                   last, pass_maps<COUNT>());
}
template <int COUNT> static void call(Kernel<void*, Maps<COUNT>>* function) {
    call_with<void*, Maps<COUNT>>(function, workspace.data(), pass_maps<COUNT>());
}
template <int COUNT> static void call(Kernel<void*, int, Maps<COUNT>>* function) {
    call_with<void*, int, Maps<COUNT>>(function, workspace.data(), last, pass_maps<COUNT>());
}
template <int COUNT> static void call(Kernel<const float*, const float*, void*, Maps<COUNT>>* function) {
    const float* const scales[] = {reinterpret_cast<float*>(scale_a.data()), reinterpret_cast<float*>(scale_b.data())};
    call_with<const float*, const float*, void*, Maps<COUNT>>(function, scales[0], scales[1], workspace.data(),
                                                              pass_maps<COUNT>());
}
template <typename... F> static std::vector<std::function<void()>> list_kernels(F*... functions) {
    return {[functions] { call(functions); }...};
}

static void run_thread() {
    kernel();
    machine.me->ended = machine.moved = true;
    machine.yield();
}

// Run all threads of a launch in turn until they have ended. Returns what is wrong, or "".
static const char* run_launch() {
    machine.blocks = std::vector<Block>(gridDim.x * gridDim.y);
    machine.clusters = std::vector<Meeting>(machine.blocks.size() / machine.cluster);
    machine.all = std::vector<Thread>(machine.blocks.size() * machine.threads);
    for (size_t i = 0; i < machine.all.size(); ++i) {
        Thread& thread = machine.all[i];
        thread.block = i / machine.threads, thread.number = i % machine.threads;
        thread.context = gb::prepare(thread.stack.get(), Thread::kStack, run_thread);
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
            gb::switch_to(machine.scheduler, thread.context);
        }
    }
    bool waits = false;
    for (const Thread& thread : machine.all) waits |= thread.stored < thread.stores.size();
    for (const Block& block : machine.blocks)
        for (const WarpGroup& group : block.warp_groups) waits |= group.done < group.batches.size();
    return alive ? "deadlock" : waits ? "a thread ended before its products or stores" : "";
}

int main(int, char** arguments) {
    char** next = arguments + 1;
    folder = *next++;
    const auto number = [&] { return atol(*next++); };
    M = number(), N = number(), K = number();
    beta = atof(*next++);
    last = number();
    A = read_file("A"), B = read_file("B"), C = read_file("C"), bias = read_file("bias");
    scale_a = read_file("scale_a"), scale_b = read_file("scale_b"), offsets = read_file("offsets");
    workspace = read_file("workspace");
    const auto kernels = list_kernels(SYMBOLS);
    std::vector<std::array<unsigned, 4>> launches(kernels.size());
    for (auto& launch : launches)
        for (unsigned& value : launch) value = number();
    while (*next) {
        CUtensorMap map{nullptr, number(), number(), number(), number(), number(), int(number()), int(number()), int(number())};
        const char operand = **next++;
        map.base = (operand == 'A' ? A : operand == 'B' ? B : operand == 'C' ? C : workspace).data() + number();
        maps.push_back(map);
    }
    for (size_t i = 0; i < kernels.size(); ++i) {
        kernel = kernels[i];
        gridDim = {launches[i][0], launches[i][1]};
        machine.threads = launches[i][2], machine.cluster = launches[i][3];
        const std::string fault = run_launch();
        if (fault.size()) {
            printf("%s\n", fault.c_str());
            return 1;
        }
    }
    write_file("C", C), write_file("workspace", workspace);
    return 0;
}
