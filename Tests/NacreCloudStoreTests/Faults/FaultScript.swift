import NacreCloudContainer
import NacreCloudStorage
import NacreCloudStore
import NacreCloudTestSupport

/// A short history of numbered transactions. The records of each tell later whether it is there, and whether it is
/// complete.
enum FaultScript {
    /// Enough that the log restarts in between.
    static let transactions: ClosedRange<UInt8> = 1...4
    private static let recordsOfOwn = 3
    /// Bytes of a body: two do not fit one page of 4 KiB.
    private static let bodyBytes = 2500
    private static let shared = "shared"
    private static let index = IndexID(rawValue: 1)

    /// Returns options with which the log restarts during the script, on the writer's thread, so that every run makes
    /// the same disk calls.
    static func options(_ disk: String? = nil) -> SQLiteOptions {
        var options = SQLiteOptions.inFirstRun
        options.vfs = disk
        options.pagesInLog = 20
        options.pagesBeforeCheckpoint = .max
        options.packing = .standard
        // Longer than a busy machine may delay a script.
        options.idleSecondsBeforeTruncation = 3600
        // The test continues; a server would end here.
        options.onFsyncFailure = { _ in }
        return options
    }

    /// Returns the same options with packing of index rows after each group, whether a write waits or not.
    static func packingOptions(_ disk: String? = nil) -> SQLiteOptions {
        var options = options(disk)
        options.packing = .eager
        options.packing.busyBytes = 1
        options.packing.idleBytes = .max
        return options
    }

    /// Puts records of its own and changes one that all transactions change.
    static func run(_ number: UInt8, on store: some Store) async throws {
        try await store.write { transaction in
            var plan = WritePlan()
            var seq: Int64 = 1
            if let zone = try transaction.advance(zoneNamed: "Notes", in: Sample.database, operation: nil).zone {
                seq = zone.lastSeq
            } else {
                plan.databases = [Sample.databaseRow]
                plan.zones = [Sample.zoneRow(lastSeq: seq)]
            }
            let body = [UInt8](repeating: number, count: bodyBytes)
            let before = try transaction.records(in: Sample.zone, named: [shared]).first?.number.seq
            var last = Sample.put(shared, seq, before: before, body: body)
            last.unindexed = before.map { [IndexKeys(index: index, keys: SortedKeys([0, UInt8($0)]))] } ?? []
            last.indexed = [IndexKeys(index: index, keys: SortedKeys([0, UInt8(seq)]))]
            plan.records = [last]
            plan.records += (0..<recordsOfOwn).map { place in
                var put = Sample.put("\(number)-\(place)", seq, body: body)
                put.indexed = [IndexKeys(index: index, keys: SortedKeys([number, UInt8(place)]))]
                put.linked = [ReferenceLink(target: shared, kind: .deleteSelf)]
                return put
            }
            try transaction.apply(plan)
            return .commit(())
        }
    }

    /// The parts of the script that a store has.
    struct Found: Sendable {
        var transactions: Set<UInt8> = []
        /// Impossible contents, whatever failed: half of a transaction, or a record with another's bytes.
        var contradictions: [String] = []
    }

    static func found(in store: some Store) async throws -> Found {
        try await store.read { transaction in
            var found = Found()
            let entries = try transaction.feed(
                of: Sample.zone, view: .owner, after: .start, through: nil, baseline: .zero, limit: 1000)
            let names = entries.map(\.record.name)
            let rows = try transaction.records(in: Sample.zone, named: names)
            if Set(rows) != Set(entries.map(\.record)) { found.contradictions.append("the feed shows other records than there are") }
            for row in rows where Set(row.body).count != 1 || row.body.count != bodyBytes {
                found.contradictions.append("\(row.name) has mixed bytes")
            }
            let own = rows.filter { $0.name != shared }
            for (number, records) in Dictionary(grouping: own, by: { $0.body.first ?? 0 }) {
                found.transactions.insert(number)
                if records.count != recordsOfOwn || Set(records.map(\.number)).count != 1 {
                    found.contradictions.append("\(records.count) records of transaction \(number)")
                }
            }
            let last = rows.first { $0.name == shared }
            if last?.number != own.map(\.number).max() { found.contradictions.append("the shared record is not of the last transaction") }
            let zone = try transaction.zones(in: Sample.database, named: ["Notes"]).first
            if zone?.number != last?.number { found.contradictions.append("the zone is at another change than its records") }
            found.contradictions += try references(to: own, last, in: transaction)
            return found
        }
    }

    /// Returns contradictions between the links and the index, and the records.
    private static func references(to own: [RecordRow], _ last: RecordRow?, in transaction: any ReadTransaction) throws -> [String] {
        let names = own.map(\.name).sorted()
        let owned = try transaction.dependents(in: Sample.zone, of: [shared], outside: [], limit: 1000).first?.owned ?? []
        let hits = try transaction.search(IndexScan(zone: Sample.zone, index: index, limit: 1000, includesRecords: true))
        let places = last.map { [IndexPosition(key: [0, UInt8($0.number.seq)], name: shared)] } ?? []
        let rows = own.compactMap { row in row.name.last?.wholeNumberValue.map { IndexPosition(key: [row.body[0], UInt8($0)], name: row.name) } }
        return (owned == names ? [] : ["links of \(owned) for \(names)"])
            + (hits.compactMap(\.record).count == hits.count ? [] : ["an index row of no record"])
            + (Set(hits.map(\.position)) == Set(places + rows) ? [] : ["another index than records: \(hits.map(\.position))"])
    }
}
