import CloudKit
import Foundation

/// The demo's two users share a zone: Ben takes part in Ada's trip, as far as she lets him.
extension AtlasDemo {
    private static let tripZone = CKRecordZone.ID(zoneName: "Trip")
    /// Between two looks of Ben whether the zone is gone; the feed of his shared database hears of it behind Ada's save.
    private static let pauseMilliseconds = 5

    mutating func shareTrip() async throws {
        let ben = session.friend()
        let zone = CKRecordZone.ID(zoneName: Self.tripZone.zoneName, ownerName: try await a.container.userRecordID().recordName)
        let (share, record) = try await invite(ben)
        guard let url = share.url else { throw DemoFailure("a saved share has no URL") }
        guard try await ben.sharedCloudDatabase.allRecordZones().isEmpty else { throw DemoFailure("Ben sees a zone that he has not accepted") }
        try await ben.accept(try await ben.shareMetadata(for: url))

        let seen = try await ben.sharedCloudDatabase.record(for: CKRecord.ID(recordName: record.recordID.recordName, zoneID: zone))
        guard seen["place"] as? String == record["place"] as? String else { throw DemoFailure("Ben does not see Ada's trip") }
        seen["note"] = "Ben comes along, in run \(report.run)"
        _ = try await ben.sharedCloudDatabase.save(seen)
        guard try await b.database.record(for: record.recordID)["note"] as? String == seen["note"] as? String else {
            throw DemoFailure("Ada does not see what Ben wrote into her trip")
        }
        try await refuse(ben, seen, share)
        try await remove(ben, zone, share)
        report.sharesAccepted = 1
        try timeline.say(
            "Ada (A) shared her zone \(zone.zoneName) with Ben, who accepted it by its URL and wrote into it; made a reader he was refused "
                + "(permissionFailure), and when she removed him his device heard that the zone is gone")
    }

    /// Ada's zone with one record, shared with Ben alone.
    private func invite(_ ben: CKContainer) async throws -> (share: CKShare, record: CKRecord) {
        // A run that was cut short may have left them.
        _ = try? await a.database.deleteRecordZone(withID: Self.tripZone)
        _ = try await a.database.save(CKRecordZone(zoneID: Self.tripZone))
        let record = CKRecord(recordType: "Trip", recordID: CKRecord.ID(recordName: "trip", zoneID: Self.tripZone))
        record["place"] = report.nearest
        let share = CKShare(recordZoneID: Self.tripZone)
        share[CKShare.SystemFieldKey.title] = "A trip to \(report.nearest)"
        let participant = try await a.container.shareParticipant(forUserRecordID: try await ben.userRecordID())
        participant.permission = .readWrite
        share.addParticipant(participant)
        let saved = try await a.database.modifyRecords(saving: [record, share], deleting: [])
        for result in saved.saveResults.values { _ = try result.get() }
        return (share, record)
    }

    /// Ada lets Ben read only.
    private func refuse(_ ben: CKContainer, _ seen: CKRecord, _ share: CKShare) async throws {
        let current = try await current(share)
        current.participants.last?.permission = .readOnly
        _ = try await a.database.save(current)
        seen["note"] = "Ben was here"
        do {
            _ = try await ben.sharedCloudDatabase.save(seen)
            throw DemoFailure("Ben wrote into a zone that he may only read")
        } catch let error as CKError where error.code == .permissionFailure {
            // As it should be.
        }
    }

    /// Ada removes Ben, who hears of it.
    private func remove(_ ben: CKContainer, _ zone: CKRecordZone.ID, _ share: CKShare) async throws {
        var token = try await ben.sharedCloudDatabase.databaseChanges(since: nil).changeToken
        let current = try await current(share)
        guard let participant = current.participants.last, participant.role == .privateUser else { throw DemoFailure("Ben is no participant") }
        current.removeParticipant(participant)
        _ = try await a.database.save(current)
        let start = timeline.now
        while timeline.seconds(since: start) < Self.patience {
            let changes = try await ben.sharedCloudDatabase.databaseChanges(since: token)
            if changes.deletions.contains(where: { $0.zoneID == zone }) { return }
            token = changes.changeToken
            try await Task.sleep(for: .milliseconds(Self.pauseMilliseconds))
        }
        throw DemoFailure("Ben's device did not hear in \(Int(Self.patience)) s that the zone is gone")
    }

    private func current(_ share: CKShare) async throws -> CKShare {
        guard let current = try await a.database.record(for: share.recordID) as? CKShare else { throw DemoFailure("a share came back as no share") }
        return current
    }
}
