// The faults of a kernel: each kind at each pair of places is listed once, with its first example and a count.
#pragma once
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <map>
#include <string>
#include <tuple>

namespace gb {

struct Fault {
    std::string example;  // the fields of the first one, as JSON
    uint64_t count = 0;
};

constexpr size_t kMostFaults = 500;
static std::map<std::tuple<std::string, uintptr_t, uintptr_t>, Fault> faults;

// Count a fault at one return address and another. Returns it the first time, so that the caller can fill in the
// example; null later.
static Fault* note_fault(const char* kind, uintptr_t at, uintptr_t other = 0) {
    const auto key = std::make_tuple(std::string(kind), at, other);
    if (faults.size() >= kMostFaults && !faults.count(key)) return nullptr;
    Fault& fault = faults[key];
    return fault.count++ ? nullptr : &fault;
}

static std::string format(const char* pattern, ...) {
    char text[400];
    va_list values;
    va_start(values, pattern);
    vsnprintf(text, sizeof text, pattern, values);
    va_end(values);
    return text;
}

static std::string name_index(const char* key, const uint3& at) {
    return format(", \"%s\": [%u, %u, %u]", key, at.x, at.y, at.z);
}

// A text from the compiler as a JSON string.
static std::string quote(const char* text) {
    std::string quoted = "\"";
    for (; *text; ++text)
        if (*text >= ' ' && *text != '"' && *text != '\\') quoted += *text;
    return quoted + '"';
}

static std::string list_faults() {
    std::string text = "[";
    for (const auto& [key, fault] : faults) {
        const auto& [kind, at, other] = key;
        if (text.size() > 1) text += ", ";
        text += format("{\"kind\": \"%s\", \"at\": %lu, \"other\": %lu, \"count\": %lu", kind.c_str(), at, other,
                       fault.count) + fault.example + "}";
    }
    return text + "]";
}

}  // namespace gb
