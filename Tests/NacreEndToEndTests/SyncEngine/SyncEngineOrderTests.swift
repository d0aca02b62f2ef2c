import Foundation
import NacreLocks
import Testing

@testable import CloudKit

/// Tests of `docs/sync-engine.md`, Turns, State, Sending and Fetching, in order. The numbers are that page's.
struct SyncEngineOrderTests {
    @Test func `a first send and a first fetch tell exactly this, and nothing twice (8, 9, 14, 15, 27, 34)`() async throws {
        try await SyncDevice.pair { a, b, _ in
            a.write("one", "bread")
            #expect(await a.send() == nil)
            #expect(a.app.log == ["signIn", "state", "willSend", "sentZones +Notes", "state", "sent +one", "state", "didSend"])
            #expect(a.engine.state.pendingRecordZoneChanges.isEmpty && a.engine.state.pendingDatabaseChanges.isEmpty)
            #expect(await b.fetch() == nil)
            #expect(
                b.app.log == [
                    "signIn", "state", "willFetch", "zones +Notes", "state", "willFetch Notes", "fetched +one", "state", "didFetch Notes", "didFetch",
                ])
            #expect(b.app.words == ["one": ["bread"]] && b.engine.state.zoneIDsWithUnfetchedServerChanges.isEmpty)
            for device in [a, b] { device.app.clearLog() }
            #expect(await b.fetch() == nil)
            #expect(b.app.log == ["willFetch", "didFetch"])
            a.delete("one")
            #expect(await a.send() == nil)
            #expect(a.app.log == ["state", "willSend", "sent -one", "state", "didSend"])
            b.app.clearLog()
            #expect(await b.fetch() == nil)
            #expect(b.app.events == ["willFetch", "zones +Notes", "willFetch Notes", "fetched -one", "didFetch Notes", "didFetch"])
            #expect(b.app.words.isEmpty)
        }
    }

    @Test func `the same calls and answers make the same events (4)`() async throws {
        var logs: Set<[String]> = []
        for _ in 0..<3 {
            try await SyncDevice.pair { a, b, _ in
                // The engine tells several changes at once. Each call waits until the one before is told, because
                // otherwise the speed of the test's task decides which changes are put into queues together.
                for name in ["one", "two", "three"] {
                    a.write(name, "bread")
                    await a.told()
                }
                a.engine.state.remove(pendingRecordZoneChanges: [.saveRecord(a.app.recordID("two"))])
                await a.told()
                await a.send()
                b.write("four", "wine")
                await b.told()
                await b.fetch()
                await b.send()
                await a.fetch()
                for device in [a, b] { await device.told() }
                logs.insert(a.app.log + b.app.log)
            }
        }
        #expect(logs.count == 1, "\(logs.map { $0.joined(separator: ", ") }.joined(separator: " | "))")
    }

    @Test func `the delegate's calls never overlap, and one fetch or send follows the other in the order of the calls (1, 2, 3)`() async throws {
        try await SyncDevice.pair { a, _, _ in
            let inside = Locked((now: 0, most: 0))
            a.app.hook.withLock {
                $0 = { _, _ in
                    inside.withLock { inside in
                        inside.now += 1
                        inside.most = max(inside.most, inside.now)
                    }
                    for _ in 0..<20 { await Task.yield() }
                    inside.withLock { $0.now -= 1 }
                }
            }
            a.write("one", "bread")
            await a.send()
            a.app.clearLog()
            let engine = a.engine
            // The first one is inside the delegate when the others are requested.
            let asked = Locked<[Task<Void, any Error>]>([])
            a.app.hook.withLock { hook in
                let counted = hook
                hook = { event, engine in
                    await counted?(event, engine)
                    guard case .willSendChanges = event, asked.withLock(\.isEmpty) else { return }
                    let first = Task { try await engine.fetchChanges() }
                    asked.withLock { $0 = [first] }
                }
            }
            try await engine.sendChanges()
            for task in asked.withLock({ $0 }) { try await task.value }
            #expect(a.app.events.prefix(3) == ["willSend", "didSend", "willFetch"] && a.app.events.last == "didFetch")
            #expect(inside.withLock { $0.now } == 0 && inside.withLock { $0.most } == 1)
        }
    }

    @Test func `inside the delegate a fetch and a send are refused, and in a task of its own they wait for their turn (3)`() async throws {
        try await SyncDevice.pair { a, _, _ in
            let errors = Locked<[CKError.Code?]>([])
            a.app.hook.withLock {
                $0 = { event, engine in
                    guard case .willFetchChanges = event, errors.withLock(\.isEmpty) else { return }
                    for ask in [{ try await engine.fetchChanges() }, { try await engine.sendChanges() }] {
                        do { try await ask() } catch { errors.withLock { $0.append((error as? CKError)?.code) } }
                    }
                }
            }
            #expect(await a.fetch() == nil)
            #expect(errors.withLock { $0 } == [.invalidArguments, .invalidArguments])
        }
    }

    @Test func `nothing is asked of the server that the app did not ask for (4)`() async throws {
        try await SyncDevice.pair { a, _, _ in
            a.write("one", "bread")
            await a.app.heard("state")
            #expect(Set(a.transport.paths).isSubset(of: ["users/caller"]) && a.app.log == ["signIn", "state"])
            #expect(!a.engine.state.pendingRecordZoneChanges.isEmpty)
        }
    }

    @Test func `cancelling ends what runs and what waits, loses nothing pending, and closes what it opened (5)`() async throws {
        try await SyncDevice.pair { a, _, _ in
            a.write("one", "bread")
            a.transport.failNext("records/modify", .hangs)
            async let running = a.send()
            await a.transport.hang(of: "records/modify")
            // A call whose own task is cancelled does not wait for the run before it, which hangs.
            let impatient = Task { await a.fetch() }
            while a.engine.activity.inner.withLock({ $0.runs.count }) < 2 { await Task.yield() }
            impatient.cancel()
            #expect(await impatient.value == .operationCancelled)
            async let waiting = a.fetch()
            // The second waits for its turn once its call has been made; the cancellation ends both.
            while a.engine.activity.inner.withLock({ $0.runs.count }) < 2 { await Task.yield() }
            await a.engine.cancelOperations()
            #expect(await running == .operationCancelled)
            #expect(await waiting == .operationCancelled)
            #expect(a.app.events == ["signIn", "willSend", "sentZones +Notes", "sent !one operationCancelled", "didSend"])
            #expect(a.engine.state.pendingRecordZoneChanges == [.saveRecord(a.app.recordID("one"))])
            #expect(await a.send() == nil)
            let served = try await a.served()
            #expect(served == ["one": ["bread"]])

            a.write("two", "wine")
            a.transport.failNext("records/modify", .hangs)
            let task = Task { await a.send() }
            await a.transport.hang(of: "records/modify")
            task.cancel()
            #expect(await task.value == .operationCancelled)
            #expect(await a.send() == nil && a.engine.state.pendingRecordZoneChanges.isEmpty)
        }
    }

    @Test func `the delegate is held weakly, and without one nothing is done (6)`() async throws {
        try await SyncDevice.pair { a, _, _ in
            var app: NoteApp? = NoteApp()
            let engine = SyncDevice.engine(try #require(app), a.database)
            engine.state.add(pendingRecordZoneChanges: [.saveRecord(a.app.recordID("one"))])
            weak let left = app
            app = nil
            while left != nil { await Task.yield() }
            for ask in [{ try await engine.sendChanges() }, { try await engine.fetchChanges() }] {
                let error = await #expect(throws: CKError.self) { try await ask() }
                #expect(error?.code == .operationCancelled)
            }
            #expect(!a.transport.paths.contains("records/modify") && engine.state.pendingRecordZoneChanges.count == 1)
        }
    }

    @Test func `the public database, and a state of another database, are refused at each call (7)`() async throws {
        try await SyncDevice.pair { a, _, _ in
            a.write("one", "bread")
            await a.send()
            let shared = SyncDevice.engine(a.app, a.container.sharedCloudDatabase)
            let open = CKSyncEngine(
                CKSyncEngine.Configuration(database: a.container.publicCloudDatabase, stateSerialization: nil, delegate: a.app))
            let asked = a.transport.paths.count
            for (engine, code) in [(shared, CKError.Code.invalidArguments), (open, .badDatabase)] {
                for ask in [{ try await engine.sendChanges() }, { try await engine.fetchChanges() }] {
                    let error = await #expect(throws: CKError.self) { try await ask() }
                    #expect(error?.code == code && error?.userInfo["CKErrorRemedy"] != nil)
                }
                #expect(engine.state.pendingRecordZoneChanges.isEmpty)
            }
            #expect(a.transport.paths.count == asked)
        }
    }

    @Test func `several changes of the lists are one state, told before what was added is sent (8)`() async throws {
        try await SyncDevice.pair { a, _, _ in
            await a.fetch()
            a.app.clearLog()
            // The engine is inside the delegate while the app adds changes.
            a.app.hook.withLock {
                $0 = { event, engine in
                    guard case .willFetchChanges = event else { return }
                    for name in ["one", "two", "three"] { a.write(name, "bread") }
                }
            }
            await a.fetch()
            a.app.hook.withLock { $0 = nil }
            await a.send()
            #expect(a.app.log.count { $0 == "state" } == 3 && a.app.events.suffix(2) == ["sent +one +two +three", "didSend"])
            let kept = try #require(a.app.disk.state)
            let state = try JSONDecoder().decode(CKSyncEngine.State.Serialization.self, from: kept)
            #expect(state.state.records.isEmpty && state.state.user != nil)
        }
    }

    @Test func `what is added again while it is being sent is sent once more (12)`() async throws {
        try await SyncDevice.pair { a, b, _ in
            a.write("one", "bread")
            a.app.batch.withLock {
                $0 = { [app = a.app] context, engine in
                    let batch = await app.ownBatch(context, engine)
                    // The user writes on between the read of the record and the answer of the server.
                    if app.words["one"] == ["bread"] { app.write("one", "wine", engine) }
                    return batch
                }
            }
            #expect(await a.send() == nil)
            #expect(a.app.events.count { $0 == "sent +one" } == 2)
            #expect(a.engine.state.pendingRecordZoneChanges.isEmpty)
            let served = try await b.served()
            #expect(served == ["one": ["bread", "wine"]])
        }
    }

    @Test func `untracked changes are asked for, and the app says when there are none (13)`() async throws {
        try await SyncDevice.pair { a, _, _ in
            a.engine.state.hasPendingUntrackedChanges = true
            a.engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: a.app.zoneID))])
            let asked = Locked(0)
            a.app.batch.withLock {
                $0 = { _, engine in
                    let count = asked.withLock { count in
                        count += 1
                        return count
                    }
                    guard count < 3 else { return nil }
                    return CKSyncEngine.RecordZoneChangeBatch(recordsToSave: [CKRecord(recordType: "Note", recordID: a.app.recordID("n\(count)"))])
                }
            }
            #expect(await a.send() == nil)
            #expect(a.app.events == ["signIn", "willSend", "sentZones +Notes", "sent +n1", "sent +n2", "didSend"] && asked.withLock { $0 } == 3)
            #expect(a.engine.state.hasPendingUntrackedChanges)
            a.engine.state.hasPendingUntrackedChanges = false
            #expect(await a.send() == nil)
            let kept = try JSONDecoder().decode(CKSyncEngine.State.Serialization.self, from: try #require(a.app.disk.state))
            #expect(!kept.state.hasPendingUntrackedChanges)
        }
    }

    @Test func `zones that are added between two batches go before the second (15, 16, 17)`() async throws {
        try await SyncDevice.pair { a, _, _ in
            let other = CKRecordZone.ID(zoneName: "Other")
            a.write("one", "bread")
            a.app.hook.withLock {
                $0 = { event, engine in
                    guard case .sentRecordZoneChanges(let sent) = event, sent.savedRecords.first?.recordID.recordName == "one" else { return }
                    engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: other))])
                    a.app.write("two", "wine", engine, in: other)
                }
            }
            #expect(await a.send() == nil)
            #expect(a.app.events == ["signIn", "willSend", "sentZones +Notes", "sent +one", "sentZones +Other", "sent +two", "didSend"])
        }
    }

    @Test func `a scope sends its records and their zones alone, and an empty batch is none (15, 16)`() async throws {
        try await SyncDevice.pair { a, _, _ in
            let other = CKRecordZone.ID(zoneName: "Other")
            await a.fetch()
            a.engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: other))])
            a.write("one", "bread")
            a.write("two", "bread")
            a.app.write("three", "bread", a.engine, in: other)
            a.app.clearLog()
            #expect(await a.send(.recordIDs([a.app.recordID("two")])) == nil)
            #expect(a.app.events == ["willSend", "sentZones +Notes", "sent +two", "didSend"])
            #expect(await a.send(.allExcluding([other])) == nil)
            #expect(a.app.events.suffix(3) == ["willSend", "sent +one", "didSend"])
            a.app.batch.withLock { $0 = { _, _ in CKSyncEngine.RecordZoneChangeBatch() } }
            #expect(await a.send(.zoneIDs([other])) == nil)
            #expect(a.app.events.suffix(3) == ["willSend", "sentZones +Other", "didSend"])
            #expect(a.engine.state.pendingRecordZoneChanges.map(\.itemID.zoneID) == [other])
        }
    }

    @Test func `a batch outside the scope is not sent (22)`() async throws {
        try await SyncDevice.pair { a, _, _ in
            a.write("one", "bread")
            a.app.batch.withLock {
                $0 = { _, engine in CKSyncEngine.RecordZoneChangeBatch(recordsToSave: [CKRecord(recordType: "Note", recordID: a.app.recordID("one"))])
                }
            }
            #expect(await a.send(.zoneIDs([CKRecordZone.ID(zoneName: "Other")])) == .invalidArguments)
            #expect(a.app.events == ["signIn", "willSend", "didSend"] && a.transport.count("records/modify") == 0)
            #expect(a.engine.state.pendingRecordZoneChanges.count == 1)
        }
    }

    @Test func `a thousand records go in as many batches as it takes, and come zone by zone, the prioritized first (23, 27, 28, 29)`() async throws {
        try await SyncDevice.pair { a, b, _ in
            let zones = ["Blue", "Green", "Red"].map { CKRecordZone.ID(zoneName: $0) }
            a.engine.state.add(pendingDatabaseChanges: zones.map { .saveZone(CKRecordZone(zoneID: $0)) })
            for index in 0..<1000 { a.app.write("note-\(index)", "bread", a.engine) }
            for zoneID in zones { a.app.write("one", "bread", a.engine, in: zoneID) }
            #expect(await a.send() == nil)
            let batches = a.app.events.filter { $0.hasPrefix("sent +") }.map { $0.split(separator: " ").count - 1 }
            #expect(batches == [250, 250, 250, 250, 3])

            await b.fetch(.zoneIDs([]))
            #expect(Set(b.engine.state.zoneIDsWithUnfetchedServerChanges) == Set(zones + [b.app.zoneID]))
            #expect(b.app.events.filter { $0.hasPrefix("willFetch ") }.isEmpty)
            b.app.clearLog()
            let missing = CKRecordZone.ID(zoneName: "Missing")
            b.app.options.withLock {
                $0 = { context, _ in
                    var options = context.options
                    options.prioritizedZoneIDs = [missing, zones[2], zones[0]]
                    return options
                }
            }
            #expect(await b.fetch(.allExcluding([zones[1]])) == nil)
            let order = b.app.events.filter { $0.hasPrefix("willFetch ") }
            #expect(order == ["willFetch Red", "willFetch Blue", "willFetch Notes"])
            #expect(b.app.words.count == 1001 && b.engine.state.zoneIDsWithUnfetchedServerChanges == [zones[1]])
            #expect(b.app.events.count { $0.hasPrefix("fetched") } >= 6, "page by page")
            // Excluded changes come when they are requested, although the database's feed has no change.
            b.app.clearLog()
            #expect(await b.fetch() == nil)
            #expect(b.app.events == ["willFetch", "willFetch Green", "fetched +one", "didFetch Green", "didFetch"])
        }
    }

    @Test func `what others delete of what this device sent is told by its first fetch of the zone, also after a restart (33)`() async throws {
        try await SyncDevice.pair { a, b, cloud in
            a.write("old", "bread")
            #expect(await a.send() == nil)
            #expect(await b.fetch() == nil)
            b.delete("old")
            #expect(await b.send() == nil)
            // The device begins here, with a zone that has forgotten nothing yet: earlier deletions are not reported.
            let c = try SyncDevice(cloud, token: try await cloud.device(of: Device.ada))
            for name in ["one", "two", "three"] { c.write(name, "wine") }
            #expect(await c.send() == nil)
            #expect(c.engine.state.zoneIDsWithUnfetchedServerChanges.isEmpty)
            c.restart()
            #expect(await b.fetch() == nil)
            b.delete("one")
            b.write("two", "salt")
            #expect(await b.send() == nil)
            for device in [a, c] { device.app.clearLog() }
            #expect(await c.fetch() == nil)
            #expect(c.app.events.contains("fetched +three +two -one") && c.app.words == ["two": ["wine", "salt"], "three": ["wine"]])
            #expect(await a.fetch() == nil)
            #expect(a.app.events.contains("fetched +three +two -old -one") && a.app.words == c.app.words)
            // A device that has sent nothing needs no deletions.
            let d = try SyncDevice(cloud, token: try await cloud.device(of: Device.ada))
            #expect(await d.fetch() == nil)
            #expect(d.app.events.contains("fetched +three +two") && d.app.words == c.app.words)
        }
    }

    @Test func `where the server cannot say where a zone begins, nothing is sent into it, and it stays pending (19, 33)`() async throws {
        try await SyncDevice.pair { a, b, _ in
            a.write("one", "bread")
            a.transport.failNext("changes/zone", SyncTransport.refusal(.serviceUnavailable, "TRY_AGAIN_LATER", status: 503, retryAfter: 1))
            #expect(await a.send() == .serviceUnavailable)
            #expect(a.app.events.suffix(2) == ["sent !one serviceUnavailable", "didSend"])
            #expect(a.engine.state.pendingRecordZoneChanges == [.saveRecord(a.app.recordID("one"))])
            let before = try await b.served()
            #expect(before.isEmpty)
            #expect(await a.send() == nil)
            let after = try await b.served()
            #expect(after == ["one": ["bread"]])
        }
    }

    @Test func `what this device sent itself is told like any change (33)`() async throws {
        try await SyncDevice.pair { a, _, _ in
            a.write("one", "bread")
            await a.send()
            a.app.clearLog()
            await a.fetch()
            #expect(a.app.events == ["willFetch", "zones +Notes", "willFetch Notes", "fetched +one", "didFetch Notes", "didFetch"])
            #expect(a.app.words == ["one": ["bread"]])
        }
    }

    @Test func `several engines of a process are several devices, also with one container (several engines)`() async throws {
        try await SyncDevice.cloud { cloud in
            let token = try await cloud.device(of: Device.ada)
            let device = try SyncDevice(cloud, token: token)
            let apps = (0..<3).map { _ in NoteApp() }
            let engines = apps.map { SyncDevice.engine($0, device.database) }
            for (index, (app, engine)) in zip(apps, engines).enumerated() {
                app.write("note-\(index)", "bread", engine)
                try await engine.sendChanges()
            }
            for (app, engine) in zip(apps, engines) {
                try await engine.fetchChanges()
                #expect(Set(app.words.keys) == ["note-0", "note-1", "note-2"])
            }
        }
    }
}
