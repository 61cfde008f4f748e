// Copies that arrive when they are waited for; before that, their bytes in shared memory are 0xff, which is a NaN.
#pragma once

#include <vector>

struct Copy {
    unsigned to;
    const void* from;
    int size, bytes, group;
};
struct ThreadCopies {
    std::vector<Copy> started;
    int groups = 0;
};
__device__ inline ThreadCopies& copies_of_thread() {
    static thread_local auto* const copies = new ThreadCopies[1024];
    return copies[threadIdx.x];
}

template <int SIZE> __device__ void copy_async(unsigned to, const void* from, int bytes) {
    if (to % SIZE || bytes && reinterpret_cast<uintptr_t>(from) % SIZE) __builtin_trap();
    memset(&at<char>(to), 0xff, SIZE);
    copies_of_thread().started.push_back({to, from, SIZE, bytes, copies_of_thread().groups});
}
__device__ inline void commit_copies() { ++copies_of_thread().groups; }
template <int LATER> __device__ void wait_for_copies() {
    ThreadCopies& copies = copies_of_thread();
    std::vector<Copy> left;
    for (const Copy& copy : copies.started)
        if (copy.group >= copies.groups - LATER) left.push_back(copy);
        else {
            memset(&at<char>(copy.to), 0, copy.size);
            memcpy(&at<char>(copy.to), copy.from, copy.bytes);
        }
    copies.started = left;
}
