#ifndef CNACRE_FILE_READS_H
#define CNACRE_FILE_READS_H

#include <stdbool.h>
#include <stddef.h>

/// Puts itself between SQLite and the kernel where SQLite reads its files, for the whole process. Once, before the first connection.
void nacre_file_reads_install(void);

/// From now on SQLite's reads on this thread take what lies in the kernel's memory, and fail where they would wait for a disk or
/// would take more than so many bytes together. False where that cannot be known here; then nothing has changed.
bool nacre_file_reads_begin(size_t bytes);

/// Reads on this thread wait again.
void nacre_file_reads_end(void);

#endif
