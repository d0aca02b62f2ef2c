import NacreCloudWire
import Testing

@testable import NacreCloudContainer

/// Tests of how a schema grows: by saves, by hand, by deployment.
@Suite struct SchemaChangeTests {
    private func additions(_ fields: [String: FieldShape], to type: String = "Note") -> SchemaAdditions {
        var additions = SchemaAdditions()
        additions.add(fields, to: type)
        return additions
    }

    private func schema(_ fields: [String: FieldShape], type: String = "Note") -> Schema {
        var schema = Schema()
        schema.add(additions(fields, to: type))
        return schema
    }

    private static let everyShape = FieldType.allCases.filter { $0 != .unknownList }.flatMap { [FieldShape($0), FieldShape($0, isEncrypted: true)] }

    // MARK: By saves

    @Test func `a field that comes with a save has the indexes that CloudKit gives it`() {
        let expected: [FieldType: [String]] = [
            .string: ["QUERYABLE", "SEARCHABLE", "SORTABLE"], .int64: ["QUERYABLE", "SORTABLE"], .double: ["QUERYABLE", "SORTABLE"],
            .timestamp: ["QUERYABLE", "SORTABLE"], .bytes: ["QUERYABLE", "SORTABLE"], .location: ["QUERYABLE", "SORTABLE"],
            .reference: ["QUERYABLE"], .stringList: ["QUERYABLE", "SEARCHABLE"], .referenceList: ["QUERYABLE"], .int64List: ["QUERYABLE"],
            .doubleList: ["QUERYABLE"], .timestampList: ["QUERYABLE"],
        ]
        for shape in Self.everyShape {
            let field = schema(["f": shape]).types["Note"]?.fields["f"]
            #expect(field?.shape == shape)
            #expect(field?.options.names == (shape.isEncrypted ? [] : expected[shape.type] ?? []), "\(shape.name)")
            #expect(field?.values == nil || field?.isQueryable == true)
            #expect(IndexOptions.possible(for: shape).isSuperset(of: .defaults(for: shape)))
        }
    }

    @Test func `a field that comes with a save has no index until it is made, and that is built first`() {
        var schema = schema(["a": FieldShape(.string), "b": FieldShape(.int64)])
        #expect(schema.types["Note"]?.fields.values.flatMap(\.indexes) == [] && schema.nextIndex == 1)
        schema.make([FieldIndex(type: "Note", field: "a", kind: .tokens), FieldIndex(type: "Note", field: "b", kind: .tokens)])
        let field = schema.types["Note"]?.fields["a"]
        #expect(field?.values == nil && field?.isBuilding == true)
        #expect(schema.building == Set([field?.tokens?.index].compactMap(\.self)), "a number has no words")
        let made = schema
        schema.make([FieldIndex(type: "Note", field: "a", kind: .tokens), FieldIndex(type: "Other", field: "a", kind: .values)])
        #expect(schema == made, "what is there, or gone, is not made")
        schema.finishBuilding(schema.building)
        #expect(schema.building.isEmpty && schema.types["Note"]?.fields["a"]?.isBuilding == false)
    }

    @Test func `index numbers are given once, whatever comes in whatever order`() {
        var schema = schema(["a": FieldShape(.string), "b": FieldShape(.string)])
        schema.add(additions(["c": FieldShape(.string), "a": FieldShape(.int64)]))
        schema.makeAll()
        schema.add(additions(["a": FieldShape(.location)], to: "Other"))
        schema.makeAll()
        let numbers = schema.types.values.flatMap(\.fields.values).flatMap(\.indexes).map(\.id)
        #expect(Set(numbers).count == numbers.count && numbers.count == 7)
        #expect(schema.nextIndex == 8)
        #expect(schema.types["Note"]?.fields["a"]?.type == .string, "the first says what a field is")
        let again = schema
        schema.add(additions(["c": FieldShape(.bytes)]))
        #expect(schema == again)
    }

    // MARK: By hand

    private func set(_ options: IndexOptions, _ field: String, in schema: inout Schema) -> String? {
        do {
            _ = try schema.setIndexes(options, of: "Note", field: field)
            return nil
        } catch {
            return error.reason
        }
    }

    @Test func `a field has the options that were set and no others`() throws {
        var schema = schema(["a": FieldShape(.string)])
        for options in (0..<8).map({ IndexOptions(rawValue: $0) }) {
            #expect(set(options, "a", in: &schema) == nil)
            let field = try #require(schema.types["Note"]?.fields["a"])
            #expect(field.options == options)
            #expect(field.allows(.values) == !options.isDisjoint(with: [.queryable, .sortable]))
            #expect(field.allows(.tokens) == options.contains(.searchable))
            #expect(IndexKind.allCases.allSatisfy { field[$0] == nil }, "nothing is made")
            schema.makeAll()
            #expect(IndexKind.allCases.allSatisfy { (schema.types["Note"]?.fields["a"]?[$0] != nil) == field.allows($0) })
            #expect(set([], "a", in: &schema) == nil)
            #expect(schema.types["Note"]?.fields["a"]?.indexes == [])
        }
    }

    @Test func `an index that needs other rows gets another number, one that needs fewer keeps its own`() throws {
        var schema = schema(["a": FieldShape(.string)])
        schema.makeAll()
        schema.finishBuilding(schema.building)
        func index() -> IndexDefinition? { schema.types["Note"]?.fields["a"]?.values }
        let first = try #require(index())
        #expect(set([.queryable, .searchable], "a", in: &schema) == nil)
        #expect(index() == first, "still usable")
        #expect(set([.queryable, .sortable, .searchable], "a", in: &schema) == nil)
        let second = try #require(index())
        #expect(second.id != first.id && second.state == .building)
        #expect(set([], "a", in: &schema) == nil)
        #expect(set(.queryable, "a", in: &schema) == nil)
        #expect(index() == nil)
        schema.makeAll()
        #expect(try #require(index()).id > second.id)
    }

    @Test func `system fields are indexed by either of their names, and forgotten with their last option`() {
        var schema = schema(["a": FieldShape(.string)])
        #expect(set(.queryable, "recordName", in: &schema) == nil)
        #expect(schema.types["Note"]?.fields["___recordID"]?.isQueryable == true)
        #expect(set([.queryable, .sortable], "___createTime", in: &schema) == nil)
        #expect(schema.types["Note"]?.fields["___createTime"]?.type == .timestamp)
        #expect(set([], "___recordID", in: &schema) == nil)
        #expect(schema.types["Note"]?.fields["___recordID"] == nil)
    }

    @Test func `what cannot be indexed is refused with what can`() {
        var schema = schema([
            "asset": FieldShape(.asset), "sealed": FieldShape(.string, isEncrypted: true), "n": FieldShape(.int64), "l": FieldShape(.int64List),
        ])
        let before = schema
        #expect(set(.queryable, "asset", in: &schema) == "Field 'asset' has a value type of ASSETID and cannot be queryable")
        #expect(set(.sortable, "sealed", in: &schema) == "Field 'sealed' has a value type of ENCRYPTED_STRING and cannot be sortable")
        #expect(set([.queryable, .searchable], "n", in: &schema) == "Field 'n' has a value type of INT64 and cannot be searchable")
        #expect(set(.sortable, "l", in: &schema) == "Field 'l' has a value type of INT64_LIST and cannot be sortable")
        #expect(set(.queryable, "nothing", in: &schema) == "Unknown field 'nothing'")
        #expect(throws: ServerError.self) { try schema.setIndexes(.queryable, of: "None", field: "a") }
        #expect(schema == before)
    }

    // MARK: By deployment

    @Test func `production gains what it lacks, once`() throws {
        var development = schema(["a": FieldShape(.string), "b": FieldShape(.asset)])
        var production = Schema()
        let gains = try production.deploy(development)
        #expect(gains.map(\.kind) == [.recordType, .field, .field])
        #expect(gains.map(\.declaration) == ["", "STRING QUERYABLE SEARCHABLE SORTABLE", "ASSET"])
        #expect(production.nextIndex == 1, "no query needed an index")
        #expect(try production.deploy(development) == [])

        _ = try development.setIndexes(.queryable, of: "Note", field: "___recordID")
        _ = try development.setIndexes(.queryable, of: "Note", field: "a")
        development.add(additions(["c": FieldShape(.int64)]))
        development.make([FieldIndex(type: "Note", field: "___recordID", kind: .values), FieldIndex(type: "Note", field: "a", kind: .values)])
        let later = try production.deploy(development)
        #expect(later.map(\.kind) == [.index, .field, .madeIndex, .madeIndex])
        #expect(later.map(\.field) == ["___recordID", "c", "___recordID", "a"])
        #expect(later.map(\.declaration) == ["QUERYABLE", "INT64 QUERYABLE SORTABLE", "values, a row a record", "values, a row a record"])
        #expect(production.building.count == 2, "those that queries needed in development")
        #expect(production.types["Note"]?.fields["c"]?.indexes == [])
        #expect(production.types["Note"]?.fields["a"]?.options == [.queryable, .searchable, .sortable], "what is deployed stays")
        #expect(try production.deploy(development) == [])
    }

    @Test func `a field that is something else in production stops the deployment`() throws {
        var production = schema(["a": FieldShape(.string)])
        let before = production
        #expect(throws: ServerError.self) { try production.deploy(schema(["a": FieldShape(.int64)])) }
        #expect(production == before)
    }

    @Test func `a preview of a deployment tells all that is refused, each with its field, and what would come beside it`() throws {
        var development = schema(["a": FieldShape(.int64), "b": FieldShape(.string, isEncrypted: true), "c": FieldShape(.string)])
        development.add(additions(["d": FieldShape(.asset)], to: "Album"))
        let production = schema(["a": FieldShape(.string), "b": FieldShape(.string), "gone": FieldShape(.string)])
        let (deployment, next) = production.deployment(of: development)
        #expect(deployment.refusals.map(\.field) == ["Note.a", "Note.b"])
        #expect(deployment.refusals.first?.reason == "field 'a' of type 'Note' is STRING in production and INT64 in development")
        #expect(deployment.gains.map(\.field) == [nil, "d", "c"] && deployment.gains.map(\.recordType) == ["Album", "Album", "Note"])
        #expect(next.types["Note"]?.fields["a"]?.type == .string && next.types["Note"]?.fields["gone"] != nil)
        var refused = production
        #expect(throws: deployment.refusals[0]) { try refused.deploy(development) }
        #expect(refused == production)
    }
}
