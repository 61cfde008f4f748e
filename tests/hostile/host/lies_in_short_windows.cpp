/*---
summary: claims to be slow at first, so that windows are short, and then to be fast
order: 46
symbol: gemm
precisions: [f32]
layouts: [nn]
---*/

// Each of its windows is one launch, so short that gemmbench's own time of it would say little.

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

#include "product.h"

static int windows;

extern "C" int dprintf(int file, const char* format, ...) {
    va_list values;
    va_start(values, format);
    const char* number = va_arg(values, const char*);
    const char* word = va_arg(values, const char*);
    const char* text = va_arg(values, const char*);
    if (!strcmp(word, "seconds")) text = ++windows < 4 ? "2e-3 0" : "1e-7 0";
    char reply[200];
    return write(file, reply, snprintf(reply, sizeof reply, format, number, word, text));
}

extern "C" void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    multiply(M, N, K, alpha, A, B, beta, C);
}
