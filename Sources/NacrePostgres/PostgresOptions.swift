package import NacreCloudStorage

/// The options of opening a store on PostgreSQL. The defaults are a server's.
package struct PostgresOptions: Sendable {
    /// Connections that write, and connections that read. Each has a thread.
    package var writers = PostgresLimits.writers
    package var readers = PostgresLimits.readers
    /// The number of the run, in place of the one that the database has. Only tests set it.
    package var run: Int64?
    /// Called with each failure after which a body is run again, on a thread of the store. It must return soon.
    package var retried: @Sendable (StoreError) -> Void = { _ in }

    package init() {}
}

/// The bounds of the engine on PostgreSQL. Those of time are on this server.
enum PostgresLimits {
    /// PostgreSQL syncs commits that wait together at once: with 8, saves of 64 callers are two thirds as fast. Two
    /// servers stay below PostgreSQL's own default of 100 connections.
    static let writers = 24
    static let readers = 8

    /// Requests that may wait; further ones are refused.
    static let waitingWrites = TurnRoom(count: 4096, rows: 100_000, bytes: 64 * 1024 * 1024)
    static let waitingReads = TurnRoom(count: 4096, rows: 400_000, bytes: 64 * 1024 * 1024)

    /// The parts of the connections that one caller may have, and that long reads may have: half.
    static func places(of connections: Int) -> TurnLimits {
        let half = max(connections / 2, 1)
        return TurnLimits(all: connections, long: half, longOfOneKind: half, shortOfOneAsker: half, longOfOneAsker: max(half / 2, 1))
    }

    /// Milliseconds before each further run of a body that may pass. A primary that moves needs ten seconds: its
    /// clients try again.
    static let pauses: [Int] = [0, 20, 100, 400, 1000]
    /// Runs of a body that makes a row which another transaction made.
    static let collisions = 3

    /// Session settings, which the URL may override. A statement of a request takes milliseconds, one of a check
    /// reads a table. Every statement is written for nested loops over indexes, and must not become another plan when
    /// statistics are old.
    static let settings = """
        -c statement_timeout=60s -c lock_timeout=10s -c idle_in_transaction_session_timeout=30s \
        -c enable_hashjoin=off -c enable_mergejoin=off -c enable_seqscan=off -c jit=off
        """
    static let connectSeconds = 5
    /// Milliseconds after which a connection whose other end does not answer is lost.
    static let silenceMilliseconds = 15_000

    /// The oldest version of PostgreSQL that is tested.
    static let serverVersion = 150_000
}
