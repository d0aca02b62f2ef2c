import CloudKit
import CloudKitTesting
import Foundation
import Testing

/// Tests of encrypted values over a server that is hostile, and of users who reset their keys.
@Suite struct TamperingTests {
    private let zoneID = CKRecordZone.ID(zoneName: "Visits")
    private var visitID: CKRecord.ID { CKRecord.ID(recordName: "visit", zoneID: zoneID) }

    /// Returns the databases of two devices, of which the first has saved a record.
    private func devices() async throws -> (cloud: TestCloud, phone: CKDatabase, pad: CKDatabase) {
        let cloud = try await TestCloud()
        let phone = try await cloud.signIn("alice").privateCloudDatabase
        let pad = try await cloud.signIn("alice", device: "pad").privateCloudDatabase
        _ = try await phone.save(CKRecordZone(zoneID: zoneID))
        _ = try await phone.save(visit())
        return (cloud, phone, pad)
    }

    private func visit() -> CKRecord {
        let visit = CKRecord(recordType: "Visit", recordID: visitID)
        visit.encryptedValues["diagnosis"] = "measles"
        visit.encryptedValues["advice"] = "rest"
        return visit
    }

    private func code(_ body: () async throws -> Void) async throws -> CKError {
        try #require(await #expect(throws: CKError.self) { try await body() })
    }

    @Test func `all devices of a user have the keys of encrypted values`() async throws {
        let (_, phone, pad) = try await devices()
        let read = try await pad.record(for: visitID)
        #expect(read.encryptedValues["diagnosis"] as? String == "measles")
        read.encryptedValues["diagnosis"] = "mumps"
        _ = try await pad.save(read)
        #expect(try await phone.record(for: visitID).encryptedValues["diagnosis"] as? String == "mumps")
    }

    @Test(arguments: [
        TestTampering.droppedValue(of: "diagnosis", inRecord: "visit"), .swappedValues(of: "diagnosis", "advice", inRecord: "visit"),
    ])
    func `A11, A13: a value that is dropped or swapped is an error of its record, once`(tampering: TestTampering) async throws {
        let (cloud, phone, pad) = try await devices()
        cloud.tamper(.fetchRecords, by: "alice", device: "pad", with: tampering)
        _ = try await phone.record(for: visitID)
        #expect(cloud.pendingFaults.count == 1)
        #expect(try await code { _ = try await pad.record(for: visitID) }.code == .internalError)
        #expect(cloud.pendingFaults.isEmpty)
        #expect(try await pad.record(for: visitID).encryptedValues["advice"] as? String == "rest")
    }

    @Test func `A12: a record that is rolled back is refused by the device that has seen it newer`() async throws {
        let (cloud, phone, _) = try await devices()
        cloud.tamper(.fetchRecords, with: .rolledBack("visit"))
        let record = try await phone.record(for: visitID)
        record.encryptedValues["advice"] = "tea"
        _ = try await phone.save(record)
        #expect(cloud.pendingFaults.count == 1)
        #expect(try await code { _ = try await phone.record(for: visitID) }.code == .internalError)
        #expect(cloud.pendingFaults.isEmpty)
        #expect(try await phone.record(for: visitID).encryptedValues["advice"] as? String == "tea")
    }

    @Test func `A23: a reset that no device has signed is held back, and the app is told why`() async throws {
        let (cloud, phone, _) = try await devices()
        let token = try await phone.databaseChanges(since: nil).changeToken
        try await cloud.removeZone("Visits", of: "alice", because: .encryptedDataReset)
        for attempt in [
            { _ = try await phone.databaseChanges(since: token) }, { _ = try await phone.save(visit()) },
            { _ = try await phone.record(for: visitID) },
        ] as [() async throws -> Void] {
            let error = try await code(attempt)
            #expect(error.code == .internalError && error.localizedDescription.contains("no device of the user has signed"), "\(error)")
        }
    }

    @Test func `after a signed reset the zone is gone with the reason, and an app that saves it anew and uploads again goes on`() async throws {
        let (cloud, phone, pad) = try await devices()
        let token = try await pad.databaseChanges(since: nil).changeToken
        _ = try await pad.record(for: visitID)
        try await cloud.resetEncryptedData(of: "alice")
        for device in [phone, pad] {
            let error = try await code { _ = try await device.save(visit()) }
            #expect(error.code == .zoneNotFound && error.userInfo[CKErrorUserDidResetEncryptedDataKey] as? NSNumber == true, "\(error)")
            let deletion = try #require(try await device.databaseChanges(since: token).deletions.first)
            #expect(deletion.zoneID.zoneName == "Visits" && deletion.reason == .encryptedDataReset)
        }
        _ = try await phone.save(CKRecordZone(zoneID: zoneID))
        _ = try await phone.save(visit())
        let read = try await pad.record(for: visitID)
        #expect(read.encryptedValues["diagnosis"] as? String == "measles")
        read.encryptedValues["diagnosis"] = "mumps"
        _ = try await pad.save(read)
        #expect(try await phone.record(for: visitID).encryptedValues["diagnosis"] as? String == "mumps")
        _ = try await phone.databaseChanges(since: token)
    }
}
