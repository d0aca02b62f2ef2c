import Foundation
import NacreCloudTestSupport
import NacreLocks
import Testing

@testable import CloudKit

/// Tests of eight situations of syncing apps, each with two devices that act, fail and die in an order that a seed
/// draws: `NACRE_SEED=… swift test --filter SyncScenarioTests` draws the same again.
struct SyncScenarioTests {
    private static let ben = "ben@example.com"

    private func random(_ seed: UInt64) -> SeededRandom { SeededRandom(seed: seed) }

    /// Checks that both devices have the server's notes, and that these are the oracle's.
    private func agree(_ devices: [SyncDevice], with expected: [String: Set<String>]?, _ seed: UInt64) async throws {
        let served = try await devices[0].served()
        if let expected { #expect(served == expected, "NACRE_SEED=\(seed)") }
        for device in devices {
            let there = Dictionary(device.app.notes.filter { $0.key.zoneID == device.app.zoneID }.map { ($0.key.recordName, $0.value.words) }) { $1 }
            #expect(there == served, "NACRE_SEED=\(seed)")
        }
    }

    @Test(arguments: SyncHistory.seeds)
    func `two devices edit and delete the same notes: every word that was kept is there, and what was deleted is not`(seed: UInt64) async throws {
        try await SyncDevice.pair { a, b, _ in
            var oracle = NoteOracle()
            var history = SyncHistory([a, b], random(seed))
            try await history.run { device, random in await oracle.act(device, device === a ? 0 : 1, &random) }
            try await agree([a, b], with: oracle.expected, seed)
        }
    }

    @Test(arguments: SyncHistory.seeds)
    func `a child that is sent before its parent arrives before it, and finds it when it comes`(seed: UInt64) async throws {
        try await SyncDevice.pair { a, b, _ in
            var oracle = NoteOracle()
            var history = SyncHistory([a, b], random(seed))
            var children: [String: CKRecord.ID] = [:]
            try await history.run { device, random in
                // The child is first in the list, and is often sent alone.
                let name = "parent-\(children.count)"
                let (parent, child) = (device.app.recordID(name), device.app.recordID("child-of-\(name)"))
                device.app.change(child, device.engine) { $0.parent = parent }
                await oracle.write(child.recordName, device, 0)
                await oracle.write(name, device, 0)
                if oracle.words[child.recordName] != nil { children[child.recordName] = parent }
                if random.chance(2) { await device.send(.recordIDs([child])) }
            }
            let served = try await a.served()
            for device in [a, b] {
                let notes = device.app.notes
                #expect(Dictionary(notes.map { ($0.key.recordName, $0.value.words) }) { $1 } == served, "NACRE_SEED=\(seed)")
                for (recordID, note) in notes { #expect(note.parent == children[recordID.recordName] || children[recordID.recordName] == nil) }
            }
            // The app drops a child whose parent was refused; nothing more is missing.
            for (name, words) in oracle.expected where children[name] == nil { #expect(served[name] == words, "NACRE_SEED=\(seed)") }
        }
    }

    @Test(arguments: SyncHistory.seeds)
    func `an older version of the app leaves what only the newer one knows`(seed: UInt64) async throws {
        try await SyncDevice.cloud { cloud in
            let old = try SyncDevice(cloud, token: try await cloud.device(of: Device.ada))
            let new = try SyncDevice(cloud, token: try await cloud.device(of: Device.ada), app: NoteApp(knowsColours: true))
            var oracle = NoteOracle()
            var colours: [String: String] = [:]
            var history = SyncHistory([old, new], random(seed))
            try await history.run { device, random in
                if device === new, random.chance(2), let name = new.app.words.keys.sorted().randomElement(using: &random) {
                    let colour = "colour-\(Int.random(in: 0..<1000, using: &random))"
                    new.app.change(new.app.recordID(name), new.engine) { $0.colour = colour }
                    await new.told()
                    if new.app.disk.notes[new.app.recordID(name)]?.colour == colour { colours[name] = colour }
                } else {
                    await oracle.act(device, device === old ? 0 : 1, &random, deletes: false)
                }
            }
            try await agree([old, new], with: oracle.expected, seed)
            for (name, colour) in colours {
                let record = try await old.database.record(for: old.app.recordID(name))
                #expect(record["colour"] as? String == colour, "NACRE_SEED=\(seed)")
            }
        }
    }

    @Test(arguments: SyncHistory.seeds)
    func `the first launch of an app that was there before sends everything it has, once`(seed: UInt64) async throws {
        try await SyncDevice.cloud { cloud in
            let names = (0..<600).map { "note-\($0)" }
            let zoneID = CKRecordZone.ID(zoneName: "Notes")
            let notes = names.map { (CKRecord.ID(recordName: $0, zoneID: zoneID), NoteApp.Note(words: ["of-\($0)"])) }
            let disk = NoteApp.Disk(notes: Dictionary(uniqueKeysWithValues: notes))
            let a = try SyncDevice(cloud, token: try await cloud.device(of: Device.ada), app: NoteApp(disk: disk))
            let b = try SyncDevice(cloud, token: try await cloud.device(of: Device.ada))
            var oracle = NoteOracle()
            var history = SyncHistory([a, b], random(seed))
            try await history.run { device, random in await oracle.act(device, device === a ? 0 : 1, &random, deletes: false) }
            let before = Dictionary(uniqueKeysWithValues: names.map { ($0, Set(["of-\($0)"])) })
            try await agree([a, b], with: before.merging(oracle.expected) { $0.union($1) }, seed)
        }
    }

    @Test(arguments: SyncHistory.seeds)
    func `who signs out takes nothing along, and who signs in finds their own`(seed: UInt64) async throws {
        try await RunningServer.with { server in
            let cloud = try await NewCloud(server, container: "iCloud.dev.nacre.sync-\(seed)")
            for email in [Device.ada, Self.ben] { try await cloud.addUser(email) }
            let tokens = [try await cloud.device(of: Device.ada), try await cloud.device(of: Self.ben)]
            func configure(_ token: String?) throws {
                CloudKitServer.configure(
                    CloudKitServer(
                        url: try WebServicesClient.url(cloud.server.url), environment: .development, apiToken: cloud.apiToken, accountToken: token),
                    forContainer: cloud.container)
            }
            defer { CloudKitServer.configure(nil, forContainer: cloud.container) }
            try configure(tokens[0])
            // One device that is handed over, and one that stays Ada's.
            let shared = try SyncDevice(cloud, token: nil)
            let adas = try SyncDevice(cloud, token: try await cloud.device(of: Device.ada))
            // Changes before the first sign-in belong to the first user.
            while await shared.fetch() != nil {}
            var holder = 0
            var count = 0
            var history = SyncHistory([shared, adas], random(seed))
            try await history.run { device, random in
                if device === shared, random.chance(4) {
                    try configure(nil)
                    // Without a network the app does not notice it, and goes on under the next user.
                    if random.chance(2) { await shared.fetch() }
                    holder = 1 - holder
                    try configure(tokens[holder])
                    while await shared.fetch() != nil {}
                }
                count += 1
                let user = device === adas ? 0 : holder
                device.write("note-\(user)-\(Int.random(in: 0..<4, using: &random))", "user-\(user)-\(count)")
                await device.told()
            }
            for (user, token) in tokens.enumerated() {
                let reader = try SyncDevice(cloud, token: token)
                let zones = try await reader.database.allRecordZones().map(\.zoneID.zoneName)
                let served = zones.contains("Notes") ? try await reader.served() : [:]
                for (name, words) in served {
                    #expect(name.hasPrefix("note-\(user)-") && words.allSatisfy { $0.hasPrefix("user-\(user)-") }, "NACRE_SEED=\(seed)")
                }
                for device in [adas, shared] where (device === adas ? 0 : holder) == user {
                    #expect(device.app.words == served, "NACRE_SEED=\(seed)")
                }
            }
        }
    }

    // MARK: Shares

    private struct Shared {
        let ada: SyncDevice
        let ben: SyncDevice
        /// Each zone as Ada and as Ben name it.
        let zones: [(CKRecordZone.ID, CKRecordZone.ID)]
    }

    /// Runs zones of Ada's that Ben participates in, with an engine for each.
    private func shared(_ names: [String], _ permission: CKShare.ParticipantPermission, _ body: (Shared) async throws -> Void) async throws {
        try await SyncDevice.cloud { cloud in
            try await cloud.addUser(Self.ben)
            let ada = try SyncDevice(cloud, token: try await cloud.device(of: Device.ada), app: NoteApp(zoneID: CKRecordZone.ID(zoneName: names[0])))
            let token = try await cloud.device(of: Self.ben)
            let home = try SyncDevice(cloud, token: token).container
            let owner = try await ada.container.userRecordID().recordName
            var zones: [(CKRecordZone.ID, CKRecordZone.ID)] = []
            for name in names {
                let zoneID = CKRecordZone.ID(zoneName: name)
                try await ada.database.save(CKRecordZone(zoneID: zoneID))
                let share = CKShare(recordZoneID: zoneID)
                let participant = try await ada.container.shareParticipant(forUserRecordID: try await home.userRecordID())
                participant.permission = permission
                share.addParticipant(participant)
                let saved = try #require(try await ada.database.save(share) as? CKShare)
                try await home.accept(try await home.shareMetadata(for: try #require(saved.url)))
                zones.append((zoneID, CKRecordZone.ID(zoneName: name, ownerName: owner)))
            }
            let ben = try SyncDevice(cloud, token: token, scope: .shared, app: NoteApp(zoneID: zones[0].1))
            try await body(Shared(ada: ada, ben: ben, zones: zones))
        }
    }

    private static let last = "the-last"

    /// Waits until Ben has the last note of each zone. Participants get a change a moment later, and then they have
    /// all earlier ones.
    /// - Returns: The server's notes in Ada's zones, without the shares and the last notes.
    private func met(_ scene: Shared) async throws -> [[String: Set<String>]] {
        for (zoneID, _) in scene.zones { scene.ada.app.write(Self.last, "bread", scene.ada.engine, in: zoneID) }
        try #require(await scene.ada.send() == nil)
        for (_, zoneID) in scene.zones {
            while scene.ben.app.notes[CKRecord.ID(recordName: Self.last, zoneID: zoneID)] == nil { try #require(await scene.ben.fetch() == nil) }
        }
        var all: [[String: Set<String>]] = []
        for (zoneID, _) in scene.zones {
            all.append(try await scene.ada.served(zoneID).filter { $0.key != CKRecordNameZoneWideShare && $0.key != Self.last })
        }
        return all
    }

    private func words(_ device: SyncDevice, in zoneID: CKRecordZone.ID) -> [String: Set<String>] {
        Dictionary(device.app.notes.filter { $0.key.zoneID == zoneID && $0.key.recordName != Self.last }.map { ($0.key.recordName, $0.value.words) })
        {
            $1
        }
    }

    @Test(arguments: SyncHistory.seeds)
    func `who may only read is refused each write, and has what the owner has in the end`(seed: UInt64) async throws {
        try await shared(["Trips"], .readOnly) { scene in
            var oracle = NoteOracle()
            var refused: Set<String> = []
            var history = SyncHistory([scene.ada, scene.ben], random(seed))
            try await history.run { device, random in
                if device === scene.ada { return await oracle.act(device, 0, &random) }
                let name = scene.ben.app.words.keys.sorted().randomElement(using: &random) ?? "mine"
                refused.insert("ben-\(refused.count)")
                scene.ben.write(name, "ben-\(refused.count - 1)")
                await scene.ben.told()
            }
            let served = try await met(scene)[0]
            #expect(served == oracle.expected, "NACRE_SEED=\(seed)")
            #expect(served.values.allSatisfy { $0.isDisjoint(with: refused) })
            #expect(words(scene.ada, in: scene.zones[0].0) == served, "NACRE_SEED=\(seed)")
            #expect(words(scene.ben, in: scene.zones[0].1) == served, "NACRE_SEED=\(seed)")
        }
    }

    @Test(arguments: SyncHistory.seeds)
    func `a child that is added while another device deletes its parent goes with it, on both`(seed: UInt64) async throws {
        try await SyncDevice.pair { a, b, _ in
            var deleted: Set<String> = []
            var parents: [String: String] = [:]
            var history = SyncHistory([a, b], random(seed))
            try await history.run { device, random in
                let app = device.app
                let there = app.notes.keys.map(\.recordName).filter { $0.hasPrefix("parent") && app.disk.notes[app.recordID($0)]?.system != nil }
                    .sorted()
                if device === a, random.chance(3), let name = there.randomElement(using: &random) {
                    a.delete(name)
                    await a.told()
                    if a.app.disk.notes[a.app.recordID(name)] == nil { deleted.insert(name) }
                } else if device === b, let name = there.randomElement(using: &random) {
                    let child = "child-\(parents.count)"
                    parents[child] = name
                    b.app.change(b.app.recordID(child), b.engine) { ($0.parent, $0.words) = (b.app.recordID(name), [child]) }
                } else if device === a {
                    a.write("parent-\(Int.random(in: 0..<1_000_000, using: &random))", "bread")
                }
                await device.told()
            }
            let served = try await a.served()
            for device in [a, b] { #expect(device.app.words == served, "NACRE_SEED=\(seed)") }
            #expect(deleted.isDisjoint(with: served.keys), "NACRE_SEED=\(seed)")
            for child in served.keys { if let parent = parents[child] { #expect(served[parent] != nil, "NACRE_SEED=\(seed)") } }
        }
    }

    @Test(arguments: SyncHistory.seeds)
    func `a shared note that moves to another shared zone is in one of them, for both users`(seed: UInt64) async throws {
        try await shared(["Trips", "Archive"], .readWrite) { scene in
            let names = (0..<5).map { "note-\($0)" }
            var zones = Dictionary(uniqueKeysWithValues: names.map { ($0, 0) })
            for name in names { scene.ada.write(name, "of-\(name)") }
            try #require(await scene.ada.send() == nil)
            var count = 0
            var history = SyncHistory([scene.ada, scene.ben], random(seed))
            try await history.run { device, random in
                let ada = scene.ada
                guard let name = names.randomElement(using: &random), let here = zones[name] else { return }
                count += 1
                if device === scene.ben {
                    let zoneID = scene.zones[here].1
                    guard scene.ben.app.notes[CKRecord.ID(recordName: name, zoneID: zoneID)] != nil else { return }
                    scene.ben.app.write(name, "ben-\(count)", scene.ben.engine, in: zoneID)
                    return await scene.ben.told()
                }
                let (from, to) = (scene.zones[here].0, scene.zones[1 - here].0)
                guard let note = ada.app.notes[CKRecord.ID(recordName: name, zoneID: from)] else { return }
                // One action of the app: the state covers both changes.
                ada.app.change(CKRecord.ID(recordName: name, zoneID: to), ada.engine) { $0.words.formUnion(note.words) }
                ada.app.delete(name, ada.engine, in: from)
                await ada.told()
                if ada.app.disk.notes[CKRecord.ID(recordName: name, zoneID: from)] == nil { zones[name] = 1 - here }
            }
            let served = try await met(scene)
            for (name, zone) in zones {
                #expect(served[zone][name]?.contains("of-\(name)") == true, "NACRE_SEED=\(seed)")
                #expect(served[1 - zone][name] == nil, "NACRE_SEED=\(seed)")
            }
            for index in 0..<2 {
                #expect(words(scene.ada, in: scene.zones[index].0) == served[index], "NACRE_SEED=\(seed)")
                #expect(words(scene.ben, in: scene.zones[index].1) == served[index], "NACRE_SEED=\(seed)")
            }
        }
    }
}
