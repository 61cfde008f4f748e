// Starts a program behind walls, each of which is selected by name:
//
//     launcher [spaces] [files] [read=PATH]... [write=PATH]... [memory=BYTES] [file=BYTES] [processes=N] [parent=N]
//         -- PROGRAM...
//     launcher reach FILE PROCESS
//
// spaces     user, network, IPC and PID namespaces of its own; all its processes end with it
// files      only what `read` and `write` name (Landlock); also no TCP and no signals to others where Landlock can
// parent     the process that starts it; nothing runs if that has ended already
// The second form prints, for `doctor`, what the program can reach: files, network, processes.
//
// It ends in the same way as the program, by the same signal or with the same exit code, and together with the thread
// that started it. Where a wall cannot be built, no program runs: it prints the reason and exits with kNoWalls, or with
// kNoProgram.
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sched.h>
#include <unistd.h>

static const int kNoWalls = 125, kNoProgram = 126;
static const int kCounted = 1, kNobody = 65534;  // a user in the namespace, and the corresponding user outside

// Of linux/landlock.h, which may be older than the system.
static const int kCreateRuleset = 444, kAddRule = 445, kRestrictSelf = 446, kPathBeneath = 1;
static const uint64_t kExecute = 1 << 0, kWriteFile = 1 << 1, kReadFile = 1 << 2, kReadFolder = 1 << 3;
static const uint64_t kTruncate = 1 << 14, kControlDevice = 1 << 15;
static const uint64_t kOfFiles = kExecute | kWriteFile | kReadFile | kTruncate | kControlDevice;
struct Ruleset {
    uint64_t files, network, scoped;
};
struct __attribute__((packed)) Rule {
    uint64_t allowed;
    int32_t place;
};

[[noreturn]] static void fail(const char* what) {
    dprintf(2, "gemmbench cannot build the walls of a process: %s: %s\n", what, strerror(errno));
    _exit(kNoWalls);
}

static void must(bool done, const char* what) {
    if (!done) fail(what);
}

static const char* value_of(const char* option, const char* name) {
    const size_t length = strlen(name);
    return strncmp(option, name, length) ? nullptr : option + length;
}

static void limit(int which, uint64_t value) {
    const rlimit both{value, value};
    must(!setrlimit(static_cast<__rlimit_resource>(which), &both), "setrlimit");
}

static void allow(int rules, uint64_t handled, const char* path, bool write) {
    const int place = open(path, O_PATH | O_CLOEXEC);
    if (place < 0) return;  // not on this system, or not for this user
    struct stat known;
    must(!fstat(place, &known), "fstat");
    Rule rule{write ? handled : kExecute | kReadFile | kReadFolder, place};
    rule.allowed &= S_ISDIR(known.st_mode) ? handled : handled & kOfFiles;
    must(!syscall(kAddRule, rules, kPathBeneath, &rule, 0), "landlock_add_rule");
    close(place);
}

// A Landlock ruleset with the access rights in `options`.
static int make_rules(char** options) {
    const long version = syscall(kCreateRuleset, nullptr, 0, 1);
    must(version >= 1, "landlock_create_ruleset");
    Ruleset asked{(1ull << 13) - 1, 0, 0};
    size_t size = sizeof asked.files;
    if (version >= 2) asked.files |= 1 << 13;
    if (version >= 3) asked.files |= kTruncate;
    if (version >= 4) asked.network = 3, size += sizeof asked.network;
    if (version >= 5) asked.files |= kControlDevice;
    if (version >= 6) asked.scoped = 3, size += sizeof asked.scoped;
    const int rules = syscall(kCreateRuleset, &asked, size, 0);
    must(rules >= 0, "landlock_create_ruleset");
    for (; strcmp(*options, "--"); ++options) {
        if (const char* path = value_of(*options, "read=")) allow(rules, asked.files, path, false);
        if (const char* path = value_of(*options, "write=")) allow(rules, asked.files, path, true);
    }
    return rules;
}

[[noreturn]] static void run(char** options, char** program, int rules) {
    for (; strcmp(*options, "--"); ++options) {
        if (const char* bytes = value_of(*options, "memory=")) limit(RLIMIT_AS, strtoull(bytes, nullptr, 10));
        if (const char* bytes = value_of(*options, "file=")) limit(RLIMIT_FSIZE, strtoull(bytes, nullptr, 10));
        if (const char* count = value_of(*options, "processes=")) limit(RLIMIT_NPROC, strtoull(count, nullptr, 10));
    }
    signal(SIGXFSZ, SIG_IGN);  // a write beyond the limit fails instead, and the program can say so
    if (rules >= 0) {
        must(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl");
        must(!syscall(kRestrictSelf, rules, 0), "landlock_restrict_self");
        close(rules);
    }
    execvp(*program, program);
    dprintf(2, "cannot start %s: %s\n", *program, strerror(errno));
    _exit(kNoProgram);
}

static void end_with_parent() { must(!prctl(PR_SET_PDEATHSIG, SIGKILL), "prctl"); }

// From now on this process only waits, and it must not hold any connection or pipe of the program open.
static void let_go() {
    const int nothing = open("/dev/null", O_RDWR);
    for (int file = 0; nothing >= 0 && file < 3; ++file) dup2(nothing, file);
    if (syscall(SYS_close_range, 3, ~0u, 0))
        for (int file = 3; file < 4096; ++file) close(file);
}

static int wait_for(pid_t child) {
    int status = 0;
    for (pid_t ended; (ended = wait(&status)) != child;)
        if (ended < 0 && errno != EINTR) _exit(kNoWalls);
    return status;
}

[[noreturn]] static void end_like(int status) {
    if (WIFSIGNALED(status)) {
        signal(WTERMSIG(status), SIG_DFL);
        raise(WTERMSIG(status));
        _exit(128 + WTERMSIG(status));
    }
    _exit(WEXITSTATUS(status));
}

static void unshare_spaces() {
    must(!unshare(CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWPID), "unshare");
    end_with_parent();  // unshare may have reset it
}

// The same for root, whose processes the system does not limit: gives the namespace another user, which only a process
// outside may do, and returns whether it has one. Files still belong to root.
static bool unshare_spaces_of_root() {
    int unshared[2];
    must(!pipe2(unshared, O_CLOEXEC), "pipe2");
    const pid_t launcher = getpid(), mapper = fork();
    must(mapper >= 0, "fork");
    if (!mapper) {
        end_with_parent();
        close(unshared[1]);
        char path[64], byte;
        snprintf(path, sizeof path, "/proc/%d/uid_map", static_cast<int>(launcher));
        const int map = read(unshared[0], &byte, 1) == 1 ? open(path, O_WRONLY) : -1;
        char line[64];
        const int length = snprintf(line, sizeof line, "%d %d 1\n", kCounted, kNobody);
        _exit(map < 0 || write(map, line, length) != length);
    }
    unshare_spaces();
    int status = 1;
    const bool told = write(unshared[1], "", 1) == 1;
    close(unshared[0]), close(unshared[1]);
    while (waitpid(mapper, &status, 0) < 0 && errno == EINTR) continue;
    return told && !status;
}

// The first process of a PID namespace ignores signals of its own, so the program is the second.
[[noreturn]] static void run_in_spaces(char** options, char** program, int rules, bool counted) {
    if (counted && !geteuid())
        counted = unshare_spaces_of_root();
    else
        counted = false, unshare_spaces();
    void* shared = mmap(nullptr, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    must(shared != MAP_FAILED, "mmap");
    int& status = *static_cast<int*>(shared);
    const pid_t first = fork();
    must(first >= 0, "fork");
    if (first) {
        let_go();
        const int ended = wait_for(first);
        end_like(WIFSIGNALED(ended) ? ended : status);
    }
    end_with_parent();
    const pid_t second = fork();
    if (second < 0) status = kNoWalls << 8;
    must(second >= 0, "fork");
    if (!second) {
        if (counted) must(!setresuid(kCounted, -1, -1), "setresuid");
        run(options, program, rules);
    }
    let_go();
    status = wait_for(second);
    _exit(0);
}

static int say_reach(const char* file, const char* process) {
    if (open(file, O_RDONLY) >= 0) puts("files");
    const int connection = socket(AF_INET, SOCK_DGRAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET, address.sin_port = htons(9), address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (!connect(connection, reinterpret_cast<sockaddr*>(&address), sizeof address)) puts("network");
    const pid_t other = atoi(process);  // in a namespace of its own this is process 2
    if (getpid() != 2 || (other > 2 && !kill(other, 0))) puts("processes");
    return 0;
}

int main(int count, char** words) {
    if (count == 4 && !strcmp(words[1], "reach")) return say_reach(words[2], words[3]);
    char **options = words + 1, **program = options;
    end_with_parent();
    const pid_t parent = getppid();
    bool spaces = false, files = false, counted = false;
    for (; *program && strcmp(*program, "--"); ++program) {
        spaces |= !strcmp(*program, "spaces");
        files |= !strcmp(*program, "files");
        counted |= value_of(*program, "processes=") != nullptr;
        if (const char* number = value_of(*program, "parent="))
            if (atoi(number) != parent) _exit(kNoWalls);
    }
    errno = EINVAL;
    must(*program && program[1], "arguments");
    limit(RLIMIT_CORE, 0);
    const int rules = files ? make_rules(options) : -1;
    if (spaces) run_in_spaces(options, program + 1, rules, counted);
    run(options, program + 1, rules);
}
