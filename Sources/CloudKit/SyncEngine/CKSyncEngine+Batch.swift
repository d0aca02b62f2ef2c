import NacreCloudWire

extension CKSyncEngine {
    /// Records to save and to delete, sent together: a request for each zone. Apple: iOS 17.
    public struct RecordZoneChangeBatch: Sendable, CustomStringConvertible {
        /// Records to save.
        public var recordsToSave: [CKRecord]
        /// Records to delete.
        public var recordIDsToDelete: [CKRecord.ID]
        /// The batch's part in each zone is done as a whole or not at all: the items that are not at fault fail with `batchRequestFailed`.
        public var atomicByZone: Bool = false

        /// Saves and deletions of a batch that is made of pending changes. CloudKit: `CKSyncEngine`, "250".
        static let itemsMax = 250

        /// Walks the pending changes until the batch is full, by number or by size; the rest is for the next one.
        ///
        /// `recordProvider` gives the record as it is to be saved; nil leaves the change out.
        ///
        /// - Returns: nil when nothing is left to be sent.
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
                    bytes += ModifyPlan.Save(record, policy: .ifServerRecordUnchanged).change.set.byteCount
                    // One that is too large by itself goes alone, and fails alone.
                    guard bytes <= Limits.nativeRequestBytes || count == 0 else { return }
                    recordsToSave.append(record)
                }
            }
            if count == 0 { return nil }
        }

        /// The batch's size is not looked at: what is too much for one request is split, unless a zone is to be done as a whole.
        public init(recordsToSave: [CKRecord] = [], recordIDsToDelete: [CKRecord.ID] = [], atomicByZone: Bool = false) {
            self.recordsToSave = recordsToSave
            self.recordIDsToDelete = recordIDsToDelete
            self.atomicByZone = atomicByZone
        }

        var count: Int { recordsToSave.count + recordIDsToDelete.count }
        var recordIDs: [CKRecord.ID] { recordsToSave.map(\.recordID) + recordIDsToDelete }

        /// The same in smaller ones; nil where there are none. What is to be done as a whole stays so: only its zones are parted.
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
