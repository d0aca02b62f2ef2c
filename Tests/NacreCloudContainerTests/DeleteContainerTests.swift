import NacreCloudTestSupport
import NacreCloudWire
import NacreLocks
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage
@testable import NacreCloudTasks

/// Tests of a container that is deleted with its data, over every engine.
@Suite struct DeleteContainerTests {
    private static let container = TestCloud.container
    private static let other = "iCloud.com.example.other"

    /// Two containers with a user's records in each, and in both environments of the first.
    private struct Scene {
        let test: TestCloud
        let ada: AccountEntry
        let token: String
        /// The device that is signed in to both containers.
        let device: AccountTokenEntry
        /// names[container]: Ada's user record name in development.
        private(set) var names: [String: String] = [:]

        var registry: Registry { test.cloud.registry }

        init(_ test: TestCloud) async throws {
            self.test = test
            let (cloud, registry) = (test.cloud, test.cloud.registry)
            ada = try await registry.createAccount(email: "ada@example.com", passwordHash: "h")
            for name in [container, other] {
                _ = try await cloud.schemas.createContainer(name, justInTime: .all)
                names[name] = try await cloud.admit(account: ada.id, to: name, .development)
            }
            token = try await registry.createAPIToken(container: container, environment: .development, name: "app")
            device = try await registry.createAccountToken(for: ada, containers: [container, other], environment: .development, device: "Mac")
            _ = try await registry.createAccountToken(for: ada, containers: [container], environment: .development, device: "Phone")
            let home = try user()
            try await home.makeZone("Notes")
            try await home.modify([.create("a", ["text": .string("private")])], zone: "Notes")
            try await test.user(try name(), in: .public).modify([.create("b", ["text": .string("public")])])
        }

        func name() throws -> String { try #require(names[container]) }

        func user() throws -> TestCloudUser { test.user(try name()) }
    }

    @Test(arguments: Engine.ofRules) func `records, users, sign-ins, tokens and the schema go, and nothing of another container`(engine: Engine)
        async throws
    {
        let scene = try await Scene(try await TestCloud(engine))
        let (cloud, registry) = (scene.test.cloud, scene.registry)
        let deletion = try await cloud.deleteContainer(Self.container)
        #expect(deletion == ContainerDeletion(credentials: 1, accounts: 1, databases: 2))
        try await scene.test.runAllTasks()
        #expect(try await registry.container(Self.container) == nil)
        #expect(try await registry.containers(after: nil).page.map(\.name) == [Self.other])
        #expect(try await registry.apiToken(scene.token) == nil)
        #expect(try await registry.appUsers(of: scene.ada.id).map(\.container) == [Self.other])
        let devices = try await registry.signIns(of: scene.ada.id, in: nil, after: nil).page
        #expect(devices.map(\.id) == [scene.device.id] && devices.first?.audience.containers == [Self.other])
        #expect(try await cloud.schemas.schema(of: Self.container, .development).types.isEmpty)
        let rows = try await scene.test.store.read { transaction in
            try transaction.databases(of: Self.container, .development, after: nil, limit: 100).flatMap { row in
                try transaction.zones(in: row.id, after: nil, limit: 9).map(\.name)
            }
        }
        #expect(rows.isEmpty, "\(rows)")
        #expect(try await cloud.schemas.schema(of: Self.other, .development).justInTime == .all)
        #expect(try await scene.test.check().isEmpty)
        await #expect(throws: ServerError.noContainer) { try await cloud.deleteContainer(Self.container) }
    }

    @Test(arguments: Engine.ofRules) func `a container of the name that is made anew has nothing of the deleted one`(engine: Engine) async throws {
        let scene = try await Scene(try await TestCloud(engine))
        let cloud = scene.test.cloud
        let before = try scene.name()
        _ = try await cloud.deleteContainer(Self.container)
        let made = try await cloud.schemas.createContainer(Self.container, justInTime: .native)
        #expect(made.isNew)
        let name = try await cloud.admit(account: scene.ada.id, to: Self.container, .development)
        #expect(name != before)
        let user = scene.test.user(name)
        #expect(try await user.lookup(["a"]).first?.error?.code == .notFound)
        #expect(try await scene.test.user(name, in: .public).lookup(["b"]).first?.error?.code == .notFound)
        #expect(try await cloud.schemas.schema(of: Self.container, .development).justInTime == .native)
        // A field may have another type now, and a process that knew the old schema knows it.
        #expect(try await user.modify([.create("a", ["text": .int64(1)])]).first?.record?.fields["text"] == .int64(1))
        let other = TestCloud(scene.test.store, seed: 3)
        #expect(try await other.cloud.schemas.schema(of: Self.container, .development).types["Note"]?.fields["text"]?.type == .int64)
    }

    @Test func `a container that is being deleted admits nobody, new or known`() async throws {
        let scene = try await Scene(try await TestCloud(.memory))
        let (cloud, registry) = (scene.test.cloud, scene.registry)
        let bob = try await registry.createAccount(email: "bob@example.com", passwordHash: "h")
        _ = try await registry.closeContainer(Self.container)
        for account in [bob, scene.ada] {
            await #expect(throws: ServerError.noContainer) {
                try await cloud.admit(account: account.id, to: Self.container, .development)
            }
            #expect(try await registry.appUsers(of: account.id).contains { $0.container == Self.container } == false)
        }
        #expect(try await cloud.admit(account: scene.ada.id, to: Self.other, .development) == scene.names[Self.other])
    }

    @Test func `a deletion that was interrupted shuts the container at once, and is finished by another one`() async throws {
        let scene = try await Scene(try await TestCloud(.memory))
        let (cloud, registry) = (scene.test.cloud, scene.registry)
        #expect(try await registry.closeContainer(Self.container).map(\.id) == [scene.token])
        #expect(try await registry.container(Self.container) == nil)
        await #expect(throws: ServerError.containerIsBeingDeleted) { try await registry.createContainer(Self.container) }
        await #expect(throws: ServerError.noContainer) {
            try await registry.createAPIToken(container: Self.container, environment: .development, name: "app")
        }
        let forgotten = Locked(0)
        let deletion = try await cloud.deleteContainer(Self.container) { forgotten.withLock { $0 += 1 } }
        #expect(deletion == ContainerDeletion(credentials: 0, accounts: 1, databases: 2))
        #expect(forgotten.withLock { $0 } == 2, "once the container is closed, and once its accounts are out")
        #expect(try await registry.createContainer(Self.container).isNew)
    }
}
