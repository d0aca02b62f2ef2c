import NacreCloudTorture

/// Notes of the writers and readers of one zone, made outside of the server, for a check that knows nothing of its
/// implementation.
struct ZoneNotes: Sendable {
    /// One record of a batch, as its writer knows it.
    struct Write: Hashable, Sendable {
        var record: String
        /// Unique to this write; a deletion has a version too.
        var version: String
        /// The version that it replaces, by the record's change tag or because the record is the writer's own; nil
        /// makes the record.
        var follows: String?
        var isDeletion = false
    }

    /// A record as an answer showed it.
    struct Sighting: Hashable, Sendable {
        var record: String
        /// nil: deleted, or not there.
        var version: String?
        var tag: String?
    }

    enum Outcome: Sendable {
        /// Done, with the records in the answer.
        case acknowledged([Sighting])
        /// Refused as a whole, by a conflict.
        case refused
    }

    /// One atomic request, with the ticks of its first sending and of its answer, on one clock for all.
    struct Batch: Sendable {
        var id: String
        var writes: [Write]
        var begun: Int
        var ended: Int
        var outcome: Outcome
    }

    /// One page of the zone's feed, with the ticks of its request.
    struct Page: Sendable {
        var begun: Int
        var ended: Int
        /// The token that was sent; nil: from the beginning.
        var after: String?
        /// The token of the answer.
        var token: String
        var sightings: [Sighting]
        var moreComing: Bool
    }

    /// Records of a batch, looked up in one request while others write.
    struct Look: Sendable {
        var begun: Int
        var ended: Int
        var sightings: [Sighting]
    }

    var zone: String
    var batches: [Batch] = []
    /// The pages of each reader, in order, each after the last one's token.
    var readings: [[Page]] = []
    var looks: [Look] = []
    /// Every record that was ever written, after the last write.
    var final: [Sighting] = []
    /// After the last write: the page after each token ever given, and after each token of these pages.
    var replays: [String: Page] = [:]
}

// MARK: Conversion to a history

extension ZoneNotes {
    /// Converts the notes to a history, and returns its violations.
    func violations() -> [Violation] {
        var history = History()
        let keys = keys()
        var versions: [String: Version] = [:]
        for batch in batches {
            for write in batch.writes { versions[write.version] = Version(batch.key) }
        }
        // A version that no batch wrote.
        let strange = Version(BatchID(writer: BatchID.writersMax, number: 1))
        func sights(_ sightings: [Sighting], missing: Version) -> [History.Sight] {
            sightings.compactMap { sighting in
                keys[sighting.record].map { key in
                    guard let version = sighting.version else { return History.Sight(key, missing) }
                    return History.Sight(key, versions[version] ?? strange, tag: sighting.tag.map(Self.digest) ?? 0)
                }
            }
        }
        func span(_ begun: Int, _ ended: Int) -> History.Span { History.Span(UInt64(begun), UInt64(ended)) }
        for batch in batches {
            let items = batch.writes.compactMap { write in
                keys[write.record].map {
                    History.Item($0, over: write.follows.map { versions[$0] ?? strange } ?? .absent, isDeletion: write.isDeletion)
                }
            }
            switch batch.outcome {
            case .acknowledged(let shown):
                history.write(
                    batch.key, span(batch.begun, batch.ended), .applied, items, shown: sights(shown, missing: .deleted).filter { $0.tag != 0 })
            case .refused: history.write(batch.key, span(batch.begun, batch.ended), .refused, items)
            }
        }
        for look in looks { history.read(.lookup, span(look.begun, look.ended), sights(look.sightings, missing: .absent)) }
        let end = (batches.map(\.ended) + looks.map(\.ended) + readings.joined().map(\.ended)).max() ?? 0
        var dead: Set<String> = []
        for reading in readings {
            let stream = history.follow()
            for page in reading {
                history.page(
                    of: stream, span(page.begun, page.ended), sights(page.sightings, missing: .deleted), isCaughtUp: !page.moreComing)
            }
            guard !replays.isEmpty else { continue }
            for (number, page) in reading.enumerated() {
                let replay = history.follow(from: .token(stream: stream, page: number))
                var token: String? = page.token
                var asked = 0
                while let current = token {
                    guard asked <= replays.count, let page = replays[current] else {
                        dead.insert(current)
                        break
                    }
                    asked += 1
                    history.page(
                        of: replay, span(end + asked, end + asked), sights(page.sightings, missing: .deleted), isCaughtUp: !page.moreComing)
                    token = page.moreComing ? page.token : nil
                }
            }
        }
        for token in dead.sorted() { history.fault(Violation(.deadToken, "the token \(token) does not lead to the end of the feed")) }
        let there = Dictionary(final.map { ($0.record, $0) }, uniquingKeysWith: { _, last in last })
        history.end(with: sights(keys.keys.sorted().map { there[$0] ?? Sighting(record: $0) }, missing: .absent))
        let names = Dictionary(uniqueKeysWithValues: keys.map { ($1.name, $0) })
        return HistoryCheck.violations(of: history).map { violation in
            let told = Set(violation.evidence.split { !$0.isLetter && !$0.isNumber }.map(String.init)).sorted().compactMap { key in
                names[key].map { "\(key) is \($0)" }
            }
            return Violation(violation.kind, "\(violation.evidence) (\(told.joined(separator: ", ")))")
        }
    }

    /// Returns a key for each record that was ever named.
    private func keys() -> [String: RecordKey] {
        let written = batches.flatMap { $0.writes.map(\.record) }
        let seen = [final, looks.flatMap(\.sightings), readings.joined().flatMap(\.sightings), replays.values.flatMap(\.sightings)].joined()
        let names = Set(written).union(seen.map(\.record)).sorted()
        return Dictionary(
            uniqueKeysWithValues: names.enumerated().map { ($1, RecordKey(slot: $0 & 0xffff, generation: $0 >> 16)) })
    }

    /// FNV-1a; never 0, which is no tag.
    private static func digest(_ tag: String) -> UInt64 {
        max(1, tag.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3 })
    }
}

extension ZoneNotes.Batch {
    /// The batch's ID: "w3.12" is the twelfth of writer 3.
    fileprivate var key: BatchID {
        let parts = id.drop { $0 == "w" }.split(separator: ".").compactMap { Int($0) }
        return parts.count == 2 ? BatchID(writer: parts[0], number: parts[1]) : BatchID(writer: 0, number: parts.first ?? 0)
    }
}
