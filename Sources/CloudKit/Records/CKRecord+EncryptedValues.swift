import Foundation
import NacreLocks

/// The `CKRecord.encryptedValues` of a version that cannot encrypt. Stores no values, only the keys that were set, so
/// that the save fails.
final class EncryptedValues: NSObject, CKRecordKeyValueSetting, Sendable {
    private let record: CKRecord

    init(record: CKRecord) {
        self.record = record
        super.init()
    }

    func object(forKey key: String) -> (any __CKRecordObjCValue)? { nil }

    func setObject(_ object: (any __CKRecordObjCValue)?, forKey key: String) {
        let isSet = object != nil
        let isRefused = object is CKAsset || object is CKRecord.Reference
        record.state.withLock { state in
            if isRefused {
                state.faults[key] = ValueFault(key: key, reason: .encryptedAsset)
            } else if state.faults[key]?.reason == .encryptedAsset {
                state.faults[key] = nil
            }
            if isSet { state.encrypted.insert(key) } else { state.encrypted.remove(key) }
        }
    }

    subscript(key: String) -> (any __CKRecordObjCValue)? {
        get { object(forKey: key) }
        set { setObject(newValue, forKey: key) }
    }

    func allKeys() -> [String] { [] }
    func changedKeys() -> [String] { record.snapshot.encrypted.sorted() }
}
