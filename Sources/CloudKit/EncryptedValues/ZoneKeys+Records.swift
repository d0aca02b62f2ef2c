#if canImport(NacreEncryption)
    import NacreCloudWire
    import NacreEncryption
    import NacreEncryptionForms

    // This file alone seals and opens records. It is pure: keys, records and the clock come in, values and faults go
    // out.

    /// The reason why a record's encrypted values are not taken, or cannot be sealed.
    enum SecretFault: Error, Equatable, Sendable {
        /// The values, the manifest or the parent are not those that were saved together.
        case changed
        /// This device has seen a later version of the record.
        case rolledBack
        /// The values are sealed with a key that does not count, or that this device does not have.
        case otherKey
        /// The values are sealed for another scope than the zone's: for an earlier zone of its name, or before a reset.
        case otherScope
        /// A field that this device knows as encrypted arrived plain.
        case plain(field: String)
        /// A file is not the one that was saved with the record, or arrived without encryption.
        case file(field: String)
        /// A file was sent under a key that is not the newest any more. Sent again, it is sealed under the newest.
        case fileOfOlderKey
        /// The record's name, type or a value has no sealed form.
        case cannotBeSealed

        var text: String {
            switch self {
            case .changed: "its encrypted values are not those that were saved together"
            case .rolledBack: "the server shows an older version than this device has seen"
            case .otherKey: "its encrypted values are sealed with a key that does not count in its zone"
            case .otherScope: "its encrypted values were sealed with keys that its zone no longer has"
            case .file(let field): "a file of '\(field)' is not the one that was saved"
            case .plain(let field): "the encrypted field '\(field)' arrived without encryption"
            case .fileOfOlderKey: "a file of it was sealed with a key that has changed since"
            case .cannotBeSealed: "its encrypted values cannot be sealed"
            }
        }
    }

    extension ZoneKeys {
        private func recordPlace(_ name: String, type: String) throws(SecretFault) -> RecordPlace {
            guard let record = RecordPlace(place: place, type: type, name: spellingOut(name)) else { throw .cannotBeSealed }
            return record
        }

        /// Returns a record's name as the server has it: it does not know the user's own record by the alias.
        private func spellingOut(_ name: String) -> String {
            name == CKCurrentUserDefaultName && place.zone == CKRecordZone.ID.defaultZoneName ? place.owner.user : name
        }

        // MARK: Opening

        /// Checks a record that the server shows against its manifest, and opens its encrypted values.
        ///
        /// - Parameters:
        ///   - asked: the fields that were asked for; nil for all.
        ///   - kept: the newest version that this device has seen.
        /// - Throws: the fault, and no value is shown.
        func open(_ record: Record, asked: [String]?, kept: RecordManifest.Version? = nil) throws(SecretFault) -> EncryptedFields {
            let shown = record.fields.sealed
            let place = try recordPlace(record.recordName, type: record.recordType)
            guard let bytes = record.manifest, let form = try? RecordManifest(bytes) else { throw .changed }
            guard form.parts.keyID.scope == newest.id.scope else { throw kept?.scope == newest.id.scope ? .rolledBack : .otherScope }
            var sealed: [String: NacreEncryptionForms.SealedValue] = [:]
            for (name, value) in shown { sealed[name] = try? NacreEncryptionForms.SealedValue(value.bytes) }
            guard sealed.count == shown.count else { throw .changed }
            // A zone that came again under its name has another scope, and its records begin anew. A record that was
            // seen in a share does not: a version from before its move there is no later one.
            let earlier = kept.flatMap {
                $0.scope == newest.id.scope || !manifest.parts.root.isEmpty || scopesOfShares.contains($0.scope) ? $0 : nil
            }
            // The bytes of files come later, and are held against the roots then.
            var files: [String: [Digest]] = [:]
            for listed in form.parts.files {
                guard let value = record.fields[listed.name] else { continue }
                files[listed.name] = value.assets?.count == listed.roots.count ? listed.roots : []
            }
            try check(
                form, of: place, values: sealed, files: files, parent: record.parent?.recordName ?? "", asked: asked.map { Set($0) },
                kept: earlier)
            if let plain = form.parts.fields.first(where: { record.fields[$0.name] != nil && sealed[$0.name] == nil }) {
                throw .plain(field: plain.name)
            }
            var fields = EncryptedFields()
            for (name, value) in shown {
                guard let form = sealed[name], let key = key(form.keyID) else { throw .otherKey }
                guard let plaintext = try? key.open(form, of: place, field: name) else { throw .changed }
                let opened = FieldValue(plaintext)
                guard opened.type == value.type else { throw .changed }
                fields.values[name] = opened
            }
            fields.fetched = fields.values
            fields.manifest = bytes
            fields.listed = Set(form.parts.fields.map(\.name))
            return fields
        }

        private func check(
            _ form: RecordManifest, of place: RecordPlace, values: [String: NacreEncryptionForms.SealedValue] = [:],
            files: [String: [Digest]] = [:], parent: String, asked: Set<String>?, kept: RecordManifest.Version?
        ) throws(SecretFault) {
            guard let key = key(form.parts.keyID) else { throw .otherKey }
            let bound = manifest.parts.boundParent(of: place.name, parent)
            let isWhole: Void? = try? key.check(form, of: place, values: values, files: files, parent: bound, asked: asked)
            if isWhole == nil { throw .changed }
            // A device that an account had before and after a reset is in both of its logs.
            let logs = accounts.values.flatMap(\.self).filter { $0.devices[form.parts.writer] != nil }
            var fault = SecretFault.otherKey
            for log in logs {
                do {
                    return try chain.check(form, of: place, kept: kept, writers: log)
                } catch {
                    fault = error is RecordManifest.Rollback ? .rolledBack : .otherKey
                }
            }
            throw fault
        }

        // MARK: Sealing

        /// Seals the encrypted values of a save under the newest key, and makes the record's manifest anew from the one
        /// that was read. Fields that the save leaves alone keep their hashes.
        ///
        /// - Parameters:
        ///   - change: the save without its encrypted values.
        ///   - now: milliseconds since 1970.
        /// - Returns: the parts of the save that are sealed.
        /// - Throws: also `fileOfOlderKey`.
        func seal(
            _ secrets: SecretChange, of change: RecordChange, now: UInt64, using random: inout some RandomBytes
        ) throws(SecretFault) -> SealedChange {
            let place = try recordPlace(change.recordName ?? "", type: change.recordType ?? "")
            // A pass that seals anew may have ended the older key without having seen this record.
            guard secrets.fileKeys.isSubset(of: [newest.id.text]) else { throw .fileOfOlderKey }
            let base = try base(of: secrets, place)
            var plaintexts: [String: EncryptedPlaintext] = [:]
            for field in secrets.values.entries { plaintexts[field.name] = EncryptedPlaintext(field.value) }
            guard plaintexts.count == secrets.values.count, let sealed = try? newest.seal(plaintexts, of: place, using: &random) else {
                throw .cannotBeSealed
            }
            let kept = base.flatMap { $0.parts.keyID.scope == newest.id.scope ? $0.parts : nil }
            let left = (kept?.fields ?? []).filter { sealed[$0.name] == nil && !secrets.cleared.contains($0.name) }
            // Values and files of another scope can be opened by nobody, and no manifest of this one may list them.
            let ended = kept == nil ? base?.parts : nil
            let files = try files(after: kept, ended, secrets, change)
            let lost =
                (ended?.fields ?? []).map(\.name).filter { sealed[$0] == nil }
                + (ended?.files ?? []).map(\.name).filter { change.set[$0] == nil }
            let parent: String =
                switch change.parent {
                case .keep: secrets.parent
                case .set(let parent): spellingOut(parent.recordName)
                case .clear: ""
                }
            let (number, bound) = (manifest.parts.number, manifest.parts.boundParent(of: place.name, parent))
            guard let stamp = RecordManifest.nextStamp(now: now, after: base?.parts.stamp),
                let form = try? { () throws -> RecordManifest? in
                    let admission = try device.admission(
                        of: place, to: newest.id.scope, number: number, stamp: stamp, after: base, isOwner: isOwn)
                    let parts = RecordManifest.Parts(
                        keyID: newest.id, number: number, stamp: stamp, writer: device.id, parent: bound,
                        fields: left + sealed.map { RecordManifest.Field(name: $0.key, hash: $0.value.hash) },
                        files: files, admission: admission)
                    return try parts.map { try newest.manifest($0, of: place, by: device) }
                }()
            else { throw .cannotBeSealed }
            return SealedChange(
                keyID: newest.id.text, values: sealed.mapValues { $0.bytes },
                types: Dictionary(secrets.values.entries.map { ($0.name, $0.value.type.rawValue) }, uniquingKeysWith: { $1 }), lost: lost,
                manifest: form.bytes, base: base?.hash.bytes)
        }

        /// Returns the files of the manifest that a save makes.
        /// - Parameters:
        ///   - kept: the parts of the manifest that was read.
        ///   - ended: those of one of another scope.
        /// - Throws: `otherScope` if the save sends a file of that scope again.
        private func files(
            after kept: RecordManifest.Parts?, _ ended: RecordManifest.Parts?, _ secrets: SecretChange, _ change: RecordChange
        ) throws(SecretFault) -> [RecordManifest.Files] {
            let lost = Set((ended?.files ?? []).flatMap(\.roots))
            var files = (kept?.files ?? []).filter { change.set[$0.name] == nil && !change.cleared.contains($0.name) }
            for (name, roots) in secrets.sealedFiles {
                let roots = roots.compactMap(Digest.init)
                guard lost.isDisjoint(with: roots) else { throw .otherScope }
                files.append(RecordManifest.Files(name: name, roots: roots))
            }
            return files
        }

        /// Returns the manifest that a save builds on. It is checked again, because an archive may have brought it. One
        /// of another scope, or of a version that readers take no more, cannot be: its hash alone counts, by which the
        /// server tells versions apart.
        private func base(of secrets: SecretChange, _ place: RecordPlace) throws(SecretFault) -> RecordManifest? {
            guard let bytes = secrets.manifest else { return nil }
            guard let form = try? RecordManifest(bytes) else { throw .changed }
            guard form.parts.keyID.scope == newest.id.scope, form.parts.keyID.version >= manifest.parts.oldest else { return form }
            try check(form, of: place, parent: secrets.parent, asked: [], kept: nil)
            return form
        }
    }

    /// The sealed parts of a save, which a journal may keep.
    struct SealedChange: Codable, Equatable, Sendable {
        var keyID: String
        /// The sealed values by field.
        var values: [String: [UInt8]]
        /// The types of the values by field, as the wire has them.
        var types: [String: String]
        /// The fields that the save clears, because their values are sealed for another scope.
        var lost: [String]
        var manifest: [UInt8]
        /// The hash of the manifest that it is made from.
        var base: [UInt8]?
    }

    extension RecordChange {
        /// Puts sealed values into a save.
        mutating func put(_ sealed: SealedChange, for secrets: SecretChange) {
            for (name, bytes) in sealed.values {
                guard let type = sealed.types[name].flatMap(FieldType.init) else { continue }
                set[name] = .sealed(NacreCloudWire.SealedValue(type: type, keyID: sealed.keyID, bytes: bytes))
            }
            cleared = Set(cleared).union(secrets.cleared).union(sealed.lost).sorted()
            manifest = Manifest(bytes: sealed.manifest, base: sealed.base)
        }
    }

    extension EncryptedPlaintext {
        /// Returns nil for a value of a type that is never encrypted.
        init?(_ value: FieldValue) {
            switch value {
            case .string(let value): self = .string(value)
            case .int64(let value): self = .integer(value)
            case .double(let value): self = .double(value)
            case .timestamp(let value): self = .date(value.secondsSince2001)
            case .bytes(let value): self = .bytes(value)
            case .location(let value): self = .location(Location(value))
            case .stringList(let values): self = .strings(values)
            case .int64List(let values): self = .integers(values)
            case .doubleList(let values): self = .doubles(values)
            case .timestampList(let values): self = .dates(values.map(\.secondsSince2001))
            case .bytesList(let values): self = .byteStrings(values)
            case .locationList(let values): self = .locations(values.map(Location.init))
            case .emptyList: self = .emptyList
            case .reference, .referenceList, .asset, .assetList, .sealed: return nil
            }
        }
    }

    extension FieldValue {
        init(_ plaintext: EncryptedPlaintext) {
            switch plaintext {
            case .string(let value): self = .string(value)
            case .integer(let value): self = .int64(value)
            case .double(let value): self = .double(value)
            case .date(let value): self = .timestamp(Timestamp(secondsSince2001: value))
            case .bytes(let value): self = .bytes(value)
            case .location(let value): self = .location(Location(value))
            case .strings(let values): self = .stringList(values)
            case .integers(let values): self = .int64List(values)
            case .doubles(let values): self = .doubleList(values)
            case .dates(let values): self = .timestampList(values.map(Timestamp.init(secondsSince2001:)))
            case .byteStrings(let values): self = .bytesList(values)
            case .locations(let values): self = .locationList(values.map(Location.init))
            case .emptyList: self = .emptyList
            }
        }
    }

    extension EncryptedPlaintext.Location {
        /// Missing parts become those that `CLLocation` calls invalid, as in `CLLocation(wire:)`.
        fileprivate init(_ location: Location) {
            self.init(
                latitude: location.latitude, longitude: location.longitude, altitude: location.altitude ?? 0,
                horizontalAccuracy: location.horizontalAccuracy ?? 0, verticalAccuracy: location.verticalAccuracy ?? -1,
                course: location.course ?? -1, speed: location.speed ?? -1,
                timestamp: location.timestamp?.secondsSince2001 ?? -Timestamp.secondsFrom1970To2001)
        }
    }

    extension Location {
        fileprivate init(_ location: EncryptedPlaintext.Location) {
            self.init(
                latitude: location.latitude, longitude: location.longitude, horizontalAccuracy: location.horizontalAccuracy,
                verticalAccuracy: location.verticalAccuracy, altitude: location.altitude, speed: location.speed, course: location.course,
                timestamp: Timestamp(secondsSince2001: location.timestamp))
        }
    }
#endif
