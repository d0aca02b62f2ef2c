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
    /// Keys of `encryptedValues` that were set.
    var encrypted: Set<String> = []
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

    /// Sets a field, or clears it with nil. A value that cannot be stored changes nothing, but is a fault until the key
    /// gets a valid value or nil.
    mutating func set(_ object: (any __CKRecordObjCValue)?, forKey key: String) {
        do throws(ValueFault.Reason) {
            guard mayHave(key) else { throw .invalidKey }
            let value = try object.map { object throws(ValueFault.Reason) in try FieldValue(setting: object, in: recordID.zoneID) }
            faults[key] = nil
            fields[key] = value.map { placed($0, forKey: key) }
            assets[key] = value?.assets == nil ? nil : Self.assets(in: object)
            let isKnown = recordChangeTag != nil || fetchedFields[key] != nil
            if value == nil && !isKnown { changed.remove(key) } else { changed.insert(key) }
        } catch {
            faults[key] = ValueFault(key: key, reason: error)
        }
    }

    func object(forKey key: String) -> (any __CKRecordObjCValue)? {
        assetObject(forKey: key) ?? fields[key]?.object(in: recordID.zoneID)
    }

    var readableKeys: [String] {
        fields.entries.compactMap { $0.value.isReadable ? $0.name : nil }
    }

    mutating func setParent(_ reference: CKRecord.Reference?) {
        let key = CKRecord.SystemFieldKey.parent
        switch reference {
        case let reference? where reference.action != .none: faults[key] = ValueFault(key: "parent", reason: .parentAction)
        case let reference? where reference.recordID.zoneID != recordID.zoneID: faults[key] = ValueFault(key: "parent", reason: .parentZone)
        default:
            faults[key] = nil
            parent = reference?.wire(from: recordID.zoneID)
        }
    }

    /// The first fault, by key, that fails every save of this record.
    var fault: ValueFault? {
        if !Names.isIdentifier(recordType), sharing == nil { return ValueFault(key: "recordType", reason: .invalidRecordType) }
        if let fault = recordID.fault { return fault }
        if let key = faults.keys.min() { return faults[key] }
        return encrypted.min().map { ValueFault(key: $0, reason: .encrypted) }
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
}

// MARK: - The server's view

extension RecordState {
    /// Makes the state of a record as the server has it.
    ///
    /// - Parameters:
    ///   - recordID: the ID that the app uses; the answer may spell its zone's owner in another way.
    ///   - assets: the objects of the record's assets with known files; nil if no files are known.
    init(wire record: Record, recordID: CKRecord.ID, assets: [String: [CKAsset]]? = nil) {
        self.init(recordType: record.recordType, recordID: recordID)
        fields = record.fields
        fetchedFields = record.fields
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
            cleared: changed.filter { fields[$0] == nil }.sorted(), parent: parentChange, carriesAllKeys: policy == .allKeys,
            sharing: sharing?.change(policy: policy))
    }

    /// Adopts the server's version after a save. Fields that were changed since the save was sent keep their values and
    /// stay changed.
    ///
    /// If another device changed one of those fields before the answer was made, this record keeps its version. Its
    /// next save is then a conflict, and not a silent overwrite.
    ///
    /// - Parameters:
    ///   - sentAssets: the objects of the fields that were sent.
    ///   - server: the server's URL, with which the URLs of shares begin.
    mutating func adopt(_ saved: Record, sent: RecordChange, assets sentAssets: [String: [CKAsset]] = [:], server: URL? = nil) {
        let edited = changed.filter { name in
            if let objects = sentAssets[name] { return !(assets[name]?.elementsEqual(objects) { $0 === $1 } ?? false) }
            if let value = sent.set[name] { return fields[name] != value }
            return !sent.cleared.contains(name) || fields[name] != nil
        }
        let isCrossed = edited.contains { name in
            let base = sent.cleared.contains(name) ? nil : sent.set[name] ?? fetchedFields[name]
            return base.map { !$0.isSame(as: saved.fields[name]) } ?? (saved.fields[name] != nil)
        }
        guard !isCrossed else { return }
        var merged = saved.fields
        var objects = Self.assets(of: saved.fields, sent: sentAssets, over: assets)
        for name in edited {
            merged[name] = fields[name]
            objects[name] = assets[name]
        }
        assets = objects
        fields = merged
        fetchedFields = saved.fields
        changed = edited
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
        ancestor.encrypted = []
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
