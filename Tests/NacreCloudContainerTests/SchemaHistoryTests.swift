import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests of `nacre schema history` and `nacre schema undo`.
@Suite struct SchemaHistoryTests {
    private static let container = TestCloud.container
    private static let users = "RECORD TYPE Users (roles LIST<INT64>);"

    private func with(_ engine: Engine, _ body: (Schemas, TestCloud) async throws -> Void) async throws {
        let test = try await TestCloud(engine)
        _ = try await test.cloud.registry.createContainer(Self.container)
        try await body(test.cloud.schemas, test)
    }

    private func bring(_ text: String, _ schemas: Schemas) async throws {
        _ = try await schemas.importSchema("DEFINE SCHEMA \(text) \(Self.users)", to: Self.container, isDryRun: false)
    }

    private func text(_ schemas: Schemas, _ environment: DatabaseKey.Environment = .development) async throws -> String {
        SchemaText(try await schemas.schema(of: Self.container, environment)).text
    }

    @Test(arguments: Engine.embedded) func `each change of an administrator is kept with its time and what it changed, newest first`(
        engine: Engine
    ) async throws {
        try await with(engine) { schemas, test in
            #expect(try await schemas.schemaHistory(of: Self.container, .development).isEmpty)
            try await bring("CREATE ROLE Editor; RECORD TYPE Note (text STRING, GRANT READ TO Editor);", schemas)
            let imported = test.clock.now
            test.clock.move(bySeconds: 60)
            _ = try await schemas.setIndexes(.queryable, of: "Note", field: "text", in: Self.container)
            // A read, a dry run and an import of the current schema change nothing.
            _ = try await schemas.setIndexes(nil, of: "Note", field: "text", in: Self.container)
            _ = try await schemas.importSchema("DEFINE SCHEMA \(Self.users)", to: Self.container, isDryRun: true)
            _ = try await schemas.importSchema(try await text(schemas), to: Self.container, isDryRun: false)
            // An addition by a save is not an administrator's change.
            try await test.user("_ann").modify([.create("a", ["n": .int64(1)])])
            _ = try await schemas.deploySchema(of: Self.container, isDryRun: true)
            _ = try await schemas.deploySchema(of: Self.container, isDryRun: false)
            _ = try await schemas.deploySchema(of: Self.container, isDryRun: false)

            let changes = try await schemas.schemaHistory(of: Self.container, .development)
            #expect(changes.map(\.kind) == [.index, .import] && changes.map(\.number) == [2, 1])
            #expect(changes.map(\.time.secondsSince2001) == [imported.secondsSince2001 + 60, imported.secondsSince2001])
            #expect(
                changes.first?.differences == [
                    SchemaDifference(recordType: "Note", field: "text", before: "STRING", after: "STRING QUERYABLE")
                ])
            #expect(changes.last?.differences?.first == SchemaDifference(role: "Editor", before: nil, after: "") && changes.last?.count == 4)
            let live = try await schemas.schemaHistory(of: Self.container, .production)
            #expect(live.map(\.kind) == [.deploy] && live.first?.number == 1)
            await #expect(throws: ServerError.noContainer) { try await schemas.schemaHistory(of: "iCloud.com.example.none", .development) }
        }
    }

    @Test(arguments: Engine.embedded) func `undos go back change by change, and a change after them is the next to go`(engine: Engine) async throws {
        try await with(engine) { schemas, _ in
            func undo(isDryRun: Bool = false) async throws -> SchemaUndo {
                try await schemas.undoSchemaChange(of: Self.container, isDryRun: isDryRun)
            }
            let empty = try await text(schemas)
            try await bring("RECORD TYPE Note (text STRING, GRANT READ TO \"_icloud\");", schemas)
            let first = try await text(schemas)
            try await bring("CREATE ROLE Editor; RECORD TYPE Album (name STRING SORTABLE, GRANT WRITE TO Editor);", schemas)
            let second = try await text(schemas)
            #expect(try await undo(isDryRun: true).number == 2)
            #expect(try await text(schemas) == second, "a dry run changes nothing")
            #expect(try await undo().kind == .import)
            #expect(try await text(schemas) == first)
            _ = try await schemas.setIndexes(.sortable, of: "Note", field: "text", in: Self.container)
            #expect(try await undo().kind == .index)
            #expect(try await text(schemas) == first)
            #expect(try await undo().number == 1)
            #expect(try await text(schemas) == empty)
            let error = await #expect(throws: ServerError.self) { try await undo() }
            #expect(error?.reason == "there is no change to undo" && error?.remedy?.contains("nacre schema history") == true)
            let changes = try await schemas.schemaHistory(of: Self.container, .development)
            #expect(changes.map(\.kind) == [.undo, .undo, .index, .undo, .import, .import])
            #expect(changes.map(\.isUndone) == [false, false, true, false, true, true])
        }
    }

    @Test(arguments: Engine.embedded) func `an undo keeps what came with saves, and is refused where records or production have what would go`(
        engine: Engine
    ) async throws {
        try await with(engine) { schemas, test in
            try await bring("RECORD TYPE Note (text STRING QUERYABLE, old STRING);", schemas)
            try await bring("RECORD TYPE Note (text STRING QUERYABLE SORTABLE);", schemas)
            try await test.user("_ann").modify([.create("a", ["late": .int64(1)])])
            _ = try await schemas.undoSchemaChange(of: Self.container, isDryRun: false)
            let note = try #require(try await schemas.schema(of: Self.container, .development).types["Note"])
            #expect(note.fields.mapValues(\.type) == ["text": .string, "old": .string, "late": .int64])
            #expect(note.fields["text"]?.options == .queryable)
            let before = try await text(schemas)
            let used = await #expect(throws: ServerError.self) { try await schemas.undoSchemaChange(of: Self.container, isDryRun: false) }
            #expect(used?.reason == "invalid attempt to delete or retype what records may use" && used?.field == "Note")
            #expect(used?.remedy?.contains("nacre schema export") == true)
            #expect(try await text(schemas) == before)
            _ = try await schemas.deploySchema(of: Self.container, isDryRun: false)
            let active = await #expect(throws: ServerError.self) { try await schemas.undoSchemaChange(of: Self.container, isDryRun: false) }
            #expect(active?.reason == "invalid attempt to delete a record type which is active in a production container")
        }
    }

    @Test func `a field that came back with a save is no reason to undo the same change for ever`() async throws {
        try await with(.memory) { schemas, test in
            try await bring("RECORD TYPE Note (n INT64 QUERYABLE SORTABLE);", schemas)
            try await bring("RECORD TYPE Note (m STRING);", schemas)
            try await bring("RECORD TYPE Note (m STRING, n INT64 QUERYABLE SORTABLE);", schemas)
            try await bring("RECORD TYPE Note (m STRING);", schemas)
            try await test.user("_ann").modify([.create("a", ["n": .int64(1)])])
            let undo = try await schemas.undoSchemaChange(of: Self.container, isDryRun: false)
            #expect(undo.number == 4 && undo.differences.isEmpty)
            let changes = try await schemas.schemaHistory(of: Self.container, .development)
            #expect(changes.first?.kind == .undo && changes.first?.count == 0 && changes.dropFirst().first?.isUndone == true)
        }
    }

    @Test(arguments: Engine.embedded) func `a reset can be undone as far as it is about the schema`(engine: Engine) async throws {
        try await with(engine) { schemas, test in
            try await bring("RECORD TYPE Note (text STRING, secret ENCRYPTED STRING, GRANT READ TO \"_icloud\");", schemas)
            let before = try await text(schemas)
            _ = try await test.cloud.resetSchema(of: Self.container, isDryRun: false)
            #expect(try await text(schemas) != before)
            #expect(try await schemas.undoSchemaChange(of: Self.container, isDryRun: false).kind == .reset)
            #expect(try await text(schemas) == before)
        }
    }

    @Test func `any change between two schemas is taken back exactly`() throws {
        for seed in 1...300 as ClosedRange<UInt64> {
            var from = SchemaReadingTests.random(seed)
            from.types[UserRecord.type] = from.definition(of: UserRecord.type)
            var to = SchemaReadingTests.random(seed + 5000)
            to.types[UserRecord.type] = to.definition(of: UserRecord.type)
            var after = from
            try after.become(to, production: Schema(), hasRecords: false)
            var back = after
            try back.become(try after.takingBack(from.differences(to: after)), production: Schema(), hasRecords: false)
            #expect(SchemaText(back).text == SchemaText(from).text || from.roles.count > 1, "seed \(seed)")
            #expect(back.differences(to: from).isEmpty && from.differences(to: back).isEmpty, "seed \(seed)")
        }
    }

    @Test func `the history keeps a number of changes, and of a very long one only how long it was`() async throws {
        try await with(.memory) { schemas, _ in
            let names = (0..<400).map { "aFieldWithAVeryLongName\(String(repeating: "x", count: 200))\($0) STRING" }
            for number in 0..<Limits.schemaChangesKept {
                try await bring("RECORD TYPE Note (f\(number) STRING);", schemas)
            }
            #expect(try await schemas.schemaHistory(of: Self.container, .development).last?.number == 1)
            try await bring("RECORD TYPE Note (\(names.joined(separator: ", ")));", schemas)
            let changes = try await schemas.schemaHistory(of: Self.container, .development)
            #expect(changes.count == Limits.schemaChangesKept && changes.last?.number == 2)
            #expect(changes.first?.differences == nil && changes.first?.count == 401)
            let error = await #expect(throws: ServerError.self) {
                try await schemas.undoSchemaChange(of: Self.container, isDryRun: false)
            }
            #expect(error?.reason.contains("too long to be undone: 401 differences") == true)
        }
    }
}
