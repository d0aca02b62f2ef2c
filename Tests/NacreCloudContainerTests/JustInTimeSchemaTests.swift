import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage
@testable import NacreCloudTasks

/// Tests that saves add to the schema in development, and never in production.
@Suite struct JustInTimeSchemaTests {
    private func schema(_ user: TestCloudUser) async throws -> Schema {
        try await user.cloud.schemas.schema(of: user.target.container, user.target.environment)
    }

    private func reasons(_ results: [RecordResult]) -> [String?] { results.map(\.error?.reason) }

    @Test(arguments: Engine.ofRules) func `the first save defines a type, and its records stand in the indexes that are made`(
        engine: Engine
    ) async throws {
        let test = try await TestCloud(engine)
        let ann = test.user("_ann")
        try await ann.makeZone("Z")
        #expect(try await schema(ann) == Schema())
        try await ann.modify([.create("a", ["title": .string("one two"), "n": .int64(1)])], zone: "Z")
        let first = try await schema(ann)
        #expect(first.version == 1 && first.building.isEmpty && first.types.keys.sorted() == ["Note"])
        #expect(first.types["Note"]?.fields.mapValues(\.shape) == ["title": FieldShape(.string), "n": FieldShape(.int64)])
        #expect(try await IndexCensus(ann).isWhole(rows: 0), "no query needed an index")
        #expect(try await test.cloud.runDueTasks().taken == 0)
        try await ann.makeIndexes()
        let made = try await schema(ann)
        #expect(try await IndexCensus(ann).isWhole(rows: 4), "title, its two words, n")
        try await ann.modify([.update("a", ["title": .string("three")])], zone: "Z")
        #expect(try await IndexCensus(ann).isWhole(rows: 3))
        try await ann.modify([.delete("a")], zone: "Z")
        #expect(try await IndexCensus(ann).isWhole(rows: 0))
        #expect(try await schema(ann) == made, "what a schema has it keeps")
    }

    @Test(arguments: Engine.ofRules) func `a new type costs what it has, however many types there are`(engine: Engine) async throws {
        let store = CountingStore(try await engine.makeStore())
        let ann = TestCloud(store).user("_ann")
        for index in 0..<20 { try await ann.modify([.make(.create, "r\(index)", type: "T\(index)", ["f": .int64(1)])]) }
        store.reset()
        let meter = WorkMeter()
        let fields = RecordFields((0..<200).map { RecordFields.Field("f\($0)", .int64(1)) })
        try await WorkMeter.$current.withValue(meter) { _ = try await ann.modify([.make(.create, "new", type: "New", fields)]) }
        #expect(store.entriesRead < 20, "\(store.entriesRead): the types that there are were not read again")
        #expect(meter.cost > 200, "each field is paid for")
        #expect(try await schema(ann).types.count == 21)
    }

    @Test(arguments: Engine.ofRules) func `a value of another type is refused, and only its record`(engine: Engine) async throws {
        let ann = try await TestCloud(engine).user("_ann")
        try await ann.modify([.create("a", ["f": .string("x")])])
        let text = "invalid attempt to set value type INT64 for field 'f' for type 'Note', defined to be: STRING"
        let results = try await ann.modify([.create("b", ["f": .int64(1)]), .create("c", ["f": .string("y")]), .update("a", ["f": .int64(1)])])
        #expect(reasons(results) == [text, nil, text])
        #expect(results[0].error?.code == .badRequest && results[0].error?.field == "f" && results[0].error?.internalCode == 2006)
        #expect(try await ann.lookup(["a", "b", "c"]).map(\.record?.fields["f"]) == [.string("x"), nil, .string("y")])
        #expect(reasons(try await ann.modify([.create("d", ["g": .emptyList])])) == [ServerError.emptyListDefinesNothing("g", in: "Note").reason])
        #expect(try await schema(ann).types["Note"]?.fields.count == 1)
    }

    @Test(arguments: Engine.ofRules) func `numbers and empty lists become what the field takes`(engine: Engine) async throws {
        let ann = try await TestCloud(engine).user("_ann")
        try await ann.modify([.create("a", ["d": .double(1.5), "i": .int64(1), "l": .stringList(["x"])])])
        let saved = try await ann.modify([.create("b", ["d": .int64(2), "i": .double(3), "l": .emptyList])]).first?.record
        #expect(saved?.fields == ["d": .double(2), "i": .int64(3), "l": .stringList([])])
        #expect(try await ann.lookup(["b"]).first?.record?.fields == saved?.fields)
        #expect(try await IndexCensus(ann).isWhole())
    }

    @Test(arguments: Engine.ofRules) func `of two records of a batch that name one new field, the first says what it is`(engine: Engine) async throws
    {
        let ann = try await TestCloud(engine).user("_ann")
        try await ann.makeZone("Z")
        let batch: [RecordOperation] = [.create("a", ["f": .double(1.5)]), .create("b", ["f": .string("x")]), .create("c", ["f": .int64(2)])]
        let refused = "invalid attempt to set value type STRING for field 'f' for type 'Note', defined to be: DOUBLE"
        #expect(reasons(try await ann.modify(batch, zone: "Z", atomic: true))[1] == refused)
        #expect(try await schema(ann) == Schema(), "a batch that falls defines nothing")
        #expect(reasons(try await ann.modify(batch, zone: "Z", atomic: false)) == [nil, refused, nil])
        #expect(try await ann.lookup(["c"], zone: "Z").first?.record?.fields == ["f": .double(2)])
    }

    @Test(arguments: Engine.ofRules) func `what is refused defines nothing, and what it would have defined is free`(engine: Engine) async throws {
        let ann = try await TestCloud(engine).user("_ann")
        try await ann.makeZone("Z")
        let orphan = RecordOperation.create("a", ["f": .string("x")], parent: "nobody")
        #expect(try await ann.modify([orphan], zone: "Z", atomic: false).first?.error?.code == .validatingReferenceError)
        #expect(try await schema(ann) == Schema())
        // The second agrees with the first, which then fails by another rule.
        let results = try await ann.modify([orphan, .create("b", ["f": .string("y"), "g": .int64(1)])], zone: "Z", atomic: false)
        #expect(results.map { $0.error == nil } == [false, true])
        #expect(try await schema(ann).types["Note"]?.fields.keys.sorted() == ["f", "g"])
        try await ann.makeIndexes()
        #expect(try await IndexCensus(ann).isWhole(rows: 3))
    }

    @Test(arguments: Engine.ofRules) func `of racing first saves one says what a field is, and all others hear it`(engine: Engine) async throws {
        let test = try await TestCloud(engine)
        let values: [FieldValue] = [.string("x"), .bytes([1]), .location(Location(latitude: 1, longitude: 2))]
        let users = (0..<12).map { test.user("_u\($0)") }
        let results = try await withThrowingTaskGroup(of: (Int, [RecordResult]).self) { group in
            for (index, user) in users.enumerated() {
                group.addTask {
                    let own = "own\(index)"
                    return (index, try await user.modify([.create("a", ["f": values[index % 3], own: .int64(1)]), .create("b", [own: .int64(2)])]))
                }
            }
            return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
        let note = try #require(try await schema(users[0]).types["Note"])
        let winner = try #require(note.fields["f"]?.type)
        for (place, answers) in results {
            #expect((answers[0].record != nil) == (values[place % 3].type == winner))
            #expect(answers[0].error == nil || answers[0].error?.reason.hasSuffix("defined to be: \(winner.rawValue)") == true)
            #expect(answers[1].record != nil && note.fields["own\(place)"] != nil)
        }
        try await users[0].makeIndexes()
        while try await test.cloud.runDueTasks().taken > 0 {}
        for user in users { #expect(try await IndexCensus(user).isWhole()) }
    }

    @Test(arguments: Engine.ofRules) func `a process that did not see a schema change leaves no record without its rows`(engine: Engine) async throws
    {
        let store = try await engine.makeStore()
        let (here, there) = (TestCloud(store, seed: 1).user("_ann"), TestCloud(store, seed: 2).user("_ann"))
        try await here.modify([.create("a", ["f": .string("x")])])
        try await there.modify([.create("b", ["f": .string("x"), "g": .int64(1)])])
        try await here.modify([.create("c", ["g": .int64(2)])])
        #expect(try await here.lookup(["c"]).first?.record != nil)
        let text = "invalid attempt to set value type STRING for field 'g' for type 'Note', defined to be: INT64"
        #expect(reasons(try await here.modify([.create("d", ["g": .string("x")])])) == [text])
        try await there.modify([.make(.create, "o", type: "Other", ["h": .int64(1)])])
        #expect(reasons(try await here.modify([.make(.create, "p", type: "Other", ["h": .bytes([1])])])).first??.hasSuffix("INT64") == true)
        // An index that another process makes and builds: nothing in a save shows that it exists.
        _ = try await there.cloud.registry.createContainer(TestCloud.container)
        _ = try await there.cloud.schemas.setIndexes(.queryable, of: "Note", field: "___recordID", isNow: true, in: TestCloud.container)
        while try await there.cloud.runDueTasks().taken > 0 {}
        try await here.modify([.create("e", ["f": .string("x")]), .delete("a")])
        #expect(try await IndexCensus(here).isWhole())
        #expect(try await schema(there) == schema(here))
    }

    @Test(arguments: Engine.ofRules) func `the first share brings its type, which production has by a deployment`(engine: Engine) async throws {
        let test = try await TestCloud(engine)
        let (dev, live) = (test.user("_ann"), test.user("_ann", environment: .production))
        let container = TestCloud.container
        _ = try await test.cloud.registry.createContainer(container)
        for user in [dev, live] { try await user.makeZone("Z") }
        let note = RecordOperation.create("a", ["f": .string("x")])
        let batch = [note, .share(.create, ShareChange(forRecord: "a"), ["app": .int64(1)], name: "s")]
        try await dev.modify([note], zone: "Z")
        _ = try await test.cloud.schemas.deploySchema(of: container, isDryRun: false)
        let refused = try await live.modify(batch, zone: "Z", atomic: true)
        #expect(refused.map(\.error?.code) == [.atomicError, .badRequest])
        #expect(refused[1].error?.reason == "Cannot create new type cloudkit.share in production schema")
        #expect(reasons(try await live.modify([note], zone: "Z")) == [nil], "a record alone needs no type of shares")

        #expect(reasons(try await dev.modify([batch[1]], zone: "Z")) == [nil])
        #expect(SchemaText(try await schema(dev)).text.contains("RECORD TYPE \"cloudkit.share\" ("))
        let gains = try await test.cloud.schemas.deploySchema(of: container, isDryRun: false).gains
        #expect(gains.map(\.recordType) == Array(repeating: "cloudkit.share", count: 5), "the type, CloudKit's three fields, and the app's")
        #expect(reasons(try await live.modify([batch[1]], zone: "Z")) == [nil])
    }

    @Test(arguments: Engine.ofRules) func `production takes what was deployed, and nothing else`(engine: Engine) async throws {
        let test = try await TestCloud(engine)
        let (dev, live) = (test.user("_ann"), test.user("_ann", environment: .production))
        let container = TestCloud.container
        await #expect(throws: ServerError.noContainer) { try await test.cloud.schemas.deploySchema(of: container, isDryRun: false) }
        _ = try await test.cloud.registry.createContainer(container)
        let note = RecordOperation.create("a", ["f": .string("x")])
        let noType = "Cannot create new type Note in production schema"
        #expect(reasons(try await live.modify([note])) == [noType])
        try await dev.modify([note])
        #expect(try await test.cloud.schemas.deploySchema(of: container, isDryRun: true).gains.count == 2)
        #expect(reasons(try await live.modify([note])) == [noType], "a dry run changes nothing")
        #expect(try await test.cloud.schemas.deploySchema(of: container, isDryRun: false).gains.count == 2)
        #expect(reasons(try await live.modify([note])) == [nil])
        #expect(try await IndexCensus(live).isWhole(rows: 0))
        #expect(try await test.cloud.schemas.deploySchema(of: container, isDryRun: false).gains.isEmpty)
        try await dev.makeIndexes()

        let more = RecordOperation.create("b", ["f": .string("y"), "g": .int64(1)])
        #expect(reasons(try await live.modify([more])) == ["Cannot create or modify field 'g' in record 'Note' in production schema"])
        #expect(reasons(try await live.modify([.update("a", ["g": .int64(1)])])).first??.contains("'g'") == true)
        try await dev.modify([more])
        #expect(try await schema(live).nextIndex == 1)
        let gains = try await test.cloud.schemas.deploySchema(of: container, isDryRun: false).gains
        #expect(gains.map(\.field) == ["g", "f", "f"], "a field, and the indexes of another")
        #expect(reasons(try await live.modify([more])) == [nil])
        #expect(try await schema(live).building.count == 2, "the indexes that development has made, of f")
        while try await test.cloud.runDueTasks().taken > 0 {}
        #expect(try await schema(live).building.isEmpty)
        #expect(try await IndexCensus(live).isWhole())
    }
}
