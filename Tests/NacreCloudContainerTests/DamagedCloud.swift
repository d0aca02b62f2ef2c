import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// A zone whose records a test damages in the store, as flipped bits do.
struct DamagedCloud {
    /// A filter that passes every note: without an index of names a query needs one.
    static let anyStars = QueryFilter(.greaterThanOrEquals, fieldName: "stars", value: .int64(0))

    let test: TestCloud
    let ann: TestCloudUser
    let zone: String

    init(_ engine: Engine, in scope: DatabaseKey.Scope = .private) async throws {
        self.init(TestCloud(try await engine.makeStore()), in: scope)
        if scope == .private { try await ann.makeZone(zone) }
    }

    private init(_ test: TestCloud, in scope: DatabaseKey.Scope) {
        self.test = test
        ann = test.user("_ann", in: scope)
        zone = scope == .private ? "Z" : ZoneID.defaultZoneName
    }

    var key: DatabaseKey {
        get throws { try databaseVerdict(ann.target, for: .write, by: ann.caller).get() }
    }

    func address() async throws -> ZoneAddress {
        let id = try await test.cloud.databaseID(try key)
        return try await test.store.read { [zone] in try #require(try $0.zones(in: id, named: [zone]).first).address }
    }

    /// Changes the stored rows of records, and nothing else.
    func damage(_ names: String..., by change: @escaping @Sendable (inout RecordRow) -> Void = { $0.body[$0.body.count / 2] ^= 1 }) async throws {
        let address = try await address()
        try await write { transaction in
            var plan = WritePlan()
            for before in try transaction.records(in: address, named: names) {
                var row = before
                change(&row)
                plan.records.append(.damaged(row, in: address, over: before))
            }
            return plan
        }
    }

    func write(_ plan: @escaping @Sendable (any WriteTransaction) throws -> WritePlan) async throws {
        try await test.store.write { transaction in
            try transaction.apply(try plan(transaction))
            return .commit(())
        }
    }

    func modify(_ operations: RecordOperation..., atomic: Bool? = false) async throws -> [RecordResult] {
        try await ann.modify(operations, zone: zone, atomic: atomic)
    }

    func lookup(_ name: String) async throws -> RecordResult? {
        try await ann.lookup([name], zone: zone).first
    }

    /// Returns every page of a query of all notes, or those that a filter passes.
    func query(_ filters: [QueryFilter] = [Self.anyStars], sorts: [QuerySort] = [], limit: Int = 2) async throws -> (
        names: [String], failures: [String]
    ) {
        var names: [String] = []
        var failures: Set<String> = []
        var marker: String?
        repeat {
            let request = RecordsQueryRequest(
                query: Query(recordType: "Note", filters: filters, sorts: sorts), zoneID: ZoneID(zoneName: zone), resultsLimit: limit,
                continuationMarker: marker)
            let page = try await ann.cloud.queryRecords(request, in: ann.target, by: ann.caller)
            names += page.records.map(\.recordName)
            failures.formUnion(page.failures.map(\.recordName))
            marker = page.continuationMarker
        } while marker != nil
        return (names, failures.sorted())
    }

    /// Returns the copy of a device that follows the feed from a token: names of records with their number, or the
    /// error in their place.
    func followed(from token: String? = nil, limit: Int = 2) async throws -> (seen: [String], token: String) {
        var seen: [String] = []
        var token = token
        while true {
            let page = try await ann.changes(zone, after: token, limit: limit)
            seen += page.records.map { result in
                let name = result.recordName ?? ""
                return result.error != nil ? "\(name)!" : result.tombstone != nil ? "\(name)-" : name
            }
            token = page.syncToken
            if !page.moreComing { return (seen, page.syncToken) }
        }
    }
}

extension RecordOperation {
    static func whole(_ name: String, _ fields: RecordFields, parent: RecordChange.ParentChange = .keep) -> RecordOperation {
        make(.forceReplace, name, fields, parent: parent)
    }
}

extension FieldValue {
    static func deleteSelf(_ name: String) -> FieldValue { .reference(Reference(recordName: name, action: .deleteSelf)) }
    static func validate(_ name: String) -> FieldValue { .reference(Reference(recordName: name, action: .validate)) }
}

extension RecordPut {
    /// Makes the put of a damaged row; its bytes are counted all the same.
    static func damaged(_ row: RecordRow, in zone: ZoneAddress, over before: RecordRow) -> RecordPut {
        var put = RecordPut(zone: zone, row: row, leaves: [], enters: [], isNew: false)
        put.replacedBytes = before.isTombstone ? 0 : before.body.count
        return put
    }
}
