import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests of what a server hears of its neighbour, and of what it remembers of the store while its neighbour changes it.
@Suite struct SharedHintTests {
    @Test func `a server hears once of a feed that its neighbour has moved`() async throws {
        let servers = ServerPair()
        let ann = servers.user("_ann")
        try await ann.first.makeZone("Z")
        for test in [servers.first, servers.second] { _ = test.takeMoved() }
        try await ann.second.modify([.create("a")], zone: "Z")
        let moved = servers.second.takeMoved()
        #expect(moved.count == 1)
        #expect(servers.first.takeMoved() == moved)
    }

    @Test func `a lost hint loses no change`() async throws {
        let servers = ServerPair(fault: .noHints)
        let ann = servers.user("_ann")
        try await ann.first.makeZone("Z")
        let token = try await ann.first.changes("Z").syncToken
        _ = servers.first.takeMoved()
        try await ann.second.modify([.create("a")], zone: "Z")
        #expect(servers.first.takeMoved().isEmpty)
        #expect(try await ann.first.changes("Z", after: token).records.compactMap(\.recordName) == ["a"])
    }

    @Test func `a user whom a neighbour's reset has taken the user record gets another within five seconds`() async throws {
        let servers = ServerPair()
        let container = TestCloud.container
        _ = try await servers.first.cloud.registry.createContainer(container)
        try await servers.second.cloud.admit("_ann", to: container, .development)
        try await servers.first.cloud.admit("_ann", to: container, .development)
        let row = try await servers.first.store.read { try $0.databases(of: container, .development, after: nil, limit: 10) }
            .first { $0.key.scope == .private }
        // A reset that ended before it gave users new records.
        #expect(try await servers.first.cloud.clear(try #require(row)))
        servers.move(bySeconds: KeyMemory.sharedSeconds)
        try await servers.second.cloud.admit("_ann", to: container, .development)
        #expect(try await servers.second.user("_ann").lookup(["_ann"])[0].record?.recordType == UserRecord.type)
    }

    @Test func `servers that start together on new data make one key`() async throws {
        let servers = ServerPair()
        async let one = servers.first.cloud.registry.chunkKey()
        async let other = servers.second.cloud.registry.chunkKey()
        let keys = try await [one, other]
        #expect(keys[0] == keys[1])
    }

    @Test func `a server learns at once of a schema that its neighbour has changed`() async throws {
        let servers = ServerPair()
        let ann = servers.user("_ann")
        for user in [ann.first, ann.second] { try await user.modify([.update("a", ["text": .string("x")])]) }
        _ = try await servers.second.cloud.schemas.changeSchema(of: TestCloud.container, .development) {
            $0.types["Note"]?.fields["text"]?.isQueryable = false
        }
        let schema = try await servers.first.cloud.schemas.schema(of: TestCloud.container, .development)
        #expect(schema.types["Note"]?.fields["text"]?.isQueryable == false)
        await #expect(throws: ServerError.self) { _ = try await ann.first.query("Note") }
    }
}
