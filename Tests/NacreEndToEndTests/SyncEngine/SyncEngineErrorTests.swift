import Foundation
import NacreLocks
import Testing

@testable import CloudKit

/// Tests of `docs/sync-engine.md`: failures, pending changes, and the events. The numbers are that page's.
struct SyncEngineErrorTests {
    /// Runs devices whose zone exists, and whose log is empty.
    private func with(_ body: (_ a: SyncDevice, _ b: SyncDevice) async throws -> Void) async throws {
        try await SyncDevice.pair { a, b, _ in
            a.write("zero", "bread")
            try #require(await a.send() == nil)
            a.app.clearLog()
            try await body(a, b)
        }
    }

    @Test(arguments: [
        (CKError.Code.zoneBusy, "TRY_AGAIN_LATER"), (.requestRateLimited, "THROTTLED"), (.serviceUnavailable, "TRY_AGAIN_LATER"),
        (.networkFailure, "TRY_AGAIN_LATER"), (.networkUnavailable, "TRY_AGAIN_LATER"), (.notAuthenticated, "AUTHENTICATION_REQUIRED"),
        (.accountTemporarilyUnavailable, "ACCESS_DENIED"), (.serverResponseLost, "INTERNAL_ERROR"),
    ])
    func `what may pass stays pending, is told, ends the run, and is sent by the next one (19, 20, 21)`(code: CKError.Code, word: String) async throws
    {
        try await with { a, _ in
            a.write("one", "bread")
            a.transport.failNext("records/modify", SyncTransport.itemRefusal(["one"], code, word, retryAfter: 3))
            #expect(await a.send() == .partialFailure)
            #expect(a.app.events == ["willSend", "sent !one \(code)", "didSend"])
            #expect(a.engine.state.pendingRecordZoneChanges == [.saveRecord(a.app.recordID("one"))])
            #expect(await a.send() == nil)
            #expect(a.app.events.suffix(3) == ["willSend", "sent +one", "didSend"] && a.engine.state.pendingRecordZoneChanges.isEmpty)
            let served = try await a.served()
            #expect(served == ["zero": ["bread"], "one": ["bread"]])
        }
    }

    @Test(arguments: [
        (CKError.Code.quotaExceeded, "QUOTA_EXCEEDED"), (.permissionFailure, "ACCESS_DENIED"), (.serverRejectedRequest, "BAD_REQUEST"),
        (.constraintViolation, "BAD_REQUEST"), (.referenceViolation, "VALIDATING_REFERENCE_ERROR"), (.limitExceeded, "BAD_REQUEST"),
    ])
    func `a record that failed for good is not pending when the delegate hears of it, and the next batch goes on (16, 18, 21)`(
        code: CKError.Code, word: String
    ) async throws {
        try await with { a, _ in
            for name in ["one", "two"] { a.write(name, "bread") }
            a.app.mends.withLock { $0 = false }
            a.app.batch.withLock {
                $0 = { [app = a.app] _, engine in
                    await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: Array(engine.state.pendingRecordZoneChanges.prefix(1))) {
                        app.record($0)
                    }
                }
            }
            a.transport.failNext("records/modify", SyncTransport.itemRefusal(["one"], code, word))
            let pending = Locked<[CKSyncEngine.PendingRecordZoneChange]?>(nil)
            a.app.hook.withLock {
                $0 = { event, engine in
                    guard case .sentRecordZoneChanges(let sent) = event, !sent.failedRecordSaves.isEmpty else { return }
                    pending.withLock { $0 = engine.state.pendingRecordZoneChanges }
                    engine.state.add(pendingRecordZoneChanges: [.saveRecord(a.app.recordID("one"))])
                }
            }
            #expect(await a.send() == .partialFailure)
            #expect(pending.withLock { $0 } == [.saveRecord(a.app.recordID("two"))])
            #expect(a.app.events == ["willSend", "sent !one \(code)", "sent +two", "didSend"])
            #expect(a.engine.state.pendingRecordZoneChanges == [.saveRecord(a.app.recordID("one"))], "added again, for the next send")
            #expect(await a.send() == nil && a.engine.state.pendingRecordZoneChanges.isEmpty)
        }
    }

    @Test func `a conflict has the server's record, and the record that the delegate merges and adds again goes with the next send (16, 18, 21)`()
        async throws
    {
        try await with { a, b in
            await b.fetch()
            b.write("zero", "wine")
            #expect(await b.send() == nil)
            a.write("zero", "olives")
            #expect(await a.send() == .partialFailure)
            #expect(a.app.events == ["willSend", "sent !zero serverRecordChanged", "didSend"])
            #expect(a.engine.state.pendingRecordZoneChanges == [.saveRecord(a.app.recordID("zero"))])
            #expect(a.app.words == ["zero": ["bread", "wine", "olives"]])
            #expect(await a.send() == nil)
            let served = try await a.served()
            #expect(served == ["zero": ["bread", "wine", "olives"]])
        }
    }

    @Test func `a record whose zone is gone, and one that was deleted, say so (18)`() async throws {
        try await with { a, b in
            await b.fetch()
            b.delete("zero")
            #expect(await b.send() == nil)
            a.write("zero", "wine")
            #expect(await a.send() == .partialFailure)
            #expect(a.app.events == ["willSend", "sent !zero unknownItem", "didSend"] && a.app.words.isEmpty)
            a.app.clearLog()
            try await b.database.deleteRecordZone(withID: b.app.zoneID)
            a.write("one", "olives")
            #expect(await a.send() == .partialFailure)
            #expect(a.app.events == ["willSend", "sent !one zoneNotFound", "didSend"])
            #expect(a.engine.state.pendingDatabaseChanges == [.saveZone(CKRecordZone(zoneID: a.app.zoneID))])
            #expect(a.engine.state.pendingRecordZoneChanges == [.saveRecord(a.app.recordID("one"))])
            #expect(await a.send() == nil)
            #expect(a.app.events.suffix(4) == ["willSend", "sentZones +Notes", "sent +one", "didSend"])
            let served = try await b.served()
            #expect(served == ["one": ["olives"]])
        }
    }

    @Test func `a zone that the user deleted in the settings is not made again by the engine (18)`() async throws {
        try await with { a, _ in
            a.write("one", "bread")
            a.transport.failNext("records/modify", SyncTransport.itemRefusal(["one"], .userDeletedZone, "ZONE_NOT_FOUND"))
            #expect(await a.send() == .partialFailure)
            #expect(a.app.events == ["willSend", "sent !one userDeletedZone", "didSend"])
            #expect(a.engine.state.pendingRecordZoneChanges.isEmpty && a.engine.state.pendingDatabaseChanges.isEmpty)
        }
    }

    @Test func `without a network each item is told, all stays pending, and nothing more is tried (14, 19, 20)`() async throws {
        try await with { a, _ in
            for index in 0..<300 { a.write("n\(index)", "bread") }
            a.engine.state.add(pendingDatabaseChanges: [.deleteZone(CKRecordZone.ID(zoneName: "Gone"))])
            a.transport.failNext("zones/modify", .notSent)
            #expect(await a.send() == .networkUnavailable)
            #expect(a.app.events == ["willSend", "sentZones !-Gone networkUnavailable", "didSend"])
            #expect(a.engine.state.pendingDatabaseChanges.count == 1 && a.transport.count("records/modify") == 1)
            a.engine.state.remove(pendingDatabaseChanges: [.deleteZone(CKRecordZone.ID(zoneName: "Gone"))])
            a.transport.failNext("records/modify", .notSent)
            #expect(await a.send() == .networkUnavailable)
            #expect(a.transport.count("records/modify") == 2 && a.engine.state.pendingRecordZoneChanges.count == 300)
            #expect(await a.send() == nil)
            #expect(a.engine.state.pendingRecordZoneChanges.isEmpty)
        }
    }

    @Test func `an answer that is lost is not a change made twice (19)`() async throws {
        try await with { a, b in
            a.write("one", "bread")
            a.transport.failNext("records/modify", .answerLost, .answerLost, .answerLost, .answerLost)
            #expect(await a.send() == .serverResponseLost)
            #expect(a.engine.state.pendingRecordZoneChanges.count == 1)
            await b.fetch()
            let before = try await b.database.record(for: a.app.recordID("one")).recordChangeTag
            // The server has it: the repeated send is a conflict, merged from the same words.
            #expect(await a.send() == .partialFailure)
            #expect(a.app.events.suffix(3) == ["willSend", "sent !one serverRecordChanged", "didSend"])
            #expect(await a.send() == nil)
            #expect(before != nil && a.engine.state.pendingRecordZoneChanges.isEmpty)
            let served = try await b.served()
            #expect(served == ["zero": ["bread"], "one": ["bread"]])
        }
    }

    @Test func `a fault of the configuration drops nothing (19)`() async throws {
        try await with { a, _ in
            a.write("one", "bread")
            a.transport.failNext("records/modify", SyncTransport.refusal(.badContainer, "BAD_REQUEST"))
            #expect(await a.send() == .badContainer)
            #expect(a.engine.state.pendingRecordZoneChanges.count == 1)
        }
    }

    @Test func `deleting a zone that is not there is told and not tried again (18)`() async throws {
        try await with { a, _ in
            a.engine.state.add(pendingDatabaseChanges: [.deleteZone(CKRecordZone.ID(zoneName: "Gone"))])
            #expect(await a.send() == .partialFailure)
            #expect(a.app.events == ["willSend", "sentZones !-Gone zoneNotFound", "didSend"] && a.engine.state.pendingDatabaseChanges.isEmpty)
        }
    }

    @Test func `what is too large for a request goes in parts, and a zone that is to be whole does not (24, 25)`() async throws {
        try await with { a, _ in
            let names = (0..<6).map { "large-\($0)" }
            for name in names { a.app.write(name, String(repeating: name, count: 90_000), a.engine) }
            a.app.batch.withLock {
                $0 = { [app = a.app] context, engine in
                    let pending = engine.state.pendingRecordZoneChanges
                    guard !pending.isEmpty else { return nil }
                    return CKSyncEngine.RecordZoneChangeBatch(
                        recordsToSave: pending.compactMap { app.record($0.itemID) }, atomicByZone: app.isAtomic.withLock { $0 })
                }
            }
            a.app.isAtomic.withLock { $0 = true }
            #expect(await a.send() == .limitExceeded || a.app.events.contains { $0.contains("limitExceeded") })
            #expect(a.app.events == ["willSend", "sent" + names.map { " !\($0) limitExceeded" }.joined(), "didSend"])
            a.app.isAtomic.withLock { $0 = false }
            a.app.clearLog()
            a.engine.state.add(pendingRecordZoneChanges: names.map { .saveRecord(a.app.recordID($0)) })
            #expect(await a.send() == nil)
            #expect(a.app.events == ["willSend", "sent" + names.map { " +\($0)" }.joined(), "didSend"])
        }
    }

    @Test func `with atomicByZone the others of the zone fail with it, and go with it when it is mended (25)`() async throws {
        try await with { a, b in
            await b.fetch()
            b.write("zero", "wine")
            #expect(await b.send() == nil)
            a.app.isAtomic.withLock { $0 = true }
            a.write("zero", "olives")
            a.write("one", "bread")
            #expect(await a.send() == .partialFailure)
            #expect(await a.send() == nil)
            let halves = ["sent !zero serverRecordChanged !one batchRequestFailed", "sent +zero +one"]
            #expect(a.app.events == ["willSend", halves[0], "didSend", "willSend", halves[1], "didSend"])
        }
    }

    @Test func `a delegate that gives a failed record again in each batch does not make the send endless (26)`() async throws {
        try await with { a, _ in
            a.app.batch.withLock {
                $0 = { [app = a.app] _, _ in
                    let nowhere = CKRecord.ID(recordName: "one", zoneID: CKRecordZone.ID(zoneName: "Nowhere"))
                    let records = [nowhere, app.recordID("two")].map { CKRecord(recordType: "Note", recordID: $0) }
                    return CKSyncEngine.RecordZoneChangeBatch(recordsToSave: app.events.contains { $0.contains("!one") } ? records : [records[0]])
                }
            }
            a.app.hook.withLock {
                $0 = { [app = a.app] event, _ in
                    if case .sentRecordZoneChanges(let sent) = event, !sent.savedRecords.isEmpty { app.batch.withLock { $0 = { _, _ in nil } } }
                }
            }
            #expect(await a.send() == .partialFailure)
            #expect(a.app.events == ["willSend", "sent !one zoneNotFound", "sent +two", "didSend"])
        }
    }

    @Test func `a batch of items that belong to the next send does not end this one, unless it is given again (16)`() async throws {
        try await with { a, _ in
            for name in ["one", "two"] { a.write(name, "bread") }
            a.app.mends.withLock { $0 = false }
            let given = Locked(["one", "one", "two", "one", "zero"])
            a.app.batch.withLock {
                $0 = { [app = a.app] _, _ in
                    let name = given.withLock { $0.isEmpty ? nil : $0.removeFirst() }
                    return name.flatMap { app.record(app.recordID($0)) }.map { CKSyncEngine.RecordZoneChangeBatch(recordsToSave: [$0]) }
                }
            }
            a.transport.failNext("records/modify", SyncTransport.itemRefusal(["one"], .quotaExceeded, "QUOTA_EXCEEDED"))
            #expect(await a.send() == .partialFailure)
            #expect(a.app.events == ["willSend", "sent !one quotaExceeded", "sent +two", "didSend"])
            #expect(given.withLock { $0 } == ["zero"], "the batch that came twice ends the send")
        }
    }

    @Test func `a record at fault does not keep the others of its batch from being sent (16, 17)`() async throws {
        try await with { a, b in
            await b.fetch()
            b.write("zero", "wine")
            #expect(await b.send() == nil)
            a.app.mends.withLock { $0 = false }
            for name in ["one", "zero", "two"] { a.write(name, "olives") }
            #expect(await a.send() == .partialFailure)
            #expect(a.app.events == ["willSend", "sent +one +two !zero serverRecordChanged", "didSend"])
            #expect(a.transport.count("records/modify") == 2, "one request each for the first record and for the batch")
            let served = try await a.served()
            #expect(served == ["zero": ["bread", "wine"], "one": ["olives"], "two": ["olives"]])
        }
    }

    @Test func `a zone that is to be whole waits for the next send with its failed item, and is saved then as one (16, 25)`() async throws {
        try await with { a, b in
            await b.fetch()
            b.write("zero", "wine")
            #expect(await b.send() == nil)
            a.app.isAtomic.withLock { $0 = true }
            for name in ["one", "zero"] { a.write(name, "olives") }
            a.app.hook.withLock {
                $0 = { event, engine in
                    // The app adds one more while it handles what was sent.
                    guard case .sentRecordZoneChanges(let sent) = event, !sent.failedRecordSaves.isEmpty else { return }
                    a.app.write("two", "olives", engine)
                }
            }
            #expect(await a.send() == .partialFailure)
            var served = try await a.served()
            #expect(served == ["zero": ["bread", "wine"]] && a.engine.state.pendingRecordZoneChanges.count == 3)
            #expect(await a.send() == nil)
            served = try await a.served()
            #expect(served == ["zero": ["bread", "wine", "olives"], "one": ["olives"], "two": ["olives"]])
        }
    }

    @Test func `a zone that was deleted and made again is told as deleted first, and only to a device that knew the old one (30)`() async throws {
        try await with { a, b in
            let zoneID = a.app.zoneID
            for device in [a, b] { await device.fetch() }
            a.engine.state.add(pendingDatabaseChanges: [.deleteZone(zoneID)])
            #expect(await a.send() == nil)
            a.engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: zoneID))])
            a.write("one", "wine")
            #expect(await a.send() == nil)
            for device in [a, b] { device.app.clearLog() }
            #expect(await b.fetch() == nil)
            #expect(
                b.app.events == ["willFetch", "zones +Notes", "willFetch Notes", "zones -Notes", "fetched +one", "didFetch Notes", "didFetch"])
            #expect(b.app.words == ["one": ["wine"]])
            #expect(await a.fetch() == nil)
            #expect(a.app.events == ["willFetch", "zones +Notes", "willFetch Notes", "fetched +one", "didFetch Notes", "didFetch"])
        }
    }

    @Test func `a zone that is deleted while it is fetched, and made again before the next fetch, is told as deleted (30)`() async throws {
        try await with { a, b in
            let zoneID = a.app.zoneID
            await b.fetch()
            a.write("one", "wine")
            await a.send()
            b.app.hook.withLock {
                $0 = { event, _ in
                    if case .willFetchRecordZoneChanges = event { _ = try? await a.database.deleteRecordZone(withID: zoneID) }
                }
            }
            #expect(await b.fetch() == .partialFailure)
            #expect(b.app.events.last == "didFetch" && b.app.events.contains("didFetch Notes zoneNotFound"))
            b.app.hook.withLock { $0 = nil }
            b.app.clearLog()
            try await a.database.save(CKRecordZone(zoneID: zoneID))
            #expect(await b.fetch() == nil)
            #expect(b.app.events == ["willFetch", "zones +Notes", "willFetch Notes", "zones -Notes", "didFetch Notes", "didFetch"])
            #expect(b.app.words.isEmpty)
        }
    }

    @Test func `an expired token of a zone, and of the database, begins again and tells of what is gone (30)`() async throws {
        try await with { a, b in
            let old = CKRecordZone.ID(zoneName: "Old")
            try await a.database.save(CKRecordZone(zoneID: old))
            await b.fetch()
            b.app.clearLog()
            a.write("one", "bread")
            await a.send()
            b.transport.failNext("changes/zone", SyncTransport.refusal(.changeTokenExpired, "BAD_REQUEST"))
            #expect(await b.fetch() == nil)
            #expect(b.app.events == ["willFetch", "zones +Notes", "willFetch Notes", "fetched +one +zero", "didFetch Notes", "didFetch"])
            b.app.clearLog()
            try await a.database.deleteRecordZone(withID: old)
            b.transport.failNext("changes/database", SyncTransport.refusal(.changeTokenExpired, "BAD_REQUEST"))
            #expect(await b.fetch() == nil)
            #expect(b.app.events == ["willFetch", "zones +Notes -Old", "willFetch Notes", "didFetch Notes", "didFetch"])
        }
    }

    @Test func `a resync by an administrator has each device fetch anew once, lose nothing, and send what is pending (30)`() async throws {
        try await SyncDevice.pair { a, b, cloud in
            let place = ["container": cloud.container, "environment": "development", "user": Device.ada]
            for name in ["zero", "one"] { a.write(name, "bread") }
            #expect(await a.send() == nil)
            for device in [a, b] { #expect(await device.fetch() == nil) }
            for (path, more) in [("zones/resync", ["zone": "Notes"]), ("users/resync", [:])] {
                _ = try await NewCloud.admin(cloud.server, path, place.merging(more) { $1 })
                for device in [a, b] { device.app.clearLog() }
                #expect(await b.fetch() == nil)
                let anew = ["willFetch", "zones +Notes", "willFetch Notes", "fetched +one +zero", "didFetch Notes", "didFetch"]
                #expect(b.app.events == anew, "\(path)")
                #expect(b.app.words == ["zero": ["bread"], "one": ["bread"]])
                b.app.clearLog()
                #expect(await b.fetch() == nil)
                #expect(b.app.events == ["willFetch", "didFetch"])
            }
            a.write("two", "olives")
            #expect(await a.fetch() == nil)
            #expect(await a.send() == nil)
            #expect(a.engine.state.pendingRecordZoneChanges.isEmpty)
            #expect(await b.fetch() == nil)
            let served = try await b.served()
            #expect(served == ["zero": ["bread"], "one": ["bread"], "two": ["olives"]] && b.app.words == served)
        }
    }

    @Test func `a zone that fails tells why, the others follow, and what would fail everything ends the fetch (27, 31)`() async throws {
        try await with { a, b in
            for name in ["Blue", "Green"] {
                try await a.database.save(CKRecordZone(zoneID: CKRecordZone.ID(zoneName: name)))
                a.app.write("one", "bread", a.engine, in: CKRecordZone.ID(zoneName: name))
            }
            await a.send()
            b.transport.failNext("changes/zone", SyncTransport.refusal(.zoneBusy, "TRY_AGAIN_LATER", status: 503))
            #expect(await b.fetch() == .partialFailure)
            let dids = b.app.events.filter { $0.hasPrefix("didFetch ") }
            #expect(dids.count == 3 && dids[0].hasSuffix("zoneBusy") && !dids[1].contains("zoneBusy") && b.app.events.last == "didFetch")
            #expect(b.engine.state.zoneIDsWithUnfetchedServerChanges.count == 1)
            #expect(await b.fetch() == nil)
            #expect(b.app.notes.count == 3 && b.engine.state.zoneIDsWithUnfetchedServerChanges.isEmpty)
            b.app.clearLog()
            a.write("two", "bread")
            await a.send()
            b.transport.failNext("changes/database", .notSent)
            #expect(await b.fetch() == .networkUnavailable)
            #expect(b.app.events == ["willFetch", "didFetch"])
            b.transport.failNext("changes/zone", .notSent)
            #expect(await b.fetch() == .networkUnavailable)
            #expect(b.app.events.suffix(3) == ["willFetch Notes", "didFetch Notes networkUnavailable", "didFetch"])
            #expect(await b.fetch() == nil && b.app.words["two"] == ["bread"])
        }
    }

    @Test func `a record that cannot be had is passed over and said; one that may be had later is fetched again (32)`() async throws {
        try await with { a, b in
            await b.fetch()
            b.app.clearLog()
            a.write("one", "bread")
            await a.send()
            b.transport.failNext("changes/zone", SyncTransport.page(without: "one", .networkFailure))
            #expect(await b.fetch() == .networkFailure)
            #expect(b.app.events == ["willFetch", "zones +Notes", "willFetch Notes", "didFetch Notes networkFailure", "didFetch"])
            #expect(b.engine.state.zoneIDsWithUnfetchedServerChanges == [b.app.zoneID])
            #expect(await b.fetch() == nil && b.app.words["one"] == ["bread"])
            b.app.clearLog()
            a.write("two", "wine")
            await a.send()
            b.transport.failNext("changes/zone", SyncTransport.page(without: "two", .internalError))
            #expect(await b.fetch() == .partialFailure)
            #expect(b.app.events == ["willFetch", "zones +Notes", "willFetch Notes", "didFetch Notes partialFailure", "didFetch"])
            #expect(b.engine.state.zoneIDsWithUnfetchedServerChanges.isEmpty)
            #expect(b.engine.state.held.withLock { $0.zoneTokens[b.app.zoneID] } == "reached")
        }
    }
}
