import Foundation
import NacreCloudServerWire
import NacreCloudTestSupport
import NacreCloudWire
import NacreEncryption
import NacreEncryptionForms
import NacreLocks
import Testing

@testable import CloudKit

/// Tests of the passes that the framework begins by itself, over a server that keeps what it gets.
struct BackgroundPassTests {
    private static let zone = ZoneID(zoneName: "Notes")
    private let cloud = PretendCloud()
    private let store = KeyStore(folder: nil)
    private let time = PretendTime()
    private let diary = Diary()

    init() async { await cloud.addZone("Notes") }

    /// Returns a new process of the device.
    private func process(sealsAnew: Bool = true) throws -> KeyDevice {
        try KeyDevice(cloud, store, time: time, sealsAnew: sealsAnew, log: { [diary] in diary.note($0) })
    }

    /// Has notes saved under the zone's first key, and then the second key made, by a process that begins no pass.
    private func saveAndRaise(_ names: [String]) async throws {
        let process = try self.process(sealsAnew: false)
        let database = CKContainer(line: process.line).privateCloudDatabase
        for name in names { try await database.save(SealedNote.note(named: name)) }
        try await process.replaceRecovery()
        process.forget()
        #expect(try await process.toSave().newest.id.version == 2)
    }

    /// Has a process use the zone, and waits for the passes that it begins.
    private func use(_ process: KeyDevice) async throws {
        _ = try await process.toOpen()
        await process.line.passes.withLock { $0.task }?.value
    }

    private func page(_ names: [String], token: String, moreComing: Bool = false) async throws -> ChangesZoneResponse.Result {
        var records: [RecordResult] = []
        for name in names { records.append(.record(try #require(await cloud.stored(name, in: Self.zone)))) }
        return .page(ChangesZoneResponse.Page(zoneID: Self.zone, records: records, syncToken: token, moreComing: moreComing))
    }

    /// The version of the key under which a note is.
    private func version(_ name: String) async throws -> UInt32 {
        try RecordManifest(try #require(await cloud.stored(name, in: Self.zone)?.manifest)).parts.keyID.version
    }

    private var oldest: UInt32? { get async throws { try await KeyDevice(cloud, store).toOpen()?.manifest.parts.oldest } }

    /// The tokens with which the zone's pages were asked for.
    private var tokens: [String?] {
        get async throws {
            try await cloud.seen.filter { $0.path == "changes/zone" }.map { try ChangesZoneRequest(json: $0.request.body).zones.first?.syncToken }
        }
    }

    @Test func `a process that meets an older key seals what is under it anew after a while, page by page, and ends that key`() async throws {
        try await saveAndRaise(["one", "two"])
        await cloud.answerZoneChanges(try await page(["one"], token: "1", moreComing: true), try await page(["two"], token: "2"))
        let process = try self.process()
        try await use(process)
        #expect(try await version("one") == 2)
        #expect(try await version("two") == 2)
        #expect(try await oldest == 2)
        #expect(time.pauses == [KeyExchange.passDelay, 1])
        #expect(try await process.kept().passes.isEmpty)
        let read = try await CKContainer(line: KeyDevice(cloud, store).line).privateCloudDatabase.record(
            for: CKRecord.ID(recordName: "one", zoneID: SealedNote.zoneID))
        #expect(read.encryptedValues["a"] as? String == "apple" && read["title"] as? String == "plain")
    }

    @Test func `the process that makes another key begins the pass`() async throws {
        let process = try self.process()
        let record = try await CKContainer(line: process.line).privateCloudDatabase.save(SealedNote.note())
        try await process.replaceRecovery()
        process.forget()
        await cloud.answerZoneChanges(try await page([record.recordID.recordName], token: "1"))
        #expect(try await process.toSave().newest.id.version == 2)
        await process.line.passes.withLock { $0.task }?.value
        #expect(try await version(record.recordID.recordName) == 2)
        #expect(try await oldest == 2)
    }

    @Test func `a pass that ends early is gone on with by the next process, where it was`() async throws {
        try await saveAndRaise(["one", "two"])
        await cloud.answerZoneChanges(
            try await page(["one"], token: "1", moreComing: true), .failure(Self.zone, ServerError(.badRequest, "the process has ended")))
        try await use(process())
        #expect(try await version("one") == 2)
        #expect(try await version("two") == 1)
        #expect(diary.entries.contains { $0.contains("the next process goes on") })
        await cloud.answerZoneChanges(try await page(["two"], token: "2"))
        try await use(process())
        #expect(try await version("two") == 2)
        #expect(try await tokens == [nil, "1", "1"])
        #expect(try await oldest == 2)
    }

    @Test func `one process of a device seals anew at a time`() async throws {
        try await saveAndRaise(["one"])
        let unlock = try await store.lockIfFree(try #require(KeyDevice.account).passLockName)
        try await use(process())
        #expect(try await tokens.isEmpty)
        unlock?()
        await cloud.answerZoneChanges(try await page(["one"], token: "1"))
        try await use(process())
        #expect(try await version("one") == 2)
    }

    @Test func `a pass ends before the next page when its user has signed out, and leaves the older key`() async throws {
        try await saveAndRaise(["one", "two"])
        await cloud.answerZoneChanges(try await page(["one"], token: "1", moreComing: true), try await page(["two"], token: "2"))
        let isSignedIn = Locked(true)
        var pace = KeyExchange.backgroundPace
        pace.goesOn = {
            isSignedIn.withLock { isSignedIn in
                defer { isSignedIn = false }
                return isSignedIn
            }
        }
        let process = try self.process(sealsAnew: false)
        let outcome = try await process.userKeys().exchange.sealAnew(try await process.toSave().place, at: pace)
        #expect(outcome.records == 1)
        #expect(try await version("two") == 1)
        #expect(try await tokens == [nil])
        #expect(try await oldest == 1)
    }

    @Test func `a record that does not verify keeps the older key, is told, and has no later process begin again`() async throws {
        try await saveAndRaise(["one", "two"])
        let other = try #require(await cloud.stored("two", in: Self.zone)?.fields["a"])
        await cloud.alter("one", in: Self.zone) { $0.fields["a"] = other }
        await cloud.answerZoneChanges(try await page(["one", "two"], token: "1"))
        try await use(process())
        #expect(try await version("two") == 2)
        #expect(try await oldest == 1)
        #expect(diary.entries.contains { $0.contains("1 records of the zone 'Notes' could not be sealed anew") })
        try await use(process())
        #expect(try await tokens.count == 1)
    }

    @Test func `the pass over shares runs for records that the server has in another place, and the pages are read again`() async throws {
        try await saveAndRaise(["one", "two"])
        await cloud.refuseSealed([ServerError(.badRequest, ServerError.otherScopeReason)])
        await cloud.answerZoneChanges(try await page(["one", "two"], token: "1"))
        await cloud.beforeNextAnswer(to: "records/modify") { [cloud] in
            var records: [RecordResult] = []
            for name in ["one", "two"] { if let record = await cloud.stored(name, in: Self.zone) { records.append(.record(record)) } }
            let page = ChangesZoneResponse.Page(zoneID: Self.zone, records: records, syncToken: "2", moreComing: false)
            await cloud.answerZoneChanges(.page(page), .page(page))
        }
        try await use(process())
        #expect(try await tokens == [nil, nil, nil])
        #expect(try await version("two") == 2)
        #expect(try await version("one") == 2)
        #expect(try await oldest == 2)
        #expect(!diary.entries.contains { $0.contains("are in another place") })
    }

    @Test func `no pass begins in a zone without older keys`() async throws {
        _ = try await process().toSave()
        let process = try self.process()
        try await use(process)
        #expect(process.line.passes.withLock { $0.task } == nil)
        #expect(try await tokens.isEmpty)
    }
}
