import Foundation
import NacreLocks

/// The `CKRecord.encryptedValues` of a version that cannot encrypt. Keeps values in memory alone: a save fails, and an
/// archive has the keys without their values.
final class EncryptedValues: NSObject, CKRecordKeyValueSetting, Sendable {
    private let record: CKRecord

    init(record: CKRecord) {
        self.record = record
        super.init()
    }

    func object(forKey key: String) -> (any __CKRecordObjCValue)? {
        record.snapshot.secrets[key]?.object
    }

    func setObject(_ object: (any __CKRecordObjCValue)?, forKey key: String) {
        let value = object.map(HeldValue.init)
        let isRefused = object is CKAsset || object is CKRecord.Reference
        record.state.withLock { state in
            if isRefused {
                state.faults[key] = ValueFault(key: key, reason: .encryptedAsset)
            } else if state.faults[key]?.reason == .encryptedAsset {
                state.faults[key] = nil
            }
            state.secrets[key] = value
            if value != nil { state.encrypted.insert(key) } else { state.encrypted.remove(key) }
        }
    }

    subscript(key: String) -> (any __CKRecordObjCValue)? {
        get { object(forKey: key) }
        set { setObject(newValue, forKey: key) }
    }

    func allKeys() -> [String] { record.snapshot.secrets.keys.sorted() }
    func changedKeys() -> [String] { record.snapshot.encrypted.sorted() }
}
