import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests of one-time URLs of shares: the first user to open one takes part. CloudKit: `CKShare.oneTimeURL(for:)`.
@Suite struct OneTimeURLTests {
    private static let zone = ShareScene.zone

    private static func once(_ permission: SharePermission = .readWrite) -> ShareParticipant {
        ShareParticipant(identity: ParticipantIdentity(), permission: permission, isOneTime: true, oneTimeSecret: "chosen")
    }

    /// Returns the keys in the one-time URLs of Ada's share, as Ada sees them.
    private func keys(_ scene: ShareScene) async throws -> [String] {
        let sharing = try #require(try await scene.ada.lookup([ShareNames.ofZone], zone: Self.zone).first?.record?.sharing?.value)
        return sharing.participants.compactMap(\.oneTimeSecret).map { ShareKey(shortGUID: sharing.shortGUID, secret: $0).text }
    }

    @Test(arguments: Engine.ofRules) func `the first who accepts takes part, and to everybody after that the URL leads nowhere`(engine: Engine)
        async throws
    {
        let scene = try await ShareScene(engine)
        try await scene.share(SharePermission.none, [Self.once()])
        let key = try #require(try await keys(scene).first)
        let guid = try await scene.guid()
        #expect(key.hasPrefix(guid + "~") && !key.contains("chosen") && key.utf8.count == guid.utf8.count + 37, "the server draws the secret")
        #expect(try await scene.resolve(guid, by: "_eve").error == .notInvited, "the share's own URL is for who is invited")

        let seen = try #require(try await scene.resolve(key, by: "_eve").share)
        #expect(seen.shortGUID == key && seen.participantStatus == .invited && seen.participantType == .privateUser)
        #expect(seen.participantPermission == .readWrite)
        #expect(seen.share.sharing?.value.participants.map(\.role) == [.owner], "who looks does not see whom else it is for")
        #expect(seen.share.sharing?.value.participants.contains { $0.oneTimeSecret != nil } == false)
        let accepted = try #require(try await scene.accept(key, by: "_eve").share)
        #expect(accepted.participantStatus == .accepted && accepted.share.sharing?.value.currentUserParticipant?.identity.userRecordName == "_eve")
        #expect(try await scene.guest("_eve").modify([.update("note", ["text": .string("hers")])], zone: Self.zone).first?.error == nil)
        #expect(try await scene.accept(key, by: "_eve").share == accepted, "to accept once more changes nothing")

        let late = [try await scene.resolve(key, by: "_fay").error, try await scene.accept(key, by: "_fay").error]
        #expect(late == [.notInvited, .notInvited])
        #expect(try await keys(scene) == [key], "it stays the same while the participant is in the share")
        #expect(try await scene.accept(guid, by: "_eve").share?.participantStatus == .accepted)
    }

    @Test(arguments: Engine.ofRules) func `of many who come at once one gets in`(engine: Engine) async throws {
        let scene = try await ShareScene(engine)
        try await scene.share(SharePermission.none, [Self.once(), Self.once(.readOnly)])
        let key = try #require(try await keys(scene).first)
        let results = try await withThrowingTaskGroup(of: SharesResponse.Result.self) { group in
            for number in 0..<8 { group.addTask { try await scene.accept(key, by: "_u\(number)") } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(results.compactMap(\.share).count == 1)
        #expect(results.compactMap(\.error).allSatisfy { $0 == .notInvited })
        let all = try await scene.ada.lookup([ShareNames.ofZone], zone: Self.zone).first?.record?.sharing?.value.participants ?? []
        #expect(all.map(\.acceptance) == [.accepted, .accepted, .invited], "the other one-time URL waits for somebody")
    }

    @Test func `no text opens a one-time URL but its secret, not even one of its length that differs in one byte`() async throws {
        let scene = try await ShareScene(.memory)
        try await scene.share(SharePermission.none, [Self.once()])
        let key = ShareKey(try #require(try await keys(scene).first))
        let secret = Array(try #require(key.secret).utf8)
        var guesses: Set<[UInt8]> = [
            Array(String(decoding: secret, as: UTF8.self).lowercased().utf8), secret.reversed(), [UInt8](repeating: 0, count: secret.count),
        ]
        guesses.formUnion(secret.indices.flatMap { index in (0..<7).map { bit in secret.changed(at: index, to: secret[index] ^ 1 << bit) } })
        // Secrets that a comparison with a wrong order of bits would accept.
        for filler in [UInt8(0), UInt8(ascii: "!"), 0x7F] {
            let bytes = [UInt8](repeating: filler, count: secret.count)
            guesses.formUnion((UInt8(0)..<128).map { bytes.changed(at: secret.count - 1, to: $0) })
        }
        guesses.remove(secret)
        for guess in guesses {
            let text = ShareKey(shortGUID: key.shortGUID, secret: String(decoding: guess, as: UTF8.self)).text
            #expect(try await scene.resolve(text, by: "_eve").error == .notInvited, "\(text)")
        }
        #expect(guesses.count > 600)
        #expect(try await scene.resolve(key.text, by: "_eve").share != nil)
    }

    @Test func `a save keeps the secrets that there are, and a participant who goes takes their URL along`() async throws {
        let scene = try await ShareScene(.memory)
        try await scene.share(SharePermission.none, [Self.once(), Self.once()])
        let before = try await keys(scene)
        #expect(Set(before).count == 2)
        var listed = try await scene.ada.lookup([ShareNames.ofZone], zone: Self.zone).first?.record?.sharing?.value.participants ?? []
        listed[1].oneTimeSecret = "chosen"
        listed[1].permission = .readOnly
        try await scene.share(nil, listed)
        #expect(try await keys(scene) == before)
        #expect(try await scene.resolve(before[0], by: "_eve").share?.participantPermission == .readOnly)
        try await scene.share(nil, [listed[0], listed[2]])
        #expect(try await keys(scene) == [before[1]])
        #expect(try await scene.accept(before[0], by: "_eve").error == .notInvited)
        try await scene.share(.readOnly)
        #expect(try await keys(scene).isEmpty, "to open a share to everybody takes back its invitations")
        #expect(try await scene.resolve(before[1], by: "_eve").share?.participantPermission == .readOnly, "as by the URL of the share itself")
    }

    @Test func `the feed tells participants no secret, administrators those of others than administrators, and the owner all`() async throws {
        let scene = try await ShareScene(.memory)
        var ofAdministrator = Self.once()
        ofAdministrator.role = .administrator
        try await scene.share(SharePermission.none, [.invite("_ben"), .invite("_eve", role: .administrator), Self.once(), ofAdministrator])
        #expect(try await keys(scene).count == 2)
        for name in ["_ben", "_eve"] { _ = try await scene.accept(try await scene.guid(), by: name) }
        func secrets(_ name: String) async throws -> Int {
            try await scene.guest(name).changes(Self.zone).records.compactMap(\.record).flatMap { $0.sharing?.value.participants ?? [] }
                .count { $0.oneTimeSecret != nil }
        }
        #expect(try await secrets("_ben") == 0)
        #expect(try await secrets("_eve") == 1)
    }

    /// The ways in which a user stops being an administrator of a share.
    enum Farewell: CaseIterable {
        case removed, demoted, left, accountGone
    }

    @Test(arguments: Farewell.allCases) func `who was an administrator comes in by no URL that they have read, and its owner has another`(
        way: Farewell
    )
        async throws
    {
        let scene = try await ShareScene(.memory)
        try await scene.share(SharePermission.none, [.invite("_eve", role: .administrator), Self.once(), Self.once()])
        _ = try await scene.accept(try await scene.guid(), by: "_eve")
        let read = try await scene.guest("_eve").lookup([ShareNames.ofZone], zone: Self.zone).first?.record?.sharing?.value.participants
        #expect(read?.compactMap(\.oneTimeSecret).count == 2)
        let before = try await keys(scene)
        let used = try #require(before.first)
        _ = try await scene.accept(used, by: "_fay")

        var listed = try await scene.ada.lookup([ShareNames.ofZone], zone: Self.zone).first?.record?.sharing?.value.participants ?? []
        let index = try #require(listed.firstIndex { $0.identity.userRecordName == "_eve" })
        switch way {
        case .removed: try await scene.share(nil, listed.enumerated().filter { $0.offset != index }.map(\.element))
        case .demoted:
            listed[index].role = .privateUser
            try await scene.share(nil, listed)
        case .left: try await scene.guest("_eve").modify([.delete(ShareNames.ofZone)], zone: Self.zone)
        case .accountGone:
            try await scene.world.runAllTasks()
            let index = AppUser(container: TestCloud.container, environment: .development, userRecordName: "_eve")
            try await scene.world.cloud.leaveSharedZones(at: index)
        }
        for name in ["_eve", "_friend"] where way != .demoted || name == "_friend" {
            #expect(try await scene.resolve(before[1], by: name).error == .notInvited)
            #expect(try await scene.accept(before[1], by: name).error == .notInvited)
        }
        let after = try await keys(scene)
        #expect(after.count == 2 && after[0] == used && after[1] != before[1] && after[1].utf8.count == before[1].utf8.count)
        #expect(try await scene.accept(after[1], by: "_gil").share?.participantStatus == .accepted)
        #expect(try await scene.accept(used, by: "_fay").share?.participantStatus == .accepted, "who has come stays")
    }

    @Test(arguments: Engine.ofRules) func `who is invited by name and comes by a one-time URL has one place, with the better permission`(
        engine: Engine
    )
        async throws
    {
        let scene = try await ShareScene(engine)
        try await scene.share(SharePermission.none, [.invite("_ben"), Self.once()])
        let key = try #require(try await keys(scene).first)
        #expect(try await scene.resolve(try await scene.guid(), by: "_ben").share?.participantPermission == .readOnly)
        #expect(try await scene.resolve(key, by: "_ben").share?.participantPermission == .readWrite)
        let accepted = try #require(try await scene.accept(key, by: "_ben").share)
        #expect(accepted.participantPermission == .readWrite)
        let all = try await scene.ada.lookup([ShareNames.ofZone], zone: Self.zone).first?.record?.sharing?.value.participants ?? []
        #expect(all.map(\.identity.userRecordName) == [ShareScene.ada, "_ben"] && all.map(\.permission) == [.readWrite, .readWrite])
        #expect(all.last?.identity.lookupInfo == .userRecordName("_ben"))
        try await scene.share(nil, [])
        #expect(try await scene.accept(key, by: "_ben").error == .notInvited, "nothing of his is left")
        #expect(try await scene.accept(try await scene.guid(), by: "_ben").error == .notInvited)
    }

    @Test func `a used one-time URL, one with another secret and an unknown one are one answer and as much work`() async throws {
        let store = CountingStore(try await Engine.memory.makeStore())
        let scene = try await ShareScene(TestCloud(store))
        try await scene.share(SharePermission.none, [Self.once(), Self.once()])
        let keys = try await keys(scene)
        _ = try await scene.accept(keys[0], by: "_ben")
        let unknown = Base64URL.encode([UInt8](repeating: 7, count: 16))
        let guid = ShareKey(keys[0]).shortGUID
        _ = try await scene.resolve(guid, by: "_stranger")
        var (reads, costs): (Set<Int>, Set<Int>) = ([], [])
        for text in [
            keys[0], guid, guid + "~", guid + "~" + String(keys[1].dropFirst(guid.count + 1).reversed()), keys[1] + "0", unknown, unknown + "~x", "~",
        ] {
            store.reset()
            let meter = WorkMeter()
            let errors = try await WorkMeter.$current.withValue(meter) {
                [try await scene.resolve(text, by: "_stranger").error, try await scene.accept(text, by: "_stranger").error]
            }
            #expect(errors == [.notInvited, .notInvited], "\(text)")
            reads.insert(store.transactions.count)
            costs.insert(meter.cost)
        }
        #expect((reads.max() ?? 0) - (reads.min() ?? 0) <= 2, "\(reads): a database that nobody has is looked for each time")
        #expect(costs.count == 1, "\(costs)")
        #expect(costs.allSatisfy { $0 >= 2 * Limits.addressLookupCost }, "guessing costs")
    }
}

extension [UInt8] {
    fileprivate func changed(at index: Int, to byte: UInt8) -> [UInt8] {
        var bytes = self
        bytes[index] = byte
        return bytes
    }
}
