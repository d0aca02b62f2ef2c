/// Holds a history against what a server promises: nothing acknowledged is lost, no batch is split, each write happens once, and the
/// feed leads from any token to the present, each change once and in order.
struct HistoryChecker: Sendable {
    private let history: History
    private let lineage: Lineage
    private let present: [String: History.Sighting]

    init(_ history: History) {
        self.history = history
        lineage = Lineage(history)
        present = Dictionary(history.final.map { ($0.record, $0) }, uniquingKeysWith: { _, last in last })
    }

    /// Every fault, once.
    func faults() -> Set<HistoryFault> {
        var faults = Set(lineage.faults)
        faults.formUnion(finalFaults())
        faults.formUnion(tagFaults())
        for look in history.looks { faults.formUnion(lookFaults(look)) }
        for reading in history.readings { faults.formUnion(readingFaults(reading)) }
        return faults
    }

    // MARK: What is there at the end

    private func finalFaults() -> [HistoryFault] {
        var faults: [HistoryFault] = []
        for record in lineage.records {
            guard let last = lineage.last(record) else { continue }
            let version = present[record]?.version
            guard version != (last.isDeletion ? nil : last.version) else { continue }
            if let version, lineage.place(version, of: record) == nil {
                faults.append(.phantom(record: record, version: version))
            } else {
                faults.append(.lost(record: record, version: last.version))
            }
        }
        for sighting in history.final where lineage.last(sighting.record) == nil {
            if let version = sighting.version { faults.append(.phantom(record: sighting.record, version: version)) }
        }
        return faults
    }

    // MARK: Tags

    private func tagFaults() -> [HistoryFault] {
        var versions: [[String]: String] = [:]
        var tags: [[String]: String] = [:]
        var faults: [HistoryFault] = []
        func note(_ sightings: [History.Sighting]) {
            for sighting in sightings {
                guard let version = sighting.version, let tag = sighting.tag else { continue }
                let knownVersion = versions.updateValue(version, forKey: [sighting.record, tag])
                let knownTag = tags.updateValue(tag, forKey: [sighting.record, version])
                if knownVersion ?? version != version || knownTag ?? tag != tag { faults.append(.tagReused(record: sighting.record, tag: tag)) }
            }
        }
        for batch in history.batches {
            if case .acknowledged(let sightings) = batch.outcome { note(sightings) }
        }
        for look in history.looks { note(look.sightings) }
        for reading in history.readings { for page in reading { note(page.sightings) } }
        for page in history.replays.values { note(page.sightings) }
        note(history.final)
        return faults
    }

    // MARK: Looks

    /// A batch shows whole, or later states of it, or not at all.
    private func lookFaults(_ look: History.Look) -> [HistoryFault] {
        guard let batch = lineage.batches[look.batch] else { return [] }
        let seen = Dictionary(look.sightings.map { ($0.record, $0.version) }, uniquingKeysWith: { _, last in last })
        var isAny = false
        var isAll = true
        for write in batch.writes {
            let version = seen[write.record] ?? nil
            if version == write.version { isAny = true }
            // "Deleted" may be any of the record's deletions: it speaks for the batch, and never against it alone.
            let place = version.map { lineage.place($0, of: write.record) ?? -1 } ?? lineage.lastDeletion(of: write.record) ?? -1
            if place < lineage.place(write.version, of: write.record) ?? 0 { isAll = false }
        }
        return isAny && !isAll ? [.split(batch: batch.id)] : []
    }

    // MARK: Readers

    private func readingFaults(_ pages: [History.Page]) -> Set<HistoryFault> {
        var faults: Set<HistoryFault> = []
        var reader = FeedReader()
        var pageOfBatch: [String: Int] = [:]
        for (number, page) in pages.enumerated() {
            if number == 0 { faults.formUnion(replayFaults(after: page.after, reader)) }
            for sighting in page.sightings {
                if let fault = reader.take(sighting, lineage) { faults.insert(fault) }
                guard let version = sighting.version, let batch = lineage.batch(of: version) else { continue }
                let first = pageOfBatch.updateValue(number, forKey: batch.id)
                if first ?? number != number { faults.insert(.split(batch: batch.id)) }
            }
            faults.formUnion(replayFaults(after: page.token, reader))
        }
        return faults
    }

    /// From a token on to the end: each record that is another one now, once, in order, and no record that the reader has already.
    private func replayFaults(after token: String?, _ reader: FeedReader) -> Set<HistoryFault> {
        guard let token, !history.replays.isEmpty else { return [] }
        var faults: Set<HistoryFault> = []
        var reader = reader
        reader.beginReplay()
        var next = token
        for _ in 0...history.replays.count {
            guard let page = history.replays[next] else { return [.deadToken(next)] }
            for sighting in page.sightings {
                if let fault = reader.take(sighting, lineage) { faults.insert(fault) }
            }
            next = page.token
            guard page.moreComing else {
                for record in lineage.records where reader.version(of: record) != present[record]?.version {
                    faults.insert(.skipped(record: record))
                }
                return faults
            }
        }
        return [.deadToken(token)]
    }
}

/// What a client of the feed holds, and whether the next change may come.
private struct FeedReader {
    private var versions: [String: String] = [:]
    private var places: [String: Int] = [:]
    private var replayed: Set<String>?
    /// The latest beginning among the changes so far: what was over before it may not come any more.
    private var latestBegun = Int.min

    func version(of record: String) -> String? { versions[record] }

    /// From here on each record may come once.
    mutating func beginReplay() { replayed = [] }

    mutating func take(_ sighting: History.Sighting, _ lineage: Lineage) -> HistoryFault? {
        let record = sighting.record
        let known = places[record] ?? -1
        if replayed?.insert(record).inserted == false { return .repeated(record: record) }
        guard let version = sighting.version else {
            versions[record] = nil
            guard let place = lineage.deletion(of: record, after: known) else {
                return lineage.last(record) == nil ? .phantom(record: record, version: "deleted") : .repeated(record: record)
            }
            places[record] = place
            return nil
        }
        versions[record] = version
        guard let place = lineage.place(version, of: record), let batch = lineage.batch(of: version) else {
            return .phantom(record: record, version: version)
        }
        places[record] = place
        if place <= known { return .repeated(record: record) }
        if batch.ended < latestBegun { return .disordered(record: record) }
        latestBegun = max(latestBegun, batch.begun)
        return nil
    }
}
