// The interface between the two halves of an executable: a kernel and the runtime.
#pragma once
#include <stdint.h>

namespace gb {

// The arguments of one launch. alpha and beta are converted to the kernel's scalar type when it is
// called. If the text has several kernels, `step` is the number of the one to run.
struct Arguments {
    int M, N, K;
    double alpha, beta;
    char *A, *B, *C, *bias, *residual, *scale, *workspace, *D;  // D is C unless the result lies apart
    char *scale_a, *scale_b;                                    // of a precision
    char* offsets;                                              // of groups
    unsigned step;
    const double* numbers;  // of a kernel with arguments of its own
};

// An address as a pointer of the type that a kernel's argument has.
struct Pointer {
    char* address;
    template <class T> operator T*() const { return reinterpret_cast<T*>(address); }
};

// A structure that a kernel takes by value, built field by field; its type is that of the
// parameter.
template <class F> struct Structure {
    F fill;
    template <class T> operator T() const {
        T made{};
        fill(made);
        return made;
    }
};
template <class F> Structure(F) -> Structure<F>;

// The kernel's half, which gemmbench writes below its text.
extern const bool synchronises;   // the text names a barrier: each thread needs a stack
void entry(const Arguments&);     // runs one thread of the kernel

// The runtime's half, for the functions in warp.h.
constexpr unsigned kWarp = 32;
constexpr uint64_t kExited = ~uint64_t(0);  // the slot of a lane that has returned

void sync_block();
void sync_warp(unsigned mask);
const uint64_t* publish(unsigned mask, uint64_t value);  // the value of every lane in mask, by lane

}  // namespace gb
