import NacreCloudWire

/// The requests of a modify operation, one for each zone because a request is a transaction in one zone, and the items
/// it refuses locally.
struct ModifyPlan {
    struct Save {
        let record: CKRecord
        var change: RecordChange
        /// The app's objects for the assets in the fields that are sent.
        let assets: [String: [CKAsset]]
        /// The encrypted values that are sent, which `change` has once they are sealed.
        var secrets: SecretChange
        /// The encrypted values of the version that the save builds on.
        let held: EncryptedFields
        /// The moment at which the record was created; nil for a new one.
        let created: Timestamp?
        /// Whether the save changes the record's parent.
        let isMoved: Bool
        /// Whether the app has said what the parent is: it has made or moved the record. Otherwise the server has.
        var isPlacedByApp: Bool { created == nil || isMoved }
        /// The name of the parent after the save; nil for none.
        let parent: String?
        /// The name of the share of records of which the record is the root; nil: it is the root of none.
        let share: String?
        /// The roots of the sealed files in the version that the save builds on.
        private let rootsBefore: [String: [[UInt8]]]
        /// Whether the server has a manifest of the record that this save has not seen, and must make anew.
        var hasUnseenManifest = false
        /// The change before its values were sealed; nil: they are not. Another try begins with it.
        var unsealed: RecordChange?

        /// Whether the save changes an encrypted value, a sealed file, or the parent of a record with a manifest.
        var needsSealing: Bool {
            if hasUnseenManifest || !secrets.isEmpty || secrets.manifest != nil && isMoved { return true }
            let after = secrets.sealedFiles
            let isGone = { (key: String) in after[key] == nil && (change.set[key] != nil || change.cleared.contains(key)) }
            return after.contains { rootsBefore[$0.key] != $0.value } || rootsBefore.keys.contains(where: isGone)
        }
        /// The data of a share; nil for another record.
        let sharing: ShareSheet?

        init(_ record: CKRecord, _ state: RecordState, policy: SavePolicy) {
            let change = state.change(policy: policy)
            let secrets = state.secretChange(policy: policy)
            self.record = record
            self.change = change
            assets = state.assets.filter { change.set[$0.key] != nil }
            self.secrets = secrets
            held = state.encrypted.ancestor
            created = state.created?.timestamp
            isMoved = state.parent != state.fetchedParent
            parent = state.parent?.recordName
            share = state.share?.recordName
            rootsBefore = held.fileRoots
            sharing = state.sharing?.copy
        }
    }

    struct Batch {
        let zoneID: CKRecordZone.ID
        var saves: [Save] = []
        var deletions: [CKRecord.ID] = []

        /// The batch in two halves; nil for a single item.
        var halves: (first: Batch, second: Batch)? {
            let half = (saves.count + deletions.count) / 2
            guard half > 0 else { return nil }
            let saved = min(half, saves.count)
            return (
                Batch(zoneID: zoneID, saves: Array(saves[..<saved]), deletions: Array(deletions[..<(half - saved)])),
                Batch(zoneID: zoneID, saves: Array(saves[saved...]), deletions: Array(deletions[(half - saved)...]))
            )
        }

        func request(isAtomic: Bool, policy: SavePolicy, clientChangeToken: [UInt8]?) -> RecordsModifyRequest {
            let operations =
                saves.map { RecordOperation(policy.operationType(hasChangeTag: $0.change.recordChangeTag != nil), $0.change) }
                + deletions.map { RecordOperation(.forceDelete, RecordChange(recordName: $0.recordName)) }
            return RecordsModifyRequest(
                operations: operations, zoneID: zoneID.wire, atomic: isAtomic && !zoneID.wire.isDefault,
                extension: RequestExtension(clientChangeToken: clientChangeToken))
        }
    }

    /// An item that fails before anything is sent.
    enum Refusal {
        case save(CKRecord, CKError)
        case deletion(CKRecord.ID, CKError)
    }

    private(set) var batches: [Batch] = []
    private(set) var refusals: [Refusal] = []

    /// Whether the operation has no items.
    var isEmpty: Bool { batches.isEmpty && refusals.isEmpty }

    /// - Parameter isPart: whether the records may be part of a larger batch. A fault of the list then fails the
    ///   records at fault alone.
    /// - Throws: the fault of the operation as a whole.
    init(
        saving records: [CKRecord], deleting recordIDs: [CKRecord.ID], policy: SavePolicy, isAtomic: Bool, isPart: Bool = false,
        in scope: CKDatabase.Scope
    ) throws(CKError) {
        let count = records.count + recordIDs.count
        guard count <= Limits.itemsPerNativeRequest else { throw .tooManyItems(count: count, maximum: Limits.itemsPerNativeRequest) }
        guard Set(records.map(\.recordID) + recordIDs).count == count else {
            throw .malformed("An operation can save or delete a record only once")
        }
        // Other threads may change the records: what is checked is what is sent.
        let states = records.map(\.snapshot)
        if !isPart, let fault = states.faultAsList { throw fault }
        let faults = Faults(states, recordIDs, asPart: isPart ? states.faultsAsPart : [:], in: scope)
        var places: [CKRecordZone.ID: Int] = [:]
        func batch(_ zoneID: CKRecordZone.ID) -> Int {
            if let place = places[zoneID] { return place }
            batches.append(Batch(zoneID: zoneID))
            places[zoneID] = batches.count - 1
            return batches.count - 1
        }
        for (record, state) in zip(records, states) {
            if let error = faults.error(for: record.recordID, isAtomic: isAtomic) {
                refusals.append(.save(record, error))
            } else {
                batches[batch(record.recordID.zoneID)].saves.append(Save(record, state, policy: policy))
            }
        }
        for recordID in recordIDs {
            if let error = faults.error(for: recordID, isAtomic: isAtomic) {
                refusals.append(.deletion(recordID, error))
            } else {
                batches[batch(recordID.zoneID)].deletions.append(recordID)
            }
        }
        let bytes = batches.reduce(0) { $0 + $1.saves.reduce(0) { $0 + $1.change.set.byteCount + $1.secrets.values.byteCount } }
        guard bytes <= Limits.nativeRequestBytes else { throw .tooManyBytes(count: bytes, maximum: Limits.nativeRequestBytes) }
    }

    /// The faults of items, found before anything is sent. With `isAtomic` a fault fails all items of its zone, also in
    /// a zone without atomic batches.
    private struct Faults {
        private var own: [CKRecord.ID: CKError] = [:]
        private var zones: Set<CKRecordZone.ID> = []

        init(_ states: [RecordState], _ recordIDs: [CKRecord.ID], asPart: [CKRecord.ID: CKError], in scope: CKDatabase.Scope) {
            own = asPart
            for state in states {
                let fault = state.fault ?? (scope == .public ? state.encrypted.faultInPublic : nil)
                if let error = fault.map(CKError.init) ?? state.recordID.error(in: scope) { own[state.recordID] = error }
            }
            for recordID in recordIDs { own[recordID] = recordID.error(in: scope) }
            zones = Set(own.keys.map(\.zoneID))
        }

        func error(for recordID: CKRecord.ID, isAtomic: Bool) -> CKError? {
            own[recordID] ?? (isAtomic && zones.contains(recordID.zoneID) ? .failedWithItsBatch : nil)
        }
    }
}
