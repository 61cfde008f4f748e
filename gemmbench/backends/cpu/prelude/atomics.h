// Atomic functions. They must be atomic because other worker processes run other blocks at the same
// time.
#pragma once
#include <stdint.h>
#include <string.h>

namespace gb {

// An object of type To that has the bytes of `from`.
template <class To, class From> To bits(const From& from) {
    static_assert(sizeof(To) == sizeof(From));
    To to;
    memcpy(&to, &from, sizeof to);
    return to;
}

template <unsigned bytes> struct Word;
template <> struct Word<2> { using type = uint16_t; };
template <> struct Word<4> { using type = uint32_t; };
template <> struct Word<8> { using type = uint64_t; };

// Replace *address by change(*address) atomically. Returns the old value.
template <class T, class Change> T atomically(T* address, Change change) {
    using Bits = typename Word<sizeof(T)>::type;
    Bits* word = reinterpret_cast<Bits*>(address);
    Bits seen = __atomic_load_n(word, __ATOMIC_RELAXED);
    for (;;) {
        const Bits wanted = bits<Bits>(change(bits<T>(seen)));
        if (__atomic_compare_exchange_n(word, &seen, wanted, true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
            return bits<T>(seen);
    }
}

template <class T> struct Same { using type = T; };

}  // namespace gb

// The value takes the type of the address, so that atomicAdd(&an_unsigned, 1) is not ambiguous.
#define GB_ATOMIC(name, result)                                                     \
    template <class T> T name(T* address, typename gb::Same<T>::type value) {       \
        return gb::atomically(address, [value](T old) -> T { return result; });     \
    }
GB_ATOMIC(atomicAdd, old + value)
GB_ATOMIC(atomicSub, old - value)
GB_ATOMIC(atomicExch, value)
GB_ATOMIC(atomicMin, value < old ? value : old)
GB_ATOMIC(atomicMax, value > old ? value : old)
GB_ATOMIC(atomicAnd, old & value)
GB_ATOMIC(atomicOr, old | value)
GB_ATOMIC(atomicXor, old ^ value)
GB_ATOMIC(atomicInc, old >= value ? 0 : old + 1)
GB_ATOMIC(atomicDec, old == 0 || old > value ? value : old - 1)

template <class T>
T atomicCAS(T* address, typename gb::Same<T>::type expected, typename gb::Same<T>::type value) {
    return gb::atomically(address, [=](T old) -> T { return old == expected ? value : old; });
}
