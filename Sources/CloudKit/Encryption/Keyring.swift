#if canImport(NacreEncryption)
    import NacreCloudWire
    import NacreCrypto
    import NacreEncryption
    import NacreEncryptionForms

    // This file has every rule by which a device takes keys from a server and makes its own. All are functions over
    // values: `KeyExchange` asks the server, and `KeyStore` keeps.

    /// The random bytes of keys and salts.
    struct KeyRandom: RandomBytes {
        /// The source; nil for the system's.
        let source: (@Sendable (Int) -> [UInt8])?

        func bytes(_ count: Int) throws(CryptoError) -> [UInt8] {
            if let source { return source(count) }
            return try SecureRandom.bytes(count)
        }

        func secret(_ count: Int) throws(CryptoError) -> SecretBytes {
            if let source { return SecretBytes(source(count)) }
            return try SecureRandom.secret(count)
        }
    }

    extension Timekeeper {
        var keyRandom: KeyRandom { KeyRandom(source: keyBytes) }

        /// The time of day in milliseconds since 1970, as manifests have it.
        var stamp: UInt64 { UInt64(max(0, date().timeIntervalSince1970) * 1_000) }
    }

    extension CKError {
        /// Runs a rule, and turns the fault of what the server showed into an error.
        static func checking<Value>(_ rule: () throws -> Value) throws(CKError) -> Value {
            do {
                return try rule()
            } catch let error as CKError {
                throw error
            } catch {
                throw .keysRefused("\(error)")
            }
        }
    }

    // MARK: The account

    /// The statements and keys of an account that a server shows, in the order of their pages.
    struct ShownAccount: Sendable {
        var statements: [[UInt8]] = []
        var wraps: [[UInt8]] = []
        var olderKeys: [[UInt8]] = []
    }

    /// The user's own account, on a device that has its keys.
    struct OwnKeys: Secret {
        let device: DeviceKeys
        /// The verified log, in which the device is enrolled.
        let log: KeyLog
        /// The account key of each generation that opens, the newest first.
        let accountKeys: [AccountKey]
    }

    /// The state of a verified account for this device.
    enum AccountState: Sendable {
        /// The account has no log yet.
        case empty
        /// A signed reset has ended the log, and this device is to begin the next one.
        case ended(KeyLog)
        case open(OwnKeys)
        /// The account has keys, or had some until a reset that names another device, and this device has none.
        case closed(KeyLog, wasRemoved: Bool)

        /// The newest log.
        var log: KeyLog? {
            switch self {
            case .empty: nil
            case .ended(let log), .closed(let log, _): log
            case .open(let own): own.log
            }
        }
    }

    extension KeptKeys {
        /// Verifies the account that a server shows, and opens its keys. Keeps the log's head, once the log has this
        /// device: nobody else can make such a log, since it has this device's signature.
        ///
        /// - Throws: an error for an account that does not verify, or does not extend what was kept.
        mutating func take(_ shown: ShownAccount, of account: AccountName) throws(CKError) -> AccountState {
            try CKError.checking { try taken(shown, of: account) }
        }

        private mutating func taken(_ shown: ShownAccount, of account: AccountName) throws -> AccountState {
            let logs = try Self.logs(try shown.statements.map { try KeyStatement($0) }, of: account)
            guard let newest = logs.last else {
                guard let own else { return .empty }
                throw CKError.keysRefused("The server shows no log of keys, and this device has seen statement \(own.head.number) of one")
            }
            if let own {
                guard let log = logs.first(where: { $0.fingerprint == own.fingerprint }) else {
                    throw KeyLogFault.otherFingerprint(kept: own.fingerprint, shown: newest.fingerprint)
                }
                try log.check(fingerprint: own.fingerprint, kept: own.head)
            }
            let enrolled = device.flatMap { newest.device($0.id) == nil ? nil : $0 }
            // Another device has replaced the recovery key. Only a log that has this device may end the secret that it
            // keeps: the server can make any other.
            if enrolled != nil, let secret = recovery, !newest.isReset,
                try RecoveryKey(secret, of: account).publicKeys != newest.recovery
            {
                recovery = nil
            }
            // The scopes of a log that was reset went with it.
            if enrolled != nil, own.map({ $0.fingerprint != newest.fingerprint }) ?? false { (scopes, passes) = ([:], [:]) }
            if enrolled != nil || own?.fingerprint == newest.fingerprint { own = Pin(fingerprint: newest.fingerprint, head: newest.head) }
            if let successor = newest.successor, successor == device?.publicKeys { return .ended(newest) }
            guard let enrolled else { return .closed(newest, wasRemoved: device.map { newest.devices[$0.id]?.removed != nil } ?? false) }
            return .open(try OwnKeys(enrolled, log: newest, shown))
        }

        /// Verifies logs, each of which but the first follows the signed reset of the one before.
        static func logs(_ statements: [KeyStatement], of account: AccountName) throws -> [KeyLog] {
            var logs: [KeyLog] = []
            for statement in statements {
                if case .begin = statement.action {
                    let next = try KeyLog(first: statement)
                    guard next.account == account else { throw CKError.keysRefused("The log of keys is of another account") }
                    if let last = logs.last { try next.check(follows: last) }
                    logs.append(next)
                } else {
                    guard !logs.isEmpty else { throw KeyLogFault.notABeginning }
                    try logs[logs.count - 1].append(statement)
                }
            }
            return logs
        }

        /// Returns this device's keys and the secret of the recovery key, and makes what is missing.
        mutating func toBegin(of account: AccountName, using random: KeyRandom) throws(CKError) -> (device: DeviceKeys, recovery: SecretBytes) {
            var random = random
            do throws(CryptoError) {
                let device = if let device { device } else { try DeviceKeys(using: &random) }
                let secret = if let recovery { recovery } else { try random.secret(RecoveryWords.secretLength) }
                (self.device, recovery) = (device, secret)
                return (device, secret)
            } catch {
                throw .noRandomness
            }
        }
    }

    extension OwnKeys {
        /// Opens the account keys that a server shows for a device of a verified log.
        fileprivate init(_ device: DeviceKeys, log: KeyLog, _ shown: ShownAccount) throws {
            let wraps = try shown.wraps.map { try KeyWrap($0) }
            guard let wrap = wraps.first(where: { $0.subject == .accountKey(device.id) }) else {
                throw CKError.keysRefused("The server shows no account key for device \(device.id)")
            }
            var key = try device.open(wrap, log: log)
            guard key.generation == log.generation else {
                throw CKError.keysRefused("The server shows account key \(key.generation) for this device, and the log has \(log.generation)")
            }
            let sealed = try shown.olderKeys.map { try NacreEncryptionForms.SealedValue($0) }
            let older = Dictionary(sealed.map { ($0.keyID.version, $0) }, uniquingKeysWith: { first, _ in first })
            var keys = [key]
            while let next = older[key.generation], key.generation > 1 {
                key = try key.open(older: next, of: log)
                keys.append(key)
            }
            (self.device, self.log, accountKeys) = (device, log, keys)
        }

        /// Makes the request that begins an account with this device.
        /// - Parameter ended: the log that a reset has ended; nil if the account had none.
        static func beginning(
            _ account: AccountName, device: DeviceKeys, recovery: SecretBytes, after ended: KeyLog?, using random: KeyRandom
        ) throws(CKError) -> KeysAppendRequest {
            try CKError.checking {
                var random = random
                let (statement, log, key) = try device.begin(
                    account, recovery: RecoveryKey(recovery, of: account), after: ended, using: &random)
                return KeysAppendRequest(statement: statement.bytes, wraps: try key.wraps(for: log, by: device, using: &random).map(\.bytes))
            }
        }
    }

    // MARK: The scope of a zone

    /// The manifests, the newest first, and the keys of a zone's scope that a server shows.
    struct ShownScope: Sendable {
        var manifests: [[UInt8]] = []
        var wraps: [[UInt8]] = []
        var olderKeys: [[UInt8]] = []
        var links: [ScopeLink] = []
        /// The words of users who came by a link.
        var joinings: [[UInt8]] = []
        /// The verified logs of the accounts that the manifests name, by the names of their users: of each account the
        /// newest last. One that the server does not show is left out.
        var accounts: [String: [KeyLog]] = [:]
        /// The scope that was asked for.
        var which = WhichScope.zone

        /// The names of the users whom the manifests name.
        func users() throws(CKError) -> Set<String> {
            try CKError.checking { Set(try manifests.flatMap { try ScopeManifest($0).parts.participants.map(\.user) }) }
        }
    }

    /// The keys that a device has for the records of one zone.
    struct ZoneKeys: Secret {
        /// The container, the environment, the owner and the zone.
        let place: Place
        /// Seals the values that are saved.
        let newest: ScopeKey
        /// Open the values that were saved before, the newest first.
        let older: [ScopeKey]
        /// Says who may write.
        let chain: ScopeChain
        /// The verified logs of the accounts that take part or did, by the names of their users: of each account the
        /// newest last.
        var accounts: [String: [KeyLog]]
        /// The user's own account.
        let account: AccountName
        /// Signs.
        let device: DeviceKeys
        /// The device that sealed the newest key for this account.
        let sender: DeviceID
        /// The name of the record of the share of records whose keys they are; nil: they are the zone's, or it is not
        /// known.
        var share: String?
        /// The scopes of shares of the zone's records that this device has seen. Those of a share have none.
        var scopesOfShares: Set<ScopeID> = []
        /// The secrets of links by their names: the ID of the participant of a one-time link, and nothing for the
        /// share's own. A scope of a share of records has none.
        var links: [String: LinkSecret] = [:]
        /// The words of users who came by these links, which their secrets have proved.
        var joinings: [Joining] = []

        /// Whether the zone is the user's own.
        var isOwn: Bool { place.owner == account }
        /// The newest logs of the accounts.
        var logs: [String: KeyLog] { accounts.compactMapValues(\.last) }
        /// Whether the newest manifest lets this user write.
        var mayWrite: Bool {
            let own = manifest.parts.participant(named: account.user)
            return (own.map { manifest.parts.permission(of: $0.fingerprint) } ?? manifest.parts.linkPermission) == .readWrite
        }

        /// The newest of the verified chain.
        var manifest: ScopeManifest { chain.newest }

        /// Returns the key of a name; nil if it does not count in this zone.
        func key(_ id: KeyID) -> ScopeKey? {
            id == newest.id ? newest : older.first { $0.id == id }
        }
    }

    extension KeptKeys {
        /// Verifies the scope that a server shows for a zone, opens its keys, and keeps its head.
        ///
        /// - Throws: an error for a scope that does not verify, or does not extend what was kept.
        mutating func take(_ shown: ShownScope, at place: Place, of own: OwnKeys) throws(CKError) -> ZoneKeys {
            try CKError.checking { try taken(shown, at: place, of: own) }
        }

        /// Verifies the scope that a server shows for a zone, and keeps its head.
        /// - Parameter log: that of the user's own account.
        mutating func verified(
            _ shown: ShownScope, at place: Place, for log: KeyLog
        ) throws -> (chain: ScopeChain, accounts: [String: [KeyLog]], owners: KeyLog) {
            var accounts = shown.accounts
            accounts[log.account.user] = [log]
            guard let owners = accounts[place.owner.user]?.last else {
                throw CKError.keysRefused("The server shows no log of keys of '\(place.owner.user)', who owns the zone")
            }
            let all = accounts.values.flatMap(\.self).map { ($0.fingerprint, $0) }
            let manifests = try shown.manifests.reversed().map { try ScopeManifest($0) }
            // The signed ID of the scope says of which share it is.
            let root = shown.which == .zone ? "" : manifests.last?.parts.root ?? ""
            let chain = try ScopeChain(
                manifests, of: place, root: root, owner: owners.fingerprint,
                logs: Dictionary(all, uniquingKeysWith: { first, _ in first }))
            let manifest = chain.newest
            guard shown.which.isAnswered(by: manifest.parts) else { throw CKError.keysRefused("The server shows the keys of another share") }
            try see(
                chain, of: Self.name(ofScope: manifest.parts, for: log.account), share: shown.which.share,
                in: Self.scopes(of: place, for: log.account))
            for participant in manifest.parts.participants where !participant.user.utf8.elementsEqual(log.account.user.utf8) {
                guard let logs = accounts[participant.user], logs.contains(where: { $0.fingerprint == participant.fingerprint }) else { continue }
                if let newest = logs.last { try keep(newest) }
            }
            return (chain, accounts, owners)
        }

        private mutating func taken(_ shown: ShownScope, at place: Place, of own: OwnKeys) throws -> ZoneKeys {
            let log = own.log
            let (chain, accounts, owners) = try verified(shown, at: place, for: log)
            let manifest = chain.newest
            if place.owner == log.account {
                if shown.which.id == nil { settle(manifest, inZone: Self.name(ofShare: shown.which.share, inZone: place.zone)) }
                if manifest.parts.root.isEmpty, manifest.parts.oldest == manifest.parts.version { passes[place.zone] = nil }
            }
            // A user who came by a link has a wrap by a device of their own, until a manifest has them.
            let isListed = manifest.parts.readers.contains(log.fingerprint)
            guard let id = manifest.parts.keyID,
                let wrap = try shown.wraps.map({ try KeyWrap($0) }).first(where: { $0.subject == .scopeKey(id) && $0.recipient == log.fingerprint }),
                let accountKey = own.accountKeys.first(where: { $0.generation == wrap.generation })
            else { throw isListed ? CKError.keysRefused("The server shows no key of zone '\(place.zone)' for this account") : .noKeysOfShare }
            let newest = try accountKey.open(wrap, manifest: manifest, senders: isListed ? owners : log, recipients: log)
            let sealed = try shown.olderKeys.map { try NacreEncryptionForms.SealedValue($0) }
            var older: [ScopeKey] = []
            var key = newest
            while key.id.version > manifest.parts.oldest {
                guard let next = sealed.first(where: { $0.keyID == key.id }) else {
                    throw CKError.keysRefused("The server shows no older key under version \(key.id.version) of zone '\(place.zone)'")
                }
                key = try key.open(older: next, manifest: manifest)
                older.append(key)
            }
            let (links, joinings) = newest.links(of: shown, at: place)
            return ZoneKeys(
                place: place, newest: newest, older: older, chain: chain, accounts: accounts, account: log.account, device: own.device,
                sender: wrap.sender, share: shown.which.share, scopesOfShares: scopesOfShares(beside: manifest.parts, for: log.account),
                links: links, joinings: joinings)
        }

        /// Verifies the logs of another user's account that a server shows, and keeps the head of the newest. Any
        /// account is taken the first time.
        ///
        /// - Parameter isNamed: whether the app, or a verified manifest, has named the user. Otherwise an account that
        ///   this device has not seen is not kept: a server can name any.
        /// - Returns: the logs, the newest last; none for an account without keys.
        /// - Throws: an error for logs that do not verify, or do not extend what was kept: with both fingerprints if
        ///   the server shows another account.
        mutating func take(_ shown: ShownAccount, ofOther name: AccountName, isNamed: Bool = true) throws(CKError) -> [KeyLog] {
            try CKError.checking {
                let logs = try Self.logs(try shown.statements.map { try KeyStatement($0) }, of: name)
                guard let newest = logs.last else { return [] }
                if let pin = accounts[name.user] {
                    guard let log = logs.first(where: { $0.fingerprint == pin.fingerprint }) else {
                        throw KeyLogFault.otherFingerprint(kept: pin.fingerprint, shown: newest.fingerprint)
                    }
                    try log.check(fingerprint: pin.fingerprint, kept: pin.head)
                }
                if isNamed || accounts[name.user] != nil { try keep(newest) }
                return logs
            }
        }

        /// Keeps the head of a verified log of another user's account. None that was kept has to go for it: the server
        /// could put another account in its place.
        private mutating func keep(_ newest: KeyLog) throws(CKError) {
            let user = newest.account.user
            guard accounts[user] != nil || accounts.count < Self.accountsMax else { throw .tooManyAccounts(user: user, most: Self.accountsMax) }
            accounts[user] = Pin(fingerprint: newest.fingerprint, head: newest.head)
        }

        /// Keeps the head of a zone's scope. A zone that was made again has another scope. One that it had before is
        /// refused. No head that was kept has to go for another zone's: a server that shows many zones, such as those
        /// of users whom it has made up, could have a device forget the one that it wants to roll back.
        /// - Parameters:
        ///   - name: the zone's among the kept scopes.
        ///   - share: the name of the share of records by which the scope was asked for; nil: it was not.
        private mutating func see(
            _ chain: ScopeChain, of name: String, share: String?, in kept: WritableKeyPath<KeptKeys, [String: SeenScope]>
        ) throws {
            let scope = chain.newest.parts.scope
            var before: [ScopeID] = []
            if let seen = self[keyPath: kept][name] {
                if seen.scope == scope {
                    try chain.check(kept: seen.head)
                    before = seen.before
                } else {
                    guard !seen.before.contains(scope) else {
                        throw CKError.keysRefused("The server shows keys of an earlier zone '\(name)', and this device has seen later ones")
                    }
                    before = (seen.before + [seen.scope]).suffix(Self.scopesBeforeMax)
                }
            }
            guard self[keyPath: kept][name] != nil || self[keyPath: kept].count < Self.scopesMax else {
                throw CKError.tooManyZones(zone: name, most: Self.scopesMax)
            }
            let share = share ?? self[keyPath: kept][name]?.share
            self[keyPath: kept][name] = SeenScope(scope: scope, head: chain.head, before: before, share: share)
        }
    }

    extension WhichScope {
        /// Whether a verified scope is the one that was asked for.
        fileprivate func isAnswered(by parts: ScopeManifest.Parts) -> Bool {
            switch self {
            case .zone: parts.root.isEmpty
            case .share(let name): parts.isScope(ofShare: name)
            case .id(let id): parts.scope == id && !parts.root.isEmpty
            }
        }
    }

    extension OwnKeys {
        /// The owner as manifests have it.
        var owner: ScopeManifest.Participant {
            .init(user: log.account.user, fingerprint: log.fingerprint, head: log.head, permission: .readWrite, role: .owner)
        }

        /// The number of a scope's manifest from which the accounts of others cause no manifest any more. The server
        /// takes 500: the rest is for what this account does, above all for taking participants away.
        static let manifestsForOthers: UInt64 = 400

        /// Whether a scope needs a new version of its key before anything is saved: an account that takes part has
        /// removed a device, or has another recovery key, since its newest manifest was signed. Late in a scope that is
        /// this account alone.
        func mustRenew(_ keys: ZoneKeys) -> Bool {
            keys.manifest.parts.number < Self.manifestsForOthers ? hasOlderKey(keys) : keys.manifest.needsNewKey([log.fingerprint: log])
        }

        /// Whether an account that takes part has removed a device, or has another recovery key, since the newest
        /// manifest was signed.
        func hasOlderKey(_ keys: ZoneKeys) -> Bool {
            let others = keys.logs.values.map { ($0.fingerprint, $0) }
            return keys.manifest.needsNewKey(Dictionary(others + [(log.fingerprint, log)], uniquingKeysWith: { $1 }))
        }

        /// Makes the request for the first key of a zone, or of a share of records of it.
        /// - Parameters:
        ///   - share: the names of the share's record and of the record at its root, as this device's app has them.
        ///   - stamp: milliseconds since 1970.
        func firstKey(
            at place: Place, share: (name: String, root: String)? = nil, stamp: UInt64, using random: KeyRandom
        ) throws(CKError) -> KeysScopesModifyRequest {
            try CKError.checking {
                var random = random
                let newID =
                    if let share {
                        try ScopeID(ofShare: share.name, root: share.root, at: place, random: try random.bytes(ScopeID.randomLength))
                    } else {
                        ScopeID(try random.bytes(ScopeID.length))
                    }
                guard let scope = newID, let id = KeyID(scope: scope, version: 1) else {
                    throw CKError.noRandomness
                }
                let key = try ScopeKey(id, using: &random)
                let parts = ScopeManifest.Parts(
                    place: place, scope: scope, root: share?.root ?? "", number: 0, stamp: stamp, before: .none, version: 1, oldest: 1,
                    keyProofs: [key.proof],
                    participants: [owner], linkPermission: .none)
                return try request(for: key, parts, ofShare: share?.name, after: nil, older: nil, logs: [:], using: &random)
            }
        }

        /// Makes the request for a manifest that this device signs, with the wraps that belong with it.
        /// - Parameters:
        ///   - share: the name of the share of records whose scope begins; nil: it is the zone's, or has begun.
        ///   - last: the manifest before; nil for the first.
        ///   - links: all links of the scope; nil: they stay as they are.
        ///   - logs: the newest logs of the participants but the owner, by the names of their users.
        func request(
            for key: ScopeKey, _ parts: ScopeManifest.Parts, ofShare share: String? = nil, after last: ScopeManifest?,
            older: NacreEncryptionForms.SealedValue?, links: [ScopeLink]? = nil, logs: [String: KeyLog], using random: inout KeyRandom
        ) throws -> KeysScopesModifyRequest {
            let manifest = try device.sign(parts, log: log)
            let needed = manifest.recipients(after: last)
            var wraps: [[UInt8]] = []
            for participant in parts.participants where needed.contains(participant.fingerprint) {
                guard let log = participant.role == .owner ? log : logs[participant.user] else {
                    throw ScopeFault.unknownLog(account: participant.fingerprint)
                }
                wraps.append(try key.wrap(for: participant.user, log: log, manifest: manifest, by: device, using: &random).bytes)
            }
            return KeysScopesModifyRequest(
                zoneID: ZoneID(zoneName: parts.place.zone), manifest: manifest.bytes, wraps: wraps, olderKey: older?.bytes, share: share,
                links: links)
        }
    }
#endif
