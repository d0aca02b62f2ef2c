import NacreCloudWire

/// Asks the store for rows of indexes: at once, or together with what other zones of the query ask.
struct IndexReads {
    let transaction: any ReadTransaction
    /// What was read for one zone of many; nil: every question goes to the store.
    fileprivate var known: [[IndexScan]: [IndexPortion]]?

    init(_ transaction: any ReadTransaction) {
        self.transaction = transaction
    }

    /// - Throws: `NotReadYet` where the answer is to be read together with those of other zones.
    func search(_ scans: [IndexScan], bytesMax: Int) throws -> [IndexPortion] {
        guard let known else { return try transaction.search(scans, bytesMax: bytesMax) }
        guard let portions = known[scans] else { throw NotReadYet(scans: scans) }
        return portions
    }
}

private struct NotReadYet: Error {
    var scans: [IndexScan]
}

extension IndexReads {
    /// Questions of one zone that are asked with those of the others. On this server: more than a page takes, unless it persists.
    private static let mostQuestions = 8
    /// Bytes of bodies that a question for all zones reads. On this server: what their rows take, where bodies have a kilobyte and a half.
    static let roundBytes = 16_000_000

    /// Searches many zones in rounds: each goes as far as what was read of it leads, then what all of them ask next is read with one question. A zone
    /// begins anew in each round, and finds what it asked before. So the store is asked as often as for the zone that asks most, and not for each. One that
    /// asks for very long goes on alone: to begin anew each time would cost more than it saves.
    ///
    /// - Parameters:
    ///   - most: rounds.
    ///   - search: searches the zone of this number, and depends on nothing but what it reads.
    /// - Returns: what was found of each zone, in their order; nil for one that needed more rounds. And the rounds, where there were several zones.
    static func inRounds<Found>(
        over zones: Int, most: Int, _ transaction: any ReadTransaction, _ search: (_ zone: Int, IndexReads) throws -> Found
    ) throws -> (found: [Found?], rounds: Int) {
        var rounds = 0
        guard zones > 1 else { return (try (0..<zones).map { try search($0, IndexReads(transaction)) }, rounds) }
        var found: [Int: Found] = [:]
        var known: [Int: [[IndexScan]: [IndexPortion]]] = [:]
        var open = Array(0..<zones)
        while !open.isEmpty {
            var asked: [(zone: Int, scans: [IndexScan])] = []
            for zone in open {
                var reads = IndexReads(transaction)
                let answers = known[zone] ?? [:]
                reads.known = answers.count < mostQuestions ? answers : nil
                do {
                    found[zone] = try search(zone, reads)
                    known[zone] = nil
                } catch let missing as NotReadYet {
                    asked.append((zone, missing.scans))
                }
            }
            open = asked.map(\.zone)
            guard !asked.isEmpty, rounds < most else { break }
            rounds += 1
            var portions = try transaction.search(asked.flatMap(\.scans), bytesMax: roundBytes)[...]
            var isFirst = true
            for (zone, scans) in asked {
                let mine = Array(portions.prefix(scans.count))
                portions = portions.dropFirst(scans.count)
                // Behind the end of the bytes nothing was read: that is asked again.
                guard isFirst || mine.contains(where: { $0.isWhole || !$0.hits.isEmpty }) else { continue }
                known[zone, default: [:]][scans] = mine
                isFirst = false
            }
        }
        return ((0..<zones).map { found[$0] }, rounds)
    }
}
