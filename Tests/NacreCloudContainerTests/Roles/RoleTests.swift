import NacreCloudServerWire
import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests of security roles in a public database: permissions to read, make and change records.
@Suite struct RoleTests {
    static let container = TestCloud.container

    /// Returns a schema; `items` are the lines of `Diary`.
    static func text(_ items: String, roles: [String] = []) -> String {
        "DEFINE SCHEMA " + roles.map { "CREATE ROLE \($0); " }.joined()
            + "RECORD TYPE Users (roles LIST<INT64>); RECORD TYPE Diary (\"___recordID\" REFERENCE QUERYABLE, "
            + "text STRING QUERYABLE SEARCHABLE SORTABLE, n INT64 QUERYABLE SORTABLE, place LOCATION QUERYABLE SORTABLE, "
            + "words LIST<STRING> QUERYABLE, "
            + "link REFERENCE QUERYABLE, \(items)); RECORD TYPE Note (text STRING QUERYABLE, link REFERENCE, links LIST<REFERENCE>);"
    }

    static func cloud(_ engine: Engine, _ items: String, roles: [String] = []) async throws -> TestCloud {
        let test = try await TestCloud(engine)
        _ = try await test.cloud.registry.createContainer(container)
        try await set(items, roles: roles, in: test)
        return test
    }

    static func set(_ items: String, roles: [String] = [], in test: TestCloud) async throws {
        _ = try await test.cloud.schemas.importSchema(text(items, roles: roles), to: container, isDryRun: false)
        try await test.runAllTasks()
    }

    private func names(_ user: TestCloudUser, _ query: Query = Query(recordType: "Diary")) async throws -> [String] {
        try await user.cloud.queryRecords(RecordsQueryRequest(query: query), in: user.target, by: user.caller).records.map(\.recordName)
    }

    @Test(arguments: Engine.ofRules) func `a role that another server gives or takes counts with the next request, though this one has read it`(
        engine: Engine
    ) async throws {
        let test = try await Self.cloud(engine, "GRANT READ TO Team, GRANT CREATE TO \"_icloud\"", roles: ["Team"])
        let (ann, bob) = (test.user("_ann", in: .public), test.user("_bob", in: .public))
        try await ann.modify([.make(.create, "a", type: "Diary")])
        let clock = test.cloud.registry.clock
        let other = Schemas(registry: Registry(store: test.cloud.store, clock: clock, random: { .random(in: .min ... .max) }))
        for round in 0..<3 {
            for _ in 0..<2 { #expect(try await bob.lookup(["a"]).first?.error == .readNotPermitted, "\(round)") }
            _ = try await other.assign("Team", to: "_bob", in: Self.container, .development)
            for _ in 0..<2 { #expect(try await bob.lookup(["a"]).first?.record != nil, "\(round)") }
            #expect(try await ann.lookup(["a"]).first?.error == .readNotPermitted)
            _ = try await other.revoke("Team", from: "_bob", in: Self.container, .development)
        }
        _ = try await other.assign("Team", to: "_bob", in: Self.container, .development)
        #expect(try await names(bob) == ["a"])
        try await other.forgetRoles(of: "_bob", in: Self.container, .development)
        #expect(try await names(bob) == [])
    }

    @Test(arguments: Engine.ofRules) func `what only its creator may read is there for its creator alone`(engine: Engine) async throws {
        let test = try await Self.cloud(engine, #"GRANT READ, WRITE TO "_creator", GRANT CREATE TO "_icloud""#)
        let (ann, bob, world) = (test.user("_ann", in: .public), test.user("_bob", in: .public), test.world())
        try await ann.modify([.make(.create, "a", type: "Diary", ["text": .string("x")])])
        try await bob.modify([.make(.create, "b", type: "Diary", ["text": .string("x")])])
        for (user, own) in [(ann, ["a"]), (bob, ["b"]), (world, [])] {
            #expect(try await names(user) == own)
            #expect(try await user.lookup(["a", "b"]).compactMap(\.record?.recordName) == own)
            #expect(try await user.lookup(["a", "b"]).compactMap(\.error) == [ServerError](repeating: .readNotPermitted, count: 2 - own.count))
        }
        #expect(try await bob.modify([.make(.forceUpdate, "a", type: "Diary")]).map(\.error) == [.writeNotPermitted])
        #expect(try await ann.modify([.make(.forceUpdate, "a", type: "Diary", ["text": .string("y")])]).first?.record?.fields["text"] == .string("y"))
    }

    @Test(arguments: Engine.ofRules) func `a repetition tells nothing of what others made of a record that its caller may not read`(
        engine: Engine
    ) async throws {
        let test = try await Self.cloud(engine, #"GRANT READ, WRITE TO "_creator", GRANT CREATE TO "_icloud""#)
        let (ann, bob) = (test.user("_ann", in: .public), test.user("_bob", in: .public))
        let operations = [RecordOperation.make(.create, "watched", type: "Note", ["text": .string("mine")])]
        #expect(try await bob.modify(operations, id: "1").first?.record != nil)
        #expect(try await bob.modify(operations, id: "1").first?.record != nil)
        try await bob.modify([.delete("watched")])
        try await ann.modify([.make(.create, "watched", type: "Diary", ["text": .string("hers")])])
        #expect(try await bob.modify(operations, id: "1").map(\.error) == [.readNotPermitted])
    }

    @Test(arguments: Engine.ofRules) func `records that one may not read take no room in the answer of a lookup`(engine: Engine) async throws {
        let test = try await Self.cloud(engine, #"GRANT READ, WRITE TO "_creator", GRANT CREATE TO "_icloud""#)
        let (ann, bob) = (test.user("_ann", in: .public), test.user("_bob", in: .public))
        let names = (0..<9).map { "a\($0)" }
        for name in names { try await ann.modify([.make(.create, name, type: "Diary", ["big": .bytes([UInt8](repeating: 1, count: 950_000))])]) }
        #expect(try await bob.lookup(names).map(\.error) == names.map { _ in .readNotPermitted })
        await #expect(throws: ServerError.answerTooLarge) { try await ann.lookup(names) }
    }

    @Test(arguments: Engine.ofRules) func `a role counts from the next request on, and so does its end`(engine: Engine) async throws {
        let grants = #"GRANT READ, WRITE TO Editor, GRANT READ, CREATE, WRITE TO "_creator", GRANT CREATE TO "_icloud""#
        let test = try await Self.cloud(engine, grants, roles: ["Editor"])
        let (ann, bob) = (test.user("_ann", in: .public), test.user("_bob", in: .public))
        let schemas = test.cloud.schemas
        try await ann.modify([.make(.create, "a", type: "Diary", ["text": .string("x")])])
        #expect(try await names(bob) == [])
        #expect(try await schemas.assign("Editor", to: "_bob", in: Self.container, .development) == RoleHolder(user: "_bob", roles: ["Editor"]))
        #expect(try await names(bob) == ["a"])
        #expect(try await bob.lookup(["a"]).first?.record != nil)
        let saved = try await bob.modify([.make(.forceUpdate, "a", type: "Diary", ["text": .string("y")])])
        #expect(saved.first?.record?.created.userRecordName == "_ann" && saved.first?.record?.modified.userRecordName == "_bob")
        #expect(try await schemas.roleHolders(of: Self.container, .development, after: nil).page == [RoleHolder(user: "_bob", roles: ["Editor"])])
        #expect(try await schemas.revoke("Editor", from: "_bob", in: Self.container, .development).roles == [])
        #expect(try await names(bob) == [])
        #expect(try await bob.modify([.delete("a")]).map(\.error) == [.writeNotPermitted])
        #expect(try await schemas.roleHolders(of: Self.container, .development, after: nil).page == [])
        // In another environment, and in another process on the same store.
        let other = TestCloud(test.store, seed: 3)
        _ = try await schemas.assign("Editor", to: "_bob", in: Self.container, .development)
        #expect(try await other.user("_bob", in: .public).lookup(["a"]).first?.record != nil)
        await #expect(throws: ServerError.self) { try await schemas.assign("Editor", to: "_bob", in: Self.container, .production) }
    }

    @Test(arguments: Engine.ofRules) func `a role that is made again under its name is nobody's`(engine: Engine) async throws {
        let grants = #"GRANT READ TO Editor, GRANT READ, WRITE TO "_creator", GRANT CREATE TO "_icloud""#
        let test = try await Self.cloud(engine, grants, roles: ["Editor"])
        let (ann, bob) = (test.user("_ann", in: .public), test.user("_bob", in: .public))
        try await ann.modify([.make(.create, "a", type: "Diary")])
        _ = try await test.cloud.schemas.assign("Editor", to: "_bob", in: Self.container, .development)
        try await Self.set(#"GRANT READ, WRITE TO "_creator""#, in: test)
        #expect(try await bob.lookup(["a"]).map(\.error) == [.readNotPermitted])
        try await Self.set(grants, roles: ["Editor"], in: test)
        #expect(try await bob.lookup(["a"]).map(\.error) == [.readNotPermitted])
        _ = try await test.cloud.schemas.assign("Editor", to: "_bob", in: Self.container, .development)
        #expect(try await bob.lookup(["a"]).map(\.error) == [nil])
        // An unchanged import keeps the schema's roles and their holders.
        try await Self.set(grants, roles: ["Other", "Editor"], in: test)
        #expect(try await bob.lookup(["a"]).map(\.error) == [nil])
    }

    @Test(arguments: Engine.ofRules) func `a schema that is reset leaves roles to nobody`(engine: Engine) async throws {
        let grants = #"GRANT READ TO Editor, GRANT READ, WRITE TO "_creator", GRANT CREATE TO "_icloud""#
        let test = try await Self.cloud(engine, grants, roles: ["Editor"])
        let schemas = test.cloud.schemas
        let gains = try await schemas.deploySchema(of: Self.container, isDryRun: false).gains
        #expect(gains.first == SchemaGain(kind: .role, role: "Editor", declaration: ""))
        #expect(
            gains.contains(
                SchemaGain(
                    kind: .grants, recordType: "Diary",
                    declaration: #"GRANT READ TO Editor, GRANT READ, WRITE TO "_creator", GRANT CREATE TO "_icloud""#)))
        _ = try await schemas.assign("Editor", to: "_bob", in: Self.container, .development)
        try await Self.set(grants, roles: ["Editor", "Late"], in: test)
        #expect(try await test.cloud.resetSchema(of: Self.container, isDryRun: false).roles == ["Late"])
        #expect(try await schemas.roles(of: Self.container, .development) == ["Editor"])
        #expect(try await schemas.roleHolders(of: Self.container, .development, after: nil).page == [])
    }

    @Test func `a deployment makes production's grants those of development, and takes no role away`() async throws {
        let test = try await Self.cloud(.memory, #"GRANT READ TO Editor, GRANT CREATE TO "_icloud""#, roles: ["Editor"])
        let schemas = test.cloud.schemas
        _ = try await schemas.deploySchema(of: Self.container, isDryRun: false)
        await #expect(throws: ServerError.self) { try await Self.set(#"GRANT READ TO "_world""#, in: test) }
        try await Self.set(#"GRANT READ TO "_world""#, roles: ["Editor"], in: test)
        let gains = try await schemas.deploySchema(of: Self.container, isDryRun: false).gains
        #expect(gains == [SchemaGain(kind: .grants, recordType: "Diary", declaration: #"GRANT READ TO "_world""#)])
        let production = try await schemas.schema(of: Self.container, .production)
        #expect(production.definition(of: "Diary")?.grants.roles == ["_world"])
        #expect(production.roles.keys.map(\.self) == ["Editor"])
        #expect(try await schemas.deploySchema(of: Self.container, isDryRun: false).gains.isEmpty)
    }

    @Test func `roles and grants are printed as CloudKit exports them, and read back as they are`() throws {
        let text = """
            DEFINE SCHEMA

                CREATE ROLE moderator;
                CREATE ROLE Team;

                RECORD TYPE Note (
                    "___createTime" TIMESTAMP,
                    "___createdBy"  REFERENCE,
                    "___etag"       STRING,
                    "___modTime"    TIMESTAMP,
                    "___modifiedBy" REFERENCE,
                    "___recordID"   REFERENCE,
                    GRANT READ TO Team,
                    GRANT READ, CREATE, WRITE TO "_creator",
                    GRANT CREATE TO "_icloud",
                    GRANT READ, WRITE TO moderator
                );

                RECORD TYPE Users (
                    "___createTime" TIMESTAMP,
                    "___createdBy"  REFERENCE,
                    "___etag"       STRING,
                    "___modTime"    TIMESTAMP,
                    "___modifiedBy" REFERENCE,
                    "___recordID"   REFERENCE,
                    roles           LIST<INT64>,
                    GRANT WRITE TO "_creator",
                    GRANT READ TO "_world"
                );

            """
        let schema = try SchemaText.schema(from: text)
        #expect(SchemaText(schema).text == text)
        // One role's permissions may be in several grants, and roles may follow grants that name them.
        let other = try SchemaText.schema(
            from: """
                DEFINE SCHEMA RECORD TYPE Note (a STRING, GRANT WRITE TO Team, grant read to Team, GRANT READ TO "_world"); CREATE ROLE Team;
                RECORD TYPE Users (roles LIST<INT64>);
                """)
        #expect(other.types["Note"]?.grants["Team"] == [.read, .write])
        #expect(
            schema.differences(to: other).prefix(3) == [
                SchemaDifference(role: "moderator", before: "", after: nil),
                SchemaDifference(
                    recordType: "Note",
                    before:
                        #"GRANT READ TO Team, GRANT READ, CREATE, WRITE TO "_creator", GRANT CREATE TO "_icloud", GRANT READ, WRITE TO moderator"#,
                    after: #"GRANT READ, WRITE TO Team, GRANT READ TO "_world""#),
                SchemaDifference(recordType: "Note", field: "a", before: nil, after: "STRING"),
            ])
    }

    @Test(arguments: Engine.ofRules) func `who may change a record that is another's leaves it to its creator, and its references too`(
        engine: Engine
    ) async throws {
        let grants = #"GRANT READ, WRITE TO Editor, GRANT READ TO "_world", GRANT WRITE TO "_creator", GRANT CREATE TO "_icloud""#
        let test = try await Self.cloud(engine, grants, roles: ["Editor"])
        let (ann, bob) = (test.user("_ann", in: .public), test.user("_bob", in: .public))
        _ = try await test.cloud.schemas.assign("Editor", to: "_bob", in: Self.container, .development)
        try await ann.modify([.make(.create, "post", type: "Diary"), .make(.create, "other", type: "Diary")])
        // Bob makes Ann's record hold Ann's post: this counts as if she had done it.
        let link = FieldValue.reference(Reference(recordName: "post", action: .validate))
        #expect(try await bob.modify([.make(.forceUpdate, "other", type: "Diary", ["link": link])]).first?.error == nil)
        #expect(try await ann.modify([.delete("post")]).first?.error?.code == .validatingReferenceError)
        #expect(try await bob.modify([.delete("post")]).first?.error?.code == .validatingReferenceError)
        // Bob's own record is a stranger's to it.
        try await bob.modify([.make(.create, "bobs", type: "Diary", ["link": link]), .delete("other")])
        #expect(try await ann.modify([.delete("post")]).first?.error == nil)
    }

    @Test(arguments: Engine.ofRules) func `who may write and not read hears the new tag and nothing else`(engine: Engine) async throws {
        let grants = #"GRANT WRITE TO Editor, GRANT READ, WRITE TO "_creator", GRANT CREATE TO "_icloud""#
        let test = try await Self.cloud(engine, grants, roles: ["Editor"])
        let (ann, bob) = (test.user("_ann", in: .public), test.user("_bob", in: .public))
        _ = try await test.cloud.schemas.assign("Editor", to: "_bob", in: Self.container, .development)
        try await ann.modify([.make(.create, "a", type: "Diary", ["text": .string("hush"), "n": .int64(1)])])
        for _ in 0..<2 {
            let saved = try await bob.modify([.make(.forceUpdate, "a", type: "Diary", ["n": .int64(2)])], id: "once").first?.record
            #expect(saved?.fields.isEmpty == true && saved?.parent == nil)
            #expect(saved?.created.userRecordName == "_bob", "not who made it")
        }
        let conflict = try await bob.modify([.make(.update, "a", type: "Diary", tag: "0")]).first?.error
        #expect(conflict?.code == .conflict && conflict?.serverRecord == nil)
        #expect(try await ann.lookup(["a"]).first?.record?.fields == ["text": .string("hush"), "n": .int64(2)])
        #expect(try await bob.modify([.delete("a")]).first?.tombstone == Tombstone(recordName: "a", recordType: nil))
    }

    @Test func `a refused reader hears of no reference whether its target is there`() async throws {
        let test = try await Self.cloud(.memory, #"GRANT READ, WRITE TO "_creator", GRANT CREATE TO "_icloud""#)
        let (ann, bob) = (test.user("_ann", in: .public), test.user("_bob", in: .public))
        try await ann.modify([.make(.create, "a", type: "Diary")])
        for action in [Reference.Action.validate, .deleteSelf] {
            for target in ["a", "missing"] {
                let link = FieldValue.reference(Reference(recordName: target, action: action))
                #expect(try await bob.modify([.make(.create, "n", ["link": link])]).map(\.error) == [.targetNotFound("link")], "\(action) \(target)")
            }
        }
        for target in ["a", "missing"] {
            let child = RecordOperation.make(.create, "n", parent: .set(Reference(recordName: target, action: .none)))
            #expect(try await bob.modify([child]).map(\.error) == [.parentNotFound(target)])
        }
    }

    @Test func `without an account one reads what the world may, and no more`() async throws {
        let test = try await Self.cloud(.memory, #"GRANT READ, CREATE, WRITE TO "_world""#)
        let (ann, world) = (test.user("_ann", in: .public), test.world())
        try await ann.modify([.make(.create, "a", type: "Diary")])
        #expect(try await world.lookup(["a"]).first?.record != nil)
        await #expect(throws: ServerError.authenticationRequired) { try await world.modify([.make(.create, "b", type: "Diary")]) }
        #expect(try await test.user("_bob", in: .public).modify([.delete("a")]).first?.error == nil, "who has one may what the world may")
        try await ann.modify([.make(.create, "c", type: "Diary")])
        try await Self.set(#"GRANT READ TO "_icloud""#, in: test)
        #expect(try await world.lookup(["c"]).map(\.error) == [.readNotPermitted])
        #expect(try await names(world) == [])
        #expect(try await names(ann) == ["c"])
    }

    @Test func `an administrator is held by no grant, and makes no users`() async throws {
        let test = try await Self.cloud(.memory, #"GRANT READ TO "_creator", GRANT CREATE TO "_icloud""#)
        let ann = test.user("_ann", in: .public)
        try await ann.modify([.make(.create, "a", type: "Diary", ["n": .int64(1)])])
        var admin = test.user("_key", in: .public)
        admin.caller = Caller(.serverKey("_key"))
        #expect(try await admin.lookup(["a"]).map(\.error) == [.readNotPermitted])
        admin.caller.isAdministrator = true
        #expect(try await admin.lookup(["a"]).first?.record != nil)
        #expect(try await admin.modify([.make(.forceUpdate, "a", type: "Diary", ["n": .int64(2)])]).first?.error == nil)
        #expect(try await names(admin) == ["a"])
        #expect(try await admin.modify([.make(.create, "_x", type: "Users")]).map(\.error) == [.createNotPermitted])
    }

    @Test func `roles are of the schema's own, and so many at most`() async throws {
        let test = try await Self.cloud(.memory, #"GRANT READ TO "_world""#)
        let schemas = test.cloud.schemas
        for role in ["_icloud", "Nobody"] {
            await #expect(throws: ServerError.self) { try await schemas.assign(role, to: "_ann", in: Self.container, .development) }
        }
        let most = (0..<Limits.rolesPerSchema).map { "R\($0)" }
        try await Self.set(#"GRANT READ TO "_world""#, roles: most, in: test)
        #expect(try await schemas.roles(of: Self.container, .development) == most)
        await #expect(throws: ServerError.tooManyRoles) { try await Self.set(#"GRANT READ TO "_world""#, roles: most + ["Last"], in: test) }
    }

    @Test(arguments: Permissions.words.map(\.permission), [nil, "_ann", "_bob", "_eve"] as [String?])
    func `why agrees with what happens`(permission: Permissions, user: String?) async throws {
        let grants = #"GRANT READ, WRITE TO Editor, GRANT READ TO "_creator", GRANT CREATE TO "_icloud""#
        let test = try await Self.cloud(.memory, grants, roles: ["Editor"])
        try await test.user("_ann", in: .public).modify([.make(.create, "a", type: "Diary")])
        _ = try await test.cloud.schemas.assign("Editor", to: "_bob", in: Self.container, .development)
        let asker = user.map { test.user($0, in: .public) } ?? test.world()
        let found = try await test.cloud.explainPermission(
            permission, of: asker.caller, record: "a", type: nil, in: Self.container, .development)
        let happens: Bool =
            switch permission {
            case .read: try await asker.lookup(["a"]).first?.record != nil
            case .create: (try? await asker.modify([.make(.create, "new", type: "Diary")]).first?.error == nil) ?? false
            default: (try? await asker.modify([.make(.forceUpdate, "a", type: "Diary")]).first?.error == nil) ?? false
            }
        #expect(found.isPermitted == happens && found.because.isEmpty != happens)
        #expect(found.recordType == "Diary" && found.creator == "_ann")
        #expect(found.roles.contains("_creator") == (user == "_ann" && permission != .create))
        #expect(found.roles.contains("Editor") == (user == "_bob"))
        await #expect(throws: ServerError.recordNotFound) {
            try await test.cloud.explainPermission(.read, of: asker.caller, record: "none", type: nil, in: Self.container, .development)
        }
    }
}
