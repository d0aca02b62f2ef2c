import NacreCloudContainer

/// Every bound of the SQLite engine. All measured on two shared cores (`docs/storage.md`) unless another source stands there.
enum SQLiteLimits {
    /// Writes that wait for the writer; beyond, a write is refused. About 100 ms of work at 50,000 single writes a second, or some seconds of batches;
    /// eight of the largest requests' bytes.
    static let waitingWrites = LaneRoom(count: 4096, rows: 100_000, bytes: 64 * 1024 * 1024)

    /// Reads that wait for a reader of a kind; beyond, a read is refused.
    static let waitingReads = LaneRoom(count: 4096, rows: 400_000, bytes: 64 * 1024 * 1024)

    /// How often a read is begun that was in the way of what others wrote: behind its end the log begins anew, and the next snapshot is in nobody's way until
    /// that is long again.
    static let readTries = 2

    /// Connections that read: those for short reads, and those for long ones. More of a kind than cores buys nothing: a read computes, it seldom waits for
    /// the disk.
    static let shortReaders = 3
    static let longReaders = 3
    static let readers = shortReaders + longReaders

    /// Who may have them: one asker never has all of a kind, so that a page of half a second keeps no other asker's page waiting.
    static let shortPlaces = LanePlaces(all: shortReaders, long: 0, longOfOneKind: 0, shortOfOneAsker: 2, longOfOneAsker: 0)
    static let longPlaces = LanePlaces(all: longReaders, long: longReaders, longOfOneKind: longReaders, shortOfOneAsker: 0, longOfOneAsker: 2)

    /// What a read may take that runs on the thread of who asks: steps of SQLite's machine, and bytes that its page cache does not have. On this server:
    /// two lookups of eight large records, a fifth of a millisecond.
    static let stepsAtOnce = 4000
    static let bytesAtOnce = 256 * 1024

    /// Small reads that wait for a reader while others wait for the thread that asks: with as many both are busy, and the next ones are not handed on.
    static let handedOn = 4

    /// Rows changed by a group of writes after which it is committed: one huge request must not hold back small ones.
    static let rowsInGroup = 4000

    /// Bytes of requests in a group after which it is committed, for the same reason.
    static let bytesInGroup = 2 * 1024 * 1024

    /// A write that costs more only begins a group, and is in none that others have begun: those would wait for it. Half a millisecond of work.
    static let costInGroupOfOthers = 50

    /// How long a group takes requests in before it is committed.
    static let groupDuration: Duration = .milliseconds(2)

    /// How long the body of one write may keep others waiting; a longer one is an error of whoever bounded its work.
    static let writerHold: Duration = .milliseconds(100)

    /// How long a connection waits for a lock. Only a checkpoint of our own can hold one against us, and only briefly.
    static let busyTimeoutMilliseconds: Int32 = 10_000

    /// Page caches, filled as they are used. The kernel's cache stands behind them.
    static let writerCacheKibibytes = 8192
    static let readerCacheKibibytes = 2048
    static let checkpointerCacheKibibytes = 64

    /// Pages of the log not yet in the file at which a checkpoint starts beside the writer: 16 MiB. At SQLite's own 1000 pages, those that change
    /// with every commit are copied so often that a write costs a fifth more.
    static let pagesBeforeCheckpoint: Int32 = 4000

    /// Pages from which the log is to begin anew: 64 MiB. How far it can grow beyond is `LogBound`'s.
    static let pagesInLog: Int32 = 16_384

    /// How long the writer waits for readers when it makes the log begin anew: as long as a group takes requests in.
    static let checkpointPatienceMilliseconds: Int32 = 2

    /// Idleness after which the log is cut to nothing.
    static let idleSecondsBeforeTruncation = 5
}
