package import NacreCloudStorage
package import NacreCloudWire

/// A row of telemetry: the sums of one series in one slot, and whether they are shown.
///
/// A figure of private and shared databases is shown only as a sum over at least `UserSketch.fewest` users, and no such
/// sum of fewer users may follow from others by subtraction. A row is decided once, when its slot is over. It is shown
/// if the part of it that no shown finer row covers is empty, or has enough users. Otherwise it is hidden, and that
/// part is left to the coarser row. Each shown row thus adds one sum that was not known before, and each of those sums
/// is over enough users. The parts of a shown row are told by their names under the same rule, otherwise as `other`.
package struct TelemetryRow: Hashable, Sendable {
    package var state: TelemetryEntry.State
    package var sums = TelemetrySums()
    /// The users of the part that no shown finer row covers; nil: there is no such part. Only of an open row.
    package var uncovered: UserSketch?

    package init(of series: TelemetrySeries) { state = series.isPersonal ? .open : .shown }

    /// Decides whether a row whose slot is over is shown.
    /// - Parameter uncovered: the users of the part that no shown finer row covers, at least; nil: there is no such
    ///   part.
    package static func verdict(uncovered: Int?) -> TelemetryEntry.State {
        guard let uncovered else { return .shown }
        return uncovered >= UserSketch.fewest ? .shown : .hidden
    }

    /// Decides whether a row of stored bytes is shown. It is a state and no sum of what was done: the difference from
    /// another day is what users changed in between.
    /// - Parameters:
    ///   - owners: the users whose bytes they are, at least.
    ///   - changing: the users who changed records in the row's slot, at least.
    package static func verdict(owners: Int, changing: Int) -> TelemetryEntry.State { verdict(uncovered: min(owners, changing)) }

    package init(_ entry: TelemetryEntry) throws(MalformedBytes) {
        var reader = ByteReader(entry.bytes)
        state = entry.state
        sums = try TelemetrySums(&reader)
        uncovered = try reader.byte() == 1 ? try reader.sketch() : nil
    }

    package var entry: TelemetryEntry {
        var writer = ByteWriter()
        sums.write(to: &writer)
        writer.byte(uncovered == nil ? 0 : 1)
        if let uncovered { writer.write(uncovered) }
        return TelemetryEntry(state: state, bytes: writer.bytes)
    }
}

extension TelemetryTable {
    /// The row at a key. One that cannot be read counts as missing: telemetry is no record.
    package func row(at key: TelemetryKey) throws -> TelemetryRow? {
        try entry(at: key).flatMap { try? TelemetryRow($0) }
    }

    /// Merges sums into the row of a slot and those of the coarser slots that it lies in.
    ///
    /// Sums may come for a slot that is decided already, if the clock was set back or the disk was full. A row that was
    /// shown is then hidden, because the difference would be the late sums. The late part goes on as uncovered.
    package func add(_ sums: TelemetrySums, at first: TelemetryKey, of series: TelemetrySeries) throws {
        var isUncovered = series.isPersonal
        var sums = sums
        var tier: TelemetryTier? = first.tier
        while let next = tier {
            let key = try place(of: first.within(next), series)
            var row = try row(at: key) ?? TelemetryRow(of: series)
            var merged = sums
            if next != .days { merged.monthUsers = UserSketch() }
            row.sums.merge(merged)
            if series.isPersonal {
                if row.state != .open {
                    row.state = .hidden
                } else {
                    if isUncovered { row.cover(nothingOf: sums.users) }
                    isUncovered = false
                    sums.forgetUsers(ofPartsIn: row.sums)
                }
            }
            try put(row.entry, at: key)
            tier = next.coarser
        }
    }

    /// Decides the open rows whose slots are over, the finest first.
    package func decide(at now: Timestamp) throws {
        for tier in TelemetryTier.allCases {
            for (key, entry) in try openEntries(of: tier, before: tier.slot(of: now)) { try decide(key, entry) }
        }
    }

    private func decide(_ key: TelemetryKey, _ entry: TelemetryEntry) throws {
        guard let open = try? TelemetryRow(entry) else { return try put(TelemetryEntry(state: .hidden, bytes: []), at: key) }
        var row = open
        row.state = TelemetryRow.verdict(uncovered: row.uncovered?.atLeast)
        if let changing = TelemetrySeries(text: key.series)?.changing {
            let users = try self.row(at: TelemetryKey(key.tier, key.slot, changing.text))?.sums.users.atLeast ?? 0
            row.state = TelemetryRow.verdict(owners: row.uncovered?.atLeast ?? 0, changing: users)
        }
        row.uncovered = nil
        let parts = row.sums.decideParts(isShown: row.state == .shown)
        try put(row.entry, at: key)
        try leave(row.state == .hidden ? open.uncovered : nil, parts, above: key)
    }

    /// Leaves the uncovered part of a hidden row, and the parts that are not told by their names, to the first coarser
    /// row that is open. Those between are hidden.
    private func leave(_ users: UserSketch?, _ parts: [TelemetryPart: FewUsers], above decided: TelemetryKey) throws {
        guard let series = TelemetrySeries(text: decided.series) else { return }
        var (users, parts, tier) = (users, parts, decided.tier.coarser)
        while let next = tier, users != nil || !parts.isEmpty {
            let key = try place(of: decided.within(next), series)
            if var row = try row(at: key) {
                if row.state == .open {
                    if let left = users { row.cover(nothingOf: left) }
                    users = nil
                    parts = row.sums.cover(nothingOf: parts)
                } else {
                    row.state = .hidden
                }
                try put(row.entry, at: key)
            }
            tier = next.coarser
        }
    }

    /// Removes the slots that were made first, until a tier is within its bounds. The order is not that of time: a
    /// clock that jumps ahead and back does not remove the slots of today.
    package func trim(slotsKept: (TelemetryTier) -> Int = \.slotsKept, bytesMax: Int = TelemetryRow.bytesOfTier) throws {
        for tier in TelemetryTier.allCases {
            while true {
                let usage = try usage(of: tier)
                guard usage.slots > slotsKept(tier) || usage.bytes > bytesMax, usage.slots > 1, let slot = try firstMadeSlot(of: tier) else { break }
                for (key, entry) in try openEntries(of: tier, before: slot + 1) where key.slot == slot { try decide(key, entry) }
                try remove(tier, slot)
            }
        }
    }

    /// The key under which a series is kept in a slot: its own, or that of `other` if the slot has too many.
    private func place(of key: TelemetryKey, _ series: TelemetrySeries) throws -> TelemetryKey {
        guard try entry(at: key) == nil, try seriesCount(of: key.tier, key.slot) >= TelemetryRow.seriesMax else { return key }
        return TelemetryKey(key.tier, key.slot, series.other.text)
    }
}

extension TelemetryRow {
    /// Series of a slot. Further ones are summed up as `other`, in one row or two more.
    package static let seriesMax = 256
    /// Bytes of a tier's rows, with their keys. Beyond, the slots that were made first are removed.
    package static let bytesOfTier = 16 * 1024 * 1024

    fileprivate mutating func cover(nothingOf users: UserSketch) {
        var sketch = uncovered ?? UserSketch()
        sketch.merge(users)
        uncovered = sketch
    }
}
