import Foundation
import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import CloudKit

/// Tests of a reset of the keys, between two devices of one user that have stores of keys of their own.
@Suite(.timeLimit(.minutes(5))) struct EncryptedResetTests {
    private static let id = Device.recordID("one")

    private static func note(_ diagnosis: String) -> CKRecord {
        let record = Device.note("one", "plain bread")
        record.encryptedValues["diagnosis"] = diagnosis
        return record
    }

    private func database(_ process: KeyProcess) -> CKDatabase { CKContainer(line: process.line).privateCloudDatabase }

    /// Returns the error of an attempt that meets the reset.
    private func reset(_ attempt: () async throws -> Void) async throws {
        let error = try #require(await #expect(throws: CKError.self) { try await attempt() })
        #expect(error.code == .zoneNotFound && error.userInfo[CKErrorUserDidResetEncryptedDataKey] as? NSNumber == true, "\(error)")
    }

    @Test func `A23: both devices are told of a signed reset, and recover by saving the zone anew and uploading again`() async throws {
        try await KeyProcess.withDevices { process, _ in
            let (phone, tablet) = (try process("phone"), try process("tablet"))
            let (a, b) = (database(phone), database(tablet))
            try await a.save(Self.note("measles"))
            try await tablet.keys().enrol(words: try await phone.keys().recoveryWords().words.joined(separator: " "))
            #expect(try await b.record(for: Self.id).encryptedValues["diagnosis"] as? String == "measles")
            let token = try await b.databaseChanges(since: nil).changeToken
            try await phone.keys().reset()
            for database in [a, b] {
                try await reset { _ = try await database.record(for: Self.id) }
                try await reset { try await database.save(Self.note("mumps")) }
                let deletions = try await database.databaseChanges(since: token).deletions
                #expect(deletions.map(\.zoneID.zoneName) == [Device.zoneID.zoneName] && deletions.first?.reason == .encryptedDataReset)
            }
            try await a.save(CKRecordZone(zoneID: Device.zoneID))
            try await a.save(Self.note("measles"))
            // The other device sees the plain rest, and keeps its data until it is enrolled in the new log.
            #expect(try await b.record(for: Self.id).encryptedValues.allKeys().isEmpty)
            let error = try #require(await #expect(throws: CKError.self) { try await b.save(Self.note("mumps")) })
            #expect(error.code == .accountTemporarilyUnavailable)
            try await tablet.keys().enrol(words: try await phone.keys().recoveryWords().words.joined(separator: " "))
            let read = try await b.record(for: Self.id)
            #expect(read.encryptedValues["diagnosis"] as? String == "measles")
            read.encryptedValues["diagnosis"] = "mumps"
            try await b.save(read)
            #expect(try await a.record(for: Self.id).encryptedValues["diagnosis"] as? String == "mumps")
        }
    }
}
