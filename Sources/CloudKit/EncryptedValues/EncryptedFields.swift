import Foundation
import NacreCloudWire

#if canImport(NacreEncryption)
    import NacreEncryptionForms
#endif

/// The encrypted values of a record as this device opened them or the app set them, beside the record's plain fields.
struct EncryptedFields: Sendable {
    /// Whether this build can seal and open values. A build over URLSession cannot, and refuses to save them.
    #if canImport(NacreEncryption)
        static let areBuilt = true
    #else
        static let areBuilt = false
    #endif

    var values = RecordFields()
    /// The values when they were last fetched or saved.
    var fetched = RecordFields()
    /// Names of values set or cleared since the last fetch or save.
    var changed: Set<String> = []
    /// The faults that fail a save, by the key that was set.
    var faults: [String: ValueFault] = [:]
    /// Values that were set and that no encrypted field can hold, by key. They have faults too, and are in no archive.
    var held: [String: HeldValue] = [:]
    /// The record's manifest when it was last fetched or saved; nil if it had none.
    var manifest: [UInt8]?
    /// The fields that the manifest lists, opened or not.
    var listed: Set<String> = []
    /// Whether nothing was opened or checked: this device has no keys of the zone.
    var isUnopened = false

    /// The keys that have a value, in the order of their bytes.
    var keys: [String] {
        let keys = values.entries.map(\.name)
        return held.isEmpty ? keys : (keys + held.keys).sorted()
    }

    /// Whether a field of this name is encrypted, as far as the record knows.
    func has(_ key: String) -> Bool {
        listed.contains(key) || values[key] != nil || fetched[key] != nil || held[key] != nil
    }

    func object(forKey key: String, in zone: CKRecordZone.ID) -> (any __CKRecordObjCValue)? {
        held[key]?.object ?? values[key]?.object(in: zone)
    }

    /// Sets a value, or clears it with nil. A value that cannot be saved is read as it was set, and is a fault until
    /// the key gets another value or nil.
    ///
    /// - Parameters:
    ///   - zone: the record's zone.
    ///   - isSaved: whether the server has the record, which may have the key too.
    mutating func set(_ object: (any __CKRecordObjCValue)?, forKey key: String, in zone: CKRecordZone.ID, isSaved: Bool) {
        (values[key], held[key], faults[key]) = (nil, nil, nil)
        guard let object else {
            if Names.isIdentifier(key), isSaved || fetched[key] != nil { changed.insert(key) } else { changed.remove(key) }
            return
        }
        changed.insert(key)
        do throws(ValueFault.Reason) {
            let value = try FieldValue(setting: object, in: zone)
            if value.isNeverEncrypted { throw .encryptedAsset }
            values[key] = value.typed(as: fetched[key]?.type)
            if !value.hasFiniteNumbers { faults[key] = ValueFault(key: key, reason: .notFinite) }
        } catch {
            held[key] = HeldValue(object)
            faults[key] = ValueFault(key: key, reason: error)
        }
        if !Names.isIdentifier(key) { faults[key] = ValueFault(key: key, reason: .invalidKey) }
    }

    /// The first fault, by key, that fails every save of the record.
    ///
    /// - Parameter plain: the record's plain fields. A field is plain or encrypted for ever.
    func fault(beside plain: RecordFields) -> ValueFault? {
        if let key = faults.keys.min() { return faults[key] }
        if !Self.areBuilt, let key = changed.min() { return ValueFault(key: key, reason: .encrypted) }
        let both = plain.entries.first { $0.value.isReadable && has($0.name) }
        return both.map { ValueFault(key: $0.name, reason: .plainAndEncrypted) }
    }

    /// The fault of a save in the public database, whose records have no encrypted values.
    var faultInPublic: ValueFault? {
        (keys.first ?? changed.min()).map { ValueFault(key: $0, reason: .encryptedInPublic) }
    }

    /// Returns the values that a save sends, and the names of those that it clears.
    func change(policy: SavePolicy) -> (values: RecordFields, cleared: [String]) {
        let sent = policy == .allKeys ? values : RecordFields(values.entries.filter { changed.contains($0.name) })
        // A save over the version that was read clears nothing that this version lacks.
        let mayClear = { (key: String) in policy != .ifServerRecordUnchanged || listed.contains(key) || fetched[key] != nil }
        return (sent, changed.filter { values[$0] == nil && mayClear($0) }.sorted())
    }

    /// The values that the edit was based on.
    var ancestor: EncryptedFields {
        var ancestor = self
        (ancestor.values, ancestor.changed, ancestor.faults, ancestor.held) = (fetched, [], [:], [:])
        return ancestor
    }

    // MARK: From the server

    init() {}

    /// Takes what a record tells of encrypted values that were not opened.
    init(unopened record: Record) {
        manifest = record.manifest
        listed = Set(record.fields.sealed.map(\.name))
        isUnopened = manifest != nil
    }

    /// The roots of the files in each field of assets that the manifest lists.
    var fileRoots: [String: [[UInt8]]] {
        #if canImport(NacreEncryption)
            guard let manifest, let form = try? RecordManifest(manifest) else { return [:] }
            return Dictionary(form.parts.files.map { ($0.name, $0.roots.map(\.bytes)) }, uniquingKeysWith: { first, _ in first })
        #else
            return [:]
        #endif
    }

    /// Whether the files of a field of assets stay closed on this device. A build that reads no manifest takes none.
    func keepsClosed(_ key: String) -> Bool {
        isUnopened && (!Self.areBuilt || fileRoots[key] != nil)
    }

    // MARK: After a save

    /// The names of values that were changed since the save was sent.
    func edited(since sent: SecretChange) -> Set<String> {
        changed.filter { name in
            if let value = sent.values[name] { return values[name] != value }
            if values[name] != nil || held[name] != nil { return true }
            // A clear of a value that the version did not have was not sent, and is done.
            return !sent.cleared.contains(name) && (listed.contains(name) || fetched[name] != nil)
        }
    }

    /// Whether another device changed one of the edited values before the save was answered.
    func isCrossed(_ edited: Set<String>, by saved: EncryptedFields, since sent: SecretChange) -> Bool {
        edited.contains { name in
            let base = sent.cleared.contains(name) ? nil : sent.values[name] ?? fetched[name]
            return base != saved.values[name]
        }
    }

    /// Adopts the server's version. Edited values stay, and stay changed.
    mutating func adopt(_ saved: EncryptedFields, keeping edited: Set<String>) {
        var merged = saved
        for name in edited {
            merged.values[name] = values[name]
            merged.held[name] = held[name]
            merged.faults[name] = faults[name]
        }
        merged.changed = edited
        self = merged
    }
}

/// The encrypted part of a save before it is sealed.
struct SecretChange: Sendable {
    var values = RecordFields()
    var cleared: [String] = []
    /// The manifest of the version that the save builds on; nil: that has none, or it is not known.
    var manifest: [UInt8]?
    /// The name of the parent in that version; empty for none.
    var parent = ""
    /// The roots of the files in each field of assets that the save sets; nil for a file that is plain, or that was not
    /// sent yet.
    var files: [String: [[UInt8]?]] = [:]
    /// The names of the keys that sealed the files which were sent for this save.
    var fileKeys: Set<String> = []

    /// The fields of assets whose files are all sealed, with their roots.
    var sealedFiles: [String: [[UInt8]]] {
        files.compactMapValues { roots in
            let sealed = roots.compactMap(\.self)
            return sealed.isEmpty || sealed.count < roots.count ? nil : sealed
        }
    }

    var isEmpty: Bool { values.isEmpty && cleared.isEmpty }
}

extension RecordFields {
    /// Returns the fields but those whose names others have.
    func without(_ others: RecordFields) -> RecordFields {
        others.isEmpty ? self : RecordFields(entries.filter { others[$0.name] == nil })
    }
}

extension FieldValue {
    /// Whether the value is of a type that is never encrypted: assets have keys of their own, and the server must know
    /// references.
    fileprivate var isNeverEncrypted: Bool {
        switch self {
        case .asset, .assetList, .reference, .referenceList: true
        default: false
        }
    }

    /// Returns the value in the type of its field, as the server does it for plain values: an integer in a field of
    /// doubles, and an empty list that does not tell its type.
    fileprivate func typed(as type: FieldType?) -> FieldValue {
        guard let type else { return self }
        return switch (self, type) {
        case (.int64(let value), .double): .double(Double(value))
        case (.int64List(let values), .doubleList): .doubleList(values.map(Double.init))
        case (.emptyList, .stringList): .stringList([])
        case (.emptyList, .int64List): .int64List([])
        case (.emptyList, .doubleList): .doubleList([])
        case (.emptyList, .timestampList): .timestampList([])
        case (.emptyList, .bytesList): .bytesList([])
        case (.emptyList, .locationList): .locationList([])
        default: self
        }
    }
}
