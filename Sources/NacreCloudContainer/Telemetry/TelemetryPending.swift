package import NacreCloudStorage
package import NacreCloudWire

/// The sums that are not written yet. They are bounded: while they cannot be written, older sums move to coarser slots.
package struct TelemetryPending: Sendable {
    /// Sums that are kept in memory, at most: one takes up to 5 KB, mostly 2 KB.
    package static let most = 384

    private struct Place: Hashable {
        var tier: TelemetryTier
        var slot: Int64
        var series: TelemetrySeries
    }

    private var sums: [Place: TelemetrySums] = [:]

    package init() {}

    package var isEmpty: Bool { sums.isEmpty }
    package var count: Int { sums.count }

    /// Changes the sums of a series in the slot of a time.
    package mutating func add(
        _ series: TelemetrySeries, at time: Timestamp, tier: TelemetryTier = .tenSeconds, _ change: (inout TelemetrySums) -> Void
    ) {
        change(&sums[room(for: Place(tier: tier, slot: tier.slot(of: time), series: series)), default: TelemetrySums()])
    }

    /// Takes back sums that could not be written.
    package mutating func merge(_ other: TelemetryPending) {
        for (place, sums) in other.sums { self.sums[room(for: place), default: TelemetrySums()].merge(sums) }
    }

    package func write(to table: any TelemetryTable) throws {
        for (place, sums) in sums { try table.add(sums, at: TelemetryKey(place.tier, place.slot, place.series.text), of: place.series) }
    }

    private mutating func room(for place: Place) -> Place {
        if sums[place] != nil || sums.count < Self.most { return place }
        for tier in TelemetryTier.allCases where sums.count > Self.most / 2 { coarsen(tier) }
        if sums.count >= Self.most { removeFirstSlot() }
        guard sums.count >= Self.most else { return place }
        return Place(tier: place.tier, slot: place.slot, series: place.series.other)
    }

    /// Moves the sums of a tier to the next one.
    private mutating func coarsen(_ tier: TelemetryTier) {
        guard let coarser = tier.coarser else { return }
        for (place, moved) in sums where place.tier == tier {
            sums[place] = nil
            let key = TelemetryKey(tier, place.slot, "").within(coarser)
            sums[Place(tier: coarser, slot: key.slot, series: place.series), default: TelemetrySums()].merge(moved)
        }
    }

    /// Drops the first of several days.
    private mutating func removeFirstSlot() {
        let slots = Set(sums.keys.lazy.filter { $0.tier == .days }.map(\.slot))
        guard slots.count > 1, let first = slots.min() else { return }
        sums = sums.filter { $0.key.tier != .days || $0.key.slot != first }
    }
}

/// The salts of the current day and month. Those of earlier ones are forgotten, in memory and in the file.
package struct TelemetrySalts: Sendable {
    /// The day of `current`.
    private var day: Int64?
    /// known[period]
    package private(set) var known: [String: TelemetrySalt]

    /// - Parameter known: the salts of the file.
    package init(known: [String: TelemetrySalt] = [:]) { self.known = known }

    private var current: (day: TelemetrySalt, month: TelemetrySalt)?

    /// The salts of the day and the month of a time, in UTC.
    package mutating func salts(at time: Timestamp, _ make: () -> TelemetrySalt) -> (day: TelemetrySalt, month: TelemetrySalt) {
        let day = TelemetryTier.days.slot(of: time)
        if day == self.day, let current { return current }
        let names = Self.periods(of: day)
        let salts = (day: known[names.day] ?? make(), month: known[names.month] ?? make())
        known = [names.day: salts.day, names.month: salts.month]
        (self.day, current) = (day, salts)
        return salts
    }

    /// Forgets the salts of periods that are over, although no request has come since.
    package mutating func forget(before now: Timestamp) {
        let day = TelemetryTier.days.slot(of: now)
        guard day != self.day else { return }
        let names = Self.periods(of: day)
        known = known.filter { $0.key == names.day || $0.key == names.month }
        (self.day, current) = (nil, nil)
    }

    private static func periods(of day: Int64) -> (day: String, month: String) { ("day \(day)", "month \(month(of: day))") }

    /// The month of a day, counted from the year 0. Source: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms",
    /// civil_from_days.
    static func month(of day: Int64) -> Int64 {
        let shifted = day + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        // Years begin in March here.
        return (era * 400 + yearOfEra) * 12 + (5 * dayOfYear + 2) / 153
    }
}
