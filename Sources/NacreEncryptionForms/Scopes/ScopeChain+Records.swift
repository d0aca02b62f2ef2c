import NacreCrypto

// The rules of who may write a record in a scope: `docs/encryption.md`, "Record manifest". Each manifest of a record is
// judged by the manifest of the scope that its writer had seen, so that records of participants who left still count.

extension ScopeChain {
    /// Checks that a record's manifest counts: its key does, its writer might write when it was written, and it is not
    /// older than a version that the client has seen, nor moved here by anybody but the owner. About 80 µs, and twice
    /// that for a record that was moved. `ScopeKey.check` says whether the record is what the manifest lists.
    ///
    /// A record that the client has never seen is taken from whoever may write in its scope.
    /// - Parameters:
    ///   - kept: The version that the client has seen last, in whichever scope; nil for none.
    ///   - writers: The verified log of the account that the writer belongs to; nil if there is none.
    /// - Throws: `ScopeFault` or `RecordManifest.Rollback`.
    package func check(
        _ manifest: RecordManifest, of record: RecordPlace, kept: RecordManifest.Version?, writers: KeyLog?
    ) throws {
        let parts = manifest.parts
        guard parts.keyID.scope == newest.parts.scope, record.place.bytes == newest.parts.place.bytes else { throw ScopeFault.otherScope }
        try checkWriter(of: manifest, log: writers)
        guard let kept else { return }
        try manifest.check(kept: kept)
        guard kept.scope == parts.keyID.scope || writers?.fingerprint == ownersLog.fingerprint || admits(manifest, of: record, since: kept.stamp)
        else { throw ScopeFault.mayNotMove(device: parts.writer) }
    }

    /// Checks the key and the writer by the manifest of the scope that the writer had seen.
    private func checkWriter(of manifest: RecordManifest, log: KeyLog?) throws(ScopeFault) {
        let (key, number) = (manifest.parts.keyID, manifest.parts.number)
        guard number <= newest.parts.number else { throw .unknownNumber(number) }
        guard newest.parts.keyProof(of: key.version) != nil else {
            throw .oldKey(version: key.version, oldest: newest.parts.oldest, newest: newest.parts.version)
        }
        let then = manifests[Int(number)].parts
        guard key.version == then.version else { throw .oldKey(version: key.version, oldest: then.version, newest: then.version) }
        guard let log else { throw .mayNotWrite(device: manifest.parts.writer) }
        try newest.parts.check(log)
        try then.check(log)
        guard then.permission(of: log.fingerprint) == .readWrite, let device = then.device(manifest.parts.writer, of: log),
            manifest.isSigned(by: device.verifier)
        else { throw .mayNotWrite(device: manifest.parts.writer) }
    }

    /// Whether a device of the owner has moved the record into this scope after a stamp, under a key that still counts.
    private func admits(_ manifest: RecordManifest, of record: RecordPlace, since stamp: UInt64) -> Bool {
        // A form has no admission that is later than itself, so that there is a manifest of its number.
        guard let admission = manifest.parts.admission, admission.stamp > stamp else { return false }
        let then = manifests[Int(admission.number)].parts
        guard then.version >= newest.parts.oldest, let device = then.device(admission.device, of: ownersLog) else { return false }
        let signed = try? RecordManifest.Admission.signedBytes(
            of: record, to: newest.parts.scope, number: admission.number, stamp: admission.stamp)
        return signed.map { device.verifier.isValid(admission.signature.bytes, for: $0) } ?? false
    }
}

extension ScopeManifest.Parts {
    /// Returns a device of an account that was not removed yet, as far as the signer of this manifest had seen. It may
    /// have been added since.
    fileprivate func device(_ id: DeviceID, of log: KeyLog) -> KeyLog.Device? {
        let seen = participant(log.fingerprint)?.head.number ?? 0
        guard let device = log.devices[id], device.removed.map({ $0 > seen }) ?? true else { return nil }
        return device
    }
}
