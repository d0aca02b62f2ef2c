// What Swift's Glibc leaves out: a session of the child's own, and all files closed but three.
#define _GNU_SOURCE
#include "CNacreStart.h"

#include <errno.h>

#ifdef __linux__
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

int nacre_start_agent(const char *path, int *process, int *output) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return errno;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t signals;
    sigemptyset(&signals);
    posix_spawnattr_setsigmask(&attributes, &signals);
    sigfillset(&signals);
    posix_spawnattr_setsigdefault(&attributes, &signals);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
    char *words[] = {(char *)path, "agent", NULL};
    int code = posix_spawn(process, path, &actions, &attributes, words, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (code != 0) close(ends[0]);
    *output = ends[0];
    return code;
}
#else
int nacre_start_agent(const char *path, int *process, int *output) { return ENOSYS; }
#endif
