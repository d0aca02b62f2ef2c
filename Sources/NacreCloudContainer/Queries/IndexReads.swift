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

/// Searches many zones in rounds: each goes as far as what was read of it leads, then what all of them ask next is read with one question. A zone
/// begins anew in each round, and finds what it asked before. So the store is asked as often as for the zone that asks most, and not for each. One that asks for
/// very long, as by distance, goes on alone: to begin anew each time would cost more than it saves.
struct ZoneRounds<Found> {
    /// Questions of one zone. On this server.
    private static var mostQuestions: Int { 4 }

    private let transaction: any ReadTransaction
    private let search: (_ place: Int, IndexReads) throws -> Found

    /// - Parameter search: a pure function of what it reads.
    init(_ transaction: any ReadTransaction, _ search: @escaping (_ place: Int, IndexReads) throws -> Found) {
        self.transaction = transaction
        self.search = search
    }

    /// - Returns: what was found of each zone, in their order.
    func run(_ count: Int) throws -> [Found] {
        guard count > 1 else { return try (0..<count).map { try search($0, IndexReads(transaction)) } }
        var found: [Int: Found] = [:]
        var known: [Int: [[IndexScan]: [IndexPortion]]] = [:]
        var open = Array(0..<count)
        while !open.isEmpty {
            var asked: [(place: Int, scans: [IndexScan])] = []
            for place in open {
                var reads = IndexReads(transaction)
                let answers = known[place] ?? [:]
                reads.known = answers.count < Self.mostQuestions ? answers : nil
                do {
                    found[place] = try search(place, reads)
                    known[place] = nil
                } catch let missing as NotReadYet {
                    asked.append((place, missing.scans))
                }
            }
            open = asked.map(\.place)
            guard !asked.isEmpty else { break }
            var portions = try transaction.search(asked.flatMap(\.scans), bytesMax: QueryReader.portionBytes)[...]
            var isFirst = true
            for (place, scans) in asked {
                let mine = Array(portions.prefix(scans.count))
                portions = portions.dropFirst(scans.count)
                // Behind the end of the bytes nothing was read: that is asked again.
                guard isFirst || mine.contains(where: { $0.isWhole || !$0.hits.isEmpty }) else { continue }
                known[place, default: [:]][scans] = mine
                isFirst = false
            }
        }
        return (0..<count).compactMap { found[$0] }
    }
}
