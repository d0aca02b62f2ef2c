/// A time in which a record was not there: before it was made, or from a deletion until it was made again.
struct Absence {
    /// The deletion; nil: the record had not been made yet.
    var since: Int?
    /// The item that made the record, or made it again; nil where none did.
    var until: Int?
}

extension Chains {
    /// The absences of a record in which somebody looked, in order: several where it may have been any of them. Where time allows none, the last one
    /// that had begun, so that the graph shows the contradiction. None for records of which nothing can be said.
    ///
    /// - Parameters:
    ///   - place: in the record's chain. Absences that begin before it are left out.
    ///   - latest: an absence that had not begun at this time is left out.
    ///   - span: when it was looked. An absence whose end had been acknowledged before is left out.
    func absences(of record: RecordKey, from place: Int = 0, begunBy latest: UInt64, in span: History.Span) -> [Absence] {
        guard !broken.contains(record) else { return [] }
        let all = [Absence(until: first[record])] + deletions[record, default: []].map { Absence(since: $0, until: next[$0] < 0 ? nil : next[$0]) }
        let begun = all.filter { absence in
            guard let since = absence.since else { return place == 0 }
            return position[since] >= place && isBegun(since, at: latest)
        }
        let open = begun.filter { absence in absence.until.map { !isOver($0, before: span) } ?? true }
        return open.isEmpty ? [begun.last ?? all[all.count - 1]] : open
    }

    /// The items that may have made what a follower of the feed was shown, in order. None where no batch did, and for records of which nothing can
    /// be said.
    ///
    /// - Parameter known: what the follower had of the record before. A deletion that it is shown then is a later one.
    func makers(of sight: History.Sight, after known: Int?, in span: History.Span) -> [Int] {
        guard sight.version == .deleted else { return item(sight).map { [$0] } ?? [] }
        let place = known.map { position[$0] } ?? 0
        return absences(of: sight.record, from: place + 1, begunBy: span.end, in: span).compactMap(\.since)
    }
}
