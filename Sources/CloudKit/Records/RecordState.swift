import Foundation
import NacreCloudWire

/// Everything that a `CKRecord` holds, as a value: the current state, and the server's when it was last seen.
struct RecordState: Sendable {
    let recordType: CKRecord.RecordType
    let recordID: CKRecord.ID
    var fields = RecordFields()
    /// The fields when they were last fetched or saved, which edits are based on.
    var fetchedFields = RecordFields()
    /// The app's objects for each field with assets, in the order of the assets.
    var assets: [String: [CKAsset]] = [:]
    /// Names of fields set or cleared since the last fetch or save.
    var changed: Set<String> = []
    /// The faults that fail a save, by the key that was set.
    var faults: [String: ValueFault] = [:]
    /// Values that were set and that no field can hold, by key. They have faults too.
    var held: [String: HeldValue] = [:]
    /// A parent that was set and that cannot be one. It has a fault too.
    var heldParent: CKRecord.Reference?
    /// The values of `encryptedValues`, with keys of their own.
    var encrypted = EncryptedFields()
    var parent: Reference?
    var fetchedParent: Reference?
    var share: Reference?
    var recordChangeTag: String?
    var created: Record.Stamp?
    var modified: Record.Stamp?
    /// The data of a share; nil for any other record.
    var sharing: ShareSheet?

    init(recordType: CKRecord.RecordType, recordID: CKRecord.ID) {
        self.recordType = recordType
        self.recordID = recordID
    }

    /// Sets a field, or clears it with nil. A value that cannot be saved is read as it was set, and is a fault until
    /// the key gets another value or nil.
    mutating func set(_ object: (any __CKRecordObjCValue)?, forKey key: String) {
        guard let object else {
            put(nil, nil, forKey: key)
            let isKnown = mayHave(key) && (recordChangeTag != nil || fetchedFields[key] != nil)
            if isKnown { changed.insert(key) } else { changed.remove(key) }
            return
        }
        var reason: ValueFault.Reason?
        do throws(ValueFault.Reason) {
            let value = try FieldValue(setting: object, in: recordID.zoneID)
            let assets = value.assets == nil ? nil : Self.assets(in: object)
            put(placed(value, forKey: key), assets, forKey: key)
            if !value.hasFiniteNumbers { reason = .notFinite }
            if assets?.allSatisfy({ $0.fileURL?.isFileURL ?? true }) == false { reason = .assetURL }
        } catch {
            put(nil, nil, forKey: key)
            held[key] = HeldValue(object)
            reason = error
        }
        if !mayHave(key) { reason = .invalidKey }
        faults[key] = reason.map { ValueFault(key: key, reason: $0) }
        changed.insert(key)
    }

    private mutating func put(_ value: FieldValue?, _ objects: [CKAsset]?, forKey key: String) {
        fields[key] = value
        assets[key] = objects
        held[key] = nil
        faults[key] = nil
    }

    func object(forKey key: String) -> (any __CKRecordObjCValue)? {
        held[key]?.object ?? assetObject(forKey: key) ?? fields[key]?.object(in: recordID.zoneID)
    }

    /// The keys that have a value, in the order of their bytes.
    var readableKeys: [String] {
        let keys = fields.entries.compactMap { $0.value.isReadable ? $0.name : nil }
        return held.isEmpty ? keys : (keys + held.keys).sorted()
    }

    mutating func setParent(_ reference: CKRecord.Reference?) {
        let reason: ValueFault.Reason? =
            switch reference {
            case let reference? where reference.action != .none: .parentAction
            case let reference? where reference.recordID.zoneID != recordID.zoneID: .parentZone
            default: nil
            }
        faults[CKRecord.SystemFieldKey.parent] = reason.map { ValueFault(key: "parent", reason: $0) }
        heldParent = reason == nil ? nil : reference
        if reason == nil { parent = reference?.wire(from: recordID.zoneID) }
    }

    /// The first fault, by key, that fails every save of this record.
    var fault: ValueFault? {
        if !Names.isIdentifier(recordType), sharing == nil { return ValueFault(key: "recordType", reason: .invalidRecordType) }
        if let fault = recordID.fault { return fault }
        if let key = faults.keys.min() { return faults[key] }
        return encrypted.fault(beside: fields) ?? faultOfValues
    }

    /// A fault of the values themselves. Two values can have one key in `faults`, such as a field and the parent, and
    /// the second then hides the fault of the first.
    private var faultOfValues: ValueFault? {
        if let heldParent { return ValueFault(key: "parent", reason: heldParent.action == .none ? .parentZone : .parentAction) }
        for key in changed.union(held.keys).sorted() {
            if !mayHave(key) { return ValueFault(key: key, reason: .invalidKey) }
            if let value = held[key] { return ValueFault(key: key, reason: reason(refusing: value)) }
            if fields[key]?.hasFiniteNumbers == false { return ValueFault(key: key, reason: .notFinite) }
            if assets[key]?.allSatisfy({ $0.fileURL?.isFileURL ?? true }) == false { return ValueFault(key: key, reason: .assetURL) }
        }
        return nil
    }

    private func reason(refusing value: HeldValue) -> ValueFault.Reason {
        do throws(ValueFault.Reason) {
            _ = try FieldValue(setting: value.object, in: recordID.zoneID)
            return .unsupportedType
        } catch {
            return error
        }
    }
}

extension CKRecord.ID {
    var fault: ValueFault? {
        Names.isName(recordName) ? zoneID.fault : ValueFault(key: "recordName", reason: .invalidRecordName)
    }
}

extension CKRecordZone.ID {
    var fault: ValueFault? {
        Names.isName(zoneName) ? nil : ValueFault(key: "zoneName", reason: .invalidZoneName)
    }

    /// The error of a request about this zone in a database of this scope that is known before anything is sent.
    func error(in scope: CKDatabase.Scope) -> CKError? {
        fault.map(CKError.init) ?? (scope == .shared && ownerName == CKCurrentUserDefaultName ? .ownZoneInSharedDatabase : nil)
    }
}

extension CKRecord.ID {
    /// The error of a request about this record in a database of this scope that is known before anything is sent.
    func error(in scope: CKDatabase.Scope) -> CKError? {
        fault.map(CKError.init) ?? zoneID.error(in: scope)
    }
}

// MARK: - The server's view

extension RecordState {
    /// Makes the state of a record as the server has it.
    ///
    /// - Parameters:
    ///   - recordID: the ID that the app uses; the answer may spell its zone's owner in another way.
    ///   - assets: the objects of the record's assets with known files; nil if no files are known.
    ///   - encrypted: the record's encrypted values; nil if they were not opened.
    init(wire record: Record, recordID: CKRecord.ID, assets: [String: [CKAsset]]? = nil, encrypted: EncryptedFields? = nil) {
        self.init(recordType: record.recordType, recordID: recordID)
        self.encrypted = encrypted ?? EncryptedFields(unopened: record)
        fields = record.fields.without(self.encrypted.values)
        fetchedFields = fields
        self.assets = assets ?? Self.assets(of: record.fields)
        parent = record.parent
        fetchedParent = record.parent
        share = record.share
        recordChangeTag = record.recordChangeTag
        created = record.created
        modified = record.modified
    }

    /// Returns the changes that a save of this record sends.
    func change(policy: SavePolicy) -> RecordChange {
        let sent = policy == .allKeys ? fields.entries : fields.entries.filter { changed.contains($0.name) }
        let parentChange: RecordChange.ParentChange
        switch (parent, policy) {
        case (let parent?, .allKeys): parentChange = .set(parent)
        case (let parent?, _): parentChange = parent == fetchedParent ? .keep : .set(parent)
        case (nil, _): parentChange = fetchedParent == nil ? .keep : .clear
        }
        return RecordChange(
            recordName: recordID.recordName, recordType: recordType,
            recordChangeTag: policy == .ifServerRecordUnchanged ? recordChangeTag : nil,
            set: RecordFields(sent.filter { $0.value.isReadable }.map { RecordFields.Field($0.name, $0.value.withoutURLs) }),
            cleared: changed.filter { fields[$0] == nil && !encrypted.has($0) }.sorted(), parent: parentChange,
            carriesAllKeys: policy == .allKeys, sharing: sharing?.change(policy: policy))
    }

    /// Returns the encrypted values that a save sends, before they are sealed.
    func secretChange(policy: SavePolicy) -> SecretChange {
        let (values, cleared) = encrypted.change(policy: policy)
        return SecretChange(
            values: values, cleared: cleared, manifest: encrypted.manifest, parent: fetchedParent?.recordName ?? "",
            files: fileRoots(policy: policy))
    }

    /// Adopts the server's version after a save. Fields that were changed since the save was sent keep their values and
    /// stay changed.
    ///
    /// If another device changed one of those fields before the answer was made, this record keeps its version. Its
    /// next save is then a conflict, and not a silent overwrite.
    ///
    /// - Parameters:
    ///   - sentAssets: the objects of the fields that were sent.
    ///   - secrets: the encrypted values that were sent, before they were sealed.
    ///   - opened: the encrypted values of the server's version.
    ///   - server: the server's URL, with which the URLs of shares begin.
    mutating func adopt(
        _ saved: Record, sent: RecordChange, assets sentAssets: [String: [CKAsset]] = [:], secrets: SecretChange = SecretChange(),
        opened: EncryptedFields = EncryptedFields(), server: URL? = nil
    ) {
        let savedFields = saved.fields.without(opened.values)
        let edited = changed.filter { name in
            if let objects = sentAssets[name] { return !(assets[name]?.elementsEqual(objects) { $0 === $1 } ?? false) }
            if let value = sent.set[name] { return fields[name] != value }
            return !sent.cleared.contains(name) || fields[name] != nil
        }
        let isCrossed = edited.contains { name in
            let base = sent.cleared.contains(name) ? nil : sent.set[name] ?? fetchedFields[name]
            return base.map { !$0.isSame(as: savedFields[name]) } ?? (savedFields[name] != nil)
        }
        let editedSecrets = encrypted.edited(since: secrets)
        guard !isCrossed, !encrypted.isCrossed(editedSecrets, by: opened, since: secrets) else { return }
        var merged = savedFields
        var objects = Self.assets(of: savedFields, sent: sentAssets, over: assets)
        for name in edited {
            merged[name] = fields[name]
            objects[name] = assets[name]
        }
        assets = objects
        fields = merged
        fetchedFields = savedFields
        changed = edited
        encrypted.adopt(opened, keeping: editedSecrets)
        if parent == sent.parent(over: fetchedParent) { parent = saved.parent }
        fetchedParent = saved.parent
        share = saved.share
        recordChangeTag = saved.recordChangeTag
        created = saved.created
        modified = saved.modified
        if let details = saved.sharing?.value { sharing?.adopt(details, sent: sent.sharing?.value, server: server) }
    }

    /// The state that the edit was based on: as last fetched or saved, without fields if it never was.
    var ancestor: RecordState {
        var ancestor = self
        ancestor.fields = fetchedFields
        ancestor.assets = Self.assets(of: fetchedFields, files: assets)
        ancestor.parent = fetchedParent
        ancestor.changed = []
        ancestor.faults = [:]
        ancestor.held = [:]
        ancestor.heldParent = nil
        ancestor.encrypted = encrypted.ancestor
        return ancestor
    }
}

extension RecordChange {
    /// Returns the parent of a record after this change, if it was `old` before.
    fileprivate func parent(over old: Reference?) -> Reference? {
        switch parent {
        case .keep: old
        case .set(let reference): reference
        case .clear: nil
        }
    }
}
