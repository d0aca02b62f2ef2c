import NacreCloudStorage

/// The bounds of the SQLite engine, measured on two shared cores (`docs/storage.md`) unless another source is given.
enum SQLiteLimits {
    /// Writes that may wait for the writer; further ones are refused. About 100 ms of work at 50,000 single writes a
    /// second, or some seconds of batches. The bytes are those of eight of the largest requests.
    static let waitingWrites = TurnRoom(count: 4096, rows: 100_000, bytes: 64 * 1024 * 1024)

    /// Reads of a kind that may wait for a reader; further ones are refused.
    static let waitingReads = TurnRoom(count: 4096, rows: 400_000, bytes: 64 * 1024 * 1024)

    /// Attempts of a read that held up the log. After its end the log begins anew, and the next snapshot is in no
    /// write's way until the log is long again.
    static let readTries = 2

    /// Connections for short reads, and for long ones. More of a kind than cores gain nothing: a read computes, and
    /// seldom waits for the disk.
    static let shortReaders = 3
    static let longReaders = 3
    static let readers = shortReaders + longReaders

    /// The readers that one caller may have. No caller has all of a kind, so that a page of half a second does not hold
    /// up another caller's page.
    static let shortPlaces = TurnLimits(all: shortReaders, long: 0, longOfOneKind: 0, shortOfOneAsker: 2, longOfOneAsker: 0)
    static let longPlaces = TurnLimits(all: longReaders, long: longReaders, longOfOneKind: longReaders, shortOfOneAsker: 0, longOfOneAsker: 2)

    /// The most that a read on the calling thread may take: steps of SQLite's machine, and bytes that are not in its
    /// page cache. On this server: two lookups of eight large records, a fifth of a millisecond.
    static let stepsAtOnce = 4000
    static let bytesAtOnce = 256 * 1024

    /// Small reads that wait for a reader while others wait for the calling thread. With as many, both are busy, and
    /// further ones stay with the calling thread.
    static let handedOn = 4

    /// Changed rows after which a group of writes is committed, so that one huge request does not hold up small ones.
    static let rowsInGroup = 4000

    /// Bytes of requests after which a group is committed, for the same reason.
    static let bytesInGroup = 2 * 1024 * 1024

    /// The most cost of a write that joins a group of others, which would wait for it. A dearer one only begins a
    /// group. Half a millisecond of work.
    static let costInGroupOfOthers = 50

    /// The time in which a group takes requests before it is committed.
    static let groupDuration: Duration = .milliseconds(2)

    /// The time for which the body of one write may hold up others. A longer one is a mistake of the code that bounds
    /// its work.
    static let writerHold: Duration = .milliseconds(100)

    /// The longest wait of a connection for a lock. Only a checkpoint of this store can hold one, and only briefly.
    static let busyTimeoutMilliseconds: Int32 = 10_000

    /// Page caches, filled as they are used. The kernel's cache is behind them.
    static let writerCacheKibibytes = 8192
    static let readerCacheKibibytes = 2048
    static let checkpointerCacheKibibytes = 64

    /// Pages of the log not yet in the file from which on a checkpoint starts beside the writer: 16 MiB. With SQLite's
    /// 1000 pages, the pages that every commit changes are copied so often that a write costs a fifth more.
    static let pagesBeforeCheckpoint: Int32 = 4000

    /// Pages from which on the log should begin anew: 64 MiB. `LogBound` has how far it can grow beyond.
    static let pagesInLog: Int32 = 16_384

    /// The wait of the writer for readers when it makes the log begin anew: as long as a group takes requests.
    static let checkpointPatienceMilliseconds: Int32 = 2

    /// Seconds without commits after which the log is truncated.
    static let idleSecondsBeforeTruncation = 5
}
