import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests of user records: who makes them, the permissions for them, and when they exist.
@Suite struct UserRecordTests {
    private static let container = TestCloud.container
    private static let ada = "_ada0"
    private static let bob = "_bob0"

    // MARK: The rule

    enum Place: CaseIterable { case privateOwn, publicOwn, publicOthers }

    struct Cell: CustomTestStringConvertible {
        var operation: NacreCloudWire.OperationType
        var isThere: Bool
        var place: Place
        var isServer: Bool
        var testDescription: String { "\(operation), \(isThere ? "there" : "missing"), \(place), \(isServer ? "server" : "app")" }
    }

    static let table: [Cell] = NacreCloudWire.OperationType.allCases.flatMap { operation in
        [true, false].flatMap { isThere in
            Place.allCases.flatMap { place in [true, false].map { Cell(operation: operation, isThere: isThere, place: place, isServer: $0) } }
        }
    }

    private func expected(_ cell: Cell) -> String {
        let changes = cell.operation == .update || cell.operation == .replace
        if cell.isThere {
            if cell.operation == .create { return "record to insert already exists" }
            if cell.place == .publicOthers { return "WRITE operation not permitted" }
            if cell.operation.isDelete { return cell.isServer ? "deletes" : "user records cannot be deleted" }
            return "saves"
        }
        if changes || cell.operation == .delete { return "Record not found" }
        if cell.isServer { return cell.operation == .forceDelete ? "nothing" : "saves" }
        return "CREATE operation not permitted"
    }

    @Test(arguments: table) func `apps change their own user record, and make and delete none`(cell: Cell) {
        let caller = cell.isServer ? Caller.server(inNameOf: Self.ada) : Caller(.user(Self.ada), client: .framework)
        let owner = cell.place == .publicOthers ? Self.bob : Self.ada
        let record = StoredRecord.sample(owner, type: UserRecord.type, seq: 7, by: owner)
        let operation = RecordOperation.make(
            cell.operation, owner, type: UserRecord.type, tag: ChangeTag.text(record.row.number), ["name": .string("Ada")])
        let setting = RecordSetting(
            scope: cell.place == .privateOwn ? .private : .public, environment: .development, caller: caller)
        let answer =
            switch RecordVerdict(operation, over: cell.isThere ? record : nil, in: setting) {
            case .save: "saves"
            case .delete: "deletes"
            case .nothing: "nothing"
            case .refuse(let error): error.reason
            }
        #expect(answer == expected(cell))
    }

    @Test func `roles are sent back as they are, and changed by nobody`() throws {
        let setting = RecordSetting(scope: .public, environment: .development, caller: Caller(.user(Self.ada)))
        func verdict(_ before: FieldValue?, _ type: NacreCloudWire.OperationType, _ set: FieldValue?, cleared: Bool = false) -> RecordVerdict {
            var fields: RecordFields = [:]
            fields["roles"] = before
            let record = StoredRecord.sample(Self.ada, type: UserRecord.type, seq: 7, by: Self.ada, fields: fields)
            var given: RecordFields = [:]
            given["roles"] = set
            return RecordVerdict(
                .make(type, Self.ada, type: nil, tag: ChangeTag.text(record.row.number), given, cleared: cleared ? ["roles"] : []), over: record,
                in: setting)
        }
        func keeps(_ verdict: RecordVerdict) -> FieldValue?? {
            if case .save(let save) = verdict { .some(save.fields["roles"]) } else { nil }
        }
        let two = FieldValue.int64List([1, 2])
        for type in [NacreCloudWire.OperationType.update, .forceUpdate, .replace, .forceReplace] {
            #expect(verdict(nil, type, two) == .refuse(.rolesAreGiven))
            #expect(verdict(two, type, .int64List([1])) == .refuse(.rolesAreGiven))
            #expect(keeps(verdict(two, type, two)) == .some(two))
            #expect(keeps(verdict(two, type, nil)) == .some(two), "what replaces the record leaves them too")
            #expect(keeps(verdict(nil, type, .int64List([]))) == .some(nil))
            #expect(keeps(verdict(nil, type, nil, cleared: true)) == .some(nil))
            #expect(verdict(two, type, nil, cleared: true) == .refuse(.rolesAreGiven))
        }
    }

    @Test func `a name with an underscore is refused for whatever is no user`() async throws {
        let ada = TestCloud(try await Engine.memory.makeStore()).user(Self.ada)
        try await ada.makeZone("Notes")
        for (zone, operation) in [
            ("_defaultZone", RecordOperation.create("_x")), ("_defaultZone", .update("_x")), ("_defaultZone", .delete("_x")),
            ("Notes", .create("_x")), ("Notes", .update("_x")), ("Notes", .delete("_x")),
        ] {
            let error = try #require(try await ada.modify([operation], zone: zone, atomic: false).first?.error)
            #expect(error.code == .badRequest && error.reason == "invalid name" && error.field == "recordName")
        }
    }

    // MARK: Creation

    private func admitted(_ engine: Engine, _ users: [String] = [ada]) async throws -> TestCloud {
        let test = try await TestCloud(engine)
        for user in users { try await test.cloud.admit(user, to: Self.container, .development) }
        return test
    }

    @Test(arguments: Engine.ofRules) func `the first access makes one record in each database, and later ones none`(engine: Engine) async throws {
        let test = try await admitted(engine)
        var tags: [String] = []
        for scope in [DatabaseKey.Scope.public, .private] {
            let record = try #require(try await test.user(Self.ada, in: scope).lookup([Self.ada]).first?.record)
            #expect(record.recordType == "Users" && record.fields == [:])
            #expect(record.created.userRecordName == Self.ada && record.modified == record.created)
            tags.append(record.recordChangeTag)
        }
        #expect(test.takeMoved().isEmpty, "no feed tells of it")
        // Another process, which has not seen the user.
        test.clock.move(bySeconds: 60)
        let again = TestCloud(test.store, seed: 2)
        try await again.cloud.admit(Self.ada, to: Self.container, .development)
        for (scope, tag) in zip([DatabaseKey.Scope.public, .private], tags) {
            #expect(try await again.user(Self.ada, in: scope).lookup([Self.ada]).first?.record?.recordChangeTag == tag)
        }
        // The other environment is separate.
        #expect(try await test.user(Self.ada, environment: .production).lookup([Self.ada]).first?.error?.code == .notFound)
    }

    @Test(arguments: Engine.ofRules) func `many first accesses at once make one record`(engine: Engine) async throws {
        let store = try await engine.makeStore()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for seed in 1...8 {
                group.addTask {
                    for user in [Self.ada, Self.bob] {
                        try await TestCloud(store, seed: UInt64(seed)).cloud.admit(user, to: Self.container, .development)
                    }
                }
            }
            try await group.waitForAll()
        }
        let test = TestCloud(store, seed: 9)
        let both = try await test.user(Self.ada, in: .public).lookup([Self.ada, Self.bob]).compactMap(\.record)
        #expect(both.map(\.recordName) == [Self.ada, Self.bob])
        let zones = try await store.read { transaction in
            try transaction.databases(of: Self.container, .development, after: nil, limit: 10).flatMap {
                try transaction.zones(in: $0.id, after: nil, limit: 10)
            }
        }
        #expect(zones.count == 3, "the default zones of the public database and of two private ones")
    }

    @Test func `a user who is known costs no call of the store`() async throws {
        let store = CountingStore(try await Engine.memory.makeStore())
        let test = TestCloud(store)
        try await test.cloud.admit(Self.ada, to: Self.container, .development)
        let before = store.transactions
        #expect(before.count > 0)
        try await test.cloud.admit(Self.ada, to: Self.container, .development)
        #expect(store.transactions == before)
    }

    @Test func `a first type's indexes are usable at once, however many users there are`() async throws {
        let test = try await admitted(.memory, (0..<30).map { "_user\($0)" })
        try await test.user("_user0").modify([.create("a", ["n": .int64(1)])])
        let schema = try await test.cloud.schemas.schema(of: Self.container, .development)
        #expect(schema.types["Note"]?.fields["n"]?.isBuilding == false)
    }

    // MARK: Use

    @Test(arguments: Engine.ofRules) func `fields come just in time, without indexes, and are deployed`(engine: Engine) async throws {
        let test = try await admitted(engine)
        _ = try await test.cloud.registry.createContainer(Self.container)
        let ada = test.user(Self.ada, in: .public)
        let save = RecordOperation.make(.forceUpdate, Self.ada, type: nil, ["color": .string("blue")])
        #expect(try await ada.modify([save]).first?.record?.fields["color"] == .string("blue"))
        let schema = try await test.cloud.schemas.schema(of: Self.container, .development)
        #expect(Set(schema.types["Users"]?.fields.keys.map { $0 } ?? []) == ["color", "roles"])
        #expect(schema.types["Users"]?.fields["color"]?.options == [])
        #expect(SchemaText(schema).text.contains("        color           STRING,\n        roles           LIST<INT64>,\n        GRANT WRITE"))
        let gains = try await test.cloud.schemas.deploySchema(of: Self.container, isDryRun: false).gains
        #expect(gains == [SchemaGain(kind: .field, recordType: "Users", field: "color", declaration: "STRING")])
        await #expect(throws: ServerError.self) {
            try await test.cloud.schemas.setIndexes(.queryable, of: "Users", field: "color", in: Self.container)
        }
        let wrong = try await ada.modify([.make(.forceUpdate, Self.ada, type: nil, ["roles": .string("all")])]).first?.error
        #expect(wrong == .rolesAreGiven)
    }

    @Test(arguments: Engine.ofRules) func `others read a public record of a user, and only its user changes it`(engine: Engine) async throws {
        let test = try await admitted(engine, [Self.ada, Self.bob])
        let save = RecordOperation.make(.forceUpdate, Self.ada, type: nil, ["color": .string("blue")])
        let bob = test.user(Self.bob, in: .public)
        #expect(try await bob.modify([save]).first?.error == .writeNotPermitted)
        #expect(try await test.user(Self.ada, in: .public).modify([save]).first?.record != nil)
        for reader in [bob, test.world()] {
            #expect(try await reader.lookup([Self.ada]).first?.record?.fields["color"] == .string("blue"))
        }
        // The private one is another record, and another user has none of that name.
        #expect(try await test.user(Self.ada).lookup([Self.ada]).first?.record?.fields == [:])
        #expect(try await test.user(Self.bob).lookup([Self.ada]).first?.error?.code == .notFound)
    }

    @Test(arguments: Engine.ofRules) func `a user's record goes with nobody`(engine: Engine) async throws {
        let test = try await admitted(engine, [Self.ada, Self.bob])
        for scope in [DatabaseKey.Scope.public, .private] {
            let ada = test.user(Self.ada, in: scope)
            let owner = scope == .public ? test.user(Self.bob, in: scope) : ada
            try await owner.modify([.create("team")])
            let link: RecordFields = ["team": .reference(Reference(recordName: "team", action: .deleteSelf))]
            let save = RecordOperation.make(.forceUpdate, Self.ada, type: UserRecord.type, link)
            #expect(try await ada.modify([save]).first?.record != nil)
            try await ada.modify([.create("mine", link)])
            #expect(try await owner.modify([.delete("team")]).first?.tombstone != nil)
            #expect(try await ada.lookup([Self.ada]).first?.record?.fields["team"] != nil)
            #expect(try await ada.lookup(["mine"]).first?.error?.code == .notFound)
        }
    }

    @Test(arguments: Engine.ofRules) func `records refer to users in every way`(engine: Engine) async throws {
        let test = try await admitted(engine, [Self.ada, Self.bob])
        for scope in [DatabaseKey.Scope.public, .private] {
            let ada = test.user(Self.ada, in: scope)
            for (name, action) in [("none", Reference.Action.none), ("validate", .validate), ("owned", .deleteSelf)] {
                let fields: RecordFields = ["who": .reference(Reference(recordName: Self.ada, action: action))]
                let saved = try await ada.modify([.create(name, fields)]).first?.record?.fields["who"]
                guard case .reference(let who)? = saved else {
                    Issue.record("no reference: \(String(describing: saved))")
                    continue
                }
                #expect(who.recordName == Self.ada && who.action == action)
            }
            #expect(try await ada.modify([.create("child", parent: Self.ada)]).first?.record?.parent?.recordName == Self.ada)
            let missing = try await ada.modify([.create("lost", parent: "_nobody")]).first?.error
            #expect(missing?.code == .validatingReferenceError)
            #expect(try await ada.modify([.delete(Self.ada)]).first?.error == .userRecordStays)
        }
    }
}
