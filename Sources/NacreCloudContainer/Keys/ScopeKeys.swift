import NacreCloudStorage
package import NacreCloudWire
package import NacreEncryptionForms

/// A manifest of a scope that is to be kept, with the keys that come with it.
package struct ScopeAddition: Hashable, Sendable {
    package var manifest: ScopeManifest
    package var wraps: [KeyWrap]
    package var olderKey: NacreEncryptionForms.SealedValue?
    /// The name of the share of records whose scope begins; nil: the scope is the zone's, or has begun.
    package var share: String?
    /// All links of the scope; nil: they stay as they are.
    package var links: [LinkRow]?

    package init(
        manifest: ScopeManifest, share: String? = nil, wraps: [KeyWrap] = [], olderKey: NacreEncryptionForms.SealedValue? = nil,
        links: [LinkRow]? = nil
    ) {
        self.manifest = manifest
        self.share = share
        self.wraps = wraps
        self.olderKey = olderKey
        self.links = links
    }

    /// Returns the error of the manifest or its keys; nil if they are to be kept. The server refuses what a client
    /// would refuse, and a new version of the key without the wraps that its accounts need.
    /// - Parameters:
    ///   - last: the newest manifest of the scope; nil: this is the first.
    ///   - place: the caller's zone.
    ///   - log: the caller's log of keys.
    package func fault(over last: ScopeManifest?, at place: Place, by log: KeyLog) -> ServerError? {
        guard manifest.parts.place == place else { return .otherZonesManifest }
        guard manifest.parts.root.isEmpty || manifest.parts.linkPermission == .none && links?.isEmpty ?? true else { return .sharedByLink }
        // The ID of a scope names its share for ever.
        guard last != nil && share == nil || manifest.parts.isScope(ofShare: share) else { return .otherSharesManifest }
        do throws(ScopeFault) {
            if let last {
                try manifest.check(follows: last)
            } else if manifest.parts.number > 0 {
                throw .notNext(number: manifest.parts.number)
            }
            try manifest.checkSigner(before: last?.parts ?? manifest.parts, logs: [log.fingerprint: log], mustBeEnrolled: true)
            _ = try manifest.recipient(named: place.owner.user, log: log)
        } catch {
            return .manifestRefused(error)
        }
        let before = last?.parts.version ?? 0
        // One older key opens the version before, so none is left out.
        guard manifest.parts.version - before <= 1 else { return .versionLeftOut(next: before + 1) }
        return fault(ofKeysOver: last, by: log) ?? fault(ofLinksOver: last)
    }

    /// Returns the error of a manifest whose stamp lies too far ahead: each later one must have a later stamp.
    /// - Parameter now: the server's time.
    package func fault(at now: Timestamp) -> ServerError? {
        let stamp = Timestamp(millisecondsSince1970: Int64(clamping: manifest.parts.stamp))
        return now + Limits.manifestStampAheadSeconds < stamp ? .scopeManifestFromTheFuture : nil
    }

    private func fault(ofKeysOver last: ScopeManifest?, by log: KeyLog) -> ServerError? {
        let needed = manifest.recipients(after: last)
        guard wraps.count == needed.count, Set(wraps.map(\.recipient)) == needed else {
            return .wrapsRefused(
                "A new version of the key is sealed for each account that may read, and one that stays for those that could not: "
                    + "\(needed.count) here, each once.")
        }
        for wrap in wraps {
            guard wrap.subject == manifest.parts.keyID.map(KeyWrap.Subject.scopeKey) else {
                return .wrapsRefused("Each is the newest version of this scope's key.")
            }
            // The logs of other accounts are their clients' business: a wrap for another generation opens for nobody.
            guard wrap.recipient != log.fingerprint || wrap.generation == log.generation else {
                return .wrapsRefused("The owner's is for generation \(log.generation) of the account key.")
            }
            if let fault = wrap.fault(senders: log) { return .wrapsRefused("\(fault).") }
        }
        let isNeeded = last.map { manifest.parts.version > $0.parts.version } ?? false
        guard isNeeded, let olderKey else { return olderKey == nil && !isNeeded ? nil : .olderKeyRefused(isNeeded: isNeeded) }
        return olderKey.kind == .olderKey && olderKey.keyID == manifest.parts.keyID ? nil : .olderKeyRefused(isNeeded: true)
    }
}
