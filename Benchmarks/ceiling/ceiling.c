/* What SQLite itself can do with Nacre's rows: the ceiling that the server is measured against.
 *
 *     ceiling FILE creates|batches|updates|lookups|pages SECONDS SIZE
 *
 * FILE was made by Nacre, so schema, indexes and page size are the real ones; pragmas are those of the server's connections. A commit does
 * what a commit of the server does: raise the zone's counter, read what is there, put the record and its feed row, raise the database's
 * counter and place the zone in its feed. There is no HTTP, no JSON, no check and nobody who waits: SIZE single requests share a commit, each
 * in a savepoint, as SIZE connections at most can. Readers run on all cores. Prints one JSON object.
 */
#include <pthread.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { names_max = 1 << 20, readers_max = 64, busy_milliseconds = 10000 };

static const char *path;
static double seconds;
static int size;

/* The zone to work in, and a body to save. */
/* Of the zone, and the run that wrote it: a server draws a number at each opening. */
static int64_t db_id, zone_id, incarnation;
static char zone_name[256];
static unsigned char *body;
static int body_bytes;

/* Names of records that are there, for reads and updates. */
static char **names;
static int64_t *places;
static int name_count;

static void fail(const char *what, sqlite3 *db) {
    fprintf(stderr, "ceiling: %s: %s\n", what, db ? sqlite3_errmsg(db) : "");
    exit(1);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static double cpu(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *text) {
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v3(db, text, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL) != SQLITE_OK) fail(text, db);
    return statement;
}

static void run(sqlite3 *db, sqlite3_stmt *statement) {
    int result;
    do result = sqlite3_step(statement); while (result == SQLITE_ROW);
    if (result != SQLITE_DONE) fail("step", db);
    sqlite3_reset(statement);
}

/* Runs a statement that returns one number. */
static int64_t number(sqlite3 *db, sqlite3_stmt *statement, int column) {
    if (sqlite3_step(statement) != SQLITE_ROW) fail("no row", db);
    int64_t value = sqlite3_column_int64(statement, column);
    run(db, statement);
    return value;
}

static sqlite3 *open_file(int cache_kibibytes) {
    sqlite3 *db;
    char text[64];
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK) fail("open", db);
    sqlite3_busy_timeout(db, busy_milliseconds);
    snprintf(text, sizeof text, "PRAGMA cache_size = -%d", cache_kibibytes);
    const char *settings[] = {"PRAGMA temp_store = MEMORY", "PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL", text};
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        sqlite3_stmt *statement = prepare(db, settings[i]);
        while (sqlite3_step(statement) == SQLITE_ROW) {}
        sqlite3_finalize(statement);
    }
    return db;
}

/* Finds the zone that changed most often (users' own records are in another one), one body, and the names that are there. */
static void look(sqlite3 *db) {
    sqlite3_stmt *zone = prepare(db, "SELECT db_id, zone_id, name, incarnation FROM zones WHERE feed_seq > 0 ORDER BY last_seq DESC LIMIT 1");
    if (sqlite3_step(zone) != SQLITE_ROW) fail("the file has no zone with changes", db);
    db_id = sqlite3_column_int64(zone, 0);
    zone_id = sqlite3_column_int64(zone, 1);
    snprintf(zone_name, sizeof zone_name, "%s", (const char *)sqlite3_column_text(zone, 2));
    incarnation = sqlite3_column_int64(zone, 3);
    sqlite3_finalize(zone);
    names = calloc(names_max, sizeof *names);
    places = calloc(names_max, sizeof *places);
    sqlite3_stmt *records = prepare(db, "SELECT name, seq, body FROM records WHERE db_id = ?1 AND zone_id = ?2 LIMIT ?3");
    sqlite3_bind_int64(records, 1, db_id);
    sqlite3_bind_int64(records, 2, zone_id);
    sqlite3_bind_int(records, 3, names_max);
    while (sqlite3_step(records) == SQLITE_ROW) {
        if (!body) {
            body_bytes = sqlite3_column_bytes(records, 2);
            body = malloc((size_t)body_bytes);
            memcpy(body, sqlite3_column_blob(records, 2), (size_t)body_bytes);
        }
        places[name_count] = sqlite3_column_int64(records, 1);
        names[name_count++] = strdup((const char *)sqlite3_column_text(records, 0));
    }
    sqlite3_finalize(records);
    if (!name_count) fail("the file has no records", db);
}

/* The statements of a commit, in the order of their use. */
static struct {
    sqlite3_stmt *begin, *commit, *savepoint, *release, *zone, *database, *find, *insert, *put, *leave, *enter, *advance, *place;
} w;

static void prepare_writes(sqlite3 *db) {
    w.begin = prepare(db, "BEGIN IMMEDIATE");
    w.commit = prepare(db, "COMMIT");
    w.savepoint = prepare(db, "SAVEPOINT request");
    w.release = prepare(db, "RELEASE request");
    w.zone = prepare(db, "UPDATE zones SET last_seq = last_seq + 1 WHERE db_id = ?1 AND name = ?2 AND state = 0 "
                         "RETURNING zone_id, name, state, incarnation, last_seq, feed_seq, client_change_token");
    w.database = prepare(db, "SELECT container, environment, scope, owner, incarnation, last_seq FROM databases WHERE db_id = ?1");
    w.find = prepare(db, "SELECT name, type, incarnation, seq, is_tombstone, parent, body FROM records "
                         "WHERE db_id = ?1 AND zone_id = ?2 AND name = ?3");
    w.insert = prepare(db, "INSERT INTO records (db_id, zone_id, name, type, incarnation, seq, is_tombstone, parent, body) "
                           "VALUES (?1, ?2, ?3, 'Note', ?6, ?4, 0, NULL, ?5)");
    w.put = prepare(db, "INSERT INTO records (db_id, zone_id, name, type, incarnation, seq, is_tombstone, parent, body) "
                        "VALUES (?1, ?2, ?3, 'Note', ?6, ?4, 0, NULL, ?5) ON CONFLICT (db_id, zone_id, name) DO UPDATE SET "
                        "type = excluded.type, incarnation = excluded.incarnation, seq = excluded.seq, "
                        "is_tombstone = excluded.is_tombstone, parent = excluded.parent, body = excluded.body");
    w.leave = prepare(db, "DELETE FROM feed WHERE db_id = ?1 AND zone_id = ?2 AND view_id = 0 AND incarnation = ?6 AND seq = ?3 AND name = ?4");
    w.enter = prepare(db, "INSERT INTO feed (db_id, zone_id, view_id, incarnation, seq, name, entered_incarnation, entered_seq, is_departure) "
                          "VALUES (?1, ?2, 0, ?6, ?3, ?4, ?6, ?3, 0) ON CONFLICT (db_id, zone_id, view_id, incarnation, seq, name) DO UPDATE SET "
                          "entered_incarnation = excluded.entered_incarnation, entered_seq = excluded.entered_seq, "
                          "is_departure = excluded.is_departure");
    w.advance = prepare(db, "UPDATE databases SET last_seq = last_seq + 1 WHERE db_id = ?1 RETURNING last_seq");
    w.place = prepare(db, "UPDATE zones SET feed_seq = ?3 WHERE db_id = ?1 AND zone_id = ?2");
    sqlite3_stmt *of_zone[] = {w.find, w.insert, w.put, w.leave, w.enter, w.place};
    for (size_t i = 0; i < sizeof of_zone / sizeof *of_zone; i++) {
        sqlite3_bind_int64(of_zone[i], 1, db_id);
        sqlite3_bind_int64(of_zone[i], 2, zone_id);
    }
    sqlite3_stmt *of_run[] = {w.insert, w.put, w.leave, w.enter};
    for (size_t i = 0; i < sizeof of_run / sizeof *of_run; i++) sqlite3_bind_int64(of_run[i], 6, incarnation);
    sqlite3_bind_int64(w.zone, 1, db_id);
    sqlite3_bind_text(w.zone, 2, zone_name, -1, SQLITE_STATIC);
    sqlite3_bind_int64(w.database, 1, db_id);
    sqlite3_bind_int64(w.advance, 1, db_id);
}

/* One request: `count` records that are new, or one that is there. */
static void write_records(sqlite3 *db, int count, int is_update) {
    static uint64_t made;
    static unsigned char found[4096];
    int64_t seq = number(db, w.zone, 4);
    run(db, w.database);
    for (int i = 0; i < count; i++) {
        char fresh[32];
        int known = is_update ? (int)((made * 2654435761u) % (uint64_t)name_count) : -1;
        made++;
        snprintf(fresh, sizeof fresh, "c%lx-%08lx", (unsigned long)getpid(), (unsigned long)made);
        const char *name = is_update ? names[known] : fresh;
        sqlite3_bind_text(w.find, 3, name, -1, SQLITE_STATIC);
        if (sqlite3_step(w.find) == SQLITE_ROW) {
            int bytes = sqlite3_column_bytes(w.find, 6);
            memcpy(found, sqlite3_column_blob(w.find, 6), (size_t)(bytes < (int)sizeof found ? bytes : (int)sizeof found));
        }
        sqlite3_reset(w.find);
        sqlite3_stmt *put = is_update ? w.put : w.insert;
        sqlite3_bind_text(put, 3, name, -1, SQLITE_STATIC);
        sqlite3_bind_int64(put, 4, seq);
        sqlite3_bind_blob(put, 5, body, body_bytes, SQLITE_STATIC);
        run(db, put);
        if (is_update) {
            sqlite3_bind_int64(w.leave, 3, places[known]);
            sqlite3_bind_text(w.leave, 4, name, -1, SQLITE_STATIC);
            run(db, w.leave);
            places[known] = seq;
        }
        sqlite3_bind_int64(w.enter, 3, seq);
        sqlite3_bind_text(w.enter, 4, name, -1, SQLITE_STATIC);
        run(db, w.enter);
    }
    sqlite3_bind_int64(w.place, 3, number(db, w.advance, 0));
    run(db, w.place);
}

/* `requests` requests of `records` records in each commit, until time is up. */
static uint64_t write_until(double end, int requests, int records, int is_update) {
    sqlite3 *db = open_file(4096);
    uint64_t units = 0;
    prepare_writes(db);
    while (now() < end) {
        run(db, w.begin);
        for (int i = 0; i < requests; i++) {
            if (i) run(db, w.savepoint);
            write_records(db, records, is_update);
            if (i) run(db, w.release);
        }
        run(db, w.commit);
        units += (uint64_t)requests;
    }
    return units;
}

struct reading {
    pthread_t thread;
    double end;
    uint64_t units;
    unsigned seed;
    int is_page;
};

/* Reads one record by name, or one page of the feed from a random place, each in a transaction, copying what a server would copy. */
static void *read_until(void *argument) {
    struct reading *me = argument;
    sqlite3 *db = open_file(2048);
    sqlite3_stmt *begin = prepare(db, "BEGIN DEFERRED"), *commit = prepare(db, "COMMIT");
    sqlite3_stmt *find = prepare(db, me->is_page ?
        "SELECT f.incarnation, f.seq, f.name, f.entered_incarnation, f.entered_seq, f.is_departure, "
        "r.type, r.incarnation, r.seq, r.is_tombstone, r.parent, r.body FROM feed f CROSS JOIN records r "
        "WHERE f.db_id = ?1 AND f.zone_id = ?2 AND f.view_id = 0 AND (f.incarnation, f.seq) > (?6, ?3) AND (f.incarnation, f.seq) <= (?6, ?4) "
        "AND (f.is_departure = 0 OR (f.incarnation, f.seq) > (0, 0)) AND r.db_id = f.db_id AND r.zone_id = f.zone_id AND r.name = f.name "
        "AND (r.is_tombstone = 0 OR (f.incarnation, f.seq) > (0, 0)) ORDER BY f.incarnation, f.seq, f.name LIMIT ?5" :
        "SELECT name, type, incarnation, seq, is_tombstone, parent, body FROM records WHERE db_id = ?1 AND zone_id = ?2 AND name = ?3");
    int column = me->is_page ? 11 : 6;
    static _Thread_local unsigned char copy[1 << 16];
    sqlite3_bind_int64(find, 1, db_id);
    sqlite3_bind_int64(find, 2, zone_id);
    while (now() < me->end) {
        int pick = (int)(rand_r(&me->seed) % (unsigned)name_count);
        if (me->is_page) {
            /* A whole page follows, as behind a token in the middle of the feed. */
            sqlite3_bind_int64(find, 3, places[pick] > 1 ? places[pick] - 1 : 0);
            sqlite3_bind_int64(find, 4, INT64_MAX);
            sqlite3_bind_int(find, 5, size);
            sqlite3_bind_int64(find, 6, incarnation);
        } else {
            sqlite3_bind_text(find, 3, names[pick], -1, SQLITE_STATIC);
        }
        run(db, begin);
        int rows = 0, result;
        while ((result = sqlite3_step(find)) == SQLITE_ROW) {
            int bytes = sqlite3_column_bytes(find, column);
            if (bytes <= (int)sizeof copy) memcpy(copy, sqlite3_column_blob(find, column), (size_t)bytes);
            rows++;
        }
        if (result != SQLITE_DONE || rows == 0) fail("read", db);
        sqlite3_reset(find);
        run(db, commit);
        me->units += 1;
    }
    sqlite3_close_v2(db);
    return NULL;
}

static uint64_t read_all_cores(double end, int is_page) {
    static struct reading readings[readers_max];
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int count = cores < 1 ? 1 : cores > readers_max ? readers_max : (int)cores;
    uint64_t units = 0;
    for (int i = 0; i < count; i++) {
        readings[i].end = end;
        readings[i].seed = (unsigned)i + 1;
        readings[i].is_page = is_page;
        if (pthread_create(&readings[i].thread, NULL, read_until, &readings[i])) fail("thread", NULL);
    }
    for (int i = 0; i < count; i++) {
        pthread_join(readings[i].thread, NULL);
        units += readings[i].units;
    }
    return units;
}

int main(int count, char **arguments) {
    if (count != 5) {
        fprintf(stderr, "usage: ceiling FILE creates|batches|updates|lookups|pages SECONDS SIZE\n");
        return 64;
    }
    path = arguments[1];
    seconds = atof(arguments[3]);
    size = atoi(arguments[4]);
    const char *work = arguments[2];
    sqlite3 *db = open_file(64);
    look(db);
    double start = now(), cpu_before = cpu(), end = start + seconds;
    uint64_t units;
    if (!strcmp(work, "creates")) units = write_until(end, size, 1, 0);
    else if (!strcmp(work, "batches")) units = write_until(end, 1, size, 0);
    else if (!strcmp(work, "updates")) units = write_until(end, size, 1, 1);
    else if (!strcmp(work, "lookups")) units = read_all_cores(end, 0);
    else if (!strcmp(work, "pages")) units = read_all_cores(end, 1);
    else return 64;
    printf("{\"units\":%llu,\"seconds\":%.6f,\"cpu_seconds\":%.6f}\n", (unsigned long long)units, now() - start, cpu() - cpu_before);
    sqlite3_close_v2(db);
    return 0;
}
