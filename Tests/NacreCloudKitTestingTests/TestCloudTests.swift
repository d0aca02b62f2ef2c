import CloudKit
import CloudKitTesting
import Foundation
import Testing

/// Tests of a test's cloud: users, devices, and its snapshots.
@Suite struct TestCloudTests {
    @Test func `what one device saves the user's other device fetches, and another user does not`() async throws {
        let cloud = try await TestCloud()
        let (phone, pad) = (try await cloud.signIn("alice"), try await cloud.signIn("alice", device: "pad"))
        let bob = try await cloud.signIn("bob")
        _ = try await phone.privateCloudDatabase.save(note("n1", "bread"))
        #expect(try await pad.privateCloudDatabase.record(for: CKRecord.ID(recordName: "n1"))["text"] as? String == "bread")
        #expect(await code { _ = try await bob.privateCloudDatabase.record(for: CKRecord.ID(recordName: "n1")) } == .unknownItem)
        #expect(try await phone.userRecordID() == pad.userRecordID())
        #expect(try await phone.userRecordID() != bob.userRecordID())
    }

    @Test func `a device signs in once, and is the same container each time`() async throws {
        let cloud = try await TestCloud()
        let phone = try await cloud.signIn("alice")
        #expect(try await cloud.signIn("alice") === phone)
        #expect(try await cloud.signIn("alice", device: "pad") !== phone)
        #expect(phone.containerIdentifier == cloud.containerIdentifier)
    }

    @Test func `who signs in on several devices at once is one user`() async throws {
        let cloud = try await TestCloud()
        let names = try await withThrowingTaskGroup(of: String.self) { group in
            for device in 0..<8 {
                group.addTask { try await cloud.signIn("alice", device: "device \(device)").userRecordID().recordName }
            }
            return try await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(names.count == 1)
    }

    @Test func `a name that is no address is refused in words`() async throws {
        let cloud = try await TestCloud()
        let error = await #expect(throws: TestCloudError.self) { try await cloud.signIn("alice smith") }
        #expect(error?.description == "email: invalid e-mail address: Give an address such as ada@example.com.")
    }

    @Test func `clouds side by side know nothing of each other`() async throws {
        let snapshots = try await withThrowingTaskGroup(of: String.self) { group in
            for number in 0..<20 {
                group.addTask {
                    let cloud = try await TestCloud()
                    _ = try await cloud.signIn("alice").privateCloudDatabase.save(note("n1", "cloud \(number)"))
                    return try await cloud.snapshot()
                }
            }
            return try await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(snapshots.count == 20)
    }

    @Test func `a device without an account reads the public database and has no private one`() async throws {
        let cloud = try await TestCloud()
        _ = try await cloud.signIn("alice").publicCloudDatabase.save(note("n1", "for all"))
        let stranger = cloud.signedOut()
        #expect(try await stranger.accountStatus() == .noAccount)
        #expect(try await stranger.publicCloudDatabase.record(for: CKRecord.ID(recordName: "n1"))["text"] as? String == "for all")
        #expect(await code { _ = try await stranger.privateCloudDatabase.save(note("n2", "")) } == .notAuthenticated)
    }

    @Test(arguments: [
        (CKAccountStatus.noAccount, CKError.Code.notAuthenticated), (.restricted, .notAuthenticated), (.couldNotDetermine, .notAuthenticated),
        (.temporarilyUnavailable, .accountTemporarilyUnavailable),
    ])
    func `the status of an account is what devices are told, from the next request on`(status: CKAccountStatus, expected: CKError.Code) async throws {
        let cloud = try await TestCloud()
        let phone = try await cloud.signIn("alice")
        _ = try await phone.privateCloudDatabase.save(note("n1", "before"))
        try await cloud.setAccountStatus(status, of: "alice")
        if status != .couldNotDetermine { #expect(try await phone.accountStatus() == status) }
        #expect(await code { _ = try await phone.privateCloudDatabase.save(note("n2", "")) } == expected)
        try await cloud.setAccountStatus(.available, of: "alice")
        _ = try await phone.privateCloudDatabase.save(note("n3", "after"))
    }

    @Test func `a schema's types and fields are there from the start, and a wrong text is refused with its place`() async throws {
        let cloud = try await TestCloud(
            schema: """
                DEFINE SCHEMA
                RECORD TYPE Note ("___recordID" REFERENCE QUERYABLE, text STRING QUERYABLE);
                RECORD TYPE Users (roles LIST<INT64>);
                """)
        let database = try await cloud.signIn("alice").privateCloudDatabase
        _ = try await database.save(note("n1", "bread"))
        let query = CKQuery(recordType: "Note", predicate: NSPredicate(format: "text == %@", "bread"))
        #expect(try await database.records(matching: query).matchResults.map(\.0.recordName) == ["n1"])
        let wrong = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "n2"))
        wrong["text"] = 7
        #expect(await code { _ = try await database.save(wrong) } == .invalidArguments)
        await #expect(throws: TestCloudError.self) { try await TestCloud(schema: "DEFINE SCHEMA RECORD TYPE Note (a BADTYPE);") }
    }

    @Test func `a file that one device saves another device reads`() async throws {
        let cloud = try await TestCloud()
        let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).bin")
        let bytes = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 / 7) })
        try bytes.write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let record = CKRecord(recordType: "Photo", recordID: CKRecord.ID(recordName: "p1"))
        record["file"] = CKAsset(fileURL: file)
        _ = try await cloud.signIn("alice").privateCloudDatabase.save(record)
        let fetched = try await cloud.signIn("alice", device: "pad").privateCloudDatabase.record(for: record.recordID)
        let url = try #require((fetched["file"] as? CKAsset)?.fileURL)
        #expect(try Data(contentsOf: url) == bytes)
        #expect(try await cloud.snapshot().contains("file = asset of 300000 bytes"))
    }

    @Test func `a snapshot is the whole cloud as text, the same in every run`() async throws {
        func run() async throws -> String {
            let cloud = try await TestCloud()
            let (alice, bob) = (try await cloud.signIn("alice"), try await cloud.signIn("bob"))
            let zone = try await alice.privateCloudDatabase.save(CKRecordZone(zoneName: "Notes"))
            let folder = CKRecord(recordType: "Folder", recordID: CKRecord.ID(recordName: "f1", zoneID: zone.zoneID))
            let first = CKRecord(recordType: "Note", recordID: CKRecord.ID(zoneID: zone.zoneID))
            first["text"] = "second \"in\" the alphabet"
            first["stars"] = 3
            first["tags"] = ["b", "a"]
            first["folder"] = CKRecord.Reference(record: folder, action: .deleteSelf)
            first.parent = CKRecord.Reference(recordID: folder.recordID, action: .none)
            let second = CKRecord(recordType: "Note", recordID: CKRecord.ID(zoneID: zone.zoneID))
            second["text"] = "a"
            second["next"] = CKRecord.Reference(record: first, action: .none)
            second["at"] = Date(timeIntervalSinceReferenceDate: 0)
            for record in [folder, first, second] { _ = try await alice.privateCloudDatabase.save(record) }
            _ = try await bob.publicCloudDatabase.save(note("n1", "for all"))
            return try await cloud.snapshot()
        }
        let text = """
            users: alice, bob
            public
              _defaultZone
                Note n1 by bob
                  text = "for all"
            private of alice
              Notes
                Folder f1
                Note #1
                  parent -> f1
                  folder = -> f1, deletes
                  stars = 3
                  tags = ["b", "a"]
                  text = "second \\"in\\" the alphabet"
                Note #2
                  at = 2001-01-01T00:00:00Z
                  next = -> #1
                  text = "a"

            """
        #expect(try await run() == text)
        #expect(try await run() == text)
    }

    @Test func `one user shares a zone, and another accepts it, reads it and writes into it`() async throws {
        let cloud = try await TestCloud()
        let (alice, bob) = (try await cloud.signIn("alice"), try await cloud.signIn("bob"))
        let zone = try await alice.privateCloudDatabase.save(CKRecordZone(zoneName: "Trip"))
        _ = try await alice.privateCloudDatabase.save(note("n1", "Lisbon", in: zone.zoneID))
        let share = CKShare(recordZoneID: zone.zoneID)
        share.publicPermission = .readWrite
        let saved = try #require(try await alice.privateCloudDatabase.save(share) as? CKShare)
        _ = try await bob.accept(try await bob.shareMetadata(for: try #require(saved.url)))
        let shared = try #require(try await bob.sharedCloudDatabase.allRecordZones().first).zoneID
        let record = try await bob.sharedCloudDatabase.record(for: CKRecord.ID(recordName: "n1", zoneID: shared))
        record["text"] = "Lisbon and Porto"
        _ = try await bob.sharedCloudDatabase.save(record)
        _ = try await bob.sharedCloudDatabase.save(note("n2", "Faro", in: shared))
        let snapshot = try await cloud.snapshot()
        #expect(snapshot.contains("    Note n1\n      text = \"Lisbon and Porto\"\n    Note n2 by bob\n      text = \"Faro\"\n"))
    }

    @Test func `what a deletion takes along is gone when it is answered`() async throws {
        let cloud = try await TestCloud()
        let database = try await cloud.signIn("alice").privateCloudDatabase
        let root = note("root", "")
        _ = try await database.save(root)
        let leaves = (0..<30).map { index in
            let leaf = note("leaf\(index)", "")
            leaf["root"] = CKRecord.Reference(record: root, action: .deleteSelf)
            return leaf
        }
        _ = try await database.modifyRecords(saving: leaves, deleting: [])
        _ = try await database.deleteRecord(withID: root.recordID)
        #expect(try await cloud.snapshot() == "users: alice\n")
    }

    @Test func `after its end a cloud is not reached, and nobody waits for it`() async throws {
        let cloud = try await TestCloud()
        let phone = try await cloud.signIn("alice")
        await cloud.shutDown()
        #expect(await code { _ = try await phone.privateCloudDatabase.save(note("n1", "")) } == .networkUnavailable)
        await #expect(throws: TestCloudError.self) { try await cloud.snapshot() }
        await cloud.shutDown()
    }

    @Test func `a cloud that nobody refers to is gone, whether or not it was shut down`() async throws {
        weak var leftCloud: TestCloud?
        weak var leftContainer: CKContainer?
        func use() async throws {
            let cloud = try await TestCloud()
            let phone = try await cloud.signIn("alice")
            _ = try await phone.privateCloudDatabase.save(note("n1", ""))
            (leftCloud, leftContainer) = (cloud, phone)
        }
        try await use()
        // The last operation releases its container on another queue.
        for _ in 0..<100_000 where leftContainer != nil { await Task.yield() }
        #expect(leftCloud == nil && leftContainer == nil)
    }

    @Test func `a hundred clouds begin and end without another thread`() async throws {
        func threads() throws -> Int { try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count }
        for _ in 0..<10 { _ = try await TestCloud().signIn("alice") }
        let before = try threads()
        for _ in 0..<100 { _ = try await TestCloud().signIn("alice") }
        // Other tests of the process have threads of their own, which end; a thread of a cloud that is gone would stay.
        for _ in 0..<2_000 where try threads() >= before + 50 {
            for _ in 0..<1_000 { await Task.yield() }
        }
        #expect(try threads() < before + 50)
    }
}

func note(_ name: String, _ text: String, in zoneID: CKRecordZone.ID = .default) -> CKRecord {
    let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zoneID))
    record["text"] = text
    return record
}

/// Returns the code of the `CKError` that a body throws; nil: none.
func code(_ body: () async throws -> Void) async -> CKError.Code? {
    do {
        try await body()
        return nil
    } catch {
        return (error as? CKError)?.code
    }
}
