import NacreCloudContainer
import NacreCloudTestSupport
import NacreCloudWire

extension HistoryCloud {
    /// Returns all names that a query of `HistoryWriter` must find, by looking at every record of the zone.
    func looking(for request: RecordsQueryRequest) async throws -> [String] {
        guard let zone = request.zoneID?.zoneName, let filter = request.query.filters.first else { return [] }
        var records: [Record] = []
        var token: String?
        repeat {
            let page = try await user.changes(zone, after: token)
            records += page.records.compactMap(\.record)
            token = page.moreComing ? page.syncToken : nil
        } while token != nil
        let found = records.filter { Self.passes($0.fields[filter.fieldName ?? ""], filter) }
        guard let sort = request.query.sorts.first else { return found.map(\.recordName).sorted() }
        // A record without a number comes before all others.
        let rows = found.map { (number: Self.number($0.fields[sort.fieldName]) ?? -1, name: $0.recordName) }
        let rising = rows.sorted { ($0.number, $0.name) < ($1.number, $1.name) }
        return (sort.isAscending ? rising : rising.reversed()).map(\.name)
    }

    private static func passes(_ value: FieldValue?, _ filter: QueryFilter) -> Bool {
        switch (filter.comparator, value, filter.value) {
        case (.lessThan, .int64(let value)?, .int64(let bound)): value < bound
        case (.greaterThanOrEquals, .int64(let value)?, .int64(let bound)): value >= bound
        case (.notEquals, .int64(let value)?, .int64(let other)): value != other
        case (.equals, .reference(let value)?, .reference(let other)): value.recordName == other.recordName
        case (.listContains, .referenceList(let values)?, .reference(let other)): values.map(\.recordName).contains(other.recordName)
        default: false
        }
    }

    private static func number(_ value: FieldValue?) -> Int64? {
        if case .int64(let number)? = value { number } else { nil }
    }
}
