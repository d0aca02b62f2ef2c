import CloudKit
import CloudKitTesting
import Foundation
import Testing

/// Tests of faults that a test orders.
@Suite struct FaultTests {
    private let zoneID = CKRecordZone.ID(zoneName: "Notes")

    private func notes() async throws -> (cloud: TestCloud, database: CKDatabase) {
        let cloud = try await TestCloud()
        let database = try await cloud.signIn("alice").privateCloudDatabase
        _ = try await database.save(CKRecordZone(zoneID: zoneID))
        return (cloud, database)
    }

    @Test(arguments: [
        (TestFault.requestRateLimited(retryAfter: 2), CKError.Code.requestRateLimited), (.serviceUnavailable(retryAfter: 2), .serviceUnavailable),
        (.zoneBusy(retryAfter: 2), .zoneBusy),
    ])
    func `a server that says later is met as such, with its seconds, as often as it was ordered`(
        fault: TestFault, expected: CKError.Code
    ) async throws {
        let (cloud, database) = try await notes()
        cloud.fail(next: 3, .modifyRecords, by: "alice", inZone: "Notes", with: fault)
        for _ in 0..<3 {
            let error = await #expect(throws: CKError.self) { try await database.save(note("n1", "", in: zoneID)) }
            #expect(error?.code == expected)
            #expect(error?.retryAfterSeconds == 2)
        }
        _ = try await database.save(note("n1", "", in: zoneID))
        #expect(cloud.pendingFaults == [])
    }

    @Test func `a fault is for the user, the device, the zone and the request that it was ordered for`() async throws {
        let (cloud, database) = try await notes()
        let (pad, bob) = (try await cloud.signIn("alice", device: "pad"), try await cloud.signIn("bob"))
        cloud.fail(.modifyRecords, by: "alice", device: "phone", inZone: "Notes", with: .requestRateLimited(retryAfter: 1))
        _ = try await bob.privateCloudDatabase.save(note("n1", ""))
        _ = try await pad.privateCloudDatabase.save(note("n1", "", in: zoneID))
        _ = try await database.save(note("n2", ""))
        _ = try await database.record(for: CKRecord.ID(recordName: "n1", zoneID: zoneID))
        #expect(cloud.pendingFaults == ["1 x modifyRecords by alice on phone in zone Notes: requestRateLimited(retryAfter: 1)"])
        #expect(await code { _ = try await database.save(note("n3", "", in: zoneID)) } == .requestRateLimited)
        #expect(cloud.pendingFaults == [])
    }

    @Test(arguments: TestRequest.allCases)
    func `each kind of request is what an app's calls of that kind ask, and no others`(request: TestRequest) async throws {
        let (cloud, database) = try await notes()
        let container = try await cloud.signIn("alice")
        // The first request about records also fetches the user's ID.
        _ = try await database.save(note("n0", ""))
        let subscription = CKDatabaseSubscription(subscriptionID: "all")
        let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).bin")
        try Data(repeating: 7, count: 100_000).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let photo = CKRecord(recordType: "Photo", recordID: CKRecord.ID(recordName: "p1"))
        photo["file"] = CKAsset(fileURL: file)
        let calls: [(TestRequest, () async throws -> Void)] = [
            (.modifyRecords, { _ = try await database.save(note("n1", "")) }),
            (.modifyRecords, { _ = try await database.deleteRecord(withID: CKRecord.ID(recordName: "n1")) }),
            (.fetchRecords, { _ = try await database.record(for: CKRecord.ID(recordName: "n1")) }),
            (.queryRecords, { _ = try await database.records(matching: CKQuery(recordType: "Note", predicate: NSPredicate(value: true))) }),
            (.modifyZones, { _ = try await database.save(CKRecordZone(zoneName: "Other")) }),
            (.fetchZones, { _ = try await database.recordZone(for: zoneID) }), (.fetchZones, { _ = try await database.allRecordZones() }),
            (.fetchZoneChanges, { _ = try await database.recordZoneChanges(inZoneWith: zoneID, since: nil) }),
            (.fetchDatabaseChanges, { _ = try await database.databaseChanges(since: nil) }),
            (.modifySubscriptions, { _ = try await database.save(subscription) }),
            (.fetchSubscriptions, { _ = try await database.subscription(for: "all") }),
            (.fetchSubscriptions, { _ = try await database.allSubscriptions() }), (.fetchUser, { _ = try await container.userRecordID() }),
        ]
        for (kind, call) in calls where kind == request || request == .any {
            cloud.fail(request, with: .networkUnavailable)
            #expect(await code(call) == .networkUnavailable)
            #expect(cloud.pendingFaults == [])
        }
        if request == .transferAsset {
            cloud.fail(request, with: .networkUnavailable)
            #expect(await code { _ = try await database.save(photo) } == .networkUnavailable)
            #expect(cloud.pendingFaults == [])
        }
        guard request != .any else { return }
        cloud.fail(request, with: .networkUnavailable)
        for (kind, call) in calls where kind != request { #expect(await code(call) != .networkUnavailable) }
        #expect(cloud.pendingFaults.count == 1)
    }

    @Test func `faults that were taken back do not happen`() async throws {
        let (cloud, database) = try await notes()
        cloud.fail(next: 5, .any, with: .networkUnavailable)
        cloud.removeFaults()
        _ = try await database.save(note("n1", ""))
        #expect(cloud.pendingFaults == [])
    }

    @Test func `a request that is not sent fails at once, and nothing is stored`() async throws {
        let (cloud, database) = try await notes()
        cloud.fail(.modifyRecords, with: .networkUnavailable)
        #expect(await code { _ = try await database.save(note("n1", "")) } == .networkUnavailable)
        #expect(try await cloud.snapshot().contains("n1") == false)
    }

    @Test(arguments: [TestFault.connectionLostBeforeCommit, .connectionLostAfterCommit])
    func `a save whose answer is lost is made once, and the test does not wait for the repetition`(fault: TestFault) async throws {
        let (cloud, database) = try await notes()
        let begin = cloud.now
        cloud.fail(.modifyRecords, with: fault)
        let saved = try await database.save(note("n1", "bread", in: zoneID))
        #expect(cloud.now > begin)
        // A second save with its tag is no conflict: the record has one version.
        saved["text"] = "olives"
        _ = try await database.save(saved)
        #expect(try await cloud.snapshot().hasSuffix("  Notes\n    Note n1\n      text = \"olives\"\n"))
    }

    @Test func `a save whose answers are all lost ends with serverResponseLost, and is made`() async throws {
        let (cloud, database) = try await notes()
        cloud.fail(next: 4, .modifyRecords, with: .connectionLostAfterCommit)
        #expect(await code { _ = try await database.save(note("n1", "", in: zoneID)) } == .serverResponseLost)
        #expect(try await cloud.snapshot().contains("Note n1"))
        #expect(cloud.pendingFaults == [])
    }

    @Test func `a fetch whose connection breaks is networkFailure`() async throws {
        let (cloud, database) = try await notes()
        cloud.fail(.fetchRecords, with: .connectionLostBeforeCommit)
        #expect(await code { _ = try await database.record(for: CKRecord.ID(recordName: "n1")) } == .networkFailure)
    }

    @Test func `latency takes the cloud's time and none of the test's, and beyond the timeout the answer is lost`() async throws {
        let (cloud, database) = try await notes()
        _ = try await database.save(note("n1", ""))
        let begin = cloud.now
        cloud.fail(.fetchRecords, with: .latency(5))
        _ = try await database.record(for: CKRecord.ID(recordName: "n1"))
        #expect(cloud.now.timeIntervalSince(begin) == 5)
        cloud.fail(.fetchRecords, with: .latency(100_000_000))
        #expect(await code { _ = try await database.record(for: CKRecord.ID(recordName: "n1")) } == .networkFailure)
    }

    @Test func `in an atomic zone a record that is refused takes its batch with it`() async throws {
        let (cloud, database) = try await notes()
        cloud.fail(.modifyRecords, with: .records("n2", failWith: .quotaExceeded))
        // This fault waits for a batch with the record.
        _ = try await database.save(note("n0", "", in: zoneID))
        let results = try await database.modifyRecords(saving: ["n1", "n2", "n3"].map { note($0, "", in: zoneID) }, deleting: []).saveResults
        #expect(codes(results) == ["n1": .batchRequestFailed, "n2": .quotaExceeded, "n3": .batchRequestFailed])
        #expect(try await cloud.snapshot().hasSuffix("  Notes\n    Note n0\n      text = \"\"\n"))
    }

    @Test func `elsewhere the other records of its batch are kept`() async throws {
        let (cloud, database) = try await notes()
        cloud.fail(.modifyRecords, inZone: "Notes", with: .records("n2", failWith: .zoneBusy(retryAfter: 3)))
        let results = try await database.modifyRecords(
            saving: ["n1", "n2", "n3"].map { note($0, "", in: zoneID) }, deleting: [], atomically: false
        ).saveResults
        #expect(codes(results) == ["n2": .zoneBusy])
        if case .failure(let error)? = results[CKRecord.ID(recordName: "n2", zoneID: zoneID)] { #expect((error as? CKError)?.retryAfterSeconds == 3) }
        let snapshot = try await cloud.snapshot()
        #expect(snapshot.contains("Note n1") && snapshot.contains("Note n3") && !snapshot.contains("Note n2"))
    }

    @Test func `an expired change token is met by who has one, and a fetch without it goes on`() async throws {
        let (cloud, database) = try await notes()
        _ = try await database.save(note("n1", "", in: zoneID))
        cloud.fail(.fetchZoneChanges, inZone: "Notes", with: .changeTokenExpired)
        let first = try await database.recordZoneChanges(inZoneWith: zoneID, since: nil)
        #expect(cloud.pendingFaults.count == 1)
        #expect(await code { _ = try await database.recordZoneChanges(inZoneWith: zoneID, since: first.changeToken) } == .changeTokenExpired)
        #expect(try await database.recordZoneChanges(inZoneWith: zoneID, since: nil).modificationResultsByID.count == 1)

        let changes = try await database.databaseChanges(since: nil)
        cloud.fail(.fetchDatabaseChanges, with: .changeTokenExpired)
        #expect(await code { _ = try await database.databaseChanges(since: changes.changeToken) } == .changeTokenExpired)
        #expect(cloud.pendingFaults == [])
    }

    @Test func `a quota that is full refuses saves and takes deletions`() async throws {
        let (cloud, database) = try await notes()
        _ = try await database.save(note("n1", String(repeating: "a", count: 1_000), in: zoneID))
        try await cloud.setQuota(bytes: 1_000)
        #expect(await code { _ = try await database.save(note("n2", String(repeating: "a", count: 1_000), in: zoneID)) } == .quotaExceeded)
        _ = try await database.deleteRecord(withID: CKRecord.ID(recordName: "n1", zoneID: zoneID))
        try await cloud.setQuota(bytes: nil)
        _ = try await database.save(note("n3", String(repeating: "a", count: 10_000), in: zoneID))
        cloud.fail(.modifyRecords, with: .quotaExceeded)
        #expect(await code { _ = try await database.save(note("n4", "", in: zoneID)) } == .quotaExceeded)
    }

    @Test(arguments: [TestCloud.ZoneRemoval.purged, .encryptedDataReset])
    func `a zone that the user purges is told of with its reason`(reason: TestCloud.ZoneRemoval) async throws {
        let (cloud, database) = try await notes()
        _ = try await database.save(note("n1", "", in: zoneID))
        let token = try await database.databaseChanges(since: nil).changeToken
        try await cloud.removeZone("Notes", of: "alice", because: reason)
        let deletion = try #require(try await database.databaseChanges(since: token).deletions.first)
        #expect(deletion.zoneID.zoneName == "Notes")
        #expect(deletion.reason == (reason == .purged ? .purged : .encryptedDataReset))
        let refusal = reason == .purged ? CKError.Code.userDeletedZone : .zoneNotFound
        #expect(await code { _ = try await database.save(note("n2", "", in: zoneID)) } == refusal)
        #expect(try await cloud.snapshot() == "users: alice\n")
        await #expect(throws: TestCloudError.self) { try await cloud.removeZone("Notes", of: "alice") }
        _ = try await database.save(CKRecordZone(zoneID: zoneID))
        _ = try await database.save(note("n3", "", in: zoneID))
    }

    private func codes(_ results: [CKRecord.ID: Result<CKRecord, any Error>]) -> [String: CKError.Code] {
        Dictionary(
            uniqueKeysWithValues: results.compactMap { id, result in
                if case .failure(let error) = result, let error = error as? CKError { (id.recordName, error.code) } else { nil }
            })
    }
}
