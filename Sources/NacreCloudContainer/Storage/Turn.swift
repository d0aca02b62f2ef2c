/// Who asks the store for something, and how much: by this an engine lets those who wait go in turn. It goes with the task that asks, because each
/// request is one; what asks without it is the server itself.
package struct Turn: Hashable, Sendable {
    /// Reads that take about as long as each other.
    package enum Lane: Int, Hashable, Sendable, CaseIterable {
        /// Lookups, and feeds of who is up to date.
        case short
        case query
        /// Feeds of who begins.
        case bulk
    }

    /// A user, or the address of somebody whose user is not known; empty for the server itself.
    package var asker: String
    package var lane = Lane.short
    /// Records that the request names.
    package var rows = 1
    /// Rows of indexes that are written with those records, as far as that is known before.
    package var derivedRows = 0
    /// Bytes that the request keeps in memory while it waits.
    package var bytes = 0
    /// Others wait for the thread that asks.
    package var isAmongMany = false
    /// A power cut may take back what is written, and all that was written after it: something that is kept has it done again. Who waits for it waits for no
    /// disk. What is written after it and may not be lost keeps it too.
    package var isDoneAgain = false

    package init(asker: String, lane: Lane = .short, rows: Int = 1, bytes: Int = 0, isAmongMany: Bool = false) {
        self.asker = asker
        self.lane = lane
        self.rows = rows
        self.bytes = bytes
        self.isAmongMany = isAmongMany
    }

    @TaskLocal package static var current = Turn(asker: "")

    /// Runs something in this turn.
    func doing<Value>(_ body: () async throws -> Value) async rethrows -> Value {
        try await Self.$current.withValue(self, operation: body)
    }

    /// Runs what writes only what is done again, should a power cut take it back.
    static func doneAgain<Value>(_ body: () async throws -> Value) async rethrows -> Value {
        var turn = current
        turn.isDoneAgain = true
        return try await $current.withValue(turn, operation: body)
    }

    /// Whether a request is so little work that most of what another thread would cost is the way there and back. Not for the server's own work,
    /// which nobody waits for.
    package var isSmall: Bool { lane == .short && rows <= Self.fewRows && !asker.isEmpty }

    /// On this server: of records as most are, what a loop does for one request without others noticing.
    private static let fewRows = 8

    /// What it counts for beside others: a thousand bytes are as much work as a record, and so is a row of an index, which has a place of its own.
    package var cost: Int { max(rows, 1) + derivedRows + bytes / 1000 }
}
