/// The last requests of a server and what came of them, apart from its data. See `docs/logs.md`.
///
/// Rows are written behind the answers, on a thread of the log. Rows that it cannot take or write are lost and counted;
/// no request waits for it, and none fails with it.
package protocol RequestLog: Sendable {
    /// Takes a row, which is made on the log's thread. Any thread; returns at once.
    /// - Parameter bytes: the memory that waits with `row`, about.
    func add(bytes: Int, _ row: @escaping @Sendable () -> RequestRow)
    /// Takes traces in the same way.
    /// - Parameter count: the number of the traces.
    func add(bytes: Int, count: Int, _ traces: @escaping @Sendable () -> [RequestTrace])
    /// Returns the rows that a filter admits. All rows taken before are among them.
    /// - Throws: `StoreError`
    func page(_ filter: RequestFilter) async throws -> RequestPage
    /// Returns what is known of the notifications that a request led to, the earliest first.
    /// - Parameter telling: `RequestRow.telling` of the request.
    /// - Throws: `StoreError`
    func traces(of telling: String) async throws -> [RequestTrace]
    /// Writes all rows that were taken, and ends.
    func close() async
}

/// Conditions on rows of the request log, all of which hold for a row that is admitted; nil or an empty range admits
/// every row.
package struct RequestFilter: Hashable, Sendable {
    /// Times in milliseconds since 1970, both included.
    package var since: Int64?
    package var until: Int64?
    package var container: String?
    package var environment: String?
    package var database: String?
    package var zone: String?
    package var user: String?
    package var operation: String?
    /// A kind of client, or one with its version.
    package var client: String?
    package var code: String?
    package var status: ClosedRange<Int>?
    /// Whether only requests are admitted that were refused, or had a refused item.
    package var isRefused = false
    /// Microseconds that an admitted request has taken more than.
    package var slowerThan: Int?
    /// The UUID of the answer.
    package var id: String?
    /// Only rows below this number, the newest first.
    package var after: Int64?
    /// Only rows above this number, the oldest first.
    package var following: Int64?
    /// The most rows of a page.
    package var limit = 100

    package init() {}
}

package struct RequestPage: Hashable, Sendable {
    package var rows: [RequestRow]
    /// Whether further rows are admitted.
    package var hasMore: Bool
    /// The number of the newest row in the log, admitted or not; 0 for an empty log.
    package var last: Int64
    /// Rows that were lost since the server's start.
    package var lost: Int

    package init(rows: [RequestRow], hasMore: Bool, last: Int64, lost: Int) {
        (self.rows, self.hasMore, self.last, self.lost) = (rows, hasMore, last, lost)
    }
}

/// The bounds of a request log.
package struct RequestLogBounds: Hashable, Sendable {
    /// Days after which a row is not shown any more. A day later at most it is deleted.
    package var days: Int
    /// The most bytes on the disk.
    package var bytes: Int

    package init(days: Int, bytes: Int) {
        (self.days, self.bytes) = (days, bytes)
    }

    package static let usual = RequestLogBounds(days: 7, bytes: 256 << 20)
    /// The least bytes: the parts of the ring have room for some thousand rows.
    package static let leastBytes = 16 << 20
    package static let mostDays = 366
    /// Rows and their texts that wait to be written, in bytes of memory.
    package static let waitingBytes = 4 << 20
    /// The most rows of a page.
    package static let pageRows = 1000
}

/// An event of the request log that an operator should know of. Each is told once, until the log is well again.
package enum RequestLogEvent: Sendable {
    /// Rows could not be written, and are lost.
    case failed(StoreError)
    /// Rows came faster than they could be written, and some are lost.
    case overrun
    /// Rows are written again; so many were lost.
    case recovered(lost: Int)
    /// A file was damaged or of another server. It is put aside under this path.
    case setAside(path: String, reason: String)
}
