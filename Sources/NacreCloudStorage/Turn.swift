/// The asker of a request to the store, and the size of the request. An engine uses it to order the waiting requests.
/// A turn travels with the task (`current`), because each request is one. A task without it is the server itself.
package struct Turn: Hashable, Sendable {
    /// The kinds of reads. The reads of one kind take about the same time.
    package enum Kind: Int, Hashable, Sendable, CaseIterable {
        /// Lookups, and feeds of devices that are up to date.
        case short
        case query
        /// Feeds of devices that start from the beginning.
        case bulk
    }

    /// A user, or a peer's address if its user is not known. Empty for the server itself.
    package var asker: String
    package var kind = Kind.short
    /// The number of records that the request names.
    package var rows = 1
    /// The number of index rows written with those records, as far as it is known beforehand.
    package var derivedRows = 0
    /// Bytes that the request keeps in memory while it waits.
    package var bytes = 0
    /// The request came together with several others, which wait for the thread that asks.
    package var isAmongMany = false
    /// A power cut may undo the write, and all unsynced writes after it: kept data makes the server repeat them. It
    /// waits for no sync of the disk. The next write that must not be lost syncs this one too.
    package var isDoneAgain = false

    package init(asker: String, kind: Kind = .short, rows: Int = 1, bytes: Int = 0, isAmongMany: Bool = false) {
        self.asker = asker
        self.kind = kind
        self.rows = rows
        self.bytes = bytes
        self.isAmongMany = isAmongMany
    }

    @TaskLocal package static var current = Turn(asker: "")

    /// Runs `body` under this turn.
    package func doing<Value>(_ body: () async throws -> Value) async rethrows -> Value {
        try await Self.$current.withValue(self, operation: body)
    }

    /// Runs `body`, whose writes are all done again if a power cut undoes them.
    package static func doneAgain<Value>(_ body: () async throws -> Value) async rethrows -> Value {
        var turn = current
        turn.isDoneAgain = true
        return try await $current.withValue(turn, operation: body)
    }

    /// Whether a request is so small that another thread would mostly cost the way there and back. False for the
    /// server's own work, for which no request waits.
    package var isSmall: Bool { kind == .short && rows <= Self.fewRows && !asker.isEmpty }

    /// On this server: the number of records of common size that a loop can serve without other requests noticing.
    private static let fewRows = 8

    /// The weight of the request against others: 1000 bytes weigh as much as a record. An index row does too, because
    /// it has a position of its own.
    package var cost: Int { max(rows, 1) + derivedRows + bytes / 1000 }
}
