import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests of an account that is deleted with its data, over every engine.
@Suite struct AccountDeletionTests {
    private static let email = "ada@example.com"
    private static let container = TestCloud.container

    private struct Scene {
        let store: FailingStore
        let test: TestCloud
        let ada: AccountEntry
        let bob: AccountEntry
        /// names[environment]: Ada's user record name.
        private(set) var names: [DatabaseKey.Environment: String] = [:]
        let bobsName: String

        var registry: Registry { test.cloud.registry }
        var schemas: Schemas { test.cloud.schemas }

        init(_ engine: Engine) async throws {
            store = FailingStore(try await engine.makeStore(), failingAtCall: nil)
            test = TestCloud(store)
            let (cloud, registry) = (test.cloud, test.cloud.registry)
            _ = try await registry.createContainer(container)
            ada = try await registry.createAccount(email: email, passwordHash: "h")
            bob = try await registry.createAccount(email: "bob@example.com", passwordHash: "h")
            for environment in DatabaseKey.Environment.allCases {
                names[environment] = try await cloud.admit(account: ada.id, to: container, environment)
            }
            bobsName = try await cloud.admit(account: bob.id, to: container, .development)
            _ = try await registry.createAccountToken(for: ada, containers: [container], environment: .development, device: "Mac")
            let schema = #"""
                DEFINE SCHEMA
                CREATE ROLE Editor;
                RECORD TYPE Users (roles LIST<INT64>);
                RECORD TYPE Note (text STRING, GRANT READ TO "_world", GRANT READ, WRITE TO "_creator", GRANT CREATE TO "_icloud");
                """#
            _ = try await schemas.importSchema(schema, to: container, isDryRun: false)
            for (name, zone) in [(try name(), "Ada"), (bobsName, "Bob")] {
                _ = try await schemas.assign("Editor", to: name, in: container, .development)
                let home = test.user(name)
                try await home.makeZone(zone)
                try await home.modify([.create("note", ["text": .string("private")])], zone: zone)
                try await home.modify([.create("note", ["text": .string("private")])])
                try await test.user(name, in: .public).modify([.create("by \(zone)", ["text": .string("public")])])
            }
        }

        func name(_ environment: DatabaseKey.Environment = .development) throws -> String { try #require(names[environment]) }

        func finish() async throws {
            test.clock.move(bySeconds: Limits.accountDeletionSeconds)
            try await test.runAllTasks()
        }

        /// Checks that nothing is left of Ada but her public records, and all of Bob.
        func expectGone() async throws {
            let world = test.user(bobsName, in: .public)
            let public1 = try await world.lookup([try name(), bobsName, "by Ada", "by Bob"])
            #expect(public1.map { $0.record != nil } == [false, true, true, true])
            #expect(
                try await test.user(try name(.production), in: .public, environment: .production).lookup([try name(.production)])[0].record == nil)
            for environment in DatabaseKey.Environment.allCases {
                let id = try await test.cloud.databaseID(
                    DatabaseKey(container: container, environment: environment, scope: .private, owner: try name(environment)))
                #expect(try await test.store.read { try $0.zones(in: id, after: nil, limit: 10) }.isEmpty)
            }
            // Bob's own three, two tombstones of Ada's user records, Bob's, and a note of each.
            #expect(try await test.store.read { try $0.rows(of: .records, after: nil, limit: 100) }.count == 8)
            #expect(try await test.user(bobsName).lookup(["note"], zone: "Bob")[0].record != nil)
            #expect(try await schemas.roleHolders(of: container, .development, after: nil).page.map(\.user) == [bobsName])
            #expect(try await registry.appUsers(of: ada.id).isEmpty)
            #expect(try await registry.accounts(after: nil).page.map(\.id) == [bob.id])
            #expect(try await test.check().isEmpty)
        }
    }

    @Test(arguments: Engine.ofRules) func `nobody signs in any more at once, and a minute later all of the account is gone`(engine: Engine)
        async throws
    {
        let scene = try await Scene(engine)
        try await scene.registry.deleteAccount(scene.ada)
        #expect(try await scene.registry.account(email: Self.email) == nil)
        #expect(try await scene.registry.signIns(of: scene.ada.id, in: nil, after: nil).page.isEmpty)
        await #expect(throws: ServerError.accountChanged) {
            try await scene.registry.createAccountToken(for: scene.ada, containers: [Self.container], environment: .development, device: "")
        }
        await #expect(throws: ServerError.accountChanged) { try await scene.registry.deleteAccount(scene.ada) }
        await #expect(throws: ServerError.accountChanged) { try await scene.registry.openReset(of: scene.ada.id, digest: "d") }
        await #expect(throws: ServerError.accountChanged) {
            try await scene.test.cloud.admit(account: scene.ada.id, to: "iCloud.com.example.another", .development)
        }
        await #expect(throws: ServerError.emailTaken) { try await scene.registry.createAccount(email: Self.email, passwordHash: "h") }
        try await scene.test.runAllTasks()
        #expect(try await scene.test.user(try scene.name()).lookup(["note"], zone: "Ada")[0].record != nil, "requests under way may still end")
        #expect(try await scene.registry.accounts(after: nil).page.count == 2)
        try await scene.finish()
        try await scene.expectGone()
        let again = try await scene.registry.createAccount(email: Self.email, passwordHash: "h")
        let name = try await scene.test.cloud.admit(account: again.id, to: Self.container, .development)
        let before = try scene.name()
        #expect(again.id != scene.ada.id && name != before)
    }

    @Test(arguments: Engine.ofRules, [1, 3, 6, 9, 12, 16, 20, 25, 30, 36, 42, 50, 60]) func `a deletion that is cut short goes on`(
        engine: Engine, call: Int
    ) async throws {
        let scene = try await Scene(engine)
        try await scene.registry.deleteAccount(scene.ada)
        scene.test.clock.move(bySeconds: Limits.accountDeletionSeconds)
        scene.store.fail(atCall: call)
        try? await scene.test.runAllTasks()
        scene.store.fail(atCall: nil)
        // Beyond the lease and the pause of a task that failed.
        scene.test.clock.move(bySeconds: Limits.taskLeaseSeconds + Limits.taskPauseSeconds)
        try await scene.test.runAllTasks()
        try await scene.expectGone()
    }

    @Test(arguments: Engine.ofRules) func `a reset of development brings nobody back`(engine: Engine) async throws {
        let scene = try await Scene(engine)
        try await scene.registry.deleteAccount(scene.ada)
        try await scene.finish()
        _ = try await scene.test.cloud.resetSchema(of: Self.container, isDryRun: false)
        let found = try await scene.test.user(scene.bobsName, in: .public).lookup([try scene.name(), scene.bobsName])
        #expect(found.map { $0.record != nil } == [false, true])
    }

    @Test(arguments: Engine.ofRules) func `an address that was being left goes with the account`(engine: Engine) async throws {
        let scene = try await Scene(engine)
        let changed = try await scene.registry.changeEmail(of: scene.ada, to: "lovelace@example.com")
        try await scene.registry.deleteAccount(changed)
        try await scene.finish()
        for address in [Self.email, "lovelace@example.com"] {
            #expect(try await scene.registry.createAccount(email: address, passwordHash: "h").email == address)
        }
    }
}
