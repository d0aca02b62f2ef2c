package import NacreCrypto

/// The list of what belongs together in a record: its encrypted values, its files, its parent, and its version.
package struct RecordManifest: SignedForm {
    /// A field and the hash of its sealed value.
    package struct Field: Hashable, Sendable {
        package let name: String
        package let hash: Digest

        package init(name: String, hash: Digest) {
            (self.name, self.hash) = (name, hash)
        }
    }

    /// A field of assets and the roots of its files.
    package struct Files: Hashable, Sendable {
        package let name: String
        package let roots: [Digest]

        package init(name: String, roots: [Digest]) {
            (self.name, self.roots) = (name, roots)
        }
    }

    /// The owner's word that a record was moved into a scope. It stays with the record, so that a client which has not
    /// seen the move takes the versions after it, whoever wrote them.
    package struct Admission: Hashable, Sendable {
        /// The number of the scope's manifest that was the newest.
        package let number: UInt64
        /// The stamp of the version that moved, in milliseconds since 1970.
        package let stamp: UInt64
        /// A device of the owner.
        package let device: DeviceID
        package let signature: Signature

        package init(number: UInt64, stamp: UInt64, device: DeviceID, signature: Signature) {
            (self.number, self.stamp, self.device, self.signature) = (number, stamp, device, signature)
        }

        /// The bytes that the device signs.
        package static func signedBytes(of record: RecordPlace, to scope: ScopeID, number: UInt64, stamp: UInt64) throws(CryptoError) -> [UInt8] {
            var writer = FormWriter(capacity: 32)
            writer.fixed(scope)
            writer.integer(number)
            writer.integer(stamp)
            return try record.context("nacre admission", writer.written).bytes
        }
    }

    /// The parts that the code and the signature are of.
    package struct Parts: Hashable, Sendable {
        package let keyID: KeyID
        /// The number of the scope's manifest that was the newest for the writer.
        package let number: UInt64
        /// Milliseconds since 1970, and above the stamp of the version before.
        package let stamp: UInt64
        package let writer: DeviceID
        /// The parent's record name; empty for none.
        package let parent: String
        package let fields: [Field]
        package let files: [Files]
        /// The admission that `DeviceKeys.admission` returns; nil for a record that was never moved.
        package let admission: Admission?

        /// Sorts the lists. Returns nil if a name is empty, too long or there twice, a list too long or of no files, or
        /// the admission later than the manifest.
        package init?(
            keyID: KeyID, number: UInt64, stamp: UInt64, writer: DeviceID, parent: String, fields: [Field], files: [Files],
            admission: Admission? = nil
        ) {
            self.keyID = keyID
            self.number = number
            self.stamp = stamp
            self.writer = writer
            self.parent = parent
            self.fields = fields.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
            self.files = files.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
            self.admission = admission
            let names = fields.map(\.name) + files.map(\.name)
            let counts = [fields.count, files.count] + files.map(\.roots.count)
            guard stamp <= RecordManifest.stampMax, parent.utf8.count <= FormReader.textBytesMax, counts.allSatisfy({ $0 <= Int(UInt16.max) }),
                names.allSatisfy({ !$0.isEmpty && $0.utf8.count <= FormReader.textBytesMax }), fault == nil
            else { return nil }
        }

        fileprivate init(reader: inout FormReader) throws(FormFault) {
            keyID = try KeyID(reader: &reader)
            number = try reader.integer()
            stamp = try reader.integer()
            guard stamp <= RecordManifest.stampMax else { throw .invalid("stamp") }
            writer = try reader.fixed()
            parent = try reader.text("parent")
            fields = try reader.list(least: 2 + Digest.length) { reader throws(FormFault) in
                Field(name: try reader.name("field"), hash: try reader.fixed())
            }
            files = try reader.list(least: 4) { reader throws(FormFault) in
                Files(
                    name: try reader.name("field of files"),
                    roots: try reader.list(least: Digest.length) { reader throws(FormFault) in try reader.fixed() })
            }
            let admissions = try reader.list(least: 8 + 8 + DeviceID.length + Signature.length) { reader throws(FormFault) in
                Admission(number: try reader.integer(), stamp: try reader.integer(), device: try reader.fixed(), signature: try reader.fixed())
            }
            guard admissions.count <= 1 else { throw .invalid("number of admissions") }
            admission = admissions.first
            if let fault { throw fault }
        }

        /// The fault of the two lists, of which a field is in one, and of the admission.
        private var fault: FormFault? {
            guard fields.rises(by: \.name) else { return .outOfOrder("fields") }
            guard files.rises(by: \.name) else { return .outOfOrder("files") }
            guard files.allSatisfy({ !$0.roots.isEmpty }) else { return .invalid("number of a field's files") }
            if let admission, admission.number > number || admission.stamp > stamp { return .invalid("admission") }
            let names = Set(fields.map { Array($0.name.utf8) })
            return files.contains { names.contains(Array($0.name.utf8)) } ? .outOfOrder("fields and files") : nil
        }

        fileprivate func write(to writer: inout FormWriter) {
            keyID.write(to: &writer)
            writer.integer(number)
            writer.integer(stamp)
            writer.fixed(self.writer)
            writer.text(parent)
            writer.list(fields) {
                $0.text($1.name)
                $0.fixed($1.hash)
            }
            writer.list(files) {
                $0.text($1.name)
                $0.list($1.roots) { $0.fixed($1) }
            }
            writer.list(admission.map { [$0] } ?? []) {
                $0.integer($1.number)
                $0.integer($1.stamp)
                $0.fixed($1.device)
                $0.fixed($1.signature)
            }
        }

        /// The bytes that the code is of: suite, kind and these parts.
        package var bytes: [UInt8] {
            var writer = FormWriter(capacity: 256)
            writer.integer(Suite.current)
            writer.integer(FormKind.recordManifest.rawValue)
            write(to: &writer)
            return writer.written
        }
    }

    package static let kinds: [FormKind] = [.recordManifest]
    /// The highest stamp, which is far from any clock and which every client's numbers can hold.
    package static let stampMax: UInt64 = 1 << 53 - 1

    package let parts: Parts
    package let code: Digest
    package let signature: Signature

    package var kind: FormKind { .recordManifest }

    /// Makes a manifest.
    /// - Parameter sign: Signs as the writer. It gets the parts and the code.
    package init<Failure: Error>(parts: Parts, code: Digest, sign: ([UInt8]) throws(Failure) -> Signature) throws(Failure) {
        self.parts = parts
        self.code = code
        signature = try sign(parts.bytes + code.bytes)
    }

    package init(kind: FormKind, parts reader: inout FormReader) throws(FormFault) {
        parts = try Parts(reader: &reader)
        code = try reader.fixed()
        signature = try reader.fixed()
    }

    package func writeSignedParts(to writer: inout FormWriter) {
        parts.write(to: &writer)
        writer.fixed(code)
    }
}

extension RecordManifest {
    /// Returns the stamp of the next version: the later of the writer's clock and the last stamp + 1; nil if no later
    /// one exists.
    /// - Parameters:
    ///   - now: The writer's clock, in milliseconds since 1970.
    ///   - last: The stamp of the version that the writer has read; nil for a new record.
    package static func nextStamp(now: UInt64, after last: UInt64?) -> UInt64? {
        let next = max(now, last.map { $0 + 1 } ?? 0)
        return next <= stampMax ? next : nil
    }

    /// The version of a record that a client has seen.
    package struct Version: Hashable, Sendable {
        package let scope: ScopeID
        /// The number of the scope's manifest.
        package let number: UInt64
        package let stamp: UInt64
        /// The hash of the record's manifest.
        package let hash: Digest

        package init(scope: ScopeID, number: UInt64, stamp: UInt64, hash: Digest) {
            (self.scope, self.number, self.stamp, self.hash) = (scope, number, stamp, hash)
        }
    }

    package var version: Version { Version(scope: parts.keyID.scope, number: parts.number, stamp: parts.stamp, hash: hash) }

    /// The reason why a client does not take a version that the server shows.
    package enum Rollback: Error, Equatable, Sendable {
        /// The client has seen a later one.
        case older(kept: Version, shown: Version)
        /// Two versions have one stamp.
        case forked(kept: Version, shown: Version)
    }

    /// Checks that this version is the one that a client has seen last, or a later one. A change of the scope is for
    /// `ScopeChain.check`.
    func check(kept: Version) throws(Rollback) {
        let isOlder = parts.keyID.scope == kept.scope && parts.number < kept.number
        guard parts.stamp >= kept.stamp, !isOlder else { throw .older(kept: kept, shown: version) }
        guard parts.stamp > kept.stamp || hash == kept.hash else { throw .forked(kept: kept, shown: version) }
    }

    /// The reason why a manifest cannot follow the stored one.
    package enum Conflict: Equatable, Sendable {
        /// The writer has read another version than the stored one.
        case otherBase
        /// The stamp is not above the stored one.
        case stampNotLater
        /// The writer of the stored one has seen a later manifest of the scope.
        case olderScope
        /// The stored one is of another scope, and no admission says that the record was moved since.
        case notAdmitted
        /// The values are sealed under a version of the scope's key that is not the newest.
        case oldKey(newest: UInt32)
    }

    /// Returns the reason why this manifest cannot replace a stored one; nil if it can. Signatures are for clients.
    /// - Parameters:
    ///   - stored: The record's manifest now; nil for a record without one.
    ///   - base: The hash of the manifest that the writer has read; nil if the writer saves whatever is stored.
    ///   - newest: The newest version of the scope's key; nil if it is not known.
    package func conflict(with stored: RecordManifest?, base: Digest?, newest: UInt32?) -> Conflict? {
        if let newest, parts.keyID.version != newest { return .oldKey(newest: newest) }
        if let base, base != stored?.hash { return .otherBase }
        guard let stored = stored?.parts else { return nil }
        if parts.stamp <= stored.stamp { return .stampNotLater }
        if parts.keyID.scope == stored.keyID.scope { return parts.number < stored.number ? .olderScope : nil }
        return parts.admission.map { $0.stamp > stored.stamp } ?? false ? nil : .notAdmitted
    }
}
