import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudContainer
@testable import NacreCloudStorage
@testable import NacreCloudTasks

extension TestCloudUser {
    /// Adds these fields to `Note` before any save, and lets the cloud read them: a save that adds a field takes more
    /// than one transaction.
    func define(_ fields: [String: FieldType]) async throws {
        var additions = SchemaAdditions()
        additions.add(fields.mapValues { FieldShape($0) }, to: "Note")
        try await cloud.schemas.changeSchema(of: target.container, target.environment) { [additions] in $0.add(additions) }
        try await makeIndexes()
        _ = try await cloud.schemas.schema(of: target.container, target.environment)
    }

    /// Makes all indexes that the schema allows now, as queries that need them would; they are not built yet.
    func askForIndexes() async throws {
        try await cloud.schemas.changeSchema(of: target.container, target.environment) { $0.makeAll() }
    }

    /// Removes indexes, as if their options were removed and set again, and makes others.
    func changeIndexes(drop: (String, IndexKind) -> Bool, make: (String, IndexKind) -> Bool) async throws {
        let types = try await cloud.schemas.schema(of: target.container, target.environment).types
        let all = types.values.flatMap { type in
            type.fields.keys.sorted().flatMap { field in IndexKind.allCases.map { FieldIndex(type: type.name, field: field, kind: $0) } }
        }
        let (gone, come) = (all.filter { drop($0.field, $0.kind) }, all.filter { make($0.field, $0.kind) })
        try await cloud.schemas.changeSchema(of: target.container, target.environment) { schema in
            for index in gone { schema.types[index.type]?.fields[index.field]?[index.kind] = nil }
            schema.make(come)
        }
    }

    /// Makes the index of two fields that a query would use, in place of the oldest one where there are too many;
    /// false where it is useless.
    func makePair(for query: Query) async throws -> Bool {
        guard let sort = query.sorts.first, sort.relativeLocation == nil,
            let filter = query.filters.first(where: { $0.comparator == .equals || $0.comparator == .listContains }), let compared = filter.fieldName
        else { return false }
        @Sendable func name(_ field: String) -> String { SystemField.allCases.first { $0.webName == field }?.rawValue ?? field }
        return try await cloud.schemas.changeSchema(of: target.container, target.environment) { schema in
            guard var type = schema.types[query.recordType], type.allowsPair(name(compared), name(sort.fieldName)) else { return false }
            if type.pairs.count == Limits.pairIndexesPerType { type.pairs.removeFirst() }
            type.makePair(name(compared), name(sort.fieldName), nextIndex: &schema.nextIndex)
            schema.types[query.recordType] = type
            return true
        }
    }

    /// Builds all pending indexes.
    func buildIndexes() async throws {
        while try await cloud.schemas.schema(of: target.container, target.environment).building.isEmpty == false {
            _ = try await cloud.runDueTasks()
        }
    }

    /// Makes and builds all indexes that the schema allows now.
    func makeIndexes() async throws {
        try await askForIndexes()
        try await buildIndexes()
    }

    /// Checks that `body` leaves the schema unchanged.
    func makesNothingMore(_ body: () async throws -> Void) async throws {
        let before = try await cloud.schemas.schema(of: target.container, target.environment)
        try await body()
        #expect(try await cloud.schemas.schema(of: target.container, target.environment) == before)
    }
}

extension Schema {
    mutating func makeAll() {
        make(
            types.values.flatMap { type in
                type.fields.keys.flatMap { field in IndexKind.allCases.map { FieldIndex(type: type.name, field: field, kind: $0) } }
            })
    }
}
