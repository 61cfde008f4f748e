// The connection to gemmbench. A command is one line, `WORD NONCE NUMBERS`; its reply is the line
// `NONCE WORD TEXT`.
//
// Each reply repeats the random nonce of its command, so a kernel that writes to all its descriptors by
// mistake cannot forge one. The nonce is read without stdio, whose buffers keep copies, and is stored
// in a page that is inaccessible while kernels run. Workers have neither the page nor the connection. A
// kernel that is meant to deceive can still find it, since it shares this process: it could make the
// page accessible, or define the functions of libc that are called here. gemmbench therefore also
// measures the time between command and reply.
#pragma once
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <string>

constexpr size_t kPage = 4096;

namespace gb {

constexpr size_t kNonce = 100;

[[noreturn]] void fault(const char* format, ...);  // replies with a fault and ends this process

static int connection = -1;
static std::string line;  // of the current command
static char* unread;      // the rest of it
static char* nonce;       // of the current command

static void protect_nonce(int access) { mprotect(nonce, kPage, access); }

static void open_connection(int descriptor) {
    connection = descriptor;
    nonce = static_cast<char*>(mmap(nullptr, kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (nonce == MAP_FAILED) _exit(1);
}

// For a process that runs blocks and answers no commands.
static void close_connection() {
    close(connection);
    munmap(nonce, kPage);
    connection = -1;
}

static void reply(const char* word, const char* text) {
    protect_nonce(PROT_READ);
    dprintf(connection, "%s %s %s\n", nonce, word, text);
    protect_nonce(PROT_NONE);
}

static char* take_word() {
    char* word = strtok_r(nullptr, " \n", &unread);
    if (!word) fault("a command is not understood");
    return word;
}
static unsigned small() { return strtoul(take_word(), nullptr, 10); }
static size_t large() { return strtoull(take_word(), nullptr, 10); }
static double real() { return strtod(take_word(), nullptr); }

static bool read_line() {
    line.clear();
    do {
        const size_t used = line.size();
        line.resize(used + kPage);
        const ssize_t count = read(connection, &line[used], kPage);
        if (count < 0 && errno != EINTR) return false;
        if (count == 0) return false;
        line.resize(used + std::max<ssize_t>(count, 0));
    } while (line.empty() || line.back() != '\n');
    return true;
}

// Wait for the next command and return its word; null when gemmbench has closed the connection.
static const char* read_command() {
    if (!read_line()) return nullptr;
    unread = &line[0];
    const char* word = take_word();
    char* given = take_word();
    protect_nonce(PROT_READ | PROT_WRITE);
    snprintf(nonce, kNonce, "%s", given);
    protect_nonce(PROT_NONE);
    explicit_bzero(given, strlen(given));
    return word;
}

}  // namespace gb
