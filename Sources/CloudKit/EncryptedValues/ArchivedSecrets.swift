import Foundation
import NacreCloudWire

/// The encoded form of a record's encrypted values: sealed under the archive key of this device, never in the clear.
/// Another device, or another user of this one, reads the names and the manifest alone.
struct ArchivedSecrets: Codable {
    /// Sealed values by field.
    var values: [String: Data]
    var fetched: [String: Data]
    var changed: [String]
    var faults: [String: ValueFault]
    var manifest: Data?
    var listed: [String]

    /// The store of the archive key, which tests replace.
    #if canImport(NacreEncryption)
        @TaskLocal static var keys: KeyStore = .ambient
    #endif

    /// - Returns: nil for a record without anything encrypted.
    init?(_ fields: EncryptedFields, of state: RecordState) {
        guard !fields.values.isEmpty || !fields.changed.isEmpty || !fields.faults.isEmpty || fields.manifest != nil else { return nil }
        values = Self.sealed(fields.values, of: state, as: .values)
        fetched = Self.sealed(fields.fetched, of: state, as: .fetched)
        changed = fields.changed.sorted()
        faults = fields.faults
        manifest = fields.manifest.map { Data($0) }
        listed = fields.listed.sorted()
    }

    /// The values that the archive has and that this device opens. A value that was changed and does not open is a
    /// fault of the next save: nothing is lost in silence.
    func fields(of state: RecordState) -> EncryptedFields {
        var fields = EncryptedFields()
        fields.values = Self.opened(values, of: state, as: .values)
        fields.fetched = Self.opened(fetched, of: state, as: .fetched)
        fields.changed = Set(changed)
        fields.faults = faults
        fields.manifest = manifest.map { [UInt8]($0) }
        fields.listed = Set(listed)
        for key in changed where values[key] != nil && fields.values[key] == nil {
            fields.faults[key] = faults[key] ?? ValueFault(key: key, reason: .encryptedLost)
        }
        return fields
    }

    /// The place of values in a record's state. One sealed in the one does not open in the other.
    private enum Part: String {
        case values, fetched
    }
}

#if canImport(NacreEncryption)
    import NacreCrypto
    import NacreEncryption
    import NacreEncryptionForms

    extension ArchivedSecrets {
        private static func sealed(_ fields: RecordFields, of state: RecordState, as part: Part) -> [String: Data] {
            guard !fields.isEmpty else { return [:] }
            var plaintexts: [String: EncryptedPlaintext] = [:]
            for field in fields.entries { plaintexts[field.name] = EncryptedPlaintext(field.value) }
            var random = SystemRandomBytes()
            let sealed = archiveKey(of: state, as: part).flatMap { try? $0.key.seal(plaintexts, of: $0.place, using: &random) }
            // An empty value is one that could not be sealed, and does not open.
            return plaintexts.reduce(into: [:]) { $0[$1.key] = Data(sealed?[$1.key]?.bytes ?? []) }
        }

        private static func opened(_ sealed: [String: Data], of state: RecordState, as part: Part) -> RecordFields {
            guard !sealed.isEmpty, let (key, place) = archiveKey(of: state, as: part) else { return RecordFields() }
            return RecordFields(
                sealed.compactMap { name, bytes in
                    guard let form = try? NacreEncryptionForms.SealedValue([UInt8](bytes)),
                        let plaintext = try? key.open(form, of: place, field: name)
                    else { return nil }
                    return RecordFields.Field(name, FieldValue(plaintext))
                })
        }

        /// Returns this device's archive key, and what it binds values to: the part, the record's ID and its type.
        private static func archiveKey(of state: RecordState, as part: Part) -> (key: ScopeKey, place: RecordPlace)? {
            let id = state.recordID
            // The archive key is no scope's. Its ID says nothing.
            guard let scope = ScopeID([UInt8](repeating: 0, count: ScopeID.length)), let keyID = KeyID(scope: scope, version: 1),
                let secret = try? keys.archiveKey(), let key = try? ScopeKey(keyID, secret: secret),
                let owner = AccountName(container: "archive", environment: part.rawValue, user: id.zoneID.ownerName),
                let zone = Place(owner: owner, zone: id.zoneID.zoneName),
                let place = RecordPlace(place: zone, type: state.recordType, name: id.recordName)
            else { return nil }
            return (key, place)
        }
    }
#else
    extension ArchivedSecrets {
        private static func sealed(_ fields: RecordFields, of state: RecordState, as part: Part) -> [String: Data] {
            fields.entries.reduce(into: [:]) { $0[$1.name] = Data() }
        }

        private static func opened(_ sealed: [String: Data], of state: RecordState, as part: Part) -> RecordFields { RecordFields() }
    }
#endif
