public import Foundation
import NacreCloudWire
import NacreLocks

/// Fields under keys, with a type and a name; what databases store.
///
/// A record is local until it is saved, and again after it was fetched: changes reach the server with the next save. Setters never
/// trap. A key or value that cannot be stored is remembered, the field keeps what it had, and saving the record fails with
/// `invalidArguments` naming the key, until the key is set to something that can be stored, or to nil.
///
/// Reading and writing from several threads is safe, one access at a time. Compares by identity. Apple: iOS 8.
open class CKRecord: NSObject, NSSecureCoding, NSCopying, CKRecordKeyValueSetting, @unchecked Sendable {
    // Sendable: the only stored property is `Locked`.

    /// The name of a type of records.
    public typealias RecordType = String
    /// The name of a field.
    public typealias FieldKey = String

    /// Record types that CloudKit itself uses.
    public enum SystemType {
        /// The type of users' records.
        public static let userRecord: CKRecord.RecordType = "Users"
        /// The type of shares.
        public static let share: CKRecord.RecordType = "cloudkit.share"
    }

    /// Names of system fields, for predicates and sort descriptors.
    public enum SystemFieldKey {
        /// The record's own ID.
        public static var recordID: CKRecord.FieldKey { "___recordID" }
        /// Who saved the record first.
        public static var creatorUserRecordID: CKRecord.FieldKey { "___createdBy" }
        /// When the record was saved first.
        public static var creationDate: CKRecord.FieldKey { "___createTime" }
        /// Who saved the record last.
        public static var lastModifiedUserRecordID: CKRecord.FieldKey { "___modifiedBy" }
        /// When the record was saved last.
        public static var modificationDate: CKRecord.FieldKey { "___modTime" }
        /// The record below which it hangs.
        public static let parent: CKRecord.FieldKey = "___parent"
        /// The share whose root it is.
        public static let share: CKRecord.FieldKey = "___share"
    }

    let state: Locked<RecordState>

    init(state: RecordState) {
        self.state = Locked(state)
        super.init()
    }

    /// A new record, unknown to the server until it is saved.
    ///
    /// - Parameter recordType: an ASCII letter, then letters, digits or underscores.
    /// - Parameter recordID: by default a UUID in the default zone.
    public convenience init(recordType: CKRecord.RecordType, recordID: CKRecord.ID = CKRecord.ID()) {
        self.init(state: RecordState(recordType: recordType, recordID: recordID))
    }

    /// A new record with a UUID for a name. Apple: deprecated.
    public convenience init(recordType: CKRecord.RecordType, zoneID: CKRecordZone.ID) {
        self.init(recordType: recordType, recordID: CKRecord.ID(zoneID: zoneID))
    }

    var snapshot: RecordState { state.withLock { $0 } }

    /// The type under which the record is found; never changes.
    open var recordType: CKRecord.RecordType { snapshot.recordType }
    /// Names the record in its database; never changes.
    open var recordID: CKRecord.ID { snapshot.recordID }

    // MARK: What the server sets

    /// Another one after each change on the server; nil before the first save.
    open var recordChangeTag: String? { snapshot.recordChangeTag }
    /// The name of a user's record; `CKCurrentUserDefaultName` where it is the current user, as on Apple's platforms. nil before the first save.
    ///
    /// It stays what it was when the record was fetched or saved, also in an archive. `CKContainer.userRecordID()` has the user's own name.
    open var creatorUserRecordID: CKRecord.ID? { snapshot.created.flatMap(\.userID) }
    /// nil before the first save.
    open var creationDate: Date? { snapshot.created.map { Date(timeIntervalSinceReferenceDate: $0.timestamp.secondsSince2001) } }
    /// As `creatorUserRecordID`, of the last save.
    open var lastModifiedUserRecordID: CKRecord.ID? { snapshot.modified.flatMap(\.userID) }
    /// Strictly later after each save; nil before the first.
    open var modificationDate: Date? { snapshot.modified.map { Date(timeIntervalSinceReferenceDate: $0.timestamp.secondsSince2001) } }

    // MARK: Fields

    /// nil where there is no value.
    open func object(forKey key: CKRecord.FieldKey) -> (any __CKRecordObjCValue)? {
        snapshot.object(forKey: key)
    }

    /// Copies the value in; nil clears the field.
    open func setObject(_ object: (any __CKRecordObjCValue)?, forKey key: CKRecord.FieldKey) {
        state.withLock { $0.set(object, forKey: key) }
    }

    /// The value under a key; nil clears the field.
    open subscript(key: CKRecord.FieldKey) -> (any __CKRecordObjCValue)? {
        get { object(forKey: key) }
        set { setObject(newValue, forKey: key) }
    }

    /// Keys that have a value, in the order of their bytes.
    open func allKeys() -> [CKRecord.FieldKey] { snapshot.readableKeys }

    /// Keys set or cleared since the record was made, fetched or saved, in the order of their bytes; also those set to what they were.
    open func changedKeys() -> [CKRecord.FieldKey] { snapshot.changed.sorted() }

    /// Fields that only holders of a key can read.
    ///
    /// On this server: not supported by this version. There are no values, and setting one fails the record's next save with
    /// `invalidArguments`; nothing is stored in the clear instead.
    open var encryptedValues: any CKRecordKeyValueSetting & Sendable { EncryptedValues(record: self) }

    // MARK: Hierarchy

    /// The record's place in a hierarchy that is shared as one; must exist when this record is saved, or be saved with it.
    ///
    /// Its action must be `.none` and its zone this record's; else the value stays as it was and the save fails with `invalidArguments`.
    open var parent: CKRecord.Reference? {
        get { snapshot.reference(\.parent) }
        set { state.withLock { $0.setParent(newValue) } }
    }

    /// Hangs the record below another one of its zone, or below none.
    open func setParent(_ parentRecord: CKRecord?) {
        setParent(parentRecord?.recordID)
    }

    /// Hangs the record below another one of its zone, or below none.
    open func setParent(_ parentRecordID: CKRecord.ID?) {
        parent = parentRecordID.map { CKRecord.Reference(recordID: $0, action: .none) }
    }

    /// The share that this record is the root of; set by the server.
    open var share: CKRecord.Reference? { snapshot.reference(\.share) }

    // MARK: NSCopying

    /// A record with the same values, changes included.
    open func copy(with zone: NSZone? = nil) -> Any {
        CKRecord(state: snapshot)
    }

    // MARK: NSSecureCoding

    /// True: an archive is decoded by its class.
    public static var supportsSecureCoding: Bool { true }

    /// nil when the archive holds no record, or one of a later version of this framework. Reads archives of Apple's systems too; see
    /// `docs/decisions/archives-of-apple-are-read.md`.
    public required init?(coder: NSCoder) {
        guard let state = RecordState(coder: coder) else { return nil }
        self.state = Locked(state)
        super.init()
    }

    /// Everything, changes that were not saved included.
    open func encode(with coder: NSCoder) {
        snapshot.encode(with: coder)
    }

    /// What the server set, the type and the names; no fields and no changes. What comes back from it can be filled and saved.
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
    /// nil where an archive of Apple's systems does not say.
    fileprivate var userID: CKRecord.ID? { userRecordName.isEmpty ? nil : CKRecord.ID(recordName: userRecordName) }
}

extension RecordState {
    fileprivate func reference(_ path: KeyPath<RecordState, Reference?>) -> CKRecord.Reference? {
        self[keyPath: path].map { CKRecord.Reference(wire: $0, from: recordID.zoneID) }
    }
}

extension CKRecord {
    /// Takes over what a save made of this record; see `RecordState.adopt`.
    func adopt(_ saved: Record, sent: RecordChange, assets: [String: [CKAsset]] = [:], server: URL? = nil) {
        state.withLock { $0.adopt(saved, sent: sent, assets: assets, server: server) }
    }
}
