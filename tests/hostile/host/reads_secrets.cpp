/*---
summary: looks for secrets
order: 43
symbol: gemm
precisions: [f32]
layouts: [nn]
---*/

// It exits with a code that says what it could read.

#include <cstring>
#include <fcntl.h>
#include <string>
#include <unistd.h>

#include "product.h"

static void try_to_open(const std::string& path, int flags, int code) {
    if (open(path.c_str(), flags) >= 0) _exit(code);
}

extern "C" void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    for (char** variable = environ; *variable; ++variable)
        if (strncmp(*variable, "LC_ALL=", 7)) _exit(11);
    const std::string parent = "/proc/" + std::to_string(getppid());
    try_to_open(parent + "/environ", O_RDONLY, 12);
    try_to_open(parent + "/mem", O_RDWR, 13);
    try_to_open("/proc/self/environ", O_RDONLY, 14);
    try_to_open("/proc/self/maps", O_RDONLY, 15);
    try_to_open("/etc/passwd", O_RDONLY, 16);
    multiply(M, N, K, alpha, A, B, beta, C);
}
