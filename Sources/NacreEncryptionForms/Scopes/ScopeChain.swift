import NacreCrypto

/// The manifests of a scope, each verified from the first on. The newest says who takes part and which keys count.
package struct ScopeChain: Hashable, Sendable {
    package let newest: ScopeManifest
    /// All manifests: number 0 first.
    let manifests: [ScopeManifest]
    private let hashes: [Digest]
    let ownersLog: KeyLog

    /// Verifies a chain.
    /// - Parameters:
    ///   - manifests: From the first to the newest.
    ///   - place: The zone that the client asked for.
    ///   - root: The name of the share's root record that it asked for; empty for the zone's own scope.
    ///   - logs: The verified logs of the accounts that signed, by fingerprint. The owner's must be among them.
    ///   - owner: The fingerprint of the owner's account, which the client has kept or takes now for the first time.
    package init(
        _ manifests: [ScopeManifest], of place: Place, root: String, owner: Digest, logs: [Digest: KeyLog]
    ) throws(ScopeFault) {
        guard var last = manifests.first, last.parts.number == 0 else { throw .notNext(number: 0) }
        guard last.parts.place.bytes == place.bytes, last.parts.root.utf8.elementsEqual(root.utf8) else { throw .otherScope }
        guard last.parts.owner?.fingerprint == owner, last.signer == owner else {
            throw .otherOwner(kept: owner, shown: last.parts.owner?.fingerprint ?? last.signer)
        }
        guard let ownersLog = logs[owner] else { throw .unknownLog(account: owner) }
        var hashes = [last.hash]
        try last.checkSigner(before: last.parts, logs: logs, mustBeEnrolled: manifests.count == 1)
        for manifest in manifests.dropFirst() {
            try manifest.check(follows: last)
            try manifest.checkSigner(before: last.parts, logs: logs, mustBeEnrolled: hashes.count == manifests.count - 1)
            hashes.append(manifest.hash)
            last = manifest
        }
        try last.checkHeads(logs)
        newest = last
        self.manifests = manifests
        self.hashes = hashes
        self.ownersLog = ownersLog
    }

    package var head: ChainHead { newest.head }

    /// Checks that the chain extends the head that was kept of it.
    package func check(kept: ChainHead) throws(ScopeFault) {
        guard kept.number < UInt64(hashes.count) else { throw .truncated(kept: kept, shown: head) }
        let hash = hashes[Int(kept.number)]
        guard hash == kept.hash else { throw .forked(number: kept.number, kept: kept.hash, shown: hash) }
    }
}

extension ScopeManifest {
    /// Checks that this manifest may follow another: of the same scope, with the next number, a later stamp, and keys
    /// that are the same where both have them.
    package func check(follows last: ScopeManifest) throws(ScopeFault) {
        let (old, new) = (last.parts, parts)
        guard old.number < .max, new.number == old.number + 1, new.before == last.hash else { throw .notNext(number: new.number) }
        guard new.place.bytes == old.place.bytes, new.scope == old.scope, new.root.utf8.elementsEqual(old.root.utf8) else { throw .otherScope }
        guard new.owner?.fingerprint == old.owner?.fingerprint else {
            throw .otherOwner(kept: old.owner?.fingerprint ?? .none, shown: new.owner?.fingerprint ?? .none)
        }
        guard new.stamp > old.stamp, new.version >= old.version, new.oldest >= old.oldest else { throw .rolledBack(number: new.number) }
        guard new.heads(extend: old) else { throw .rolledBack(number: new.number) }
        for version in new.oldest...new.version where version <= old.version {
            guard new.keyProof(of: version) == old.keyProof(of: version) else { throw .otherKey(version: version) }
        }
        // Users who left must not have the next key, and writers who may write no more can sign under the old one
        // alone.
        guard !new.takesAway(from: old) || new.version > old.version else { throw .notRotated(number: new.number) }
    }

    /// Checks the signature, and that the signer's account may sign.
    /// - Parameters:
    ///   - before: The parts of the manifest before, which say who may sign this one. The server's list says nothing.
    ///   - mustBeEnrolled: Whether the device must be enrolled now. For a manifest that others follow it is enough that
    ///     it once was.
    package func checkSigner(before: Parts, logs: [Digest: KeyLog], mustBeEnrolled: Bool) throws(ScopeFault) {
        guard parts.mayBeSigned(by: signer, after: before) else { throw .mayNotSign(account: signer, number: parts.number) }
        guard let log = logs[signer] else { throw .unknownLog(account: signer) }
        try before.check(log)
        guard let device = mustBeEnrolled ? log.device(self.device) : log.devices[self.device], isSigned(by: device.verifier) else {
            throw .unknownSigner(device: self.device, number: parts.number)
        }
    }

    /// Returns the account that a scope key is wrapped for.
    /// - Parameter log: The verified log that the server shows for the participant.
    /// - Throws: An error with both fingerprints if the log is not that of a participant of the manifest.
    package func recipient(named user: String, log: KeyLog) throws(ScopeFault) -> KeyLog {
        guard let participant = parts.participants.first(where: { $0.user.utf8.elementsEqual(user.utf8) }),
            parts.permission(of: participant.fingerprint) != .none
        else {
            throw .noParticipant(user)
        }
        guard participant.fingerprint == log.fingerprint else {
            throw .otherFingerprint(user: user, kept: participant.fingerprint, shown: log.fingerprint)
        }
        try parts.check(log)
        return log
    }

    /// Returns the fingerprints of the accounts for which the newest key is wrapped with this manifest: all that have a
    /// permission if the version is new, otherwise those that had none before.
    /// - Parameter last: The manifest before; nil for the first.
    package func recipients(after last: ScopeManifest?) -> Set<Digest> {
        guard let last, last.parts.version == parts.version else { return parts.readers }
        return parts.readers.subtracting(last.parts.readers)
    }

    /// Checks that the logs which the server shows extend those that the signer has seen.
    fileprivate func checkHeads(_ logs: [Digest: KeyLog]) throws(ScopeFault) {
        for participant in parts.participants {
            if let log = logs[participant.fingerprint] { try parts.check(log) }
        }
    }

    /// Whether the scope needs a new version of its key: an account that takes part has removed a device, or has
    /// another recovery key, since the manifest was signed.
    /// - Parameter logs: The verified logs of the participants, by fingerprint.
    package func needsNewKey(_ logs: [Digest: KeyLog]) -> Bool {
        parts.participants.contains { participant in
            logs[participant.fingerprint].map { $0.generation > $0.generation(at: participant.head.number) } ?? false
        }
    }
}

extension ScopeManifest.Parts {
    /// Checks that a log is of an account beside the owner's and, if it is that of a participant, that it is the
    /// participant's and extends the one that the signer has seen.
    func check(_ log: KeyLog) throws(ScopeFault) {
        let participant = participant(log.fingerprint)
        let user = participant?.user ?? log.account.user
        guard log.account.isBeside(place.owner), log.account.user.utf8.elementsEqual(user.utf8) else { throw .otherAccount(user: user) }
        guard let head = participant?.head, log.hash(at: head.number) != head.hash else { return }
        throw .otherHead(user: user, signed: head, shown: log.head)
    }
}

/// The reason why a manifest is refused, or a key is not wrapped.
package enum ScopeFault: Error, Equatable, Sendable {
    case notNext(number: UInt64)
    case otherScope
    case otherOwner(kept: Digest, shown: Digest)
    /// The stamp, a version or the head of a participant is not above or at the one before.
    case rolledBack(number: UInt64)
    /// A version has another key than before.
    case otherKey(version: UInt32)
    /// Somebody may do less than before, and the key stayed.
    case notRotated(number: UInt64)
    case mayNotSign(account: Digest, number: UInt64)
    case unknownLog(account: Digest)
    case unknownSigner(device: DeviceID, number: UInt64)
    case truncated(kept: ChainHead, shown: ChainHead)
    case forked(number: UInt64, kept: Digest, shown: Digest)
    /// A record is sealed under a version that readers do not take.
    case oldKey(version: UInt32, oldest: UInt32, newest: UInt32)
    case mayNotWrite(device: DeviceID)
    /// A record was in another scope, and its owner did not move it into this one.
    case mayNotMove(device: DeviceID)
    /// The writer of a record has seen a later manifest than the client.
    case unknownNumber(UInt64)
    /// The user is not in the signed list, whatever the server's list says.
    case noParticipant(String)
    case otherFingerprint(user: String, kept: Digest, shown: Digest)
    /// The log is of another user, container or environment.
    case otherAccount(user: String)
    /// The log is another than the one that the signer of the manifest had seen.
    case otherHead(user: String, signed: ChainHead, shown: ChainHead)
}

extension ScopeFault: CustomStringConvertible {
    package var description: String {
        switch self {
        case .notNext(let number): "Manifest \(number) does not follow the newest one: read the scope again"
        case .otherScope: "The manifest is of another scope"
        case .otherOwner(let kept, let shown): "The owner has fingerprint \(shown), and had \(kept): compare fingerprints"
        case .rolledBack(let number): "Manifest \(number) goes back to an older stamp, key or log"
        case .otherKey(let version): "Version \(version) of the key is another than it was"
        case .notRotated(let number): "Manifest \(number) takes a permission away and keeps the key"
        case .mayNotSign(let account, let number): "The account with fingerprint \(account) may not sign manifest \(number)"
        case .unknownLog(let account): "The log of the account with fingerprint \(account) is missing"
        case .unknownSigner(let device, let number): "Manifest \(number) is not signed by device \(device), or that device is not enrolled"
        case .truncated(let kept, let shown): "The scope ends at manifest \(shown.number), and had manifest \(kept.number)"
        case .forked(let number, let kept, let shown): "Manifest \(number) has hash \(shown), and had \(kept): the server has shown two scopes"
        case .oldKey(let version, let oldest, let newest): "Version \(version) of the key does not count: versions \(oldest) to \(newest) do"
        case .mayNotWrite(let device): "Device \(device) did not sign the record, or its account may not write here"
        case .mayNotMove(let device): "Device \(device) wrote the record in another scope than before: its owner did not move it there"
        case .unknownNumber(let number): "The record was saved after manifest \(number) of its scope, which is missing: read the scope again"
        case .otherAccount(let user): "The log of \(user) is of another user, container or environment"
        case .noParticipant(let user): "\(user) is not in the signed list of participants: no key is sealed for this user"
        case .otherFingerprint(let user, let kept, let shown):
            "\(user) has fingerprint \(shown), and the signed list has \(kept): compare fingerprints"
        case .otherHead(let user, let signed, let shown):
            "The log of \(user) ends at statement \(shown.number), and does not extend statement \(signed.number) of the signed list"
        }
    }
}
