import Foundation

extension CKSyncEngine.State {
    /// The state of an engine, which the app stores and passes to the next engine. It is opaque, and any coder can
    /// encode it. `.stateUpdate` delivers it.
    ///
    /// Equal states have equal bytes. Decoding fails, with an error that says why, if the state is not this
    /// framework's, is damaged or was written by a newer version. A state of another container or database decodes, but
    /// every fetch and send of its engine fails with that reason. Apple: iOS 17.
    public struct Serialization: Codable, Sendable {
        let state: SyncState
        let home: SyncHome

        init(state: SyncState, home: SyncHome) {
            self.state = state
            self.home = home
        }

        private enum Key: String, CodingKey {
            case format
            case version
            case checksum
            case state
        }

        private static let format = "nacre.sync-engine"
        private static let version = 1

        public init(from decoder: any Decoder) throws {
            let values = try decoder.container(keyedBy: Key.self)
            guard try values.decodeIfPresent(String.self, forKey: .format) == Self.format else {
                throw Self.refusal(values, "This is no state of this framework's CKSyncEngine: begin with nil, as on the first launch")
            }
            guard try values.decode(Int.self, forKey: .version) == Self.version else {
                throw Self.refusal(values, "This state of a CKSyncEngine was written by a newer version of the framework: update the app")
            }
            let bytes = try values.decode(Data.self, forKey: .state)
            guard try values.decode(String.self, forKey: .checksum) == Self.checksum(bytes),
                let archived = try? JSONDecoder().decode(ArchivedSyncState.self, from: bytes), let read = archived.read()
            else { throw Self.refusal(values, "This state of a CKSyncEngine is damaged: begin with nil, as on the first launch") }
            (state, home) = read
        }

        public func encode(to encoder: any Encoder) throws {
            let writer = JSONEncoder()
            writer.outputFormatting = .sortedKeys
            let bytes = try writer.encode(ArchivedSyncState(state, home))
            var values = encoder.container(keyedBy: Key.self)
            try values.encode(Self.format, forKey: .format)
            try values.encode(Self.version, forKey: .version)
            try values.encode(Self.checksum(bytes), forKey: .checksum)
            try values.encode(bytes, forKey: .state)
        }

        private static func refusal(_ values: KeyedDecodingContainer<Key>, _ text: String) -> DecodingError {
            .dataCorrupted(DecodingError.Context(codingPath: values.codingPath, debugDescription: text))
        }

        /// Returns the FNV-1a hash of 64 bits. It finds accidental damage, but does not prove who wrote the bytes.
        private static func checksum(_ bytes: Data) -> String {
            var sum: UInt64 = 0xcbf2_9ce4_8422_2325
            for byte in bytes { sum = (sum ^ UInt64(byte)) &* 0x100_0000_01b3 }
            return String(sum, radix: 16)
        }
    }
}

/// The container and database that a state belongs to.
struct SyncHome: Codable, Equatable, Sendable {
    /// The container's identifier; nil for a default container that is not configured.
    var container: String?
    var scope: String

    init(_ database: CKDatabase) {
        container = database.line.containerIdentifier
        scope = database.databaseScope.wire
    }

    /// Returns the reason why an engine on this database cannot begin with this state; nil if it can.
    func fault(of kept: CKSyncEngine.State.Serialization?) -> CKError? {
        if scope == CKDatabase.Scope.public.wire {
            return CKError(
                .badDatabase, text: "CKSyncEngine syncs private and shared databases, and not the public one",
                details: [.remedy: "Use container.privateCloudDatabase or container.sharedCloudDatabase"])
        }
        guard let kept, kept.home.scope != scope || (kept.home.container != container && kept.home.container != nil && container != nil) else {
            return nil
        }
        return CKError(
            .invalidArguments, text: "The state is of another database than the engine's", internalCode: 1017,
            details: [.field: "stateSerialization", .remedy: "Keep a state for each container and database"])
    }
}

/// The encoded form of a state. Zones are listed once and referred to by index. Lists without an order of their own are
/// sorted.
private struct ArchivedSyncState: Codable {
    struct Zone: Codable {
        var name: String
        var owner: String
        var token: String?
    }

    struct PendingZone: Codable {
        var zone: Int
        var isDeletion: Bool
        /// The encryption scope of a zone to save; nil for the default.
        var encryptionScope: Int?
    }

    struct PendingRecord: Codable {
        var zone: Int
        var name: String
        var isDeletion: Bool
    }

    var home: SyncHome
    var user: String?
    var databaseToken: String?
    var zones: [Zone]
    var unfetched: [Int]
    var pendingZones: [PendingZone]
    var pendingRecords: [PendingRecord]
    var hasPendingUntrackedChanges: Bool

    init(_ state: SyncState, _ home: SyncHome) {
        let pendingRecords = state.records.changes
        let pendingZones = state.zones.changes
        let zoneIDs = Set(state.zoneTokens.keys).union(state.unfetched).union(pendingZones.map(\.itemID)).union(pendingRecords.map(\.itemID.zoneID))
            .sorted { ($0.zoneName, $0.ownerName) < ($1.zoneName, $1.ownerName) }
        let places = Dictionary(uniqueKeysWithValues: zoneIDs.enumerated().map { ($1, $0) })
        self.home = home
        user = state.user
        databaseToken = state.databaseToken
        zones = zoneIDs.map { Zone(name: $0.zoneName, owner: $0.ownerName, token: state.zoneTokens[$0]) }
        unfetched = state.unfetched.compactMap { places[$0] }
        self.pendingZones = pendingZones.compactMap { change in
            guard let place = places[change.itemID] else { return nil }
            guard case .saveZone(let zone) = change else { return PendingZone(zone: place, isDeletion: true) }
            return PendingZone(
                zone: place, isDeletion: false, encryptionScope: zone.encryptionScope == .perRecord ? nil : zone.encryptionScope.rawValue)
        }
        self.pendingRecords = pendingRecords.compactMap { change in
            guard let place = places[change.itemID.zoneID] else { return nil }
            return PendingRecord(zone: place, name: change.itemID.recordName, isDeletion: change == .deleteRecord(change.itemID))
        }
        hasPendingUntrackedChanges = state.hasPendingUntrackedChanges
    }

    /// Returns the decoded state; nil if an index is out of bounds.
    func read() -> (SyncState, SyncHome)? {
        let zoneIDs = zones.map { CKRecordZone.ID(zoneName: $0.name, ownerName: $0.owner) }
        guard (unfetched + pendingZones.map(\.zone) + pendingRecords.map(\.zone)).allSatisfy(zoneIDs.indices.contains) else { return nil }
        var state = SyncState()
        state.user = user
        state.databaseToken = databaseToken
        for (zoneID, zone) in zip(zoneIDs, zones) { state.zoneTokens[zoneID] = zone.token }
        for index in unfetched { state.noteUnfetched(zoneIDs[index]) }
        for pending in pendingZones {
            let zone = CKRecordZone(zoneID: zoneIDs[pending.zone])
            if let scope = pending.encryptionScope.flatMap(CKRecordZone.EncryptionScope.init) { zone.encryptionScope = scope }
            _ = state.zones.add(pending.isDeletion ? .deleteZone(zone.zoneID) : .saveZone(zone))
        }
        for pending in pendingRecords {
            let recordID = CKRecord.ID(recordName: pending.name, zoneID: zoneIDs[pending.zone])
            _ = state.records.add(pending.isDeletion ? .deleteRecord(recordID) : .saveRecord(recordID))
        }
        state.hasPendingUntrackedChanges = hasPendingUntrackedChanges
        return (state, home)
    }
}
