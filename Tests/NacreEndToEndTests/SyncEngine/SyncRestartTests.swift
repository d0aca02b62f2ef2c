import Foundation
import NacreLocks
import Testing

@testable import CloudKit

/// Tests of `docs/sync-engine.md`, 9: an engine goes on from any state that it reported.
struct SyncRestartTests {
    /// Returns the number of pending changes in the state that the app has stored; nil: it has stored none.
    private func pending(_ disk: NoteApp.Disk) throws -> Int? {
        try disk.state.map { try JSONDecoder().decode(CKSyncEngine.State.Serialization.self, from: $0).state.records.count }
    }

    @Test func `an app that dies at any event of a send begins again, sends what is left, and nothing that the state knows as sent (9)`() async throws
    {
        try await SyncDevice.cloud { cloud in
            let (ada, other) = (try await cloud.device(of: Device.ada), try await cloud.device(of: Device.ada))
            var points = 0
            var repeated = 0
            for events in 0..<100 {
                let zoneID = CKRecordZone.ID(zoneName: "Notes-\(events)")
                let before = ["one": "bread", "two": "wine"].map { (CKRecord.ID(recordName: $0, zoneID: zoneID), NoteApp.Note(words: [$1])) }
                let disk = NoteApp.Disk(notes: Dictionary(uniqueKeysWithValues: before))
                let a = try SyncDevice(cloud, token: ada, app: NoteApp(zoneID: zoneID, disk: disk, diesAfter: events))
                await a.send()
                let isDead = a.app.isDead
                let left = try pending(a.app.disk)
                a.restart()
                let asked = a.transport.count("records/modify")
                await a.send()
                let sent = a.transport.count("records/modify") - asked
                #expect((sent > 0) == (left != 0), "after \(events) events")
                if a.app.events.contains(where: { $0.contains("serverRecordChanged") }) { repeated += 1 }
                #expect(await a.send() == nil && a.engine.state.pendingRecordZoneChanges.isEmpty)

                let b = try SyncDevice(cloud, token: other, app: NoteApp(zoneID: zoneID))
                await b.fetch(.zoneIDs([zoneID]))
                #expect(b.app.words == ["one": ["bread"], "two": ["wine"]], "after \(events) events")
                #expect(a.app.words == b.app.words)
                points = events
                if !isDead { break }
            }
            // signIn, state, willSend, sentZones, state, sent, state, didSend: at two of these the server has the
            // records, and the app has not stored that.
            #expect(points == 8 && repeated == 2)
        }
    }

    @Test func `an app that dies at any event of a fetch begins again, and has everything once it has fetched (9)`() async throws {
        try await SyncDevice.pair { a, _, cloud in
            for index in 0..<450 { a.write("note-\(index)", "bread") }
            a.app.write("far", "wine", a.engine, in: CKRecordZone.ID(zoneName: "Other"))
            a.engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneName: "Other"))])
            try #require(await a.send() == nil)
            let token = try await cloud.device(of: Device.ada)
            var points = 0
            for events in 0..<100 {
                let b = try SyncDevice(cloud, token: token, app: NoteApp(diesAfter: events))
                await b.fetch()
                let isDead = b.app.isDead
                b.restart()
                #expect(await b.fetch() == nil)
                #expect(b.app.words == a.app.words, "after \(events) events")
                points = events
                if !isDead { break }
            }
            #expect(points > 12, "several pages and two zones are as many events")
        }
    }
}
