import NacreCloudWire

extension CKSyncEngine {
    /// Records to save and to delete, sent together with one request for each zone. Apple: iOS 17.
    public struct RecordZoneChangeBatch: Sendable, CustomStringConvertible {
        /// Records to save.
        public var recordsToSave: [CKRecord]
        /// Records to delete.
        public var recordIDsToDelete: [CKRecord.ID]
        /// Whether the changes in each zone are saved all or none. If one item fails, the others of its zone fail with
        /// `batchRequestFailed`.
        public var atomicByZone: Bool = false

        /// The most saves and deletions in a batch made from pending changes. CloudKit: `CKSyncEngine`, "250".
        static let itemsMax = 250

        /// Makes a batch of the first pending changes, until it is full by number or by size. The rest is for the next
        /// batch.
        ///
        /// `recordProvider` returns the record as it is to be saved, or nil to skip the change.
        ///
        /// - Returns: nil when nothing is left to send.
        public init?(
            pendingChanges: [CKSyncEngine.PendingRecordZoneChange], recordProvider: @Sendable (CKRecord.ID) async -> CKRecord?
        ) async {
            self.init()
            var bytes = 0
            for change in pendingChanges where count < Self.itemsMax {
                switch change {
                case .deleteRecord(let recordID): recordIDsToDelete.append(recordID)
                case .saveRecord(let recordID):
                    guard let record = await recordProvider(recordID) else { continue }
                    bytes += record.snapshot.change(policy: .ifServerRecordUnchanged).set.byteCount
                    // A record that alone exceeds the size is sent alone, and fails alone.
                    guard bytes <= Limits.nativeRequestBytes || count == 0 else { return }
                    recordsToSave.append(record)
                }
            }
            if count == 0 { return nil }
        }

        /// Makes a batch of any size. A batch too large for one request is split, except within a zone that is atomic.
        public init(recordsToSave: [CKRecord] = [], recordIDsToDelete: [CKRecord.ID] = [], atomicByZone: Bool = false) {
            self.recordsToSave = recordsToSave
            self.recordIDsToDelete = recordIDsToDelete
            self.atomicByZone = atomicByZone
        }

        var count: Int { recordsToSave.count + recordIDsToDelete.count }
        var recordIDs: [CKRecord.ID] { recordsToSave.map(\.recordID) + recordIDsToDelete }

        /// Returns the batch without the changes of these records, and with `atomicByZone` without the other changes of
        /// their zones: what is to be whole is not torn apart.
        func without(_ later: Set<CKRecord.ID>) -> RecordZoneChangeBatch {
            let zones = atomicByZone ? Set(recordIDs.filter(later.contains).map(\.zoneID)) : []
            func isLeft(_ recordID: CKRecord.ID) -> Bool { !later.contains(recordID) && !zones.contains(recordID.zoneID) }
            return RecordZoneChangeBatch(
                recordsToSave: recordsToSave.filter { isLeft($0.recordID) }, recordIDsToDelete: recordIDsToDelete.filter(isLeft),
                atomicByZone: atomicByZone)
        }

        /// The batch in smaller parts; nil if it cannot be split. An atomic batch is split only between zones.
        var parts: [RecordZoneChangeBatch]? {
            guard count > 1 else { return nil }
            guard atomicByZone else {
                let half = count / 2
                let saved = min(half, recordsToSave.count)
                return [
                    RecordZoneChangeBatch(
                        recordsToSave: Array(recordsToSave[..<saved]), recordIDsToDelete: Array(recordIDsToDelete[..<(half - saved)])),
                    RecordZoneChangeBatch(
                        recordsToSave: Array(recordsToSave[saved...]), recordIDsToDelete: Array(recordIDsToDelete[(half - saved)...])),
                ]
            }
            var seen: Set<CKRecordZone.ID> = []
            let zoneIDs = recordIDs.map(\.zoneID).filter { seen.insert($0).inserted }
            guard zoneIDs.count > 1 else { return nil }
            return zoneIDs.map { zoneID in
                RecordZoneChangeBatch(
                    recordsToSave: recordsToSave.filter { $0.recordID.zoneID == zoneID },
                    recordIDsToDelete: recordIDsToDelete.filter { $0.zoneID == zoneID }, atomicByZone: true)
            }
        }

        public var description: String {
            "<CKSyncEngine.RecordZoneChangeBatch: \(recordsToSave.count) to save, \(recordIDsToDelete.count) to delete, atomicByZone=\(atomicByZone)>"
        }
    }
}
