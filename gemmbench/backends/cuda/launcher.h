// How gemmbench calls a host function: arguments arrive as slots and are converted to the types that the function
// declares, and exceptions stop here before they reach Python. The source of a launcher begins with this file.

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdio>
#include <exception>
#include <type_traits>
#include <utility>

namespace gemmbench {

// An argument; of each slot, the member for its kind is used.
struct Slot {
    long long whole;
    double number;
    void* address;
};

// The result of a call.
struct Outcome {
    long long value;  // what the function returned
    int threw;        // 1 if it threw instead; then `words` is the text of the exception
    char words[500];
};

// Kinds of arguments: 'i' an integer, 'f' a number with a fraction, 'p' an address, '0' nothing.
template <char KIND, class T>
T convert(const Slot& slot) {
    if constexpr (KIND == '0') {
        return T{};
    } else if constexpr (std::is_pointer_v<T>) {
        static_assert(KIND == 'p', "the host function takes an address where the manifest passes a number");
        return reinterpret_cast<T>(const_cast<void*>(static_cast<const void*>(slot.address)));
    } else {
        static_assert(KIND != 'p', "the host function takes a number where the manifest passes an address");
        if constexpr (KIND == 'i') return static_cast<T>(slot.whole);
        else if constexpr (std::is_floating_point_v<T>) return static_cast<T>(slot.number);
        else return static_cast<T>(static_cast<float>(slot.number));
    }
}

template <char... KINDS>
struct Arguments {
    template <class R, class... T>
    static void call(R (*function)(T...), const Slot* slots, Outcome* outcome) {
        static_assert(sizeof...(T) == sizeof...(KINDS),
                      "the host function takes another number of arguments than the manifest passes");
        call_in_order(function, slots, outcome, std::index_sequence_for<T...>{});
    }

   private:
    template <class R, class... T, size_t... INDEX>
    static void call_in_order(R (*function)(T...), const Slot* slots, Outcome* outcome, std::index_sequence<INDEX...>) {
        outcome->value = outcome->threw = 0;
        try {
            if constexpr (std::is_void_v<R>) {
                function(convert<KINDS, std::decay_t<T>>(slots[INDEX])...);
            } else {
                outcome->value = static_cast<long long>(function(convert<KINDS, std::decay_t<T>>(slots[INDEX])...));
            }
        } catch (const std::exception& fault) {
            describe(outcome, fault.what());
        } catch (...) {
            describe(outcome, "something that is not a std::exception");
        }
    }

    static void describe(Outcome* outcome, const char* words) {
        outcome->threw = 1;
        std::snprintf(outcome->words, sizeof outcome->words, "%s", words);
    }
};

}  // namespace gemmbench

// Each shared library has its own CUDA runtime, which keeps its own errors.
extern "C" const char* gemmbench_error_name(int code) { return cudaGetErrorName(static_cast<cudaError_t>(code)); }
extern "C" const char* gemmbench_error_words(int code) { return cudaGetErrorString(static_cast<cudaError_t>(code)); }
extern "C" int gemmbench_last_error() { return static_cast<int>(cudaGetLastError()); }
