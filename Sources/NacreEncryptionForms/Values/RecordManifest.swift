package import NacreCrypto

/// The list of what belongs together in a record: its encrypted values, its files, its parent, and its version.
package struct RecordManifest: Form {
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

    /// The parts that the code and the signature are of.
    package struct Parts: Hashable, Sendable {
        package let keyID: KeyID
        /// Milliseconds since 1970, and above the stamp of the version before.
        package let stamp: UInt64
        package let writer: DeviceID
        /// The parent's record name; empty for none.
        package let parent: String
        package let fields: [Field]
        package let files: [Files]

        /// Sorts the lists. Returns nil if a name is empty, too long or there twice, or a list too long or of no files.
        package init?(keyID: KeyID, stamp: UInt64, writer: DeviceID, parent: String, fields: [Field], files: [Files]) {
            self.keyID = keyID
            self.stamp = stamp
            self.writer = writer
            self.parent = parent
            self.fields = fields.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
            self.files = files.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
            let names = fields.map(\.name) + files.map(\.name)
            let counts = [fields.count, files.count] + files.map(\.roots.count)
            guard stamp <= RecordManifest.stampMax, parent.utf8.count <= FormReader.textBytesMax, counts.allSatisfy({ $0 <= Int(UInt16.max) }),
                names.allSatisfy({ !$0.isEmpty && $0.utf8.count <= FormReader.textBytesMax }), fault == nil
            else { return nil }
        }

        fileprivate init(reader: inout FormReader) throws(FormFault) {
            keyID = try KeyID(reader: &reader)
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
            if let fault { throw fault }
        }

        /// The fault of the two lists. A field has either a sealed value or files.
        private var fault: FormFault? {
            guard fields.rises(by: \.name) else { return .outOfOrder("fields") }
            guard files.rises(by: \.name) else { return .outOfOrder("files") }
            guard files.allSatisfy({ !$0.roots.isEmpty }) else { return .invalid("number of a field's files") }
            let names = Set(fields.map { Array($0.name.utf8) })
            return files.contains { names.contains(Array($0.name.utf8)) } ? .outOfOrder("fields and files") : nil
        }

        fileprivate func write(to writer: inout FormWriter) {
            keyID.write(to: &writer)
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
    /// The writer's signature; nil in a scope without participants.
    package let signature: Signature?

    package var kind: FormKind { .recordManifest }

    package init(parts: Parts, code: Digest, signature: Signature?) {
        self.parts = parts
        self.code = code
        self.signature = signature
    }

    package init(kind: FormKind, parts reader: inout FormReader) throws(FormFault) {
        parts = try Parts(reader: &reader)
        code = try reader.fixed()
        let signature = try reader.prefixed()
        self.signature = Signature(signature)
        guard signature.isEmpty || self.signature != nil else { throw .invalid("signature") }
    }

    package func writeParts(to writer: inout FormWriter) {
        parts.write(to: &writer)
        writer.fixed(code)
        writer.bytes(signature?.bytes ?? [])
    }

    /// The bytes that the writer signs: all before the signature's length.
    package static func signedBytes(parts: Parts, code: Digest) -> [UInt8] { parts.bytes + code.bytes }

    /// Whether the holder of a key has signed it; false for one without a signature. About 80 µs.
    package func isSigned(by key: Ed25519.PublicKey) -> Bool {
        signature.map { key.isValid($0.bytes, for: Self.signedBytes(parts: parts, code: code)) } ?? false
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
        package let stamp: UInt64
        package let hash: Digest
    }

    package var version: Version { Version(stamp: parts.stamp, hash: hash) }

    /// The reason why a client does not take a version that the server shows.
    package enum Rollback: Error, Equatable, Sendable {
        /// The client has seen a later one.
        case older(kept: Version, shown: Version)
        /// Two versions have one stamp.
        case forked(kept: Version, shown: Version)
    }

    /// Checks that this version is the one that a client has seen last, or a later one.
    package func check(kept: Version) throws(Rollback) {
        guard parts.stamp >= kept.stamp else { throw .older(kept: kept, shown: version) }
        guard parts.stamp > kept.stamp || hash == kept.hash else { throw .forked(kept: kept, shown: version) }
    }

    /// The reason why a manifest cannot follow the stored one.
    package enum Conflict: Equatable, Sendable {
        /// The writer has read another version than the stored one.
        case otherBase
        /// The stamp is not above the stored one.
        case stampNotLater
        /// The values are sealed under a version of the scope's key that is not the newest.
        case oldKey(newest: UInt32)
    }

    /// Returns the reason why this manifest cannot replace a stored one; nil if it can.
    /// - Parameters:
    ///   - stored: The record's manifest now; nil for a record without one.
    ///   - base: The hash of the manifest that the writer has read; nil if the writer saves whatever is stored.
    ///   - newest: The newest version of the scope's key; nil if it is not known.
    package func conflict(with stored: RecordManifest?, base: Digest?, newest: UInt32?) -> Conflict? {
        if let newest, parts.keyID.version != newest { return .oldKey(newest: newest) }
        if let base, base != stored?.hash { return .otherBase }
        if let stored, parts.stamp <= stored.parts.stamp { return .stampNotLater }
        return nil
    }
}
