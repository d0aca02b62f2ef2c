public import Foundation
import NacreCloudWire
import NacreLocks

/// A typed and named set of fields under keys; databases store records.
///
/// Changes of a record are local until it is saved. Setters never trap. A key or value that cannot be saved is read as
/// it was set, also from copies and archives, and each save fails with `invalidArguments` and the key's name. Setting
/// the key to another value or to nil clears the fault. An object of a class that no field holds is in no archive.
///
/// Reading and writing from several threads is safe, one access at a time. Compares by identity. Apple: iOS 8.
open class CKRecord: NSObject, NSSecureCoding, NSCopying, CKRecordKeyValueSetting, @unchecked Sendable {
    // Sendable: the only stored property is `Locked`.

    /// The name of a type of records.
    public typealias RecordType = String
    /// The name of a field.
    public typealias FieldKey = String

    /// The record types that CloudKit itself uses.
    public enum SystemType {
        /// The type of users' records.
        public static let userRecord: CKRecord.RecordType = "Users"
        /// The type of shares.
        public static let share: CKRecord.RecordType = "cloudkit.share"
    }

    /// The names of system fields, for predicates and sort descriptors.
    public enum SystemFieldKey {
        /// The record's own ID.
        public static var recordID: CKRecord.FieldKey { "___recordID" }
        /// The user who saved the record first.
        public static var creatorUserRecordID: CKRecord.FieldKey { "___createdBy" }
        /// The time of the first save.
        public static var creationDate: CKRecord.FieldKey { "___createTime" }
        /// The user who saved the record last.
        public static var lastModifiedUserRecordID: CKRecord.FieldKey { "___modifiedBy" }
        /// The time of the last save.
        public static var modificationDate: CKRecord.FieldKey { "___modTime" }
        /// The parent in the record's hierarchy.
        public static let parent: CKRecord.FieldKey = "___parent"
        /// The share whose root the record is.
        public static let share: CKRecord.FieldKey = "___share"
    }

    let state: Locked<RecordState>

    init(state: RecordState) {
        self.state = Locked(state)
        super.init()
    }

    /// Makes a record that is unknown to the server until it is saved.
    ///
    /// - Parameter recordType: an ASCII letter, then letters, digits or underscores.
    /// - Parameter recordID: by default a UUID in the default zone.
    public convenience init(recordType: CKRecord.RecordType, recordID: CKRecord.ID = CKRecord.ID()) {
        self.init(state: RecordState(recordType: recordType, recordID: recordID))
    }

    /// Makes a record with a UUID as its name. Apple: deprecated.
    public convenience init(recordType: CKRecord.RecordType, zoneID: CKRecordZone.ID) {
        self.init(recordType: recordType, recordID: CKRecord.ID(zoneID: zoneID))
    }

    var snapshot: RecordState { state.withLock { $0 } }

    /// The record's type; never changes.
    open var recordType: CKRecord.RecordType { snapshot.recordType }
    /// The record's ID in its database; never changes.
    open var recordID: CKRecord.ID { snapshot.recordID }

    // MARK: System fields

    /// The record's version, different after each change on the server; nil before the first save.
    open var recordChangeTag: String? { snapshot.recordChangeTag }
    /// The ID of the user who saved the record first. It is `CKCurrentUserDefaultName` for the current user, as on
    /// Apple's platforms. nil before the first save.
    ///
    /// The value is that of the last fetch or save, also in an archive. `CKContainer.userRecordID()` has the current
    /// user's own name.
    open var creatorUserRecordID: CKRecord.ID? { snapshot.created.flatMap(\.userID) }
    /// The time of the first save; nil before it.
    open var creationDate: Date? { snapshot.created.map { Date(timeIntervalSinceReferenceDate: $0.timestamp.secondsSince2001) } }
    /// The ID of the user who saved the record last, as in `creatorUserRecordID`.
    open var lastModifiedUserRecordID: CKRecord.ID? { snapshot.modified.flatMap(\.userID) }
    /// The time of the last save, strictly later after each save; nil before the first.
    open var modificationDate: Date? { snapshot.modified.map { Date(timeIntervalSinceReferenceDate: $0.timestamp.secondsSince2001) } }

    // MARK: Fields

    /// Returns the value under a key; nil if there is none.
    open func object(forKey key: CKRecord.FieldKey) -> (any __CKRecordObjCValue)? {
        snapshot.object(forKey: key)
    }

    /// Copies a value into a field; nil clears the field.
    open func setObject(_ object: (any __CKRecordObjCValue)?, forKey key: CKRecord.FieldKey) {
        state.withLock { $0.set(object, forKey: key) }
    }

    /// The value under a key; nil clears the field.
    open subscript(key: CKRecord.FieldKey) -> (any __CKRecordObjCValue)? {
        get { object(forKey: key) }
        set { setObject(newValue, forKey: key) }
    }

    /// Returns the keys that have a value, in the order of their bytes.
    open func allKeys() -> [CKRecord.FieldKey] { snapshot.readableKeys }

    /// Returns the keys set or cleared since the record was made, fetched or saved, in the order of their bytes. It
    /// includes keys set to the same value.
    open func changedKeys() -> [CKRecord.FieldKey] { snapshot.changed.sorted() }

    /// Fields that only devices of the user and of participants can read: values are sealed before they leave the
    /// device.
    ///
    /// The values have all types but assets and references, in the user's own zones of the private database, and in
    /// zones that are shared as a whole. Their keys are not among those of the record. A field is plain or encrypted
    /// for ever: a key that is set in both ways fails the save. On a device without keys records have no encrypted
    /// values, and saving one fails with an error that names the remedy. An archive has them sealed for this device.
    /// Elsewhere it decodes without them, and one that was changed and not saved then fails the next save.
    open var encryptedValues: any CKRecordKeyValueSetting & Sendable { EncryptedValues(record: self) }

    // MARK: Hierarchy

    /// The parent in a hierarchy that can be shared as one. It must exist when this record is saved, or be saved with
    /// it.
    ///
    /// Its action must be `.none` and its zone this record's. Otherwise the save fails with `invalidArguments`.
    open var parent: CKRecord.Reference? {
        get {
            let state = snapshot
            return state.heldParent ?? state.reference(\.parent)
        }
        set { state.withLock { $0.setParent(newValue) } }
    }

    /// Sets the parent to another record of the zone; nil removes it.
    open func setParent(_ parentRecord: CKRecord?) {
        setParent(parentRecord?.recordID)
    }

    /// Sets the parent to another record of the zone; nil removes it.
    open func setParent(_ parentRecordID: CKRecord.ID?) {
        parent = parentRecordID.map { CKRecord.Reference(recordID: $0, action: .none) }
    }

    /// The share whose root this record is; set by the server.
    open var share: CKRecord.Reference? { snapshot.reference(\.share) }

    // MARK: NSCopying

    /// Returns a record with the same values, unsaved changes included.
    open func copy(with zone: NSZone? = nil) -> Any {
        CKRecord(state: snapshot)
    }

    // MARK: NSSecureCoding

    /// Always true: archives are decoded by class.
    public static var supportsSecureCoding: Bool { true }

    /// Decodes a record, also from an archive of Apple's systems; see `docs/decisions/archives-apple.md`.
    /// nil if the archive holds no record, or one of a later version of this framework.
    public required init?(coder: NSCoder) {
        guard let state = RecordState(coder: coder) else { return nil }
        self.state = Locked(state)
        super.init()
    }

    /// Encodes everything, unsaved changes included.
    open func encode(with coder: NSCoder) {
        snapshot.encode(with: coder)
    }

    /// Encodes the system fields, the type and the names, without fields and changes. The decoded record can be filled
    /// and saved.
    open func encodeSystemFields(with coder: NSCoder) {
        snapshot.systemFields.encode(with: coder)
    }

    open override var description: String {
        let state = snapshot
        let values = state.readableKeys.map { key in "\(key)=\(state.object(forKey: key).map { "\($0)" } ?? "nil")" }
        return "<CKRecord: \(state.recordType); recordID=\(state.recordID), recordChangeTag=\(state.recordChangeTag ?? "nil"), "
            + "values={\(values.joined(separator: ", "))}>"
    }
}

extension Record.Stamp {
    /// The ID of the user; nil if an archive of Apple's systems lacks it.
    fileprivate var userID: CKRecord.ID? { userRecordName.isEmpty ? nil : CKRecord.ID(recordName: userRecordName) }
}

extension RecordState {
    fileprivate func reference(_ path: KeyPath<RecordState, Reference?>) -> CKRecord.Reference? {
        self[keyPath: path].map { CKRecord.Reference(wire: $0, from: recordID.zoneID) }
    }
}

extension CKRecord {
    /// Applies the server's version after a save of this record; see `RecordState.adopt`.
    func adopt(
        _ saved: Record, sent: RecordChange, assets: [String: [CKAsset]] = [:], secrets: SecretChange = SecretChange(),
        opened: EncryptedFields = EncryptedFields(), server: URL? = nil
    ) {
        state.withLock { $0.adopt(saved, sent: sent, assets: assets, secrets: secrets, opened: opened, server: server) }
    }
}
