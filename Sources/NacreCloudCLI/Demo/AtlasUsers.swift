import CloudKit

/// Two of the demo's users: each has its own user record, which the other can read.
extension AtlasDemo {
    /// Sets a value in Ada's public user record on her device; Ben reads it, and cannot change it.
    mutating func showUserRecords() async throws {
        let ben = session.ben(at: Self.tripZone).container
        let adaID = try await a.container.userRecordID()
        guard try await ben.userRecordID() != adaID else { throw DemoFailure("Ada and Ben are one user") }
        let own = try await a.container.publicCloudDatabase.record(for: adaID)
        guard own.recordType == CKRecord.SystemType.userRecord, own.recordID == adaID else { throw DemoFailure("Ada's user record is not hers") }
        own["favorite"] = "\(report.nearest), in run \(report.run)"
        let saved = try await a.container.publicCloudDatabase.save(own)

        let read = try await ben.publicCloudDatabase.record(for: adaID)
        if let part = HeldRecord(saved, heldBy: adaID).difference(from: HeldRecord(read)) {
            throw DemoFailure("Ada's user record: A and Ben differ in \(part)")
        }
        read["favorite"] = "Ben's"
        do {
            _ = try await ben.publicCloudDatabase.save(read)
            throw DemoFailure("Ben changed Ada's user record")
        } catch let error as CKError where error.code == .permissionFailure {
            // The expected error.
        }
        let kept = try await b.container.publicCloudDatabase.record(for: adaID)
        guard kept["favorite"] as? String == own["favorite"] as? String else { throw DemoFailure("Ada's user record is not what she saved") }
        report.userRecordsRead = 1
        try timeline.say("Ada (A) set her favorite in her public user record; Ben, another user, read it and may not change it (permissionFailure)")
    }
}
