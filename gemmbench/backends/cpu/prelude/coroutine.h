// A stack for every CUDA thread, and switching between two of them.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace gb {

using Context = void*;  // a stopped coroutine

// switch_to(from, to): stop here, save this point in `from`, and continue at `to`.
// prepare(stack, bytes, body): a coroutine that starts with body(), which must not return.

#if defined(__x86_64__) && !defined(GB_UCONTEXT)

// Saves only the registers that a call must preserve. Ends with a jump instead of a return: the
// processor predicts returns from its own record of calls, which does not hold across stacks.
extern "C" void gb_switch(Context* from, Context to);
asm(R"(
    .text
    .globl gb_switch
    .type gb_switch, @function
gb_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    popq %rcx
    jmp *%rcx
    .size gb_switch, . - gb_switch
)");
inline void switch_to(Context& from, Context to) { gb_switch(&from, to); }

inline Context prepare(char* stack, size_t bytes, void (*body)()) {
    uintptr_t* top = reinterpret_cast<uintptr_t*>(stack + bytes) - 8;  // 6 registers, body, no return
    top[6] = reinterpret_cast<uintptr_t>(body);
    return top;
}

#elif defined(__aarch64__) && !defined(GB_UCONTEXT)

extern "C" void gb_switch(Context* from, Context to);
asm(R"(
    .text
    .globl gb_switch
    .type gb_switch, %function
gb_switch:
    stp x19, x20, [sp, #-160]!
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    ldp x19, x20, [sp], #160
    br x30
    .size gb_switch, . - gb_switch
)");
inline void switch_to(Context& from, Context to) { gb_switch(&from, to); }

inline Context prepare(char* stack, size_t bytes, void (*body)()) {
    uintptr_t* top = reinterpret_cast<uintptr_t*>(stack + bytes) - 20;
    top[11] = reinterpret_cast<uintptr_t>(body);  // x30
    return top;
}

#else

}  // namespace gb
#include <ucontext.h>
namespace gb {

inline void switch_to(Context& from, Context to) {
    if (!from) from = new ucontext_t;
    swapcontext(static_cast<ucontext_t*>(from), static_cast<ucontext_t*>(to));
}

inline Context prepare(char* stack, size_t bytes, void (*body)()) {
    ucontext_t* context = new ucontext_t;
    getcontext(context);
    context->uc_stack.ss_sp = stack;
    context->uc_stack.ss_size = bytes;
    makecontext(context, body, 0);
    return context;
}

#endif

}  // namespace gb
