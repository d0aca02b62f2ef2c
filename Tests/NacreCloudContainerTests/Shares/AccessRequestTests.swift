import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests of access requests to a share, from the request to the answer, and of their remains.
@Suite struct AccessRequestTests {
    private static let zone = ShareScene.zone

    /// Makes a user with a verified address.
    private func caller(_ name: String, _ scene: ShareScene) async throws -> Caller {
        let registry = scene.world.cloud.registry
        let account = try await registry.createAccount(email: "\(name)@example.com", passwordHash: "h")
        #expect(try await registry.verifyEmail("\(name)@example.com", of: account.id))
        _ = try await registry.createContainer(TestCloud.container)
        let user = try await scene.world.cloud.admit(account: account.id, to: TestCloud.container, .development)
        return Caller(.user(user), account: account.id)
    }

    private func ask(_ guid: String, _ scene: ShareScene, by caller: Caller) async throws -> ServerError? {
        try await scene.world.cloud.requestShareAccess(SharesRequest(shortGUIDs: [.init(value: guid)]), in: scene.target, by: caller).results[0].error
    }

    private func save(_ change: ShareChange, _ scene: ShareScene, zone: String = zone) async throws -> ServerError? {
        let there = try await scene.ada.lookup([ShareNames.ofZone], zone: zone).first?.record
        let operation = RecordOperation.share(there == nil ? .create : .update, change, tag: there?.recordChangeTag)
        return try await scene.ada.modify([operation], zone: zone).first?.error
    }

    private func sharing(_ scene: ShareScene) async throws -> ShareDetails {
        try #require(try await scene.ada.lookup([ShareNames.ofZone], zone: Self.zone).first?.record?.sharing?.value)
    }

    @Test(arguments: Engine.ofRules) func `a stranger asks, the owner hears of it, and who is approved comes in`(engine: Engine) async throws {
        let scene = try await ShareScene(engine)
        #expect(try await save(ShareChange(allowsAccessRequests: true), scene) == nil)
        let (guid, eve) = (try await scene.guid(), try await caller("eve", scene))
        let token = try await scene.ada.changes(Self.zone).syncToken
        #expect(try await ask(guid, scene, by: eve) == nil)
        let heard = try await scene.ada.changes(Self.zone, after: token).records.compactMap(\.record)
        let asked = try #require(heard.first?.sharing?.value.requesters)
        #expect(asked == [ParticipantIdentity(userRecordName: eve.userRecordName, lookupInfo: .emailAddress("eve@example.com"))])
        #expect(try await ask(guid, scene, by: eve) == nil, "to ask once more changes nothing")
        #expect(try await scene.ada.changes(Self.zone, after: token).records.compactMap(\.record) == heard)
        #expect(try await scene.resolve(guid, by: eve).error == .notInvited, "who asks is not in")
        #expect(try await scene.accept(guid, by: eve).error == .notInvited)

        let approved = ShareParticipant(identity: ParticipantIdentity(lookupInfo: asked[0].lookupInfo), permission: .readWrite)
        #expect(try await save(ShareChange(participants: [approved]), scene) == nil)
        #expect(try await sharing(scene).requesters.isEmpty)
        #expect(try await ask(guid, scene, by: eve) == .participantAlreadyInvited)
        #expect(try await scene.accept(guid, by: eve).share?.participantPermission == .readWrite)
        #expect(try await sharing(scene).participants.last?.isApprovedRequester == true)
    }

    @Test func `who is denied may ask again, who is blocked may not and takes no part any more, until they are unblocked`() async throws {
        let scene = try await ShareScene(.memory)
        _ = try await save(ShareChange(allowsAccessRequests: true), scene)
        let (guid, eve) = (try await scene.guid(), try await caller("eve", scene))
        _ = try await ask(guid, scene, by: eve)
        #expect(try await save(ShareChange(requesters: []), scene) == nil)
        #expect(try await sharing(scene).requesters.isEmpty)
        #expect(try await ask(guid, scene, by: eve) == nil)
        let requesters = try await sharing(scene).requesters
        #expect(try await save(ShareChange(blockedIdentities: requesters), scene) == nil)
        #expect(try await ask(guid, scene, by: eve) == .notInvited)
        #expect(try await sharing(scene).requesters.isEmpty)
        #expect(try await save(ShareChange(blockedIdentities: []), scene) == nil)
        #expect(try await ask(guid, scene, by: eve) == nil)
    }

    @Test func `a share that takes no requests, one that has blocked the user and one that is not there are one answer and as much work`()
        async throws
    {
        let store = CountingStore(try await Engine.memory.makeStore())
        let scene = try await ShareScene(TestCloud(store))
        _ = try await save(ShareChange(allowsAccessRequests: true), scene)
        let (guid, eve) = (try await scene.guid(), try await caller("eve", scene))
        _ = try await ask(guid, scene, by: eve)
        let requesters = try await sharing(scene).requesters
        _ = try await save(ShareChange(blockedIdentities: requesters), scene)
        _ = try await scene.resolve(guid, by: eve)
        var (reads, costs): (Set<Int>, Set<Int>) = ([], [])
        func measure(_ text: String) async throws {
            store.reset()
            let meter = WorkMeter()
            let error = try await WorkMeter.$current.withValue(meter) { try await ask(text, scene, by: eve) }
            #expect(error == .notInvited, "\(text)")
            reads.insert(store.transactions.count)
            costs.insert(meter.cost)
        }
        for text in [guid, Base64URL.encode([UInt8](repeating: 7, count: 16)), "", "no guid", guid + "~x"] { try await measure(text) }
        _ = try await save(ShareChange(allowsAccessRequests: false, blockedIdentities: []), scene)
        try await measure(guid)
        #expect((reads.max() ?? 0) - (reads.min() ?? 0) <= 1, "\(reads): a database that nobody has is looked for each time")
        #expect(costs.count == 1 && costs.allSatisfy { $0 >= Limits.addressLookupCost }, "\(costs)")
    }

    @Test(arguments: Engine.ofRules) func `what an account has left by asking goes with it, and nobody else's does`(engine: Engine) async throws {
        let scene = try await ShareScene(engine)
        let cloud = scene.world.cloud
        _ = try await save(ShareChange(allowsAccessRequests: true), scene)
        try await scene.ada.makeZone("Other")
        #expect(try await save(ShareChange(allowsAccessRequests: true), scene, zone: "Other") == nil)
        let (eve, fay) = (try await caller("eve", scene), try await caller("fay", scene))
        let guids = [try await scene.guid(), try await scene.guid(zone: "Other")]
        for guid in guids { for one in [eve, fay] { #expect(try await ask(guid, scene, by: one) == nil) } }
        let blocked = try await scene.ada.lookup([ShareNames.ofZone], zone: "Other").first?.record?.sharing?.value.requesters ?? []
        _ = try await save(ShareChange(blockedIdentities: blocked), scene, zone: "Other")
        // In a third zone both are approved, and have not accepted.
        try await scene.ada.makeZone("Third")
        #expect(try await save(ShareChange(allowsAccessRequests: true), scene, zone: "Third") == nil)
        for one in [eve, fay] { #expect(try await ask(try await scene.guid(zone: "Third"), scene, by: one) == nil) }
        let approved = ["eve", "fay"].map { name in
            ShareParticipant(identity: ParticipantIdentity(lookupInfo: .emailAddress("\(name)@example.com")), permission: .readOnly)
        }
        #expect(try await save(ShareChange(participants: approved), scene, zone: "Third") == nil)
        let account = try #require(try await cloud.registry.account(email: "eve@example.com"))
        try await cloud.registry.deleteAccount(account)
        scene.world.clock.move(bySeconds: Limits.accountDeletionSeconds)
        try await scene.world.runAllTasks()
        #expect(try await sharing(scene).requesters.map(\.userRecordName) == [fay.userRecordName])
        let other = try #require(try await scene.ada.lookup([ShareNames.ofZone], zone: "Other").first?.record?.sharing?.value)
        #expect(other.requesters.isEmpty && other.blockedIdentities.map(\.userRecordName) == [fay.userRecordName])
        let third = try #require(try await scene.ada.lookup([ShareNames.ofZone], zone: "Third").first?.record?.sharing?.value)
        #expect(third.participants.compactMap(\.identity.userRecordName).dropFirst() == [fay.userRecordName ?? ""])
    }

    @Test func `an account waits for so many answers, and those that came make room`() async throws {
        let scene = try await ShareScene(.memory)
        let eve = try await caller("eve", scene)
        func share(_ number: Int) async throws -> String {
            let name = "Z\(number)"
            try await scene.ada.makeZone(name)
            _ = try await save(ShareChange(allowsAccessRequests: true), scene, zone: name)
            return try await scene.guid(zone: name)
        }
        for number in 0..<Limits.accessRequestsPerAccount { #expect(try await ask(try await share(number), scene, by: eve) == nil) }
        let last = try await share(Limits.accessRequestsPerAccount)
        #expect(try await ask(last, scene, by: eve) == .tooManyRequestsOfAccount)
        #expect(try await save(ShareChange(requesters: []), scene, zone: "Z3") == nil)
        #expect(try await ask(last, scene, by: eve) == nil)
    }
}
