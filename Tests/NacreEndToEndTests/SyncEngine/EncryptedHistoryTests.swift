import Foundation
import NacreCloudTestSupport
import NacreEncryption
import NacreEncryptionForms
import Testing

@testable import CloudKit

/// Tests of random histories of devices whose notes have encrypted values beside plain ones:
/// `NACRE_SEED=… swift test --filter EncryptedHistoryTests` draws the same again.
@Suite(.timeLimit(.minutes(5))) struct EncryptedHistoryTests {
    private static let ben = "ben@example.com"
    private static let cleo = "cleo@example.com"
    private static let shareID = CKRecord.ID(recordName: CKRecordNameZoneWideShare, zoneID: Device.zoneID)

    /// `NACRE_ENCRYPTED_HISTORIES` sets another number of histories.
    private static let count = ProcessInfo.processInfo.environment["NACRE_ENCRYPTED_HISTORIES"].flatMap { UInt64($0) } ?? 1
    private static let seeds = (0..<max(1, count)).map { HistorySeed.value &+ $0 }

    /// A change of the keys of Ada's account or of her zone, at a random moment of a history.
    private enum Change: CaseIterable {
        /// Another device approves Ada's tablet.
        case tabletJoins
        case tabletIsRemoved
        /// The recovery words enrol Ada's watch.
        case watchJoins
        case benJoins
        case cleoJoins
        case cleoIsRemoved
        /// The account gets other recovery words, and with them other keys.
        case wordsChange
        case valuesAreSealedAnew

        /// Returns the changes of a history in a random order in which nobody leaves before they came.
        static func drawn(_ random: inout SeededRandom) -> [Change] {
            var changes = (allCases + [.valuesAreSealedAnew]).shuffled(using: &random)
            for (first, second) in [(Change.tabletJoins, Change.tabletIsRemoved), (.cleoJoins, .cleoIsRemoved)] {
                guard let one = changes.firstIndex(of: first), let other = changes.firstIndex(of: second), one > other else { continue }
                changes.swapAt(one, other)
            }
            return changes
        }
    }

    /// The users and devices of a history, each device with keys in a folder of its own.
    private struct Story {
        let cloud: NewCloud
        let folder: TemporaryFolder
        /// Ada's zone in the shared databases of others.
        let seen: CKRecordZone.ID
        /// tokens[device]
        private var tokens: [String: String]
        /// devices[device]
        private(set) var devices: [String: SyncDevice] = [:]
        var oracle = NoteOracle()
        private var tabletID = ""
        /// The words that were written before the tablet was removed.
        private(set) var wordsBeforeRemoval: Set<String> = []
        private var recovery: String?

        /// Lets Ada's phone take part, with keys of her zone.
        init(_ cloud: NewCloud, in history: inout SyncHistory) async throws {
            self.cloud = cloud
            folder = try TemporaryFolder()
            for user in [ben, cleo] { try await cloud.addUser(user) }
            tokens = ["phone": try await cloud.device(of: Device.ada)]
            let ada = try Device(cloud, token: tokens["phone"])
            try await ada.database.save(CKRecordZone(zoneID: Device.zoneID))
            seen = CKRecordZone.ID(zoneName: Device.zoneID.zoneName, ownerName: try await ada.container.userRecordID().recordName)
            _ = try await process("phone").toSave()
            try start("phone", in: &history)
        }

        /// Starts another process of a device.
        func process(_ device: String) throws -> KeyProcess {
            try KeyProcess(cloud, token: try #require(tokens[device]), keysIn: "\(folder.path)/\(device)")
        }

        func container(_ device: String) throws -> CKContainer { CKContainer(line: try process(device).line) }

        /// Signs a user in on a new device.
        private mutating func signIn(_ user: String, on device: String) async throws -> KeyProcess {
            tokens[device] = try await cloud.device(of: user)
            return try process(device)
        }

        /// Lets a device take part.
        private mutating func start(_ device: String, in history: inout SyncHistory) throws {
            let isBens = device == EncryptedHistoryTests.ben
            let app = NoteApp(zoneID: isBens ? seen : Device.zoneID, seals: true)
            let started = try SyncDevice(
                cloud, token: tokens[device], scope: isBens ? .shared : .private, app: app, keyStore: try process(device).line.keyStore)
            devices[device] = started
            history.add(started)
        }

        mutating func make(_ change: Change, in history: inout SyncHistory) async throws {
            let phone = try await process("phone").keys()
            switch change {
            case .tabletJoins:
                tabletID = try await signIn(Device.ada, on: "tablet").join(by: try process("phone"))
                try start("tablet", in: &history)
            case .tabletIsRemoved:
                let tablet = try #require(devices["tablet"])
                history.remove(tablet)
                try await sendAll(tablet)
                _ = try await phone.remove(tabletID)
                wordsBeforeRemoval = oracle.words.values.reduce(into: []) { $0.formUnion($1) }
            case .watchJoins:
                let watch = try await signIn(Device.ada, on: "watch").keys()
                try await watch.enrol(words: try await words(from: phone))
                try start("watch", in: &history)
            case .benJoins:
                try await invite(ben)
                try start(ben, in: &history)
            case .cleoJoins: try await invite(cleo)
            case .cleoIsRemoved:
                let name = try await container(cleo).userRecordID()
                try await share { share in
                    share.removeParticipant(try #require(share.participants.first { $0.userIdentity.userRecordID == name }))
                }
            case .wordsChange: recovery = try await phone.replaceRecovery().words.joined(separator: " ")
            case .valuesAreSealedAnew: try await sealAnew()
            }
        }

        /// Seals all values anew that older keys open.
        func sealAnew() async throws {
            let outcome = try await process("phone").keys().sealAnew(zone: Device.zoneID.zoneName)
            #expect(outcome.allSatisfy { $0.left == 0 }, "\(outcome)")
        }

        private func words(from phone: UserKeys) async throws -> String {
            if let recovery { return recovery }
            return try await phone.recoveryWords().words.joined(separator: " ")
        }

        /// Sends what a device still has to send, without faults.
        private func sendAll(_ device: SyncDevice) async throws {
            device.restart()
            for _ in 0..<12 where await device.send() != nil || !device.engine.state.pendingRecordZoneChanges.isEmpty { await device.fetch() }
            try #require(device.engine.state.pendingRecordZoneChanges.isEmpty, "\(device.app.log)")
        }

        /// Invites a user with keys into Ada's zone. The user accepts.
        private mutating func invite(_ user: String) async throws {
            _ = try await signIn(user, on: user).toSave(CKRecordZone.default().zoneID)
            let (ada, other) = (try container("phone"), try container(user))
            let participant = try await ada.shareParticipant(forUserRecordID: try await other.userRecordID())
            participant.permission = .readWrite
            let share = try await share { $0.addParticipant(participant) }
            _ = try await other.accept(try await other.shareMetadata(for: try #require(share.url)))
        }

        /// Has Ada's phone save the share of her zone.
        @discardableResult private func share(_ change: (CKShare) throws -> Void) async throws -> CKShare {
            let (database, id) = (try container("phone").privateCloudDatabase, EncryptedHistoryTests.shareID)
            let share = try await database.records(for: [id])[id].flatMap { try? $0.get() as? CKShare } ?? CKShare(recordZoneID: id.zoneID)
            try change(share)
            return try #require(try await database.save(share) as? CKShare)
        }

        /// Lets the user of a device write or delete a note.
        mutating func act(_ device: SyncDevice, _ random: inout SeededRandom) async {
            await oracle.act(device, devices.keys.sorted().firstIndex { devices[$0] === device } ?? 0, &random)
        }

        /// Returns what a new process of a device reads: notes[record name].
        func notes(by device: String) async throws -> [String: NoteApp.Note] {
            let container = try container(device)
            let isBens = device == EncryptedHistoryTests.ben
            let database = isBens ? container.sharedCloudDatabase : container.privateCloudDatabase
            var (notes, token): ([String: NoteApp.Note], CKServerChangeToken?) = ([:], nil)
            while true {
                let page = try await database.recordZoneChanges(inZoneWith: isBens ? seen : Device.zoneID, since: token)
                for (recordID, result) in page.modificationResultsByID {
                    let record = try result.get().record
                    guard record.recordType == "Note" else { continue }
                    notes[recordID.recordName] = NoteApp.Note(
                        words: Set(record["words"] as? [String] ?? []), secrets: Set(record.encryptedValues["secrets"] as? [String] ?? []))
                }
                token = page.changeToken
                if !page.moreComing { return notes }
            }
        }
    }

    @Test(arguments: seeds)
    func `whatever becomes of keys, all devices read the same values, a removed one reads nothing new, and the server keeps no plaintext`(
        seed: UInt64
    ) async throws {
        try await SyncDevice.cloud { cloud in
            var random = SeededRandom(seed: seed)
            var history = SyncHistory([], random.branch())
            var story = try await Story(cloud, in: &history)
            var changes = Change.drawn(&random)
            let moments = Set((2..<SyncHistory.steps).shuffled(using: &random).prefix(changes.count))
            for step in 0..<SyncHistory.steps {
                if moments.contains(step) { try await story.make(changes.removeFirst(), in: &history) }
                try await history.step { device, random in await story.act(device, &random) }
            }
            let phone = try #require(story.devices["phone"])
            await story.oracle.write("last", phone, 0)
            try await story.sealAnew()
            try await history.end()
            try await judge(story, seed)
        }
    }

    private func judge(_ story: Story, _ seed: UInt64) async throws {
        let (expected, secret) = (story.oracle.expected, { (words: Set<String>) in Set(words.map(NoteApp.secret)) })
        #expect(expected["last"] != nil && expected.count > 1, "NACRE_SEED=\(seed)")
        for name in ["phone", "watch", Self.ben] {
            let held = try #require(story.devices[name]).app.notes
            for notes in [Dictionary(held.map { ($0.key.recordName, $0.value) }) { $1 }, try await story.notes(by: name)] {
                #expect(notes.mapValues(\.words) == expected, "\(name), NACRE_SEED=\(seed)")
                #expect(notes.mapValues(\.secrets) == expected.mapValues(secret), "\(name), NACRE_SEED=\(seed)")
            }
        }

        let tablet = try #require(story.devices["tablet"])
        await tablet.fetch()
        let shown = try await story.notes(by: "tablet")
        #expect(shown.mapValues(\.words) == expected, "NACRE_SEED=\(seed)")
        let read = (shown.values.map(\.secrets) + tablet.app.notes.values.map(\.secrets)).reduce(into: Set<String>()) { $0.formUnion($1) }
        #expect(read.isSubset(of: secret(story.wordsBeforeRemoval)), "NACRE_SEED=\(seed)")

        // A removed device, a participant who left and other recovery words each made another key.
        let keys = try #require(try await story.process("phone").toOpen())
        #expect(keys.newest.id.version >= 4, "NACRE_SEED=\(seed)")

        let server = story.cloud.server
        #expect(try EncryptedTracesTests.files(with: Array("sealed-7f31-".utf8), in: [server.data, server.scratch]) == [], "NACRE_SEED=\(seed)")
        // The search finds what is there.
        #expect(try !EncryptedTracesTests.files(with: Array("word-".utf8), in: [server.data]).isEmpty)
    }
}
