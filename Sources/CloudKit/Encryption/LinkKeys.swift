#if canImport(NacreEncryption)
    import NacreCloudWire
    import NacreCrypto
    import NacreEncryption
    import NacreEncryptionForms
    import NacreLocks

    // The keys of who comes to a share by its link, or by a one-time link. The rules are functions over values, as in
    // Keyring.swift and ShareWishes.swift; `KeyExchange` asks the server.

    // MARK: Wishes

    extension ShareWish {
        /// The ID that no participant has.
        private static let linkID = "#"

        /// Makes the wish for the permission of the share's link.
        init(link permission: ScopeManifest.Permission) {
            self.init(
                participant: Self.linkID, user: nil, permission: permission.rawValue, role: ScopeManifest.Role.publicUser.rawValue)
        }

        /// Makes the wish that a user who came by the share's link has no key from now on; nil if the user is not
        /// known.
        init?(removing participant: ShareParticipant) {
            guard let user = participant.user else { return nil }
            self.init(
                participant: participant.participantID ?? "", user: user, permission: ScopeManifest.Permission.none.rawValue,
                role: ScopeManifest.Role.publicUser.rawValue)
        }

        /// Makes the wish for a user who came by the share's link, as a verified word says.
        fileprivate init(visitor user: String, _ permission: ScopeManifest.Permission) {
            self.init(participant: user, user: user, permission: permission.rawValue, role: ScopeManifest.Role.publicUser.rawValue)
        }

        /// Whether the wish is for the permission of the share's link.
        var isLink: Bool { participant == Self.linkID && user == nil }
        /// Whether the wish removes a user who came by the share's link, and may have its key without a manifest's
        /// word.
        var removesVisitor: Bool { !isLink && signedRole == .publicUser && signedPermission == .none }
        /// Whether the wish is for a participant who comes by a one-time link and is not there yet.
        fileprivate var waitsForVisitor: Bool { isOneTime == true && user == nil && signedPermission != .none }
    }

    /// The participants of a share and the permission of its link, as the server has them. They give nobody a key.
    struct ShareList: Sendable {
        var participants: [ShareParticipant] = []
        var open: ScopeManifest.Permission = .none

        /// - Parameter share: nil: there is none.
        init(_ share: ShareDetails?) {
            guard let share else { return }
            (participants, open) = (share.participants, share.publicPermission.signed)
        }

        /// Whether everybody who has the share's URL may come.
        var isOpen: Bool { open != .none }
        /// Whether the share has a link of its own, or one-time links.
        var hasLinks: Bool { isOpen || participants.contains(where: \.isOneTime) }

        /// Whether nobody has come by the one-time link of a participant.
        fileprivate func waits(_ participant: String) -> Bool {
            participants.contains { $0.participantID == participant && $0.isOneTime && $0.identity.userRecordName == nil }
        }
    }

    extension KeptKeys {
        /// Takes from verified words who came by the one-time links of this device's app, and notes the version of the
        /// key that is to end because a visitor is removed.
        mutating func meet(_ joined: [Joining], of keys: ZoneKeys) {
            let name = Self.name(ofShare: keys.share, inZone: keys.place.zone)
            guard let known = wishes[name] else { return }
            setWishes(
                known.map { wish in
                    var wish = wish
                    if wish.removesVisitor, wish.renews == nil, wish.isPending != true { wish.renews = keys.newest.id.version }
                    guard wish.waitsForVisitor, let word = joined.first(where: { $0.parts.link == wish.participant }) else { return wish }
                    wish.user = word.parts.user
                    return wish
                }, ofZone: name)
        }
    }

    extension OwnKeys {
        /// Returns the wishes for users who came by the share's link, and are in no manifest yet.
        /// - Parameters:
        ///   - joined: verified words.
        ///   - wishes: those of this device's app, which come first.
        func visits(_ joined: [Joining], of parts: ScopeManifest.Parts, besides wishes: [ShareWish]) -> [ShareWish] {
            guard parts.number < Self.manifestsForOthers, parts.linkPermission != .none else { return [] }
            return joined.filter { word in
                word.parts.link.isEmpty && parts.participant(named: word.parts.user) == nil && !wishes.contains { $0.user == word.parts.user }
            }.map { ShareWish(visitor: $0.parts.user, parts.linkPermission) }
        }

        /// Returns the participants, without a permission, whom a manifest names for once because their joinings end
        /// with it: users who came by the share's link and are in no manifest. Later devices find their logs by it, and
        /// open what they have written.
        /// - Parameters:
        ///   - joined: verified words.
        ///   - next: the participants of the manifest otherwise.
        ///   - plan: the links of the manifest.
        func leaving(
            _ joined: [Joining], of parts: ScopeManifest.Parts, besides next: [ScopeManifest.Participant], _ plan: LinkPlan,
            logs: [String: KeyLog]
        ) -> [ScopeManifest.Participant] {
            guard plan.mustRenew || plan.permission == .none && parts.linkPermission != .none else { return [] }
            let known = Set((next + parts.participants).map(\.user))
            let users = Set(joined.filter(\.parts.link.isEmpty).map(\.parts.user)).subtracting(known)
            return users.sorted().compactMap { user in
                logs[user].map {
                    ScopeManifest.Participant(
                        user: user, fingerprint: $0.fingerprint, head: $0.head, permission: .none, role: .privateUser)
                }
            }
        }
    }

    // MARK: Links

    /// The links that the next manifest of a scope has.
    struct LinkPlan: Sendable {
        /// The permission of the share's link.
        var permission: ScopeManifest.Permission
        /// The IDs of participants whose one-time links nobody has used.
        var oneTime: Set<String>
        /// Whether the key has another version, because a user who came by the link is removed.
        var mustRenew = false

        /// The names of the links.
        var names: Set<String> { permission == .none ? oneTime : oneTime.union([""]) }
    }

    extension ZoneKeys {
        /// The links as they are.
        var linkPlan: LinkPlan { LinkPlan(permission: manifest.parts.linkPermission, oneTime: Set(links.keys).subtracting([""])) }

        /// Returns the links that this device's app wishes, as far as the server's share has them. The share takes
        /// links away and gives none. A share of records has no links with keys.
        /// - Parameter list: nil: the share is not known.
        func linkPlan(_ wishes: [ShareWish], _ list: ShareList?) -> LinkPlan {
            var plan = linkPlan
            guard manifest.parts.root.isEmpty else { return plan }
            if let wish = wishes.last(where: \.isLink), wish.isPending != true || wish.signedPermission != .none {
                plan.permission = wish.signedPermission
            }
            plan.oneTime.formUnion(wishes.filter(\.waitsForVisitor).map(\.participant))
            plan.mustRenew = wishes.contains { $0.removesVisitor && $0.isPending != true }
            guard let list else { return plan }
            if list.open.rawValue < plan.permission.rawValue { plan.permission = list.open }
            plan.oneTime = plan.oneTime.filter(list.waits)
            return plan
        }

        /// Whether somebody may have come by a link whom the manifest does not have.
        func mayHaveVisitors(_ list: ShareList) -> Bool {
            guard !links.isEmpty else { return false }
            return list.participants.contains { one in
                one.role != .owner && one.acceptance == .accepted && one.user.map { manifest.parts.participant(named: $0) == nil } ?? false
            }
        }

        /// Whether this user has come by a one-time link, and waits for a manifest that says what they may do.
        var mayBecomeWriter: Bool { manifest.parts.linkPermission == .none && manifest.parts.participant(named: account.user) == nil }

        /// The secrets of the links by their names, as texts for URLs.
        var linkTexts: ShareLinks { ShareLinks(texts: links.mapValues(\.fragment)) }

        /// Whether no known log has the device that has written a record.
        func lacksWriter(of record: Record) -> Bool {
            guard let form = record.manifest.flatMap({ try? RecordManifest($0) }) else { return false }
            return !accounts.values.contains { $0.contains { $0.devices[form.parts.writer] != nil } }
        }
    }

    extension ScopeKey {
        /// Returns the secrets of the links that a server shows, and the words which they prove. A link that does not
        /// open is left out: the next manifest of the owner's makes another.
        func links(of shown: ShownScope, at place: Place) -> (secrets: [String: LinkSecret], joinings: [Joining]) {
            var secrets: [String: LinkSecret] = [:]
            for link in shown.links {
                let name = link.participantID ?? ""
                guard let bytes = link.secret, let sealed = try? NacreEncryptionForms.SealedValue(bytes) else { continue }
                secrets[name] = try? open(sealed, ofLink: name, place: place)
            }
            let joinings = shown.joinings.compactMap { try? Joining($0) }.filter { word in
                word.parts.place == place && word.parts.keyID == id && secrets[word.parts.link]?.hasMade(word) ?? false
            }
            return (secrets, joinings)
        }

        /// Makes the links of a scope for this key.
        /// - Parameter secrets: those that links keep, by their names. The others get new ones.
        func links(
            _ names: Set<String>, keeping secrets: [String: LinkSecret], at place: Place, using random: inout KeyRandom
        ) throws(CryptoError) -> [ScopeLink] {
            var links: [ScopeLink] = []
            for name in names.sorted() {
                let secret = if let known = secrets[name] { known } else { try LinkSecret(using: &random) }
                links.append(
                    ScopeLink(
                        participantID: name.isEmpty ? nil : name, key: try secret.seal(self, place: place, using: &random).bytes,
                        secret: try seal(secret, named: name, place: place, using: &random).bytes))
            }
            return links
        }
    }

    extension ScopeManifest.Parts {
        /// Whether somebody may do less than before who did not come by the share's link and leave it. Who left could
        /// come again by the link, so that it may stay.
        func takesFromOthersThanVisitors(of old: Self) -> Bool {
            var old = old
            old.participants.removeAll { $0.role == .publicUser && participant($0.fingerprint) == nil }
            return takesAway(from: old)
        }
    }

    // MARK: Coming by a link

    extension KeptKeys {
        /// Opens the key of a scope by the secret of a link, and makes the request that keeps it in the user's account.
        /// - Throws: `linkOpensNothing`, and an error for a scope that does not verify.
        mutating func joining(
            _ shown: ShownScope, at place: Place, of own: OwnKeys, by secret: LinkSecret, using random: KeyRandom
        ) throws(CKError) -> KeysScopesJoinRequest {
            try CKError.checking {
                var random = random
                let manifest = try verified(shown, at: place, for: own.log).chain.newest
                let opened = shown.links.lazy.compactMap { link -> (name: String, key: ScopeKey)? in
                    guard let sealed = try? NacreEncryptionForms.SealedValue(link.key), sealed.keyID == manifest.parts.keyID,
                        let key = try? secret.open(sealed, manifest: manifest)
                    else { return nil }
                    return (link.participantID ?? "", key)
                }.first
                guard let (name, key) = opened else { throw CKError.linkOpensNothing }
                let (log, user) = (own.log, own.log.account.user)
                guard let parts = Joining.Parts(place: place, keyID: key.id, link: name, user: user, fingerprint: log.fingerprint) else {
                    throw CKError.linkOpensNothing
                }
                return KeysScopesJoinRequest(
                    zoneID: ZoneID(zoneName: place.zone, ownerRecordName: place.owner.user),
                    wrap: try key.wrap(forOwn: log, place: place, by: own.device, using: &random).bytes,
                    joining: try secret.joining(parts).bytes)
            }
        }
    }

    extension KeyExchange {
        /// Takes the keys of another user's zone by the secret of a link, unless the account has them. The account and
        /// this device get keys of their own first, if they have none. Nothing is done in a zone without keys.
        /// - Throws: `accountTemporarilyUnavailable` if the link opens nothing.
        func join(_ place: Place, by secret: LinkSecret) async throws(CKError) {
            guard place.owner != account.name else { return }
            line.openedKeys.withLock { $0.forget(place.zone) }
            for _ in 0..<Self.triesMax {
                guard let shown = try await scope(of: place) else { return }
                let own = try await ownKeysForSaving()
                do throws(CKError) {
                    if try await zoneKeys(at: place) != nil { return }
                } catch {
                    guard error.code == .accountTemporarilyUnavailable else { throw error }
                }
                let named = try await withLogs(shown)
                let request = try await line.keyStore.update(account) { [random = line.timekeeper.keyRandom] kept throws(CKError) in
                    try kept.joining(named, at: place, of: own, by: secret, using: random)
                }
                let isDone = try await unlessConflict { () throws(CKError) in
                    let _: KeysScopesJoinResponse = try await shared.ask("keys/scopes/join", request, .change)
                }
                line.openedKeys.withLock { $0.forget(place.zone) }
                if isDone { return }
            }
            throw .keysAreBusy
        }

        /// Returns keys with the log of a record's writer: a user who came by a link may write before a manifest names
        /// them. The server says who has made and who has saved the record last, and the log and the record's manifest
        /// verify that.
        /// - Parameter asked: the users whose logs were asked for, which is done once.
        func withWriter(of record: Record, _ keys: ZoneKeys, asked: inout Set<String>) async -> ZoneKeys {
            var keys = keys
            for user in [record.modified.userRecordName, record.created.userRecordName] where keys.lacksWriter(of: record) {
                guard asked.insert(user).inserted, let logs = try? await logs(of: user, isNamed: false), !logs.isEmpty else { continue }
                keys.accounts[user] = logs
                line.openedKeys.withLock { [keys] in $0.keep(logs, ofWriter: user, in: keys, of: account) }
            }
            return keys
        }

        /// Returns the words of users who came by links, whose accounts the server shows as the words name them. Adds
        /// the logs of these accounts.
        func verifiedJoinings(_ keys: ZoneKeys, _ logs: inout [String: KeyLog]) async -> [Joining] {
            var joined: [Joining] = []
            for word in keys.joinings where word.parts.user != account.name.user {
                let user = word.parts.user
                do throws(CKError) {
                    if logs[user] == nil { logs[user] = try await self.logs(of: user).last }
                } catch {
                    // One account alone must not stop the others' keys.
                    line.log("CloudKit: the user \(user), who came by a link of the zone '\(keys.place.zone)', gets no keys: \(error)")
                }
                if logs[user]?.fingerprint == word.parts.fingerprint { joined.append(word) }
            }
            return joined
        }
    }
#endif
