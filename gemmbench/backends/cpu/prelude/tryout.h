// Arguments of any type for a kernel whose roles are known only when it runs.
#pragma once
#include <type_traits>

#include "abi.h"

namespace gb {

// Number `index` of a launch: a number, or for a pointer which operand it is (0: null).
struct Any {
    const Arguments& given;
    int index;
    template <class T> operator T*() const {
        char* const all[] = {nullptr, given.A, given.B, given.C, given.workspace};
        return reinterpret_cast<T*>(all[int(given.numbers[index])]);
    }
    template <class T, class = std::enable_if_t<std::is_arithmetic_v<T> || std::is_constructible_v<T, float>>>
    operator T() const {
        if constexpr (std::is_integral_v<T>) return T(static_cast<long long>(given.numbers[index]));
        else return T(given.numbers[index]);
    }
};

}  // namespace gb
