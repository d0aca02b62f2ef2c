import NacreCloudServerWire
import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudContainer
@testable import NacreCloudStorage
@testable import NacreCloudTasks

/// A user's database with random records in some zones, and a copy of these.
struct QueryCloud {
    let cloud: TestCloud
    let user: TestCloudUser
    var zones: [String]
    private(set) var records: [String: [String: Record]] = [:]

    /// Makes the database.
    /// - Parameter names: The number of record names; some are in several zones.
    init(_ engine: Engine, zones: [String], names: Int, data: inout QueryData, scope: DatabaseKey.Scope = .private) async throws {
        cloud = try await TestCloud(engine)
        user = cloud.user("_ann", in: scope)
        self.zones = zones
        try await indexEverything()
        for zone in zones where zone != ZoneID.defaultZoneName { try await user.makeZone(zone) }
        for number in 0..<names {
            cloud.clock.move(bySeconds: 1)
            for zone in zones where zones.count == 1 || data.chance(60) {
                let parent = number > 1 && data.chance(30) && records[zone]?["n1"] != nil ? "n1" : nil
                try await save("n\(number)", data.recordFields(), in: zone, parent: parent)
            }
        }
    }

    /// Adds the type by a record with every field; then indexes the system fields.
    private mutating func indexEverything() async throws {
        var data = QueryData(seed: 0)
        let all = RecordFields(
            QueryData.fields.map {
                RecordFields.Field($0.name, $0.type.isList ? data.list(of: $0.type.element, 1...1) : data.scalar($0.type))
            })
        try await user.modify([.make(.create, "first", type: QueryData.type, all)])
        try await user.modify([.delete("first")])
        for field in [SystemField.recordName, .createdTimestamp, .parent, .createdUserRecordName] {
            let options: IndexOptions = field.type == .timestamp || field == .recordName ? [.queryable, .sortable] : .queryable
            _ = try await cloud.cloud.schemas.changeSchema(of: TestCloud.container, .development) {
                try $0.setIndexes(options, of: QueryData.type, field: field.rawValue)
            }
        }
        try await user.makeIndexes()
    }

    mutating func save(_ name: String, _ fields: RecordFields, in zone: String, parent: String? = nil) async throws {
        let link: RecordChange.ParentChange = parent.map { .set(Reference(recordName: $0, action: .none)) } ?? .keep
        let operation = RecordOperation.make(.forceReplace, name, type: QueryData.type, fields, parent: link)
        let result = try await user.modify([operation], zone: zone).first
        records[zone, default: [:]][name] = try #require(result?.record, "\(String(describing: result?.error))")
    }

    mutating func delete(_ name: String, in zone: String) async throws {
        let result = try await user.modify([.delete(name)], zone: zone).first
        if result?.tombstone != nil { records[zone]?[name] = nil }
    }

    /// Returns all pages of a query.
    func pages(
        _ query: Query, zone: String?, limit: Int, rows: Int, bytes: Int = Limits.queryScanBytes, most: Int = 5000,
        from start: String? = nil, between: () async throws -> Void = {}
    ) async throws -> [Record] {
        var found: [Record] = []
        var marker = start
        var pages = 0
        repeat {
            let page = try await self.page(query, zone: zone, limit: limit, rows: rows, bytes: bytes, after: marker)
            found += page.records
            marker = page.continuationMarker
            pages += 1
            try #require(pages < most, "The query never ends")
            if marker != nil { try await between() }
        } while marker != nil
        return found
    }

    func page(
        _ query: Query, zone: String?, limit: Int, rows: Int = Limits.queryScanRows, bytes: Int = Limits.queryScanBytes,
        after marker: String? = nil
    ) async throws -> RecordsQueryResponse {
        let request = RecordsQueryRequest(
            query: query, zoneID: zone.map { ZoneID(zoneName: $0) }, zoneWide: zone == nil, resultsLimit: limit, continuationMarker: marker)
        return try await user.cloud.queryRecords(request, in: user.target, by: user.caller, scanning: rows, bytes)
    }

    /// Returns a page that sorts zones in so many portions at most.
    func page(_ query: Query, zone: String?, limit: Int, rows: Int, portions: Int, after marker: String? = nil) async throws -> RecordsQueryResponse {
        let request = RecordsQueryRequest(
            query: query, zoneID: zone.map { ZoneID(zoneName: $0) }, zoneWide: zone == nil, resultsLimit: limit, continuationMarker: marker)
        return try await user.cloud.queryAnswer(request, in: user.target, by: user.caller, scanning: rows, portions: portions).answer.whole
    }

    func explain(_ query: Query, zone: String?, limit: Int, rows: Int, after marker: String? = nil) async throws -> [String] {
        let request = RecordsQueryRequest(
            query: query, zoneID: zone.map { ZoneID(zoneName: $0) }, zoneWide: zone == nil, resultsLimit: limit, continuationMarker: marker)
        return try await user.cloud.explainQuery(request, in: user.target, by: user.caller, scanning: rows).lines
    }

    func expected(_ query: Query, zone: String?) -> [Record] {
        let all = zone.map { [$0] } ?? zones
        return NaiveQuery(query: query, searchable: ["tags", "text"]).answer(all.flatMap { Array((records[$0] ?? [:]).values) })
    }
}

extension TestCloud {
    /// Runs the tasks in the outbox.
    func buildIndexes() async throws {
        _ = try await cloud.runDueTasks()
    }
}
