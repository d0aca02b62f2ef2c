/// A time in which a record was not there: before it was made, or from a deletion until it was made again.
struct Absence {
    /// The deletion; nil: the record had not been made yet.
    var since: Int?
    /// The item that made the record, or made it again; nil where none did.
    var until: Int?
}

extension Chains {
    /// Returns the absences of a record that a sight may have shown, in order. If time allows none, the last one that
    /// had begun, so that the graph shows the contradiction. Empty for broken records.
    ///
    /// - Parameters:
    ///   - index: A position in the record's chain. Absences that begin before it are left out.
    ///   - latest: An absence that had not begun at this time is left out.
    ///   - span: The time of the sight. An absence whose end was acknowledged before is left out.
    func absences(of record: RecordKey, from index: Int = 0, begunBy latest: UInt64, in span: History.Span) -> [Absence] {
        guard !broken.contains(record) else { return [] }
        let all = [Absence(until: first[record])] + deletions[record, default: []].map { Absence(since: $0, until: next[$0] < 0 ? nil : next[$0]) }
        let begun = all.filter { absence in
            guard let since = absence.since else { return index == 0 }
            return position[since] >= index && isBegun(since, at: latest)
        }
        let open = begun.filter { absence in absence.until.map { !isOver($0, before: span) } ?? true }
        return open.isEmpty ? [begun.last ?? all[all.count - 1]] : open
    }

    /// Returns the items that may have made what a follower was shown, in order. Empty where no batch did, and for
    /// broken records.
    ///
    /// - Parameter known: The follower's last item of the record. A deletion shown now must be a later one.
    func makers(of sight: History.Sight, after known: Int?, in span: History.Span) -> [Int] {
        guard sight.version == .deleted else { return item(sight).map { [$0] } ?? [] }
        let place = known.map { position[$0] } ?? 0
        return absences(of: sight.record, from: place + 1, begunBy: span.end, in: span).compactMap(\.since)
    }
}
