import Foundation
import Testing

@testable import CloudKit

/// Tests of `docs/sync-engine.md`, State. The numbers are that page's.
@Suite struct SyncStateTests {
    private typealias Change = CKSyncEngine.PendingRecordZoneChange

    private let zoneID = CKRecordZone.ID(zoneName: "Notes")

    private func id(_ name: String) -> CKRecord.ID { CKRecord.ID(recordName: name, zoneID: zoneID) }

    /// Parses changes: "+a" is a save of a, "-a" its deletion.
    private func changes(_ words: String) -> [Change] {
        words.split(separator: " ").map { $0.first == "+" ? .saveRecord(id(String($0.dropFirst()))) : .deleteRecord(id(String($0.dropFirst()))) }
    }

    private func words(_ changes: [Change]) -> String {
        changes.map { $0 == .saveRecord($0.itemID) ? "+\($0.itemID.recordName)" : "-\($0.itemID.recordName)" }.joined(separator: " ")
    }

    @Test(arguments: [
        ("", "+a +b", "", "+a +b"),
        ("+a +b", "+a", "", "+a +b"),
        ("+a +b", "-a", "", "+b -a"),
        ("-a +b", "+a", "", "+b +a"),
        ("+a", "-a +a", "", "+a"),
        ("+a +b +c", "", "+b", "+a +c"),
        ("+a +b", "", "-a", "+a +b"),
        ("+a +b", "+a", "+a", "+b"),
        ("+a +b", "", "+a +b", ""),
        ("-a", "", "-a", ""),
    ])
    func `the pending list has each record once, in the order of adding, and of two wishes the later (11)`(
        before: String, added: String, removed: String, after: String
    ) {
        let state = CKSyncEngine.State(SyncState())
        state.add(pendingRecordZoneChanges: changes(before))
        state.add(pendingRecordZoneChanges: changes(added))
        state.remove(pendingRecordZoneChanges: changes(removed))
        #expect(words(state.pendingRecordZoneChanges) == after)
    }

    @Test func `the pending zones keep the same rules, and are known by their IDs (11)`() {
        let state = CKSyncEngine.State(SyncState())
        let other = CKRecordZone.ID(zoneName: "Other")
        state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: zoneID)), .saveZone(CKRecordZone(zoneID: other))])
        state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: zoneID))])
        #expect(state.pendingDatabaseChanges == [.saveZone(CKRecordZone(zoneID: zoneID)), .saveZone(CKRecordZone(zoneID: other))])
        state.add(pendingDatabaseChanges: [.deleteZone(zoneID)])
        #expect(state.pendingDatabaseChanges == [.saveZone(CKRecordZone(zoneID: other)), .deleteZone(zoneID)])
        state.remove(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: other)), .saveZone(CKRecordZone(zoneID: zoneID))])
        #expect(state.pendingDatabaseChanges == [.deleteZone(zoneID)])
        #expect(Set([CKSyncEngine.PendingDatabaseChange.saveZone(CKRecordZone(zoneID: zoneID)), .deleteZone(zoneID)]).count == 2)
    }

    @Test func `what is added after a batch began is not taken off by its success (12)`() {
        var list = PendingList<Change>()
        for change in changes("+a +b") { _ = list.add(change) }
        let serial = list.serial
        _ = list.add(.saveRecord(id("a")))
        let removed = changes("+a +b").map { list.remove($0, addedUpTo: serial) }
        #expect(removed == [false, true] && words(list.changes) == "+a")
    }

    @Test func `a long list that is taken off and added to keeps its order`() {
        var list = PendingList<Change>()
        for index in 0..<1000 { _ = list.add(.saveRecord(id("\(index)"))) }
        for index in 0..<990 { _ = list.remove(.saveRecord(id("\(index)"))) }
        _ = list.add(.saveRecord(id("3")))
        _ = list.add(.deleteRecord(id("995")))
        #expect(words(list.changes) == "+990 +991 +992 +993 +994 +996 +997 +998 +999 +3 -995" && list.count == 11)
    }

    // MARK: Serialization

    private var full: SyncState {
        var state = SyncState()
        state.user = "_ada"
        state.hasSubscription = true
        state.databaseToken = "d"
        for name in ["Red", "Blue", "Green"] { state.zoneTokens[CKRecordZone.ID(zoneName: name, ownerName: "_ben")] = "t-\(name)" }
        for name in ["Zebra", "Blue", "Ape"] { state.noteUnfetched(CKRecordZone.ID(zoneName: name, ownerName: "_ben")) }
        for change in changes("+b -a +c") { _ = state.records.add(change) }
        let zone = CKRecordZone(zoneName: "Sealed")
        zone.encryptionScope = .perZone
        _ = state.zones.add(.saveZone(zone))
        _ = state.zones.add(.deleteZone(zoneID))
        state.hasPendingUntrackedChanges = true
        return state
    }

    private var home: SyncHome { SyncHome(Setting().database) }

    @Test func `a state comes back as it was, through any coder, and has the same bytes each time (10)`() throws {
        let kept = CKSyncEngine.State.Serialization(state: full, home: home)
        let bytes = try JSONEncoder().encode(kept)
        let list = try PropertyListEncoder().encode(kept)
        for read in [
            try JSONDecoder().decode(CKSyncEngine.State.Serialization.self, from: bytes),
            try PropertyListDecoder().decode(CKSyncEngine.State.Serialization.self, from: list),
        ] {
            #expect(read.home == home && read.state.user == "_ada" && !read.state.hasSubscription && read.state.databaseToken == "d")
            #expect(read.state.zoneTokens == full.zoneTokens && read.state.unfetched.map(\.zoneName) == ["Zebra", "Blue", "Ape"])
            #expect(words(read.state.records.changes) == "+b -a +c" && read.state.zones.changes == full.zones.changes)
            #expect(read.state.hasPendingUntrackedChanges && read.state.revision == 0)
            guard case .saveZone(let zone) = read.state.zones.changes[0] else { return #expect(Bool(false), "the zone to save comes first") }
            #expect(zone.encryptionScope == .perZone)
            let writer = JSONEncoder()
            writer.outputFormatting = .sortedKeys
            #expect(try writer.encode(read) == writer.encode(kept))
        }
    }

    @Test func `a state that is foreign, newer or damaged does not decode, and says which (10)`() throws {
        let bytes = try JSONEncoder().encode(CKSyncEngine.State.Serialization(state: full, home: home))
        func refusal(_ data: Data) -> String {
            do {
                _ = try JSONDecoder().decode(CKSyncEngine.State.Serialization.self, from: data)
                return "decoded"
            } catch DecodingError.dataCorrupted(let context) {
                return context.debugDescription
            } catch {
                return "\(error)"
            }
        }
        #expect(refusal(Data("{\"bplist\":1}".utf8)).contains("no state of this framework's"))
        var object = try #require(try JSONSerialization.jsonObject(with: bytes) as? [String: Any])
        object["version"] = 2
        #expect(refusal(try JSONSerialization.data(withJSONObject: object)).contains("newer version"))
        object["version"] = 1
        let text = try #require(object["state"] as? String)
        let state = try #require(Data(base64Encoded: text))
        // Damage of any byte is detected.
        for index in [0, state.count / 2, state.count - 1] {
            var damaged = state
            damaged[index] ^= 1
            object["state"] = damaged.base64EncodedString()
            #expect(refusal(try JSONSerialization.data(withJSONObject: object)).contains("damaged"))
        }
        object["state"] = state.base64EncodedString()
        #expect(refusal(try JSONSerialization.data(withJSONObject: object)) == "decoded")
    }

    @Test func `a state is for one container and one scope (7)`() {
        let setting = Setting()
        let kept = CKSyncEngine.State.Serialization(state: full, home: SyncHome(setting.database))
        #expect(SyncHome(setting.database).fault(of: kept) == nil && SyncHome(setting.database).fault(of: nil) == nil)
        #expect(SyncHome(setting.container.sharedCloudDatabase).fault(of: kept)?.code == .invalidArguments)
        #expect(SyncHome(setting.container.publicCloudDatabase).fault(of: nil)?.code == .badDatabase)
        #expect(SyncHome(CKContainer(identifier: "iCloud.other").privateCloudDatabase).fault(of: kept)?.code == .invalidArguments)
    }

    // MARK: Rules

    @Test func `what stays pending, by its error (18, 19)`() {
        let passing: [CKError.Code] = [
            .notAuthenticated, .accountTemporarilyUnavailable, .networkFailure, .networkUnavailable, .requestRateLimited, .serviceUnavailable,
            .zoneBusy,
            .serverResponseLost, .operationCancelled, .managedAccountRestricted,
        ]
        let ofAll: [CKError.Code] = [.badContainer, .missingEntitlement, .incompatibleVersion, .internalError]
        for raw in 1...40 {
            guard let code = CKError.Code(rawValue: raw) else { continue }
            #expect(CKError(code).leavesPending(endedAll: false) == passing.contains(code), "\(code)")
            #expect(CKError(code).leavesPending(endedAll: true) == (passing + ofAll).contains(code), "\(code)")
        }
    }

    @Test func `scopes contain what they say`() {
        let other = CKRecordZone.ID(zoneName: "Other")
        let fetch: [(CKSyncEngine.FetchChangesOptions.Scope, Bool, Bool)] = [
            (.all, true, true), (.zoneIDs([zoneID]), true, false), (.allExcluding([zoneID]), false, true), (.zoneIDs([]), false, false),
        ]
        for (scope, here, there) in fetch { #expect(scope.contains(zoneID) == here && scope.contains(other) == there, "\(scope)") }
        let far = CKRecord.ID(recordName: "a", zoneID: other)
        let send: [(CKSyncEngine.SendChangesOptions.Scope, Bool, Bool)] = [
            (.all, true, true), (.zoneIDs([zoneID]), true, false), (.allExcluding([zoneID]), false, true), (.recordIDs([far]), false, true),
        ]
        for (scope, here, there) in send {
            #expect(scope.contains(id("a")) == here && scope.contains(far) == there, "\(scope)")
            #expect(scope.contains(.saveRecord(id("a"))) == here && scope.contains(CKSyncEngine.PendingRecordZoneChange.deleteRecord(far)) == there)
            #expect(scope.containsZone(zoneID) == here && scope.containsZone(other) == there, "\(scope)")
        }
    }

    @Test func `the next zone is the first prioritized one that changed, and then the first that changed (29)`() {
        var state = SyncState()
        let zones = ["a", "b", "c", "d"].map { CKRecordZone.ID(zoneName: $0) }
        for zoneID in zones.prefix(3) { state.noteUnfetched(zoneID) }
        var options = CKSyncEngine.FetchChangesOptions()
        #expect(state.nextZone(options, done: []) == zones[0])
        options.prioritizedZoneIDs = [zones[3], zones[2]]
        #expect(state.nextZone(options, done: []) == zones[2])
        #expect(state.nextZone(options, done: [zones[2]]) == zones[0])
        options.scope = .allExcluding([zones[0]])
        #expect(state.nextZone(options, done: [zones[2]]) == zones[1])
        #expect(state.nextZone(options, done: [zones[2], zones[1]]) == nil)
    }
}
