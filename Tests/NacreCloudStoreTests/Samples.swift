import NacreCloudContainer
import NacreCloudStorage
import NacreCloudStore
import NacreCloudTestSupport
import NacreCloudWire

/// A database and a zone for tests, and short forms of their contents.
struct Sample: Sendable {
    static let database = DatabaseID(DatabaseKey(container: "iCloud.org.example.notes", environment: .development, scope: .private, owner: "_ann"))
    static let zone = ZoneAddress(database: database, zone: 7)

    static let databaseRow = DatabaseRow(
        id: database, key: DatabaseKey(container: "iCloud.org.example.notes", environment: .development, scope: .private, owner: "_ann"),
        run: 1, lastSeq: 0)

    static func zoneRow(_ name: String = "Notes", _ address: ZoneAddress = zone, state: ZoneRow.State = .live, lastSeq: Int64 = 0) -> ZoneRow {
        ZoneRow(address: address, name: name, state: state, run: 1, lastSeq: lastSeq)
    }

    static func number(_ seq: Int64) -> ChangeNumber {
        ChangeNumber(run: 1, seq: seq)
    }

    static func record(
        _ name: String, _ seq: Int64, parent: String? = nil, isTombstone: Bool = false, body: [UInt8] = [1, 2, 3]
    ) -> RecordRow {
        RecordRow(name: name, type: "Note", number: number(seq), isTombstone: isTombstone, parent: parent, body: body)
    }

    /// Returns a record saved with change number `seq`, which stood at `before` in the owner's feed.
    static func put(
        _ name: String, _ seq: Int64, before: Int64? = nil, parent: String? = nil, isTombstone: Bool = false, body: [UInt8] = [1, 2, 3],
        in zone: ZoneAddress = zone
    ) -> RecordPut {
        let row = record(name, seq, parent: parent, isTombstone: isTombstone, body: body)
        let feed = FeedRow(position: ViewNumber(view: .owner, number: number(seq)), entered: number(before ?? seq), isDeparture: isTombstone)
        let leaves = before.map { [ViewNumber(view: .owner, number: number($0))] } ?? []
        return RecordPut(zone: zone, row: row, leaves: leaves, enters: [feed], isNew: before == nil)
    }
}

extension Store {
    func apply(_ plan: WritePlan) async throws {
        try await write { transaction in
            try transaction.apply(plan)
            return .commit(())
        }
    }

    /// Makes a database with one zone, "Notes", and these records.
    func populate(_ records: [RecordPut] = []) async throws {
        var plan = WritePlan()
        plan.databases = [Sample.databaseRow]
        plan.zones = [Sample.zoneRow()]
        plan.records = records
        try await apply(plan)
    }

    func feed(
        _ zone: ZoneAddress = Sample.zone, view: FeedView = .owner, after position: FeedPosition = .start, through last: ChangeNumber? = nil,
        baseline: ChangeNumber = .zero, limit: Int = 100
    ) async throws -> [FeedEntry] {
        try await read { try $0.feed(of: zone, view: view, after: position, through: last, baseline: baseline, limit: limit) }
    }

    func dependents(
        _ zone: ZoneAddress = Sample.zone, of names: [String], outside others: [String] = [], limit: Int = 100
    ) async throws -> [Dependents] {
        let found = try await read { try $0.dependents(in: zone, of: names, outside: others, limit: limit) }
        return found.sorted { $0.target.utf8.lexicographicallyPrecedes($1.target.utf8) }
    }

    func parents(_ names: [String], outside others: [String] = []) async throws -> [String] {
        try await dependents(of: names, outside: others).filter(\.isParent).map(\.target)
    }

    func names(_ zone: ZoneAddress = Sample.zone, after position: FeedPosition = .start, limit: Int = 100) async throws -> [String] {
        try await feed(zone, after: position, limit: limit).map(\.record.name)
    }
}

extension WritePlan {
    /// Makes a plan with one kind of change.
    init<Value>(_ part: WritableKeyPath<WritePlan, Value>, _ value: Value) {
        self.init()
        self[keyPath: part] = value
    }
}

/// Returns texts as bytes: `String` treats two canonically equivalent names as one.
func bytes(_ strings: [String]) -> [[UInt8]] {
    strings.map { Array($0.utf8) }
}
