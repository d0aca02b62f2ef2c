import Foundation
import NacreLocks

/// The `CKRecord.encryptedValues` of a record: a view of its encrypted fields, with keys of its own.
final class EncryptedValues: NSObject, CKRecordKeyValueSetting, Sendable {
    private let record: CKRecord

    init(record: CKRecord) {
        self.record = record
        super.init()
    }

    func object(forKey key: String) -> (any __CKRecordObjCValue)? {
        let state = record.snapshot
        return state.encrypted.object(forKey: key, in: state.recordID.zoneID)
    }

    func setObject(_ object: (any __CKRecordObjCValue)?, forKey key: String) {
        record.state.withLock { state in
            state.encrypted.set(object, forKey: key, in: state.recordID.zoneID, isSaved: state.recordChangeTag != nil)
        }
    }

    subscript(key: String) -> (any __CKRecordObjCValue)? {
        get { object(forKey: key) }
        set { setObject(newValue, forKey: key) }
    }

    func allKeys() -> [String] { record.snapshot.encrypted.keys }
    func changedKeys() -> [String] { record.snapshot.encrypted.changed.sorted() }
}
