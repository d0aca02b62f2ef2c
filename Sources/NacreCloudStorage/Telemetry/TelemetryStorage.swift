package import NacreCloudWire

/// The sizes of the slots in which telemetry is summed, the finest first. Each slot lies in one slot of the next tier.
package enum TelemetryTier: Int, CaseIterable, Sendable {
    case tenSeconds, minutes, hours, days

    /// The length of a slot in milliseconds.
    package var milliseconds: Int64 {
        switch self {
        case .tenSeconds: 10_000
        case .minutes: 60_000
        case .hours: 3_600_000
        case .days: 86_400_000
        }
    }

    /// The number of slots that are kept: an hour, a day, a month of 31 days, two years.
    package var slotsKept: Int {
        switch self {
        case .tenSeconds: 360
        case .minutes: 1440
        case .hours: 744
        case .days: 731
        }
    }

    package var coarser: TelemetryTier? { TelemetryTier(rawValue: rawValue + 1) }
    package var finer: TelemetryTier? { TelemetryTier(rawValue: rawValue - 1) }

    /// The number of the slot that holds a time.
    package func slot(of time: Timestamp) -> Int64 { slot(milliseconds: time.millisecondsSince1970) }

    package func slot(milliseconds: Int64) -> Int64 {
        let (quotient, rest) = milliseconds.quotientAndRemainder(dividingBy: self.milliseconds)
        return rest < 0 ? quotient - 1 : quotient
    }
}

/// The place of a row of telemetry.
package struct TelemetryKey: Hashable, Sendable {
    package var tier: TelemetryTier
    /// The slot's number: its start in units of the tier's length, from 1970.
    package var slot: Int64
    package var series: String

    package init(_ tier: TelemetryTier, _ slot: Int64, _ series: String) {
        (self.tier, self.slot, self.series) = (tier, slot, series)
    }

    package var start: Int64 { slot * tier.milliseconds }
    package var end: Int64 { start + tier.milliseconds }

    /// The key of the slot of a coarser tier that this slot lies in.
    package func within(_ coarser: TelemetryTier) -> TelemetryKey { TelemetryKey(coarser, coarser.slot(milliseconds: start), series) }
}

/// A row of telemetry, as it is kept.
package struct TelemetryEntry: Hashable, Sendable {
    /// The state that decides whether the row is shown.
    package enum State: Int, Sendable {
        /// Not decided yet, because the slot is not over.
        case open
        case shown
        case hidden
    }

    package var state: State
    package var bytes: [UInt8]

    package init(state: State, bytes: [UInt8]) {
        (self.state, self.bytes) = (state, bytes)
    }
}

/// A random key for the hashes of users' names. It is removed when its period ends.
package struct TelemetrySalt: Hashable, Sendable {
    /// The name of the salt in sketches; never 0.
    package var id: Int64
    package var key: [UInt8]

    package init(id: Int64, key: [UInt8]) {
        (self.id, self.key) = (id, key)
    }
}

/// The rows of telemetry inside one transaction, on the thread of the file.
package protocol TelemetryTable {
    func entry(at key: TelemetryKey) throws -> TelemetryEntry?
    func put(_ entry: TelemetryEntry, at key: TelemetryKey) throws
    /// Passes the rows of a tier to `body`, in the order of slots and series.
    func eachEntry(of tier: TelemetryTier, slots: ClosedRange<Int64>, _ body: (TelemetryKey, TelemetryEntry) throws -> Void) throws
    /// The open rows of a tier in slots before one.
    func openEntries(of tier: TelemetryTier, before slot: Int64) throws -> [(key: TelemetryKey, entry: TelemetryEntry)]
    func seriesCount(of tier: TelemetryTier, _ slot: Int64) throws -> Int
    /// The number of slots of a tier, and the bytes of their rows with their keys.
    func usage(of tier: TelemetryTier) throws -> (slots: Int, bytes: Int)
    /// The slot that was made first, whatever its time.
    func firstMadeSlot(of tier: TelemetryTier) throws -> Int64?
    func remove(_ tier: TelemetryTier, _ slot: Int64) throws
    /// salts[period]
    func salts() throws -> [String: TelemetrySalt]
    /// Keeps these salts, and removes others so that their bytes cannot be read any more.
    func setSalts(_ salts: [String: TelemetrySalt]) throws
}

/// Keeps telemetry, apart from the store and its backups.
package protocol TelemetryStorage: Sendable {
    /// Runs `body` in one transaction, after those before, on a thread that may block.
    /// - Parameter ended: called on the same thread before the next transaction: whether this one was committed.
    /// - Throws: the error of `body`, or of the disk; nothing is written then.
    func transaction<Value: Sendable>(
        _ body: @escaping @Sendable (any TelemetryTable) throws -> Value, ended: @escaping @Sendable (Bool) -> Void
    ) async throws -> Value
    /// Ends when all transactions have ended.
    func close() async
}
