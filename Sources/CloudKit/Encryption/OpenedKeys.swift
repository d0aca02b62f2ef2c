#if canImport(NacreEncryption)
    import NacreEncryption
    import NacreEncryptionForms

    /// The keys that a container's process has opened, of one account at a time.
    ///
    /// The keys may be late: another device may have made a new version since. The server refuses a save under the
    /// older version, and `Conversation.forgetZoneKeys` then has the keys asked for again.
    struct OpenedKeys: Sendable {
        /// The most zones. More cost their requests again.
        static let zonesMax = 1_000

        private var account: KeyAccount?
        private var own: OwnKeys?
        private var zones: [Place: ZoneKeys] = [:]
        /// The keys of shares of records.
        private var shares: [ScopeID: ZoneKeys] = [:]
        /// The names of zones in which the server has refused the scope of a record that was seen: the way to the root
        /// of its share is followed to the end from then on.
        private var doubted: Set<String> = []
        /// The user's own zones in which somebody is to take part whose account had no keys.
        private var waiting: Set<Place> = []
        /// The user's own zones of which the log has told that participants have no keys.
        private var toldWithoutKeys: Set<Place> = []
        /// The verified logs of users who have written in zones to which they came by a link, by the names of their
        /// records, and for whom the server alone speaks: no manifest names them yet.
        private(set) var writers: [String: [KeyLog]] = [:]
        /// Whether the account was met without keys for this device.
        private var hadNone = false
        /// The time at which the account was asked for, in the seconds of `Timekeeper.now`.
        private var asked = 0.0
        /// The time at which the account had no keys.
        private var empty: Double?
        /// Seconds for which the account is taken as it was. A removed device may read what is saved meanwhile.
        static let accountSeconds = 60.0

        func own(of account: KeyAccount) -> OwnKeys? { self.account == account ? own : nil }

        /// Returns the keys of a zone, or those of a share of records of it.
        /// - Parameter share: the name of the share's record; nil: the zone's own keys.
        func zone(_ place: Place, share: String? = nil, of account: KeyAccount) -> ZoneKeys? {
            guard self.account == account else { return nil }
            guard let share else { return zones[place] }
            return shares.values.first { $0.share == share && $0.place == place }
        }

        /// Returns the keys of a scope of a zone, or of a share of records of it.
        func scope(_ id: ScopeID, at place: Place, of account: KeyAccount) -> ZoneKeys? {
            guard self.account == account else { return nil }
            return [zones[place], shares[id]].compactMap(\.self).first { $0.newest.id.scope == id && $0.place == place }
        }

        /// Notes that the server has refused the scope of a record, and whether it has.
        mutating func doubtScopes(inZoneNamed name: String) { if doubted.count < Self.zonesMax { doubted.insert(name) } }
        func doubtsScopes(inZoneNamed name: String) -> Bool { doubted.contains(name) }

        /// Whether keys of a share of records of a zone are known.
        /// - Parameter owner: the name of the user whose zone it is; nil: the account's own.
        func hasShares(inZoneNamed name: String, of owner: String? = nil) -> Bool {
            shares.values.contains { keys in
                keys.place.zone == name && (owner.map { $0.utf8.elementsEqual(keys.place.owner.user.utf8) } ?? keys.isOwn)
            }
        }

        /// Returns whether the account's keys are known since so long that it is asked for again before a save.
        func mustAskAgain(about account: KeyAccount, at now: Double) -> Bool {
            self.account == account && own != nil && now - asked >= Self.accountSeconds
        }

        /// Whether the account had no keys a short time ago.
        func isEmpty(_ account: KeyAccount, at now: Double) -> Bool {
            self.account == account && own == nil && empty.map { now - $0 < Self.accountSeconds } ?? false
        }

        mutating func noteEmpty(_ account: KeyAccount, at now: Double) {
            self = OpenedKeys()
            (self.account, empty) = (account, now)
        }

        /// - Returns: whether this device had none when it was asked before.
        mutating func keep(_ own: OwnKeys, of account: KeyAccount, at now: Double) -> Bool {
            if self.account != account { self = OpenedKeys() }
            defer { hadNone = false }
            (self.account, self.own, asked, empty) = (account, own, now, nil)
            return hadNone
        }

        /// Notes that this device has no keys of the account.
        mutating func noteNone(of account: KeyAccount) {
            self = OpenedKeys()
            (self.account, hadNone) = (account, true)
        }

        mutating func keep(_ keys: ZoneKeys, of account: KeyAccount) {
            if self.account != account { self = OpenedKeys() }
            self.account = account
            guard keys.manifest.parts.root.isEmpty else {
                let id = keys.newest.id.scope
                if shares.count >= Self.zonesMax, let other = shares.keys.first { shares[other] = nil }
                var keys = keys
                keys.share = keys.share ?? shares[id]?.share
                shares[id] = keys
                zones[keys.place]?.scopesOfShares.insert(id)
                return
            }
            var keys = keys
            keys.scopesOfShares.formUnion(zones[keys.place]?.scopesOfShares ?? [])
            if zones.count >= Self.zonesMax, let other = zones.keys.first { zones[other] = nil }
            zones[keys.place] = keys
        }

        /// Keeps the logs of a user who has written in a zone, with the zone's keys.
        mutating func keep(_ logs: [KeyLog], ofWriter user: String, in keys: ZoneKeys, of account: KeyAccount) {
            keep(keys, of: account)
            if writers.count >= Self.zonesMax, let other = writers.keys.first { writers[other] = nil }
            writers[user] = logs
        }

        /// Notes whether somebody waits for keys of a zone.
        mutating func note(_ place: Place, isWaitedFor: Bool) {
            if isWaitedFor { waiting.insert(place) } else { waiting.remove(place) }
        }

        /// Whether the log has not told yet that participants of a zone have no keys.
        mutating func isNewsOfWithoutKeys(in zone: Place) -> Bool {
            toldWithoutKeys.count < Self.zonesMax && toldWithoutKeys.insert(zone).inserted
        }

        /// Forgets the keys of zones of that name and of their shares, and the account's, which may have changed too.
        mutating func forget(_ zone: String) {
            zones = zones.filter { $0.key.zone != zone }
            shares = shares.filter { $0.value.place.zone != zone }
            own = nil
        }

        /// Forgets the keys of the user's own zones in which others take part or are to, and those of shares of their
        /// records: others' accounts may have changed.
        mutating func forgetShared() {
            shares = shares.filter { !$0.value.isOwn }
            zones = zones.filter { place, keys in !keys.isOwn || !keys.manifest.parts.isShared && !waiting.contains(place) }
        }
    }
#endif
