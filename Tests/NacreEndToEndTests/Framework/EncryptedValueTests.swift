import Foundation
import NacreCloudTestSupport
import Testing

@testable import CloudKit

/// Tests of encrypted values between devices of one user, over a server in its own process.
struct EncryptedValueTests {
    /// Runs a server with a zone of Ada's, and two processes of a device of hers that has keys.
    private func withDevices(
        _ body: (_ a: CKDatabase, _ b: CKDatabase, _ stranger: CKDatabase) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        try await RunningServer.with { server in
            let cloud = try await NewCloud(server)
            try await cloud.addUser(Device.ada)
            let token = try await cloud.device(of: Device.ada)
            func database(_ keys: String) throws -> CKDatabase {
                let server = CloudKitServer(
                    url: try WebServicesClient.url(cloud.server.url), environment: .development, apiToken: cloud.apiToken, accountToken: token)
                let store = KeyStore(folder: "\(folder.path)/\(keys)")
                return CKContainer(line: ServerLine(identifier: cloud.container, source: .explicit(server), keyStore: store, log: { _ in }))
                    .privateCloudDatabase
            }
            let a = try database("phone")
            try await a.save(CKRecordZone(zoneID: Device.zoneID))
            try await body(a, database("phone"), database("tablet"))
        }
    }

    private static let id = Device.recordID("one")

    private static func note() -> CKRecord {
        let record = Device.note("one", "plain bread")
        record.encryptedValues["diagnosis"] = "measles-7f31"
        record.encryptedValues["date"] = Date(timeIntervalSinceReferenceDate: 700_000_000.123_456_7)
        record.encryptedValues["list"] = ["measles-7f31", ""]
        return record
    }

    @Test func `values come back on another device of the keys, by a fetch, a query and the feed`() async throws {
        try await withDevices { a, b, _ in
            let saved = try await a.save(Self.note())
            let fetched = try await b.record(for: Self.id)
            let query = CKQuery(recordType: "Note", predicate: NSPredicate(format: "text == %@", "plain bread"))
            let some = try await b.records(matching: query, inZoneWith: Device.zoneID, desiredKeys: ["diagnosis"])
            let changes = try await b.recordZoneChanges(inZoneWith: Device.zoneID, since: nil)
            let queried = try #require(try some.matchResults.first?.1.get())
            let changed = try #require(changes.modificationResultsByID[Self.id]).get().record
            for record in [saved, fetched, changed] {
                #expect(record.encryptedValues["diagnosis"] as? String == "measles-7f31" && record["diagnosis"] as? String == nil)
                #expect(record.encryptedValues["date"] as? Date == Self.note().encryptedValues["date"] as? Date)
                #expect(record.encryptedValues["list"] as? [String] == ["measles-7f31", ""])
            }
            #expect(queried.encryptedValues.allKeys() == ["diagnosis"])
            #expect(queried.encryptedValues["diagnosis"] as? String == "measles-7f31")
        }
    }

    @Test func `a conflict has readable values, and a save of changed keys goes over a newer version`() async throws {
        try await withDevices { a, b, _ in
            let mine = try await a.save(Self.note())
            let yours = try await b.record(for: Self.id)
            let late = try await b.record(for: Self.id)
            mine.encryptedValues["diagnosis"] = "mumps"
            try await a.save(mine)
            yours.encryptedValues["list"] = ["rest"]
            let error = try #require(await #expect(throws: CKError.self) { try await b.save(yours) })
            #expect(error.code == .serverRecordChanged)
            #expect(error.serverRecord?.encryptedValues["diagnosis"] as? String == "mumps")
            #expect(error.ancestorRecord?.encryptedValues["diagnosis"] as? String == "measles-7f31")
            late.encryptedValues["list"] = ["tea"]
            let results = try await b.modifyRecords(saving: [late], deleting: [], savePolicy: .changedKeys)
            let saved = try #require(results.saveResults[Self.id]).get()
            for record in [saved, try await a.record(for: Self.id)] {
                #expect(record.encryptedValues["diagnosis"] as? String == "mumps")
                #expect(record.encryptedValues["list"] as? [String] == ["tea"])
            }
        }
    }

    @Test func `one key is changed, cleared, and a parent is set, each over what the other device has saved`() async throws {
        try await withDevices { a, b, _ in
            try await a.save(Self.note())
            try await a.save(Device.note("folder", "x"))
            let record = try await b.record(for: Self.id)
            record.encryptedValues["diagnosis"] = nil
            try await b.save(record)
            let next = try await a.record(for: Self.id)
            #expect(next.encryptedValues.allKeys() == ["date", "list"])
            next.setParent(Device.recordID("folder"))
            try await a.save(next)
            let last = try await b.record(for: Self.id)
            #expect(last.parent?.recordID == Device.recordID("folder") && last.encryptedValues["list"] as? [String] == ["measles-7f31", ""])
        }
    }

    @Test func `a value for a zone that another device has made anew is sealed under a key of the new zone, and read there`() async throws {
        try await withDevices { a, b, _ in
            try await a.save(Self.note())
            try await b.deleteRecordZone(withID: Device.zoneID)
            try await b.save(CKRecordZone(zoneID: Device.zoneID))
            // This process still has the keys of the zone that is gone.
            try await a.save(Self.note())
            #expect(try await b.record(for: Self.id).encryptedValues["diagnosis"] as? String == "measles-7f31")
        }
    }

    @Test func `a device that knows a record by its name alone moves it, and its values stay`() async throws {
        try await withDevices { a, b, stranger in
            try await a.save(Self.note())
            try await a.save(Device.note("folder", "x"))
            let moved = { () -> CKRecord in
                let record = CKRecord(recordType: "Note", recordID: Self.id)
                record.setParent(Device.recordID("folder"))
                return record
            }
            let refused = try await stranger.modifyRecords(saving: [moved()], deleting: [], savePolicy: .changedKeys)
            #expect((refused.saveResults[Self.id]?.error as? CKError)?.code == .accountTemporarilyUnavailable)
            let results = try await b.modifyRecords(saving: [moved()], deleting: [], savePolicy: .changedKeys)
            for record in [try #require(results.saveResults[Self.id]).get(), try await a.record(for: Self.id)] {
                #expect(record.parent?.recordID == Device.recordID("folder") && record["text"] as? String == "plain bread")
                #expect(record.encryptedValues["diagnosis"] as? String == "measles-7f31")
            }
        }
    }

    @Test func `a device without keys sees the rest of a record, changes it, and is told the remedy when it saves a value`() async throws {
        try await withDevices { a, b, stranger in
            try await a.save(Self.note())
            let record = try await stranger.record(for: Self.id)
            #expect(record["text"] as? String == "plain bread" && record.encryptedValues.allKeys().isEmpty)
            record["text"] = "plain cake"
            try await stranger.save(record)
            record.encryptedValues["diagnosis"] = "flu"
            let error = try #require(await #expect(throws: CKError.self) { try await stranger.save(record) })
            #expect(error.code == .accountTemporarilyUnavailable)
            #expect((error.userInfo["CKErrorRemedy"] as? String)?.contains("nacre keys enrol") == true)
            let read = try await b.record(for: Self.id)
            #expect(read["text"] as? String == "plain cake" && read.encryptedValues["diagnosis"] as? String == "measles-7f31")
        }
    }
}
