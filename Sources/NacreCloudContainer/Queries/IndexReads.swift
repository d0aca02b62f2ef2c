package import NacreCloudStorage
import NacreCloudWire

/// Reads rows of indexes from the store: directly, or together with the reads of other zones of the query.
package struct IndexReads {
    package let transaction: any ReadTransaction
    /// The portions that were read for one zone of many; nil: every call goes to the store.
    fileprivate var known: [[IndexScan]: [IndexPortion]]?

    package init(_ transaction: any ReadTransaction) {
        self.transaction = transaction
    }

    /// - Throws: `NotReadYet` if the scans are to be read together with those of other zones.
    package func search(_ scans: [IndexScan], bytesMax: Int) throws -> [IndexPortion] {
        guard let known else { return try transaction.search(scans, bytesMax: bytesMax) }
        guard let portions = known[scans] else { throw NotReadYet(scans: scans) }
        return portions
    }
}

private struct NotReadYet: Error {
    var scans: [IndexScan]
}

extension IndexReads {
    /// The most calls of a zone joined with those of others. On this server: more than a page makes unless it persists.
    private static let mostQuestions = 8
    /// The bytes of bodies that one call for all zones reads. On this server: enough for rows with bodies of 1.5 KB.
    static let roundBytes = 16_000_000

    /// Searches many zones in rounds. In a round each zone goes as far as the portions that it has. Then one call of
    /// the store reads what all zones need next. A zone starts again in each round, and finds its earlier portions. The
    /// store therefore gets as many calls as the zone with the most needs. A zone with very many calls goes on alone,
    /// because starting again would cost more than it saves.
    ///
    /// - Parameters:
    ///   - most: the most rounds.
    ///   - search: searches the zone of this number, and depends on nothing but its reads.
    /// - Returns: the result of each zone, in their order, nil if it needed more rounds; and the number of rounds, 0
    ///   for a single zone.
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
                // The byte bound ended before these scans: they are read again.
                guard isFirst || mine.contains(where: { $0.isWhole || !$0.hits.isEmpty }) else { continue }
                known[zone, default: [:]][scans] = mine
                isFirst = false
            }
        }
        return ((0..<zones).map { found[$0] }, rounds)
    }
}
