import Foundation
import NacreCloudWire

/// Everything that a `CKRecord` holds, as a value: what it is now, and what the server had when it was last seen.
struct RecordState: Sendable {
    let recordType: CKRecord.RecordType
    let recordID: CKRecord.ID
    var fields = RecordFields()
    /// The fields as last fetched or saved: what an edit is based on.
    var fetchedFields = RecordFields()
    /// Of each field with assets the app's objects, as many as the value has.
    var assets: [String: [CKAsset]] = [:]
    /// Names of fields set or cleared since then.
    var changed: Set<String> = []
    /// What no save will accept, under the key it was set for.
    var faults: [String: ValueFault] = [:]
    /// Keys of `encryptedValues` that were set.
    var encrypted: Set<String> = []
    var parent: Reference?
    var fetchedParent: Reference?
    var share: Reference?
    var recordChangeTag: String?
    var created: Record.Stamp?
    var modified: Record.Stamp?
    /// Of a record that is a share; nil for any other.
    var sharing: ShareSheet?

    init(recordType: CKRecord.RecordType, recordID: CKRecord.ID) {
        self.recordType = recordType
        self.recordID = recordID
    }

    /// Sets, or clears with nil. What cannot be stored changes nothing but is remembered, until the key gets a value that can be, or nil.
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

    /// The first thing, by key, for which no save will accept this record.
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
    /// - Parameters:
    ///   - recordID: as the app names it; the answer may spell its zone's owner in another way.
    ///   - assets: the objects of its assets where their files are known; nil: without files.
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

    /// What a save of this record asks for.
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

    /// After a save: becomes the server's version, apart from what was changed since the save was sent, which stays changed.
    ///
    /// Unless somebody else changed the same field before the answer was made: then this record keeps its version, so that its next save
    /// is a conflict, and not a silent overwrite.
    ///
    /// - Parameters:
    ///   - sentAssets: the objects of the fields that were sent.
    ///   - server: under which the URLs of shares are.
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

    /// What the edit was based on: this record as it was last fetched or saved; without fields if it never was.
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
    /// The parent after this change of a record that had `old`.
    fileprivate func parent(over old: Reference?) -> Reference? {
        switch parent {
        case .keep: old
        case .set(let reference): reference
        case .clear: nil
        }
    }
}
