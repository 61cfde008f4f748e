/*---
summary: defines dprintf, with which the runtime replies
order: 11
symbol: gemm
precisions: [f32]
layouts: [nn]
---*/

// It divides the time by 20, next to the right number of the command.

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

#include "product.h"

extern "C" int dprintf(int file, const char* format, ...) {
    va_list values;
    va_start(values, format);
    const char* nonce = va_arg(values, const char*);
    const char* word = va_arg(values, const char*);
    const char* text = va_arg(values, const char*);
    char reply[200], time[40];
    if (!strcmp(word, "seconds")) snprintf(time, sizeof time, "%.9e 0", atof(text) / 20), text = time;
    return write(file, reply, snprintf(reply, sizeof reply, "%s %s %s\n", nonce, word, text));
}

extern "C" void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    multiply(M, N, K, alpha, A, B, beta, C);
}
