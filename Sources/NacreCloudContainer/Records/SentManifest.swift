package import NacreCloudStorage
package import NacreCloudWire
import NacreEncryptionForms

// The rules of the manifest that binds a record's encrypted values: `docs/encryption.md`, "Record manifest". The server
// has no key. It holds a manifest against the record that it is for, and a save against the manifest that its writer
// has read.

/// The manifest that a save brings, read and hashed before the record is looked up.
package struct SentManifest: Sendable {
    let bytes: [UInt8]
    let form: RecordManifest
    /// The hash of the manifest that the writer has read; nil: it saves whatever is stored.
    let base: Digest?
    /// Hashes of the sealed values that the save sets, by field.
    let hashes: [String: Digest]

    /// Returns nil for a deletion, and for a save without a manifest.
    package init?(_ operation: RecordOperation, in scope: DatabaseKey.Scope) throws(ServerError) {
        guard !operation.type.isDelete, let manifest = operation.change.manifest else { return nil }
        if scope == .public { throw .noEncryptionInPublic("nacre.manifest") }
        if manifest.bytes.count > Limits.recordManifestBytes { throw .manifestTooLarge }
        guard let form = try? RecordManifest(manifest.bytes) else { throw .manifestUnreadable }
        bytes = manifest.bytes
        self.form = form
        base = manifest.base.flatMap(Digest.init)
        if base == nil, manifest.base != nil { throw .manifestBaseUnreadable }
        hashes = Dictionary(uniqueKeysWithValues: operation.change.set.sealed.map { ($0.name, Digest(of: $0.value.bytes)) })
    }
}

extension RecordVerdict.Save {
    /// Returns the manifest that the record has after the save; nil: none.
    ///
    /// - Parameters:
    ///   - sent: the manifest that the save brings.
    ///   - newest: the newest version of the key of each scope of the zone. A zone takes nothing that is sealed for
    ///     another scope, such as that of an earlier zone of its name, and nothing sealed at all while it has none:
    ///     the keys went with the earlier zone, and nobody could open the value.
    ///   - now: the server's time.
    /// - Throws: the error of a save that the manifest forbids.
    func manifest(
        _ sent: SentManifest?, by operation: RecordOperation, newest: [ScopeID: UInt32], now: Timestamp
    ) throws(ServerError) -> [UInt8]? {
        let live = over.flatMap { $0.isLive ? $0 : nil }
        let stored = live?.content.manifest
        if sent == nil, stored == nil, operation.change.set.sealed.isEmpty { return nil }
        let before = live?.content.fields ?? RecordFields()
        let isNewest = { (id: KeyID?) in id.map { newest[$0.scope] == $0.version } ?? false }
        if let old = fields.sealed.first(where: { before[$0.name] != .sealed($0.value) && !isNewest($0.value.keyID.flatMap(KeyID.init(text:))) }) {
            throw .keyIsNotNewest(old.name)
        }
        let changed = Set((before.sealed + fields.sealed).map(\.name)).filter { before[$0] != fields[$0] }.sorted()
        let known = stored.flatMap { try? RecordManifest($0) }
        guard let sent else {
            guard stored != nil else {
                if let name = changed.first(where: { fields[$0] != nil }) { throw .manifestNeeded(name) }
                return nil
            }
            let files = known?.parts.files.first { !hasFiles(of: live, in: $0.name) }
            if let name = changed.first ?? files?.name ?? (parent == live?.row.parent ? nil : "parent") { throw .manifestMissing(name) }
            return stored
        }
        // The same manifest again is no conflict: a save may be repeated, and a record sent back as it was answered.
        if sent.bytes != stored {
            if !isNewest(sent.form.parts.keyID) { throw .keyIsNotNewest("nacre.manifest") }
            let stamp = Timestamp(millisecondsSince1970: Int64(clamping: sent.form.parts.stamp))
            if now + Limits.manifestStampAheadSeconds < stamp { throw .manifestFromTheFuture }
            try sent.checkOrder(after: known, of: live, by: operation)
            // A value that stayed sealed for the scope which the record leaves could be opened by nobody.
            let scope = sent.form.parts.keyID.scope
            if known?.parts.keyID.scope != scope, let left = fields.sealed.first(where: { $0.value.keyID.flatMap(KeyID.init(text:))?.scope != scope })
            {
                throw .valueOfOtherScope(left.name)
            }
        }
        try sent.check(against: self, live, known, by: operation)
        return sent.bytes
    }
}

extension RecordVerdict.Save {
    /// Whether a field keeps the files that it has.
    fileprivate func hasFiles(of live: StoredRecord?, in name: String) -> Bool {
        let (before, after) = (live?.content.fields[name]?.assets ?? [], fields[name]?.assets ?? [])
        return before.elementsEqual(after) { $0.fileChecksum == $1.fileChecksum && $0.size == $1.size }
    }

    /// Returns the fields whose files a manifest does not fit: it lists another number of files than the field has, or
    /// other roots for the files that it keeps. The server cannot compare a root with the bytes.
    fileprivate func differingFiles(_ form: RecordManifest, over known: RecordManifest?, _ live: StoredRecord?) -> [String] {
        let (before, after) = (known?.rootsByField ?? [:], form.rootsByField)
        return Set(before.keys).union(after.keys).filter { name in
            let (old, new) = (before[name], after[name])
            if let new, fields[name]?.assets.count != new.count { return true }
            return old != new && hasFiles(of: live, in: name) && fields[name]?.assets.isEmpty == false
        }.sorted()
    }
}

extension RecordManifest {
    fileprivate var rootsByField: [String: [Digest]] {
        Dictionary(parts.files.map { ($0.name, $0.roots) }, uniquingKeysWith: { first, _ in first })
    }
}

extension SentManifest {
    /// - Throws: the conflict of a save whose writer has not read the stored manifest.
    fileprivate func checkOrder(after known: RecordManifest?, of live: StoredRecord?, by operation: RecordOperation) throws(ServerError) {
        guard let live else {
            if base != nil { throw .recordNotFound }
            return
        }
        let isConflict = form.conflict(with: known, base: base, newest: nil) != nil
        if isConflict || base == nil && live.content.manifest != nil && !operation.setsAllKeys { throw .recordChanged }
    }

    /// - Throws: the error of a manifest that lists other encrypted fields, files or another parent than the record has
    ///   after the save. It is a conflict if only parts differ that the save leaves alone, and that its writer may not
    ///   have read.
    fileprivate func check(
        against save: RecordVerdict.Save, _ live: StoredRecord?, _ known: RecordManifest?, by operation: RecordOperation
    ) throws(ServerError) {
        let change = operation.change
        let hasRead = base != nil || bytes == live?.content.manifest || operation.type == .update || operation.type == .replace
        let sets = { (name: String) in
            live == nil || operation.replacesFields || change.set[name] != nil || change.cleared.contains(name)
        }
        let kept = Dictionary(known?.parts.fields.map { ($0.name, $0.hash) } ?? [], uniquingKeysWith: { first, _ in first })
        // Compares bytes, because texts that differ may be equal.
        var listed = Dictionary(form.parts.fields.map { (Array($0.name.utf8), $0.hash) }, uniquingKeysWith: { first, _ in first })
        var differing: [String] = []
        for (name, value) in save.fields.sealed {
            let hash = hashes[name] ?? kept[name] ?? Digest(of: value.bytes)
            if listed.removeValue(forKey: Array(name.utf8)) != hash { differing.append(name) }
        }
        differing += listed.keys.map { String(decoding: $0, as: UTF8.self) }.sorted()
        differing += save.differingFiles(form, over: known, live)
        if let name = differing.first(where: sets) ?? (hasRead ? differing.first : nil) { throw .manifestDiffers(name) }
        if !differing.isEmpty { throw .recordChanged }
        // The parent of a shared root is hidden from participants, and its manifest may leave it out.
        let mayLeaveOut = form.parts.parent.isEmpty && live?.content.shared.share != nil
        if mayLeaveOut || form.parts.parent.utf8.elementsEqual((save.parent ?? "").utf8) { return }
        throw hasRead || live == nil || change.parent != .keep ? .manifestDiffers("parent") : .recordChanged
    }
}

extension ModifyBatch.Item {
    /// Whether it brings a manifest or encrypted values, which have a key of the zone's scope.
    var bringsSealed: Bool { manifest != nil || !operation.change.set.sealed.isEmpty }
}

extension RecordOperation {
    /// Whether fields that are not in the change are cleared.
    fileprivate var replacesFields: Bool { type == .replace || type == .forceReplace }
    fileprivate var setsAllKeys: Bool { replacesFields || change.carriesAllKeys }
}
