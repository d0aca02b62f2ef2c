import CloudKit
import Foundation
import NacreLocks
import Testing

/// Tests of a user's record in the public and in the private database, in an app.
struct UserRecordTests {
    private static let bob = "bob@example.com"

    private func refusal(_ body: () async throws -> Void) async -> CKError? {
        await #expect(throws: CKError.self) { try await body() }
    }

    @Test func `one's own user record is fetched, changed by its user on any device, and read by others`() async throws {
        try await Device.pair { a, b, cloud in
            try await cloud.addUser(Self.bob)
            let bob = try await Device(of: Self.bob, cloud)
            let userID = try await a.container.userRecordID()
            let own = try await a.container.publicCloudDatabase.record(for: userID)
            #expect(own.recordType == CKRecord.SystemType.userRecord && own.allKeys().isEmpty)
            #expect(own.recordID == userID && own.recordChangeTag != nil && own.creationDate != nil)
            own["motto"] = "Analyse"
            let saved = try await a.container.publicCloudDatabase.save(own)
            #expect(saved["motto"] as? String == "Analyse")

            // The other device goes on from there; the private record is another one.
            let second = try await b.container.publicCloudDatabase.record(for: userID)
            #expect(second["motto"] as? String == "Analyse")
            second["motto"] = "Weave"
            try await b.container.publicCloudDatabase.save(second)
            #expect(try await a.database.record(for: userID).allKeys().isEmpty)

            let seen = try await bob.container.publicCloudDatabase.record(for: userID)
            #expect(seen["motto"] as? String == "Weave")
            seen["motto"] = "Mine"
            #expect(await refusal { try await bob.container.publicCloudDatabase.save(seen) }?.code == .permissionFailure)
            #expect(await refusal { _ = try await bob.database.record(for: userID) }?.code == .unknownItem)
            let nobody = try Device(cloud, token: nil)
            #expect(try await nobody.container.publicCloudDatabase.record(for: userID)["motto"] as? String == "Weave")
            // A stale version conflicts, as with any record.
            own["motto"] = "Late"
            #expect(await refusal { try await a.container.publicCloudDatabase.save(own) }?.code == .serverRecordChanged)
        }
    }

    @Test func `one's own records name the current user, everybody else's name their users`() async throws {
        try await Device.pair { a, b, cloud in
            try await cloud.addUser(Self.bob)
            let bob = try await Device(of: Self.bob, cloud)
            let me = CKRecord.ID(recordName: CKCurrentUserDefaultName)
            let userID = try await a.container.userRecordID()
            let (mine, his) = (a.container.publicCloudDatabase, bob.container.publicCloudDatabase)
            let post = CKRecord(recordType: "Post", recordID: CKRecord.ID(recordName: "post"))
            let saved = try await mine.save(post)
            #expect(saved.creatorUserRecordID == me && saved.lastModifiedUserRecordID == me && post.creatorUserRecordID == me)
            #expect(try await b.container.publicCloudDatabase.record(for: post.recordID).creatorUserRecordID == me)
            let seen = try await his.record(for: post.recordID)
            #expect(seen.creatorUserRecordID == userID && seen.lastModifiedUserRecordID == userID)
            try await his.save(CKRecord(recordType: "Post", recordID: CKRecord.ID(recordName: "other")))
            let nobody = try Device(cloud, token: nil)
            #expect(try await nobody.container.publicCloudDatabase.record(for: post.recordID).creatorUserRecordID == userID)

            // Either name means the user, in fetches, references and predicates.
            let own = try await mine.record(for: me)
            #expect(own.recordID == me && own.recordType == CKRecord.SystemType.userRecord)
            own["motto"] = "Analyse"
            #expect(try await mine.save(own)["motto"] as? String == "Analyse")
            post["author"] = CKRecord.Reference(recordID: try #require(post.creatorUserRecordID), action: .none)
            post["readers"] = [CKRecord.Reference(recordID: me, action: .none)]
            try await mine.save(post)
            let reference = CKRecord.Reference(recordID: userID, action: .none)
            #expect(post["author"] as? CKRecord.Reference == reference && post["readers"] as? [CKRecord.Reference] == [reference])
            let byAuthor = CKQuery(recordType: "Post", predicate: NSPredicate(format: "author == %@", me))
            #expect(try await mine.records(matching: byAuthor).matchResults.count == 1)
            // The feed, too, uses the name of the current user.
            try await a.database.save(Device.note("n", "x"))
            #expect(try await b.changes().records[Device.recordID("n")]?.creatorUserRecordID == me)
        }
    }

    @Test func `user records are not made, deleted or queried`() async throws {
        try await Device.pair { a, _, _ in
            let userID = try await a.container.userRecordID()
            let database = a.container.publicCloudDatabase
            let made = await refusal { try await database.save(CKRecord(recordType: "Users")) }
            #expect(made?.code == .permissionFailure)
            #expect(made.map { "\($0)" }?.contains("CREATE operation not permitted") == true)
            // A new object with this name is the creation of a record that exists.
            let twin = await refusal { try await database.save(CKRecord(recordType: "Users", recordID: userID)) }
            #expect(twin?.code == .serverRecordChanged)
            for place in [database, a.database] {
                #expect(await refusal { try await place.deleteRecord(withID: userID) }?.code == .permissionFailure)
                #expect(try await place.record(for: userID).recordID == userID)
            }
            let query = CKQuery(recordType: "Users", predicate: NSPredicate(value: true))
            #expect(await refusal { _ = try await database.records(matching: query) }?.code == .invalidArguments)
        }
    }

    @Test func `the current user's record is fetched without asking for its name`() async throws {
        try await Device.pair { a, _, cloud in
            let userID = try await a.container.userRecordID()
            let operation = CKFetchRecordsOperation.fetchCurrentUserRecordOperation()
            operation.recordIDs = [Device.recordID("ignored")]
            let found = Locked<[CKRecord.ID: String]>([:])
            operation.perRecordResultBlock = { recordID, result in
                let type = (try? result.get())?.recordType ?? "none"
                found.withLock { $0[recordID] = type }
            }
            let end: Result<Void, any Error> = await withCheckedContinuation { continuation in
                operation.fetchRecordsResultBlock = { continuation.resume(returning: $0) }
                a.container.publicCloudDatabase.add(operation)
            }
            try end.get()
            #expect(found.withLock { $0 } == [userID: "Users"])

            let nobody = try Device(cloud, token: nil)
            let refused = CKFetchRecordsOperation.fetchCurrentUserRecordOperation()
            let failure: Result<Void, any Error> = await withCheckedContinuation { continuation in
                refused.fetchRecordsResultBlock = { continuation.resume(returning: $0) }
                nobody.container.publicCloudDatabase.add(refused)
            }
            #expect(throws: CKError.self) { try failure.get() }
        }
    }

    @Test func `a user record outlives the server, and refers and is referred to`() async throws {
        try await Device.pair { a, b, cloud in
            let userID = try await a.container.userRecordID()
            let own = try await a.database.record(for: userID)
            own["count"] = 1
            let saved = try await a.database.save(own)
            let fan = CKRecord(recordType: "Fan", recordID: CKRecord.ID(recordName: "fan"))
            fan["of"] = CKRecord.Reference(recordID: userID, action: .none)
            fan.parent = CKRecord.Reference(recordID: userID, action: .none)
            try await a.database.save(fan)
            #expect(try await cloud.server.stop() == 0)
            try await cloud.server.start()
            let again = try await b.database.record(for: userID)
            #expect(again["count"] as? Int == 1 && again.creationDate == saved.creationDate)
            let kept = try await b.database.record(for: fan.recordID)
            #expect((kept["of"] as? CKRecord.Reference)?.recordID == userID && kept.parent?.recordID == userID)
            #expect(kept.creatorUserRecordID?.recordName == CKCurrentUserDefaultName)
        }
    }
}
