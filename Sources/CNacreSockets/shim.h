#pragma once
#include <errno.h>
#include <linux/fs.h>
#include <linux/sockios.h>
#include <stddef.h>
// Swift's Glibc module leaves out the headers that a loop around epoll needs.
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/// Accepts a connection as a socket that waits for nothing and that no child process inherits. A shim because glibc shows accept4 to GNU programs alone.
static inline int nacre_accept(int listening, struct sockaddr_storage *peer) {
    socklen_t length = sizeof *peer;
    return (int)syscall(SYS_accept4, listening, peer, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

/// Reads of a file what lies in the kernel's memory, and waits for no disk: EAGAIN where the first byte does not. A shim because glibc shows preadv2 to
/// GNU programs alone.
static inline ssize_t nacre_read_resident(int file, void *buffer, size_t count, off_t offset) {
    struct iovec piece = {buffer, count};
    // The kernel takes the offset in two halves, of which the second is above the bits of a register of 64.
    return syscall(SYS_preadv2, file, &piece, 1UL, (unsigned long)offset, 0UL, RWF_NOWAIT);
}

/// Bytes sent that the other side's kernel has not said to have; -1 where nobody knows. A shim because `ioctl` is variadic.
static inline int nacre_unacknowledged(int socket) {
    int count = 0;
    return ioctl(socket, SIOCOUTQ, &count) == 0 ? count : -1;
}

/// Names the calling thread for `top -H` and debuggers. A shim because `prctl` is variadic.
static inline void nacre_name_thread(const char *name) {
    prctl(PR_SET_NAME, (unsigned long)name, 0UL, 0UL, 0UL);
}
