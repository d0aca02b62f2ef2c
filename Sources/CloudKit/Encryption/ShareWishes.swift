#if canImport(NacreEncryption)
    import NacreCloudWire
    import NacreEncryption
    import NacreEncryptionForms

    // The rules by which the owner's device decides who takes part in a scope. All are functions over values, as in
    // Keyring.swift; `KeyExchange` asks the server.

    /// A participant whom this device's app has added, changed or removed, until a manifest of the scope says the same.
    /// The server's list alone gives nobody a key.
    package struct ShareWish: Codable, Hashable, Sendable {
        /// The participant's ID in the share, or the name of the user's record if that is not known.
        let participant: String
        /// The name of the user's record; nil until the server has told it.
        var user: String?
        /// A number of `CKShare.ParticipantPermission`: 1 removes the participant.
        let permission: UInt8
        /// A number of `CKShare.ParticipantRole`.
        let role: UInt8
        /// True until the server has answered the save of the share that says so.
        var isPending: Bool?
        /// The time at which this device has first met the share with a participant who was invited by an address, in
        /// milliseconds since 1970; nil for one invited by name.
        var since: UInt64? = nil
        /// Whether the server has told the name of the user whose address was invited; nil: no.
        var isNamedByServer: Bool? = nil
        /// Whether the participant is whoever comes first by a one-time link; nil: no. The server names nobody for it.
        var isOneTime: Bool? = nil
        /// For a user who came by a link and is removed: the version of the key when the wish was met. A later one
        /// fulfils it.
        var renews: UInt32? = nil

        /// Milliseconds after which a wish for an address ends: 90 days. The server says whose the address is, and
        /// would else have that choice for ever.
        static let addressMilliseconds: UInt64 = 90 * 24 * 3600 * 1000

        var signedPermission: ScopeManifest.Permission { ScopeManifest.Permission(rawValue: permission) ?? .none }
        /// The role in manifests. Nobody becomes the owner because of a wish.
        var signedRole: ScopeManifest.Role {
            switch ScopeManifest.Role(rawValue: role) {
            case .administrator?: .administrator
            case .publicUser?: .publicUser
            case .owner?, .privateUser?, nil: .privateUser
            }
        }

        func isOfSame(as other: Self) -> Bool { participant == other.participant || user != nil && user == other.user }

        /// Whether a manifest says what the wish asks for.
        func isDone(in parts: ScopeManifest.Parts) -> Bool {
            if isLink { return parts.linkPermission == signedPermission }
            if removesVisitor { return renews.map { parts.version > $0 } ?? false }
            guard let user else { return signedPermission == .none }
            guard let one = parts.participant(named: user) else { return signedPermission == .none }
            return one.permission == signedPermission && one.role == signedRole
        }
    }

    extension ScopeManifest.Parts {
        func participant(named user: String) -> ScopeManifest.Participant? {
            participants.first { $0.user.utf8.elementsEqual(user.utf8) }
        }
    }

    extension ShareSheet {
        /// The participants whom the app has added, changed or removed since the share was fetched.
        var wishes: [ShareWish] {
            let (all, now) = (fetched?.participants ?? [], participants.map(\.wire))
            let (before, after) = (all.filter(\.isInvited), now.filter(\.isInvited))
            let changed = after.filter { one in
                added.contains(one.participantID ?? "")
                    || !before.contains { $0.participantID == one.participantID && $0.permission == one.permission && $0.role == one.role }
            }
            let removed = before.filter { one in !after.contains { $0.participantID == one.participantID } }
            let visitors = all.filter { one in one.role == .publicUser && !now.contains { $0.participantID == one.participantID } }
            let open = publicPermission.wire
            let link = open == fetched?.publicPermission ?? .none ? [] : [ShareWish(link: open.signed)]
            return link + changed.map { ShareWish($0, $0.permission.signed) } + removed.map { ShareWish($0, .none) }
                + visitors.compactMap { ShareWish(removing: $0) }
        }
    }

    extension ShareParticipant {
        /// Whether the participant is neither the owner, nor came by the share's link.
        var isInvited: Bool { role != .owner && role != .publicUser }
    }

    extension SharePermission {
        /// The permission in manifests.
        var signed: ScopeManifest.Permission {
            switch self {
            case .readWrite: .readWrite
            case .readOnly: .readOnly
            case .none, .unknown: .none
            }
        }
    }

    extension ShareWish {
        fileprivate init(_ participant: ShareParticipant, _ permission: ScopeManifest.Permission) {
            let role: ScopeManifest.Role = participant.role == .administrator ? .administrator : .privateUser
            self.init(
                participant: participant.participantID ?? "", user: participant.user, permission: permission.rawValue,
                role: role.rawValue, isOneTime: participant.isOneTime ? true : nil)
        }
    }

    extension KeptKeys {
        /// Keeps wishes for a zone of the user's own, in the place of earlier ones for the same participants.
        /// - Parameter isPending: whether the share is not saved yet: earlier wishes that are saved stay until it is.
        mutating func wish(_ some: [ShareWish], inZone zone: String, isPending: Bool = false) {
            guard !some.isEmpty else { return }
            let kept = (wishes[zone] ?? []).filter { old in isPending && old.isPending != true || !some.contains { $0.isOfSame(as: old) } }
            let new = some.filter { $0.user != nil || $0.signedPermission != .none || $0.isLink }.map { wish in
                var wish = wish
                wish.isPending = isPending ? true : nil
                return wish
            }
            setWishes(kept + new, ofZone: zone)
        }

        /// Takes pending wishes back whose share was not saved.
        mutating func takeBack(_ some: [ShareWish], inZone zone: String) {
            guard let known = wishes[zone] else { return }
            let left = known.filter { old in
                old.isPending != true
                    || !some.contains { $0.participant == old.participant && $0.permission == old.permission && $0.role == old.role }
            }
            setWishes(left, ofZone: zone)
        }

        /// Takes from the server's list of a share the names of users whom this device invited before they were known.
        /// Forgets wishes for participants who are not in the list any more, and those for addresses that are too old.
        /// - Parameters:
        ///   - open: the permission of the share's link as the server has it.
        ///   - asked: The wishes when the list was asked for. It says nothing of later and of pending ones.
        ///   - now: milliseconds since 1970.
        mutating func meet(
            _ list: [ShareParticipant], open: ScopeManifest.Permission = .none, inZone zone: String, asked: [ShareWish], now: UInt64
        ) {
            guard let known = wishes[zone] else { return }
            setWishes(
                known.compactMap { wish in
                    if wish.isLink { return wish.isPending == true || !asked.contains(wish) || open == wish.signedPermission ? wish : nil }
                    guard let listed = list.first(where: { $0.participantID == wish.participant || $0.isUser(wish.user) }) else {
                        let mayBeLate = wish.isPending == true || !asked.contains(wish)
                        return wish.signedPermission == .none || mayBeLate ? wish : nil
                    }
                    if wish.isOneTime == true { return wish }
                    var wish = wish
                    guard wish.user == nil || wish.isNamedByServer == true else { return wish }
                    let since = wish.since ?? now
                    guard now < since || now - since < ShareWish.addressMilliseconds else { return nil }
                    wish.since = since
                    if wish.user == nil, let user = listed.user { (wish.user, wish.isNamedByServer) = (user, true) }
                    return wish
                }, ofZone: zone)
        }

        /// Forgets the wishes that a manifest fulfils.
        mutating func settle(_ manifest: ScopeManifest, inZone zone: String) {
            guard let known = wishes[zone] else { return }
            setWishes(known.filter { !$0.isDone(in: manifest.parts) }, ofZone: zone)
        }

        mutating func setWishes(_ some: [ShareWish], ofZone zone: String) {
            wishes[zone] = some.isEmpty ? nil : Array(some.suffix(Self.wishesMax))
            if wishes.count > Self.zonesWithWishesMax, let other = wishes.keys.first(where: { $0 != zone }) { wishes[other] = nil }
        }
    }

    extension ShareParticipant {
        /// The name of the user's record, also if the user was invited by it.
        var user: String? {
            if let name = identity.userRecordName { return name }
            if case .userRecordName(let name)? = identity.lookupInfo { return name }
            return nil
        }

        fileprivate func isUser(_ name: String?) -> Bool { name != nil && user == name && acceptance != .removed }
    }

    extension OwnKeys {
        /// Returns the participants of the next manifest of a scope: those of the last one as far as the server's list
        /// has them still and their accounts have keys, changed as this device's app wishes, and those whom it has
        /// added. The list can take permissions away and gives none.
        /// - Parameters:
        ///   - wishes: the newest for each participant.
        ///   - list: the share's participants as the server has them; nil: they are not known. Empty: there is no
        ///     share.
        ///   - logs: the newest logs of accounts by the names of their users.
        func participants(
            after parts: ScopeManifest.Parts, wishes: [ShareWish], list: [ShareParticipant]?, logs: [String: KeyLog]
        ) -> [ScopeManifest.Participant] {
            let known = parts.participants.filter { $0.role != .owner }.map { ($0.user, $0.permission, $0.role) }
            let added = wishes.enumerated().compactMap { index, wish -> (String, ScopeManifest.Permission, ScopeManifest.Role)? in
                guard let user = wish.user, user != parts.place.owner.user, parts.participant(named: user) == nil,
                    !wishes[(index + 1)...].contains(where: { $0.user == user })
                else { return nil }
                return (user, wish.signedPermission, wish.signedRole)
            }
            let others = (known + added).compactMap { user, permission, role -> ScopeManifest.Participant? in
                let wish = wishes.last { $0.user == user }
                var (permission, role) = (wish?.signedPermission ?? permission, wish?.signedRole ?? role)
                if let list {
                    guard let listed = list.first(where: { $0.isUser(user) }) else { return nil }
                    if listed.permission.signed.rawValue < permission.rawValue { permission = listed.permission.signed }
                    if listed.role != .administrator, role == .administrator { role = .privateUser }
                }
                guard permission != .none, let log = logs[user], !log.isReset else { return nil }
                // One that begins its account anew and anew would use up the manifests.
                let isOther = parts.participant(named: user).map { $0.fingerprint != log.fingerprint } ?? false
                guard !isOther || wish != nil || parts.number < Self.manifestsForOthers else { return nil }
                return .init(user: user, fingerprint: log.fingerprint, head: log.head, permission: permission, role: role)
            }
            return [owner] + others
        }

        /// Returns the participants who leave a scope because their accounts have no keys now. They come again when
        /// the accounts have some, but late in a scope.
        func withoutKeys(in parts: ScopeManifest.Parts, logs: [String: KeyLog]) -> [ShareWish] {
            guard parts.number < Self.manifestsForOthers else { return [] }
            return parts.participants.filter { $0.role != .owner && logs[$0.user].map(\.isReset) ?? true }.map {
                ShareWish(participant: $0.user, user: $0.user, permission: $0.permission.rawValue, role: $0.role.rawValue)
            }
        }

        /// Makes the request for the next manifest of a scope, with another version of its key if somebody may do less
        /// than before or has removed a device.
        /// - Parameters:
        ///   - participants: those of the manifest.
        ///   - plan: the links of the manifest; nil: those of the one before.
        ///   - logs: the newest logs of their accounts, by the names of their users.
        ///   - mustRenew: whether the key has another version in any case.
        ///   - stamp: milliseconds since 1970.
        /// - Returns: nil if the newest manifest says the same.
        func nextManifest(
            after keys: ZoneKeys, participants: [ScopeManifest.Participant], links plan: LinkPlan? = nil, logs: [String: KeyLog],
            mustRenew: Bool = false, stamp: UInt64, using random: KeyRandom
        ) throws(CKError) -> KeysScopesModifyRequest? {
            try CKError.checking {
                let last = keys.manifest.parts
                var parts = last
                parts.participants = participants.sorted { $0.user.utf8.lexicographicallyPrecedes($1.user.utf8) }
                let plan = plan ?? keys.linkPlan
                parts.linkPermission = plan.permission
                let takesAway = parts.takesAway(from: last)
                let mustRenew = mustRenew || plan.mustRenew
                let isOtherLink = plan.permission != last.linkPermission || plan.names != Set(keys.links.keys)
                guard
                    mustRenew || isOtherLink || self.mustRenew(keys) || takesAway
                        || !parts.participants.elementsEqual(last.participants, by: { $0.hasSameRights(as: $1) })
                else { return nil }
                // The manifest has the newest heads, so that the key must be newer than what these have removed.
                let isNewKey = mustRenew || hasOlderKey(keys) || takesAway
                var random = random
                guard last.version < .max, last.number < .max, let id = KeyID(scope: last.scope, version: last.version + (isNewKey ? 1 : 0)) else {
                    throw CKError.keysRefused("The zone has as many versions of its key as it may have")
                }
                let key = isNewKey ? try ScopeKey(id, using: &random) : keys.newest
                (parts.number, parts.before, parts.stamp) = (last.number + 1, keys.manifest.hash, max(stamp, last.stamp + 1))
                if isNewKey {
                    parts.version = id.version
                    parts.keyProofs.append(key.proof)
                }
                let older = isNewKey ? try key.seal(older: keys.newest, place: keys.place, using: &random) : nil
                // The secret of a link may be known to whom something was taken from.
                let secrets = isNewKey && (mustRenew || hasOlderKey(keys) || parts.takesFromOthersThanVisitors(of: last)) ? [:] : keys.links
                // The server takes no links of a share of records.
                let hasLinks = last.root.isEmpty && (isNewKey || isOtherLink)
                let links = hasLinks ? try key.links(plan.names, keeping: secrets, at: keys.place, using: &random) : nil
                return try request(for: key, parts, after: keys.manifest, older: older, links: links, logs: logs, using: &random)
            }
        }
    }
#endif
