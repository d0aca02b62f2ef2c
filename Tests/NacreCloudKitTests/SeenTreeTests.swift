import Foundation
import NacreCloudServerWire
import NacreCloudTestSupport
import NacreCloudWire
import NacreCrypto
import NacreEncryption
import NacreEncryptionForms
import Testing

@testable import CloudKit

/// Tests of the tree of logs that a device keeps, and holds against what the server shows later.
struct SeenTreeTests {
    private let cloud = PretendCloud()
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder(on: .memory) }

    private static func stranger(_ name: String) -> [UInt8] {
        TreeOfLogs.entry(fingerprint: Digest(of: Array(name.utf8)), number: 0, hash: Digest(of: Array(name.utf8)))
    }

    /// Has a device see the tree with its own statement and one of a stranger's.
    private func see() async throws {
        _ = try await KeyDevice(cloud, in: folder).toSave()
        await cloud.change { $0.tree.append(Self.stranger("a")) }
        _ = try await KeyDevice(cloud, in: folder).own()
    }

    /// Checks that a new process refuses the server's tree, and keeps the one that was seen.
    private func expectRefused(_ words: String) async throws {
        let device = try KeyDevice(cloud, in: folder)
        let before = try await device.kept()
        let error = try await device.refusal()
        let remedy = error.userInfo["CKErrorRemedy"] as? String ?? ""
        #expect(error.code == .internalError && remedy.contains(words) && remedy.contains("nacre keys trust-tree"), "\(error)")
        let after = try await device.kept()
        #expect(after.tree?.head == before.tree?.head && after.own == before.own)
    }

    @Test func `the largest tree is kept, and a later process has the server prove that it grew`() async throws {
        try await see()
        let kept = try #require(try await KeyDevice(cloud, in: folder).kept().tree)
        #expect(try kept.head.size == 2 && kept.server == KeyringDevice("server").publicKeys.signing && kept.doubt == nil)
        await cloud.change { $0.tree.append(Self.stranger("b")) }
        let device = try KeyDevice(cloud, in: folder)
        _ = try await device.own()
        #expect(try await device.kept().tree?.head.size == 3)
        let sizes = try await cloud.seen.filter { $0.path == "keys/log" }.map { try KeysLogRequest(json: $0.request.body).treeSize }
        #expect(sizes.first == .some(nil) && sizes.last == 2)
    }

    @Test func `A27: two trees of one size are the proof of a fork, which is kept and told until the user takes the tree`() async throws {
        try await see()
        await cloud.change { $0.tree[1] = Self.stranger("b") }
        try await expectRefused("has signed two trees of 2 statements")
        let device = try KeyDevice(cloud, in: folder)
        let doubt = try #require(try await device.kept().tree?.doubt)
        let verifier = try KeyringDevice("server").signing.publicKey
        #expect(doubt.isProof && doubt.kept.isSigned(by: verifier) && doubt.shown.isSigned(by: verifier))
        let status = try await device.userKeys().status()
        #expect(status.keys == .doubted && status.tree?.isProof == true && status.next.contains("trust-tree"))
        #expect(status.tree?.seen == Hex.encode(doubt.kept.bytes) && status.tree?.shown == Hex.encode(doubt.shown.bytes))
        // The proof stays while the server shows the first tree again.
        await cloud.change { $0.tree[1] = Self.stranger("a") }
        let later = try await device.userKeys().status()
        #expect(later.keys == .here && later.tree?.isProof == true)
        await cloud.change { $0.tree[1] = Self.stranger("b") }
        try await device.userKeys().trustTree()
        let trusted = try await device.userKeys().status()
        #expect(trusted.keys == .here && trusted.tree == nil)
    }

    @Test func `after a backup was put back, the device takes the older log and zone's keys once the user takes the tree`() async throws {
        let device = try KeyDevice(cloud, in: folder)
        _ = try await device.toSave()
        let backup = await cloud.keys
        try await device.replaceRecovery()
        #expect(try await KeyDevice(cloud, in: folder).toSave().newest.id.version == 2)
        await cloud.change { $0 = backup }
        try await expectRefused("smaller")
        try await KeyDevice(cloud, in: folder).userKeys().trustTree()
        #expect(try await KeyDevice(cloud, in: folder).toOpen()?.newest.id.version == 1)
        #expect(try await KeyDevice(cloud, in: folder).toSave().newest.id.version == 1)
    }

    @Test func `after a backup without this device's keys, taking the tree says what to do next`() async throws {
        try await see()
        let forger = PretendCloud()
        _ = try await KeyDevice(forger, in: folder, "other device").toSave()
        let older = await forger.keys
        await cloud.change { $0 = older }
        try await KeyDevice(cloud, in: folder).userKeys().trustTree()
        let elsewhere = try await KeyDevice(cloud, in: folder).userKeys().status()
        #expect(elsewhere.keys == .elsewhere && elsewhere.next.contains("nacre keys enrol"))
        await cloud.change { $0 = PretendKeys() }
        try await KeyDevice(cloud, in: folder).userKeys().trustTree()
        #expect(try await KeyDevice(cloud, in: folder).userKeys().status().keys == .none)
        _ = try await KeyDevice(cloud, in: folder).toSave()
        #expect(try await KeyDevice(cloud, in: folder).userKeys().status().keys == .here)
    }

    @Test func `a tree that does not verify by itself is not taken, and nothing is forgotten`() async throws {
        try await see()
        let before = try await KeyDevice(cloud, in: folder).kept()
        let body = KeysLogResponse(statements: []).json(AnswerForm(details: true))
        await cloud.failNext(.answer(status: 200, headers: [:], body: body))
        await #expect(throws: CKError.self) { try await KeyDevice(cloud, in: folder).userKeys().trustTree() }
        let after = try await KeyDevice(cloud, in: folder).kept()
        #expect(after.tree == before.tree && after.own == before.own && after.scopes == before.scopes)
    }

    @Test func `a larger tree that does not extend the one that was seen is refused, and both heads are kept`() async throws {
        try await see()
        await cloud.change { $0.tree = [$0.tree[0], Self.stranger("b"), Self.stranger("c")] }
        try await expectRefused("does not extend")
        let doubt = try await KeyDevice(cloud, in: folder).kept().tree?.doubt
        #expect(doubt?.kept.size == 2 && doubt?.shown.size == 3 && doubt?.isProof == false)
        await cloud.change { $0.tree.removeLast() }
        try await expectRefused("has signed two trees of 2 statements")
        #expect(try await KeyDevice(cloud, in: folder).kept().tree?.doubt?.isProof == true)
    }

    @Test func `a tree that is smaller than the one that was seen is refused`() async throws {
        try await see()
        await cloud.change { $0.tree.removeLast() }
        try await expectRefused("smaller")
    }

    @Test func `a tree without the newest statement of the log is refused`() async throws {
        try await see()
        await cloud.change { $0.entersLogs = false }
        try await KeyDevice(cloud, in: folder).replaceRecovery()
        try await expectRefused("newest statement")
    }

    @Test func `a tree that another key has signed is refused`() async throws {
        try await see()
        await cloud.change { $0.treeKey = "other" }
        try await expectRefused("another key")
    }

    @Test func `a log without a tree is refused, and nothing is kept of it`() async throws {
        let body = KeysLogResponse(statements: []).json(AnswerForm(details: true))
        await cloud.failNext(.none, .answer(status: 200, headers: [:], body: body))
        let device = try KeyDevice(cloud, in: folder)
        let error = try await device.refusal()
        #expect(error.code == .internalError && (error.userInfo["CKErrorRemedy"] as? String)?.contains("no tree") == true, "\(error)")
        #expect(try await device.kept().tree == nil)
    }

    @Test func `an answer to a process that has asked with an earlier tree is asked for again`() async throws {
        try await see()
        let device = try KeyDevice(cloud, in: folder)
        var kept = try await device.kept()
        let earlier = kept.tree
        await cloud.change { $0.tree.append(Self.stranger("b")) }
        _ = try await device.own()
        kept = try await device.kept()
        let (name, server) = (try #require(KeyDevice.account).name, kept.tree?.server.bytes ?? [])
        func verdict(_ head: TreeHead?) -> TreeVerdict {
            kept.take(KeysLogResponse.Tree(head: head?.bytes ?? [], serverKey: server), of: [], in: name, since: earlier)
        }
        if case .askAgain = verdict(earlier?.head) {} else { Issue.record("a tree that was not proved was judged") }
        if case .taken = verdict(kept.tree?.head) {} else { Issue.record("the kept tree was not taken") }
    }
}
