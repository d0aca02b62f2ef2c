// What a read of SQLite's would have to wait for is known to the kernel alone, which tells it by preadv2(2) with RWF_NOWAIT. SQLite's Unix files
// let their system calls be exchanged (sqlite3_vfs.xSetSystemCall), so this needs no file system of its own and no second descriptor, whose
// closing would give up SQLite's locks.
#define _GNU_SOURCE
#include "CNacreFileReads.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static __thread bool never_waits;
static __thread size_t bytes_left;
// SQLite reads by way of this file, and the kernel and the file system have known the flag so far.
static atomic_bool is_possible;

static ssize_t read_file(int file, void *buffer, size_t count, off_t offset) {
    if (!never_waits) return pread(file, buffer, count, offset);
    if (count > bytes_left) {
        errno = EAGAIN;
        return -1;
    }
    bytes_left -= count;
    struct iovec piece = {buffer, count};
    ssize_t result = preadv2(file, &piece, 1, offset, RWF_NOWAIT);
    if (result < 0 && (errno == EOPNOTSUPP || errno == ENOSYS || errno == EINVAL)) atomic_store(&is_possible, false);
    return result;
}

void nacre_file_reads_install(void) {
    _Static_assert(sizeof(off_t) == 8, "pread and pread64 are the same");
    sqlite3_vfs *unix_files = sqlite3_vfs_find("unix");
    if (!unix_files || unix_files->iVersion < 3 || !unix_files->xSetSystemCall || !unix_files->xGetSystemCall) return;
    const char *names[] = {"pread", "pread64"};
    for (int index = 0; index < 2; index++) {
        if (!unix_files->xGetSystemCall(unix_files, names[index])) continue;
        if (unix_files->xSetSystemCall(unix_files, names[index], (sqlite3_syscall_ptr)read_file) == SQLITE_OK) atomic_store(&is_possible, true);
    }
}

bool nacre_file_reads_begin(size_t bytes) {
    if (!atomic_load_explicit(&is_possible, memory_order_relaxed)) return false;
    never_waits = true;
    bytes_left = bytes;
    return true;
}

void nacre_file_reads_end(void) {
    never_waits = false;
}
