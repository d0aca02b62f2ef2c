package import NacreCloudAccounts
package import NacreCloudStorage
package import NacreCloudWire
import NacreLocks

/// The needs of an answered query from a schema, without the values that it compared with. See
/// `docs/decisions/queries-indexes.md`.
package struct RecordedQuery: Hashable, Sendable, Codable {
    package struct Filter: Hashable, Sendable, Codable {
        /// nil: all searchable fields.
        package var field: String?
        package var comparator: String
        /// The type of the value that it compared with.
        package var value: String
    }

    package struct Sort: Hashable, Sendable, Codable {
        package var field: String
        var isByDistance: Bool
    }

    /// The kind of caller. A change of grants can take reading from `world` and `signedIn`.
    package enum Asker: String, Hashable, Sendable, Codable {
        case world
        case signedIn
        /// A caller of a database that is not public, or an administrator: no grant limits them.
        case owner
    }

    package var recordType: String
    package var filters: [Filter]
    package var sorts: [Sort]
    package var asker: Asker

    package init(_ query: Query, in scope: DatabaseKey.Scope, by caller: Caller) {
        recordType = query.recordType
        let all = query.filters.map { Filter(field: $0.fieldName, comparator: $0.comparator.rawValue, value: $0.value.type.rawValue) }
        filters = all.sorted { $0.words < $1.words }
        sorts = query.sorts.map { Sort(field: $0.fieldName, isByDistance: $0.relativeLocation != nil) }
        asker = scope != .public || caller.isAdministrator ? .owner : caller.userRecordName == nil ? .world : .signedIn
    }

    /// The query for people: `Note where title BEGINS_WITH STRING, sorted by stars`.
    package var words: String {
        let conditions = filters.isEmpty ? "" : " where " + filters.map(\.words).joined(separator: ", ")
        let order = sorts.isEmpty ? "" : ", sorted by " + sorts.map { $0.isByDistance ? "distance of \($0.field)" : $0.field }.joined(separator: ", ")
        return recordType + conditions + order
    }

    /// The key of its entry.
    fileprivate var key: String { "\(asker.rawValue) \(words)" }

    /// Returns why schema `next` refuses the query or lets its caller read less than `schema` does; nil: it does not.
    package func fault(in next: Schema, after schema: Schema, of container: String) -> ServerError? {
        do {
            _ = try QueryShape(query, in: next, of: container, by: Caller(.world))
        } catch {
            return error
        }
        func mayRead(_ schema: Schema) -> Bool {
            let roles = CallerRoles(Caller(asker == .world ? .world : .user("")))
            return schema.definition(of: recordType)?.grants.permissions(of: roles, asCreator: false).contains(.read) == true
        }
        guard asker != .owner, mayRead(schema), !mayRead(next) else { return nil }
        let role = asker == .world ? Grants.worldRole : Grants.signedInRole
        return ServerError(
            .accessDenied, "\(role) may not READ any more: it finds what its asker made or has a role for, and nothing else", field: recordType,
            remedy: "Write GRANT READ TO \"\(role)\" into the type.")
    }

    /// Returns the query's shape for a caller who may read all; nil if the schema refuses it.
    package func shape(in schema: Schema, of container: String) -> QueryShape? {
        try? QueryShape(query, in: schema, of: container, by: Caller(.world))
    }

    /// The query with example values of the same types.
    private var query: Query {
        Query(
            recordType: recordType,
            filters: filters.compactMap { filter in
                guard let comparator = QueryComparator(rawValue: filter.comparator), let value = FieldType(rawValue: filter.value) else { return nil }
                return QueryFilter(comparator, fieldName: filter.field, value: .example(of: value), distance: comparator == .near ? 0 : nil)
            },
            sorts: sorts.map { QuerySort($0.field, relativeLocation: $0.isByDistance ? Location(latitude: 0, longitude: 0) : nil) })
    }
}

extension RecordedQuery.Filter {
    fileprivate var words: String { "\(field.map { "\($0) " } ?? "")\(comparator) \(value)" }
}

extension FieldValue {
    /// Returns a value of a type, or a list of one.
    fileprivate static func example(of type: FieldType) -> FieldValue {
        let place = Location(latitude: 0, longitude: 0)
        let target = Reference(recordName: "a", action: .none)
        return switch type {
        case .string: .string("a")
        case .int64: .int64(0)
        case .double: .double(0)
        case .timestamp: .timestamp(Timestamp(secondsSince2001: 0))
        case .bytes: .bytes([0])
        case .location: .location(place)
        case .reference: .reference(target)
        case .asset: .asset(Asset(fileChecksum: "", size: 0))
        case .stringList: .stringList(["a"])
        case .int64List: .int64List([0])
        case .doubleList: .doubleList([0])
        case .timestampList: .timestampList([Timestamp(secondsSince2001: 0)])
        case .bytesList: .bytesList([[0]])
        case .locationList: .locationList([place])
        case .referenceList: .referenceList([target])
        case .assetList: .assetList([])
        case .unknownList: .emptyList
        }
    }
}

/// A recorded query in the registry, kept for a month after it was last noted.
struct RecordedQueryEntry: RegistryEntry {
    package static let kind = EntryKind.recordedQuery

    package var query: RecordedQuery
}

/// A recorded query that a change of the schema breaks, and the reason.
package struct BrokenQuery: Equatable, Sendable {
    package var query: RecordedQuery
    package var fault: ServerError
}

/// The queries that this process has noted, and when. Thread-safe.
final class QueryMemory: Sendable {
    private struct State {
        /// The time of each query by the hash of the query and its target: all queries take the same room.
        var noted: [Int: Timestamp] = [:]
        /// The time at which an environment had no room for another query, by its hash.
        var full: [Int: Timestamp] = [:]
    }

    private let state = Locked(State())

    /// The most remembered queries, and environments; then the memory starts afresh. On this server.
    private static let remembered = 10_000

    /// Whether a query is to be noted now, which the caller then does. Allocates only its entry in the memory.
    package func isNews(_ query: Query, in target: DatabaseTarget, by caller: Caller, at now: Timestamp) -> Bool {
        var hasher = Hasher()
        hasher.combine(Self.hash(target))
        hasher.combine(target.scope)
        hasher.combine(caller.userRecordName == nil)
        hasher.combine(caller.isAdministrator)
        hasher.combine(query.recordType)
        for filter in query.filters {
            hasher.combine(filter.comparator)
            hasher.combine(filter.fieldName)
            hasher.combine(filter.value.type)
        }
        for sort in query.sorts { hasher.combine(sort.fieldName) }
        let place = hasher.finalize()
        return state.withLock { state in
            if let last = state.noted[place], Self.isShort(last, now) { return false }
            if let last = state.full[Self.hash(target)], Self.isShort(last, now) { return false }
            if state.noted.count >= Self.remembered { state.noted.removeAll() }
            state.noted[place] = now
            return true
        }
    }

    /// Notes that an environment has no room for another query: for a while none is tried.
    package func isFull(_ target: DatabaseTarget, at now: Timestamp) {
        state.withLock { state in
            if state.full.count >= Self.remembered { state.full.removeAll() }
            state.full[Self.hash(target)] = now
        }
    }

    private static func hash(_ target: DatabaseTarget) -> Int {
        var hasher = Hasher()
        hasher.combine(target.container)
        hasher.combine(target.environment)
        return hasher.finalize()
    }

    private static func isShort(_ last: Timestamp, _ now: Timestamp) -> Bool {
        abs(now.secondsSince2001 - last.secondsSince2001) < Limits.recordedQueryPauseSeconds
    }
}

extension Schemas {
    /// Records the needs of an answered query, once a day. Skips a query whose text is too long, and one beyond the
    /// number that is kept.
    package func note(_ query: Query, in target: DatabaseTarget, by caller: Caller) async {
        let now = registry.clock()
        guard queries.isNews(query, in: target, by: caller, at: now) else { return }
        let recorded = RecordedQuery(query, in: target.scope, by: caller)
        let key = recorded.key
        guard key.utf8.count <= Limits.recordedQueryBytes else { return }
        // A failure does not fail the answer.
        let isKept = try? await registry.write(.schema(container: target.container, target.environment)) { database, now, transaction in
            let kept = try transaction.entries(in: database, .recordedQuery, after: nil, limit: Limits.recordedQueriesKept)
            let living = kept.living(at: now)
            guard living.count < Limits.recordedQueriesKept || living.contains(where: { $0.key.key == key }) else { return .rollback(false) }
            var plan = WritePlan()
            plan.entriesRemoved = kept.filter { !$0.isLiving(at: now) && $0.key.key != key }.map(\.key)
            plan.entries = [try RecordedQueryEntry(query: recorded).row(key, in: database, expires: now + Limits.recordedQuerySeconds)]
            try transaction.apply(plan)
            return .commit(true)
        }
        if isKept == false { queries.isFull(target, at: now) }
    }

    /// Returns the recorded queries of a container's environment.
    func recordedQueries(of container: String, _ environment: DatabaseKey.Environment) async throws -> [RecordedQuery] {
        let now = registry.clock()
        return try await read(of: container, environment) { known, transaction in
            try transaction.entries(in: known.database, .recordedQuery, after: nil, limit: Limits.recordedQueriesKept).living(at: now).map {
                try RecordedQueryEntry($0).query
            }
        }
    }
}

extension [RecordedQuery] {
    /// Returns the queries that a change of the schema breaks, in the order of their words.
    package func broken(by next: Schema, after schema: Schema, of container: String) -> [BrokenQuery] {
        sorted { ($0.words, $0.asker.rawValue) < ($1.words, $1.asker.rawValue) }.compactMap { query in
            // Skip a query that the old schema refuses too.
            guard query.fault(in: schema, after: schema, of: container) == nil else { return nil }
            return query.fault(in: next, after: schema, of: container).map { BrokenQuery(query: query, fault: $0) }
        }
    }
}
