#pragma once
#include <linux/fs.h>
#include <microhttpd.h>
#include <stddef.h>
// Swift's Glibc module leaves out the headers that a loop around libmicrohttpd needs.
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/// What a loop hands to `nacre_mhd_start`: its listen socket, its limits and the functions that libmicrohttpd calls with `context`.
struct nacre_mhd_settings {
    MHD_socket listen_socket;
    unsigned int connections_max;
    size_t connection_memory_bytes;
    unsigned int stall_seconds;
    void *context;
    MHD_AccessHandlerCallback on_request;
    MHD_RequestCompletedCallback on_completed;
    MHD_NotifyConnectionCallback on_connection;
    void *(*on_target)(void *context, const char *target, struct MHD_Connection *connection);
    MHD_LogCallback on_log;
};

/// Leaves the target as it came: percent-decoding in place would lose the difference between `/` and `%2F`.
static inline size_t nacre_mhd_keep_escapes(void *context, struct MHD_Connection *connection, char *text) {
    (void)context;
    (void)connection;
    return __builtin_strlen(text);
}

/// Starts a daemon that the caller drives (no threads, epoll). A shim because `MHD_start_daemon` is variadic, and because it takes function
/// pointers among its variadic arguments.
/// Suspend and resume without `MHD_USE_ITC`: a daemon without threads needs no wake-up of its own, the loop has one, and each resume would cost
/// two system calls.
static inline struct MHD_Daemon *nacre_mhd_start(const struct nacre_mhd_settings *settings) {
    return MHD_start_daemon(
        MHD_USE_ERROR_LOG | MHD_USE_EPOLL | (MHD_ALLOW_SUSPEND_RESUME & ~(unsigned int)MHD_USE_ITC), 0, NULL, NULL, settings->on_request, settings->context,
        MHD_OPTION_EXTERNAL_LOGGER, settings->on_log, settings->context,
        MHD_OPTION_LISTEN_SOCKET, settings->listen_socket,
        MHD_OPTION_CONNECTION_LIMIT, settings->connections_max,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, settings->connection_memory_bytes,
        MHD_OPTION_CONNECTION_TIMEOUT, settings->stall_seconds,
        MHD_OPTION_NOTIFY_COMPLETED, settings->on_completed, settings->context,
        MHD_OPTION_NOTIFY_CONNECTION, settings->on_connection, settings->context,
        MHD_OPTION_URI_LOG_CALLBACK, settings->on_target, settings->context,
        MHD_OPTION_UNESCAPE_CALLBACK, &nacre_mhd_keep_escapes, NULL,
        MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1,
        MHD_OPTION_END);
}

/// The daemon's epoll descriptor. A shim because `MHD_get_daemon_info` is variadic.
static inline int nacre_mhd_epoll(struct MHD_Daemon *daemon) {
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD);
    return info == NULL ? -1 : info->epoll_fd;
}

/// What `on_connection` stored for this socket. A shim because `MHD_get_connection_info` is variadic; so are the next three.
static inline void *nacre_mhd_socket_context(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info == NULL ? NULL : info->socket_context;
}

static inline int nacre_mhd_socket(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info == NULL ? -1 : info->connect_fd;
}

static inline size_t nacre_mhd_header_bytes(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    return info == NULL ? 0 : info->header_size;
}

static inline const struct sockaddr *nacre_mhd_peer(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    return info == NULL ? NULL : info->client_addr;
}

/// Has a response of unknown length end with its connection, and not in chunks. A shim because `MHD_set_response_options` is variadic.
static inline enum MHD_Result nacre_mhd_end_with_connection(struct MHD_Response *response) {
    return MHD_set_response_options(response, MHD_RF_HTTP_1_0_COMPATIBLE_STRICT, MHD_RO_END);
}

/// Reads of a file what lies in the kernel's memory, and waits for no disk: EAGAIN where the first byte does not. A shim because glibc shows preadv2 to
/// GNU programs alone.
static inline ssize_t nacre_read_resident(int file, void *buffer, size_t count, off_t offset) {
    struct iovec piece = {buffer, count};
    // The kernel takes the offset in two halves, of which the second is above the bits of a register of 64.
    return syscall(SYS_preadv2, file, &piece, 1UL, (unsigned long)offset, 0UL, RWF_NOWAIT);
}

/// Names the calling thread for `top -H` and debuggers. A shim because `prctl` is variadic.
static inline void nacre_name_thread(const char *name) {
    prctl(PR_SET_NAME, (unsigned long)name, 0UL, 0UL, 0UL);
}
