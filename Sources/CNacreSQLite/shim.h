// SQLite's own header, and the few things of it that Swift cannot import.
#pragma once
#include <sqlite3.h>

// SQLITE_TRANSIENT is -1 cast to a function pointer: the text is copied, so it may go as soon as the call returns.
static inline int nacre_bind_copied_text(sqlite3_stmt *statement, int index, const char *text, int count) {
    return sqlite3_bind_text(statement, index, text, count, SQLITE_TRANSIENT);
}

static inline int nacre_bind_copied_blob(sqlite3_stmt *statement, int index, const void *bytes, int count) {
    return sqlite3_bind_blob(statement, index, bytes, count, SQLITE_TRANSIENT);
}

// SQLITE_STATIC is a null function pointer: the bytes are not copied and must outlive the statement's last step.
static inline int nacre_bind_borrowed_blob(sqlite3_stmt *statement, int index, const void *bytes, int count) {
    return sqlite3_bind_blob(statement, index, bytes, count, SQLITE_STATIC);
}

// Takes a variable number of arguments. Memory is not counted then, and so not locked for counting at each of SQLite's allocations.
static inline int nacre_sqlite_without_memory_statistics(void) {
    return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

// Takes a variable number of arguments.
static inline int nacre_keep_log_when_closing(sqlite3 *database) {
    return sqlite3_db_config(database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)0);
}

// Extended codes whose macros are expressions. The first two mean "the disk did not confirm that it keeps what it was given".
static const int nacre_ioerr_fsync = SQLITE_IOERR_FSYNC;
static const int nacre_ioerr_dir_fsync = SQLITE_IOERR_DIR_FSYNC;
static const int nacre_ioerr_write = SQLITE_IOERR_WRITE;
static const int nacre_constraint_primary_key = SQLITE_CONSTRAINT_PRIMARYKEY;
static const int nacre_constraint_unique = SQLITE_CONSTRAINT_UNIQUE;
