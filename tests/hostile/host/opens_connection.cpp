/*---
summary: opens a connection
order: 45
symbol: gemm
precisions: [f32]
layouts: [nn]
---*/

// It exits if it can.

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include "product.h"

extern "C" void gemm(int M, int N, int K, TACC alpha, const TA* A, const TB* B, TACC beta, TC* C) {
    sockaddr_in place{};
    place.sin_family = AF_INET, place.sin_port = htons(53), place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int connection = socket(AF_INET, SOCK_DGRAM, 0);
    if (!connect(connection, reinterpret_cast<sockaddr*>(&place), sizeof place)) _exit(18);
    close(connection);
    multiply(M, N, K, alpha, A, B, beta, C);
}
