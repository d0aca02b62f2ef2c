import CloudKit
import Foundation

/// Sharing in the demo: Ada shares a trip with Ben by its link, and a guide with Cleo, who may only read it.
extension AtlasDemo {
    /// The zone of the trip; a diary beside it is not shared.
    static let tripZone = "Trip"
    private static let guideZone = "Guide"

    mutating func shareTripAndGuide() async throws {
        let (ben, cleo) = (session.ben(at: Self.tripZone), session.cleo(at: Self.guideZone))
        // A run that was cut short may have left the zones.
        for name in [Self.tripZone, Self.guideZone] {
            _ = try? await a.database.deleteRecordZone(withID: CKRecordZone.ID(zoneName: name))
            _ = try await a.database.save(CKRecordZone(zoneName: name))
        }
        let trip = try await shareTrip()
        let guide = try await shareGuide(with: cleo)
        for (guest, share) in [(ben, trip), (cleo, guide)] {
            guard try await guest.database.allRecordZones().isEmpty else { throw DemoFailure("\(guest.name) sees what nobody has accepted") }
            guard let url = share.url else { throw DemoFailure("a saved share has no URL") }
            try await guest.container.accept(try await guest.container.shareMetadata(for: url))
            report.sharesAccepted += 1
        }
        try await hold(ben, ["trip", "day", trip.recordID.recordName])
        try await hold(cleo, ["entry", guide.recordID.recordName])
        try timeline.say(
            "Ada (A) shared her trip with Ben by its link, and her zone \(Self.guideZone) with Cleo, who may read; each accepted and holds that and nothing else"
        )

        try await edit(ben)
        try await refuse(cleo)
        try timeline.say(
            "Ben wrote into a day of the trip, and Ada read it; Cleo was refused (permissionFailure), and follows what Ada writes into the guide")

        let seconds = try await remove(ben, from: trip)
        guard try await cleo.seesZone() else { throw DemoFailure("Cleo lost the guide when Ben was removed from the trip") }
        let milliseconds = Timeline.text(seconds * 1000, digits: 1)
        try timeline.say("Ada removed Ben, and his device was told that the zone is gone, \(milliseconds) ms after she began to save")
    }

    // MARK: The shares

    /// Saves a trip with a day below it, shared with everybody who has the link.
    private func shareTrip() async throws -> CKShare {
        let trip = record("Trip", "trip", in: Self.tripZone, text: report.nearest)
        let day = record("Day", "day", in: Self.tripZone, text: "The first day")
        day.setParent(trip)
        let diary = record("Diary", "diary", in: Self.tripZone, text: "Ada's own")
        let share = CKShare(rootRecord: trip)
        share[CKShare.SystemFieldKey.title] = "A trip to \(report.nearest)"
        share.publicPermission = .readWrite
        return try await save(share, with: [trip, day, diary])
    }

    /// Saves a zone with an entry, shared with Cleo.
    private func shareGuide(with cleo: Device) async throws -> CKShare {
        let share = CKShare(recordZoneID: CKRecordZone.ID(zoneName: Self.guideZone))
        share[CKShare.SystemFieldKey.title] = "A guide to \(report.nearest)"
        let participant = try await a.container.shareParticipant(forUserRecordID: try await cleo.container.userRecordID())
        participant.permission = .readOnly
        share.addParticipant(participant)
        return try await save(share, with: [record("Entry", "entry", in: Self.guideZone, text: "The bridge")])
    }

    private func record(_ type: String, _ name: String, in zoneName: String, text: String) -> CKRecord {
        let record = CKRecord(recordType: type, recordID: CKRecord.ID(recordName: name, zoneID: CKRecordZone.ID(zoneName: zoneName)))
        record["text"] = text
        return record
    }

    private func save(_ share: CKShare, with records: [CKRecord]) async throws -> CKShare {
        let saved = try await a.database.modifyRecords(saving: records + [share], deleting: [])
        for result in saved.saveResults.values { _ = try result.get() }
        return share
    }

    // MARK: The guests

    /// Brings a guest's device up to date, and checks that it holds exactly these records of the zone.
    private func hold(_ guest: Device, _ names: Set<String>) async throws {
        _ = try await guest.follow()
        let held = Set(await guest.copy.keys)
        guard held == names else { throw DemoFailure("\(guest.name) holds \(held.sorted().joined(separator: ", "))") }
    }

    /// Lets Ben write into the day, which Ada reads on her other device. Ben cannot find her diary.
    private func edit(_ ben: Device) async throws {
        let day = try await ben.record("day")
        day["note"] = "Ben comes along, in run \(report.run)"
        _ = try await ben.database.save(day)
        let read = try await b.database.record(for: CKRecord.ID(recordName: "day", zoneID: CKRecordZone.ID(zoneName: Self.tripZone)))
        guard read["note"] as? String == day["note"] as? String else { throw DemoFailure("Ada does not see what Ben wrote into her trip") }
        do {
            _ = try await ben.database.record(for: CKRecord.ID(recordName: "diary", zoneID: ben.zoneID))
            throw DemoFailure("Ben read Ada's diary")
        } catch let error as CKError where error.code == .unknownItem {
            // The expected error.
        }
    }

    /// Checks that Cleo cannot write into the guide, and that she follows what Ada writes there.
    private func refuse(_ cleo: Device) async throws {
        let entry = try await cleo.record("entry")
        entry["text"] = "Cleo was here"
        do {
            _ = try await cleo.database.save(entry)
            throw DemoFailure("Cleo wrote into a zone that she may only read")
        } catch let error as CKError where error.code == .permissionFailure {
            // The expected error.
        }
        let own = try await a.database.record(for: CKRecord.ID(recordName: "entry", zoneID: CKRecordZone.ID(zoneName: Self.guideZone)))
        own["text"] = "The bridge, at night"
        _ = try await a.database.save(own)
        let news = try await cleo.follow()
        guard news.changes == 1, try await cleo.record("entry")["text"] as? String == own["text"] as? String else {
            throw DemoFailure("Cleo heard of \(news.changes) changes where Ada made one")
        }
    }

    /// Closes the link, which removes Ben. His device, subscribed to the shared database, is told; the zone is gone.
    /// - Returns: The seconds since Ada's save began.
    private func remove(_ ben: Device, from share: CKShare) async throws -> Double {
        let subscription = CKDatabaseSubscription(subscriptionID: "demo shared")
        subscription.notificationInfo = CKSubscription.NotificationInfo(shouldSendContentAvailable: true)
        _ = try await ben.database.save(subscription)
        var token = try await ben.database.databaseChanges(since: nil).changeToken
        guard let current = try await a.database.record(for: share.recordID) as? CKShare,
            current.participants.map(\.role) == [.owner, .publicUser]
        else { throw DemoFailure("Ben is no participant of Ada's trip") }
        current.publicPermission = .none
        let told = try await Self.hear(
            ben,
            until: { _ in
                let changes = try await ben.database.databaseChanges(since: token)
                token = changes.changeToken
                return changes.deletions.contains { $0.zoneID == ben.zoneID }
            },
            doing: {
                _ = try await a.database.save(current)
            })
        _ = try await ben.database.deleteSubscription(withID: subscription.subscriptionID)
        do {
            _ = try await ben.database.record(for: CKRecord.ID(recordName: "day", zoneID: ben.zoneID))
            throw DemoFailure("Ben reads a trip from which he was removed")
        } catch let error as CKError where error.code == .zoneNotFound {
            // The expected error.
        }
        return told.seconds
    }
}
