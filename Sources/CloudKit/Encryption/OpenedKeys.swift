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
        /// The user's own zones in which somebody is to take part whose account had no keys.
        private var waiting: Set<Place> = []
        /// The user's own zones of which the log has told that participants have no keys.
        private var toldWithoutKeys: Set<Place> = []
        /// Whether the account was met without keys for this device.
        private var hadNone = false
        /// The time at which the account was asked for, in the seconds of `Timekeeper.now`.
        private var asked = 0.0
        /// The time at which the account had no keys.
        private var empty: Double?
        /// Seconds for which the account is taken as it was. A removed device may read what is saved meanwhile.
        static let accountSeconds = 60.0

        func own(of account: KeyAccount) -> OwnKeys? { self.account == account ? own : nil }
        func zone(_ place: Place, of account: KeyAccount) -> ZoneKeys? { self.account == account ? zones[place] : nil }

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
            if zones.count >= Self.zonesMax, let other = zones.keys.first { zones[other] = nil }
            zones[keys.place] = keys
        }

        /// Notes whether somebody waits for keys of a zone.
        mutating func note(_ place: Place, isWaitedFor: Bool) {
            if isWaitedFor { waiting.insert(place) } else { waiting.remove(place) }
        }

        /// Whether the log has not told yet that participants of a zone have no keys.
        mutating func isNewsOfWithoutKeys(in zone: Place) -> Bool {
            toldWithoutKeys.count < Self.zonesMax && toldWithoutKeys.insert(zone).inserted
        }

        /// Forgets the keys of zones of that name, and the account's, which may have changed too.
        mutating func forget(_ zone: String) {
            zones = zones.filter { $0.key.zone != zone }
            own = nil
        }

        /// Forgets the keys of the user's own zones in which others take part or are to: their accounts may have
        /// changed.
        mutating func forgetShared() {
            zones = zones.filter { place, keys in !keys.isOwn || !keys.manifest.parts.isShared && !waiting.contains(place) }
        }
    }
#endif
