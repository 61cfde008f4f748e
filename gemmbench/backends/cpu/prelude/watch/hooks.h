// Functions that g++ calls at each load and store (-fsanitize=thread), and where an index leaves its array or an int
// overflows (-fsanitize=bounds,signed-integer-overflow). The return address is the place in the kernel.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace gb {

void watch_access(void* address, size_t bytes, bool write, bool atomic, void* at);
void watch_fence();
void watch_index(long index, const char* type, void* at);
void watch_overflow(long left, char sign, long right, const char* type, void* at);

// The records that the compiler makes for each place.
struct SourceLocation { const char* file; uint32_t line, column; };
struct TypeName { uint16_t kind, info; char text[]; };
struct IndexedArray { SourceLocation source; TypeName *array, *index; };
struct OverflowingSum { SourceLocation source; TypeName* type; };

// A value of at most 64 bits is passed directly, in the low bits; wider ones are not passed and not needed.
inline long widen(const TypeName* type, unsigned long value) {
    const unsigned bits = 1u << (type->info >> 1);
    return bits >= 64 || !(type->info & 1) ? long(value) : long(value << (64 - bits)) >> (64 - bits);
}

}  // namespace gb

#define GB_AT __builtin_return_address(0)
#define GB_HOOK extern "C" __attribute__((noinline)) void
#define GB_SIZE(n)                                                                                       \
    GB_HOOK __tsan_read##n(void* p) { gb::watch_access(p, n, false, false, GB_AT); }                     \
    GB_HOOK __tsan_write##n(void* p) { gb::watch_access(p, n, true, false, GB_AT); }                     \
    GB_HOOK __tsan_unaligned_read##n(void* p) { gb::watch_access(p, n, false, false, GB_AT); }           \
    GB_HOOK __tsan_unaligned_write##n(void* p) { gb::watch_access(p, n, true, false, GB_AT); }           \
    GB_HOOK __tsan_volatile_read##n(void* p) { gb::watch_access(p, n, false, false, GB_AT); }            \
    GB_HOOK __tsan_volatile_write##n(void* p) { gb::watch_access(p, n, true, false, GB_AT); }            \
    GB_HOOK __tsan_unaligned_volatile_read##n(void* p) { gb::watch_access(p, n, false, false, GB_AT); }  \
    GB_HOOK __tsan_unaligned_volatile_write##n(void* p) { gb::watch_access(p, n, true, false, GB_AT); }
GB_SIZE(1) GB_SIZE(2) GB_SIZE(4) GB_SIZE(8) GB_SIZE(16)
GB_HOOK __tsan_read_range(void* p, size_t n) { gb::watch_access(p, n, false, false, GB_AT); }
GB_HOOK __tsan_write_range(void* p, size_t n) { gb::watch_access(p, n, true, false, GB_AT); }
GB_HOOK __tsan_init() {}
GB_HOOK __tsan_func_entry(void*) {}
GB_HOOK __tsan_func_exit() {}
GB_HOOK __tsan_vptr_update(void**, void*) {}
GB_HOOK __tsan_vptr_read(void**) {}
GB_HOOK __tsan_atomic_thread_fence(int) { gb::watch_fence(); }
GB_HOOK __tsan_atomic_signal_fence(int) {}

// The compiler leaves atomic accesses to the hooks altogether.
#define GB_CHANGE(bits, T, name)                                                                         \
    extern "C" __attribute__((noinline)) T __tsan_atomic##bits##_##name(volatile T* p, T value, int) {   \
        gb::watch_access((void*)p, bits / 8, true, true, GB_AT);                                         \
        return __atomic_##name(p, value, __ATOMIC_SEQ_CST);                                              \
    }
#define GB_EXCHANGE(bits, T, strength)                                                                   \
    extern "C" __attribute__((noinline)) bool __tsan_atomic##bits##_compare_exchange_##strength(         \
        volatile T* p, T* expected, T value, int, int) {                                                 \
        gb::watch_access((void*)p, bits / 8, true, true, GB_AT);                                         \
        return __atomic_compare_exchange_n(p, expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
    }
#define GB_ATOMIC(bits, T)                                                                               \
    extern "C" __attribute__((noinline)) T __tsan_atomic##bits##_load(const volatile T* p, int) {        \
        gb::watch_access((void*)p, bits / 8, false, true, GB_AT);                                        \
        return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                                     \
    }                                                                                                    \
    GB_HOOK __tsan_atomic##bits##_store(volatile T* p, T value, int) {                                   \
        gb::watch_access((void*)p, bits / 8, true, true, GB_AT);                                         \
        __atomic_store_n(p, value, __ATOMIC_SEQ_CST);                                                    \
    }                                                                                                    \
    extern "C" __attribute__((noinline)) T __tsan_atomic##bits##_exchange(volatile T* p, T value, int) { \
        gb::watch_access((void*)p, bits / 8, true, true, GB_AT);                                         \
        return __atomic_exchange_n(p, value, __ATOMIC_SEQ_CST);                                          \
    }                                                                                                    \
    GB_CHANGE(bits, T, fetch_add) GB_CHANGE(bits, T, fetch_sub) GB_CHANGE(bits, T, fetch_and)            \
    GB_CHANGE(bits, T, fetch_or) GB_CHANGE(bits, T, fetch_xor) GB_CHANGE(bits, T, fetch_nand)            \
    GB_EXCHANGE(bits, T, weak) GB_EXCHANGE(bits, T, strong)
GB_ATOMIC(8, uint8_t) GB_ATOMIC(16, uint16_t) GB_ATOMIC(32, uint32_t) GB_ATOMIC(64, uint64_t)

GB_HOOK __ubsan_handle_out_of_bounds(gb::IndexedArray* place, unsigned long index) {
    gb::watch_index(gb::widen(place->index, index), place->array->text, GB_AT);
}
#define GB_OVERFLOW(name, sign)                                                                          \
    GB_HOOK __ubsan_handle_##name##_overflow(gb::OverflowingSum* place, unsigned long a, unsigned long b) { \
        gb::watch_overflow(gb::widen(place->type, a), sign, gb::widen(place->type, b), place->type->text, GB_AT); \
    }
GB_OVERFLOW(add, '+') GB_OVERFLOW(sub, '-') GB_OVERFLOW(mul, '*') GB_OVERFLOW(divrem, '/')
GB_HOOK __ubsan_handle_negate_overflow(gb::OverflowingSum* place, unsigned long a) {
    gb::watch_overflow(0, '-', gb::widen(place->type, a), place->type->text, GB_AT);
}
