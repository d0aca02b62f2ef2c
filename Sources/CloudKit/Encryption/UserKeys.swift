#if canImport(NacreEncryption)
    import NacreCloudWire
    import NacreCrypto
    import NacreEncryption
    import NacreEncryptionForms
    import NacreLocks

    /// The keys of the user's own account as the user looks after them. `nacre keys` prints what it returns.
    package struct UserKeys: Sendable {
        /// The account as this device meets it.
        package struct Status: Encodable, Sendable {
            package enum Keys: String, Encodable, Sendable {
                /// The account has no keys.
                case none
                /// A reset has ended the account's keys. This device begins the next ones.
                case ended
                /// This device has the account's keys.
                case here
                /// Other devices have the account's keys.
                case elsewhere
                /// This device had the account's keys and was removed.
                case removed
                /// The server has shown a tree of logs that does not go with the one that this device has seen.
                case doubted
            }

            package let container: String
            package let environment: String
            /// The name of the user's record.
            package let user: String
            package let keys: Keys
            /// The generation of the account key, from 1; nil: there is none.
            package let generation: UInt32?
            package let devices: Int
            /// Whether this device has recovery words that its user has not seen.
            package let hasUnseenWords: Bool
            /// The zones whose keys this device has seen.
            package let zones: [String]
            /// Two signed heads, if the server has not shown that its tree of logs is the one that this device has
            /// seen.
            package let tree: Tree?
            /// The next step of the user.
            package let next: String
        }

        /// Two heads of trees of logs that a server has signed, as hexadecimal digits of the forms.
        package struct Tree: Encodable, Sendable {
            package let seen: String
            package let shown: String
            /// Whether the heads prove that there are two trees: they are of one size. Otherwise the server has failed
            /// to prove that there is one.
            package let isProof: Bool
        }

        /// A device that is enrolled.
        package struct Device: Encodable, Sendable {
            /// 32 hexadecimal digits.
            package let id: String
            /// The number of the statement that added it. Statements have no time.
            package let statement: UInt64
            package let isThis: Bool
        }

        /// The hash by which people know an account, and the newest statement of its log.
        package struct Fingerprint: Encodable, Sendable {
            package let user: String
            /// In groups of four hexadecimal digits.
            package let fingerprint: String
            /// The number of the newest statement.
            package let statement: UInt64
            /// The hash of the newest statement, in groups.
            package let head: String
            /// Whether this device is enrolled in the log. Any other log is what the server shows.
            package let isEnrolled: Bool
        }

        /// A recovery key as its user writes it down.
        package struct RecoveryNote: Encodable, Sendable {
            package let words: [String]
            /// The account's, in groups of four hexadecimal digits: it tells which account the words are of.
            package let fingerprint: String
        }

        let exchange: KeyExchange
        var line: ServerLine { exchange.line }
        var random: KeyRandom { line.timekeeper.keyRandom }
        private var account: AccountName { exchange.account.name }

        package func status() async throws(CKError) -> Status {
            let asked: Result<AccountState, CKError>
            do throws(CKError) {
                asked = .success(try await exchange.accountState())
            } catch {
                asked = .failure(error)
            }
            let kept = try await line.keyStore.keys(of: exchange.account)
            let tree = kept.tree?.doubt.map { doubt in
                Tree(seen: Hex.encode(doubt.kept.bytes), shown: Hex.encode(doubt.shown.bytes), isProof: doubt.isProof)
            }
            let state: AccountState
            switch asked {
            case .success(let answer): state = answer
            case .failure(let error):
                guard let tree else { throw error }
                return Status(
                    container: account.container, environment: account.environment, user: account.user, keys: .doubted, generation: nil, devices: 0,
                    hasUnseenWords: false, zones: kept.ownZones, tree: tree,
                    next: "Show the two heads to the server's operator. If the server was put back from a backup, run 'nacre keys trust-tree'")
            }
            var log = state.log
            if log?.isReset == true { log = nil }
            let (keys, next): (Status.Keys, String) =
                switch state {
                case .empty: (.none, "The first save of an encrypted value makes keys")
                case .ended: (.ended, "The next save of an encrypted value begins the account's keys anew")
                case .closed(_, let wasRemoved): (wasRemoved ? .removed : .elsewhere, CKError.enrolment)
                case .open where kept.recovery != nil: (.here, "Run 'nacre keys recovery', and write the words down")
                case .open: (.here, "To add a device, run 'nacre keys enrol' on it and 'nacre keys approve' here")
                }
            return Status(
                container: account.container, environment: account.environment, user: account.user, keys: keys, generation: log?.generation,
                devices: log?.enrolled.count ?? 0, hasUnseenWords: keys == .here && kept.recovery != nil, zones: kept.ownZones,
                tree: tree, next: next)
        }

        /// Returns the enrolled devices, the oldest first.
        package func devices() async throws(CKError) -> [Device] {
            let state = try await exchange.accountState()
            let own: DeviceID? = if case .open(let own) = state { own.device.id } else { nil }
            guard let log = state.log else { throw .accountHasNoKeys }
            let enrolled = log.enrolled.sorted { $0.value.added < $1.value.added }
            return enrolled.map { Device(id: "\($0.key)", statement: $0.value.added, isThis: $0.key == own) }
        }

        /// Returns the fingerprint of an account of the environment.
        /// - Parameter user: the name of a user's record; nil: the account's own.
        package func fingerprint(of user: String? = nil) async throws(CKError) -> Fingerprint {
            guard let user, user != account.user else {
                let state = try await exchange.accountState()
                let isEnrolled = if case .open = state { true } else { false }
                return try fingerprint(of: account, state.log, isEnrolled: isEnrolled)
            }
            guard let name = AccountName(container: account.container, environment: account.environment, user: user) else {
                throw .malformed("The user's name is too long")
            }
            let shown = try await exchange.shownAccount(of: user)
            let log = try CKError.checking { try KeptKeys.logs(try shown.statements.map { try KeyStatement($0) }, of: name).last }
            return try fingerprint(of: name, log, isEnrolled: false)
        }

        private func fingerprint(of name: AccountName, _ log: KeyLog?, isEnrolled: Bool) throws(CKError) -> Fingerprint {
            guard let log else { throw .accountHasNoKeys }
            return Fingerprint(
                user: name.user, fingerprint: log.fingerprint.groups, statement: log.head.number, head: log.head.hash.groups, isEnrolled: isEnrolled)
        }

        // MARK: Changes

        /// Removes a device. Devices that stay have the next account key. The zones with keys get another one at once,
        /// so that the removed device opens nothing that is saved from then on. Those whose newest key the device has
        /// made get one before, too: no key counts that comes from a device which is not enrolled. One that the device
        /// makes in between is taken over afterwards. If that fails, it is done by another call with the removed
        /// device.
        /// - Parameter device: its ID, 32 hexadecimal digits.
        /// - Returns: the zones that have another key now.
        /// - Throws: also `KeyLogFault`, for a device that is not enrolled and for this one; `internalError`, with the
        ///   names of zones, if the device is removed and they were not taken over.
        package func remove(_ device: String) async throws -> [String] {
            guard let bytes = try? Hex.decode(device.lowercased()), let id = DeviceID(bytes) else {
                throw CKError.keysUnchanged("'\(device)' is not the ID of a device", remedy: "'nacre keys devices' lists them")
            }
            let own = try await own()
            let wasRemoved = own.log.devices[id]?.removed != nil
            if id != own.device.id, own.log.device(id) != nil {
                for (place, which) in try await ownScopes() {
                    do throws(CKError) {
                        try await exchange.takeOver(place, which, from: id)
                    } catch {
                        // The zone is taken over after the removal. Neither the device nor a server prevents that one.
                        guard error.code == .internalError || error.code == .zoneBusy else { throw error }
                    }
                }
            }
            if !wasRemoved { try await change { own in try own.removal(of: id, using: random) } }
            let (isAny, left) = try await takeOverZones(of: id)
            if wasRemoved, !isAny, left.isEmpty { try await change { own in try own.removal(of: id, using: random) } }
            let renewed = await renewZones()
            guard left.isEmpty else { throw CKError.zonesNotTakenOver(left, from: "\(id)") }
            return renewed
        }

        /// Returns the scopes of the user's own zones, and those of shares of records that this device has seen.
        private func ownScopes() async throws(CKError) -> [(Place, WhichScope)] {
            let zones = try await exchange.ownZones().map { ($0, WhichScope.zone) }
            let shares = try await line.keyStore.keys(of: exchange.account).ownShares.map { ($0.zone, WhichScope.id($0.scope)) }
            return (zones + shares).compactMap { zone, which in Place(owner: account, zone: zone).map { ($0, which) } }
        }

        /// Makes other keys of the zones whose newest key or manifest is that of a device that was removed.
        /// - Returns: whether there are any, and the names of those where that failed.
        private func takeOverZones(of device: DeviceID) async throws(CKError) -> (isAny: Bool, left: [String]) {
            let before = try await exchange.log(beforeRemovalOf: device)
            var (isAny, left): (Bool, [String]) = (false, [])
            for (place, which) in try await ownScopes() {
                do throws(CKError) {
                    if try await exchange.takeOver(place, which, from: device, before: before) { isAny = true }
                } catch {
                    line.log("CloudKit: the keys of the zone '\(place.zone)' were not taken over from a removed device: \(error)")
                    if !left.contains(place.zone) { left.append(place.zone) }
                }
            }
            return (isAny, left)
        }

        /// Makes another recovery key in the place of the account's, and another key of zones as `remove` does.
        package func replaceRecovery() async throws -> RecoveryNote {
            let secret = try random.secret(RecoveryWords.secretLength)
            let own = try await change { own in try own.newRecovery(secret, using: random) }
            _ = await renewZones()
            return try note(secret, own.log)
        }

        /// Returns the recovery key that this device made with the account. `forgetRecoveryWords` follows, once the
        /// user has seen it.
        package func recoveryWords() async throws -> RecoveryNote {
            let own = try await own()
            guard let secret = try await line.keyStore.keys(of: exchange.account).recovery else {
                throw CKError.keysUnchanged(
                    "This device has no recovery words to show",
                    remedy: "They were shown, or another device has made them. 'nacre keys recovery --replace' makes new ones")
            }
            return try note(secret, own.log)
        }

        package func forgetRecoveryWords() async throws(CKError) {
            try await line.keyStore.update(exchange.account) { kept throws(CKError) in kept.recovery = nil }
        }

        private func note(_ secret: SecretBytes, _ log: KeyLog) throws -> RecoveryNote {
            RecoveryNote(words: try RecoveryWords.words(for: secret), fingerprint: log.fingerprint.groups)
        }

        /// Ends the account's keys with a signed reset, and begins new ones on this device. All encrypted values are
        /// lost: the server ends the zones that had keys.
        /// - Parameter words: the 24 recovery words, which sign on a device that is not enrolled.
        package func reset(words: String? = nil) async throws(CKError) {
            let secret: SecretBytes? = if let words { try Self.secret(words) } else { nil }
            let random = random
            for _ in 0..<KeyExchange.triesMax {
                let shown = try await exchange.shownAccount()
                let request = try await line.keyStore.update(exchange.account) { [account] kept throws(CKError) in
                    try kept.toReset(shown, of: account, with: secret, using: random)
                }
                if let request {
                    guard try await exchange.append(request) else { continue }
                    // The next log has another recovery key.
                    try await forgetRecoveryWords()
                }
                forgetOpened()
                _ = try await exchange.ownKeysForSaving()
                return
            }
            throw .keysAreBusy
        }

        /// Reads the 24 recovery words.
        static func secret(_ words: String) throws(CKError) -> SecretBytes {
            do throws(RecoveryWords.Fault) {
                return try RecoveryWords.secret(from: words)
            } catch {
                switch error {
                case .wrongCount(let count): throw .notRecoveryWords("there are \(count)")
                case .unknownWord(let place): throw .notRecoveryWords("word \(place) is not in the list")
                case .wrongChecksum: throw .notRecoveryWords("one of them is another")
                }
            }
        }

        // MARK: Help

        /// Returns the account's keys as the server shows them now.
        func own() async throws(CKError) -> OwnKeys {
            switch try await exchange.accountState() {
            case .open(let own): return own
            case .closed(_, let wasRemoved): throw .deviceHasNoKeys(wasRemoved: wasRemoved)
            case .empty, .ended: throw .accountHasNoKeys
            }
        }

        /// Adds a statement, made anew while other devices are quicker.
        /// - Returns: the keys that the statement was made with.
        @discardableResult private func change(_ request: (OwnKeys) throws -> KeysAppendRequest) async throws -> OwnKeys {
            for _ in 0..<KeyExchange.triesMax {
                let own = try await own()
                if try await exchange.append(try request(own)) {
                    forgetOpened()
                    return own
                }
            }
            throw CKError.keysAreBusy
        }

        func forgetOpened() { line.openedKeys.withLock { $0 = OpenedKeys() } }

        /// Makes the next keys of the zones that this device knows. A zone where that fails gets its key at the next
        /// save.
        /// - Returns: the names of the zones that have theirs.
        private func renewZones() async -> [String] {
            var renewed: [String] = []
            let kept = try? await line.keyStore.keys(of: exchange.account)
            for (zone, scope) in kept?.ownShares ?? [] {
                guard let place = Place(owner: account, zone: zone) else { continue }
                _ = try? await exchange.keysForSaving(.id(scope), at: place)
            }
            for zone in kept?.ownZones ?? [] {
                // A zone that was made anew has no key yet, and needs none.
                guard let place = Place(owner: account, zone: zone), let keys = try? await exchange.zoneKeys(at: place), keys.place == place,
                    (try? await exchange.zoneKeysForSaving(at: place)) != nil
                else { continue }
                renewed.append(zone)
            }
            return renewed
        }
    }

    extension CKContainer {
        /// The keys of the user's own account.
        package func userKeys() async throws(CKError) -> UserKeys {
            let patience = Patience(requestTimeout: 60, resourceTimeout: 60, retriesNetworkErrors: false)
            guard let exchange = try await Conversation(line: line, scope: .private, patience: patience).keyExchange() else { throw .needsAccount }
            return UserKeys(exchange: exchange)
        }
    }
#endif
