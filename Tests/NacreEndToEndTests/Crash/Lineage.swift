/// The acknowledged versions of each record in the order in which they replaced each other.
struct Lineage: Sendable {
    private(set) var faults: [HistoryFault] = []
    /// The place of each version in its record's line.
    private var places: [String: [String: Int]] = [:]
    private var lines: [String: [History.Write]] = [:]
    private(set) var batches: [String: History.Batch] = [:]
    private var batchOfVersion: [String: String] = [:]

    init(_ history: History) {
        var writes: [String: [String?: History.Write]] = [:]
        for batch in history.batches {
            batches[batch.id] = batch
            guard case .acknowledged = batch.outcome else { continue }
            for write in batch.writes {
                batchOfVersion[write.version] = batch.id
                let earlier = writes[write.record, default: [:]].updateValue(write, forKey: write.follows)
                if earlier != nil { faults.append(.forked(record: write.record, version: write.follows ?? "none")) }
            }
        }
        for (record, followers) in writes {
            var line: [History.Write] = []
            var next = followers[nil]
            while let write = next, line.count < followers.count {
                line.append(write)
                next = followers[write.version]
            }
            // What builds on a version that nobody got acknowledged.
            if line.count < followers.count {
                let reached = Set(line.map(\.version))
                for write in followers.values where !reached.contains(write.version) {
                    faults.append(.phantom(record: record, version: write.follows ?? "none"))
                }
            }
            lines[record] = line
            places[record] = Dictionary(line.enumerated().map { ($1.version, $0) }, uniquingKeysWith: { first, _ in first })
        }
    }

    var records: some Sequence<String> { lines.keys }

    /// The record's last version; nil for a record that was never acknowledged.
    func last(_ record: String) -> History.Write? { lines[record]?.last }

    /// nil: never acknowledged.
    func place(_ version: String, of record: String) -> Int? { places[record]?[version] }

    func batch(of version: String) -> History.Batch? { batchOfVersion[version].flatMap { batches[$0] } }

    /// The first deletion after a place: what "deleted" stands for to somebody who knows the record as it was there.
    func deletion(of record: String, after place: Int) -> Int? {
        guard let line = lines[record] else { return nil }
        return line.indices.first { $0 > place && line[$0].isDeletion }
    }

    /// The last deletion: the latest that "deleted" can stand for.
    func lastDeletion(of record: String) -> Int? { lines[record]?.lastIndex { $0.isDeletion } }
}
