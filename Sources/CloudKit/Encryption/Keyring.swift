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
            if enrolled != nil, own.map({ $0.fingerprint != newest.fingerprint }) ?? false { scopes = [:] }
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
        /// The verified log of the owner's account, which is the user's own.
        let log: KeyLog
        /// Signs.
        let device: DeviceKeys

        /// The newest of the verified chain.
        var manifest: ScopeManifest { chain.newest }

        /// Returns the key of a name; nil if it does not count in this zone.
        func key(_ id: KeyID) -> ScopeKey? {
            id == newest.id ? newest : older.first { $0.id == id }
        }
    }

    extension KeptKeys {
        /// Verifies the scope that a server shows for a zone of the user's own, opens its keys, and keeps its head.
        ///
        /// - Throws: an error for a scope that does not verify, or does not extend what was kept.
        mutating func take(_ shown: ShownScope, at place: Place, of own: OwnKeys) throws(CKError) -> ZoneKeys {
            try CKError.checking { try taken(shown, at: place, of: own) }
        }

        private mutating func taken(_ shown: ShownScope, at place: Place, of own: OwnKeys) throws -> ZoneKeys {
            let log = own.log
            let chain = try ScopeChain(
                try shown.manifests.reversed().map { try ScopeManifest($0) }, of: place, root: "", owner: log.fingerprint,
                logs: [log.fingerprint: log])
            let manifest = chain.newest
            try see(chain, inZone: place.zone)
            guard let id = manifest.parts.keyID,
                let wrap = try shown.wraps.map({ try KeyWrap($0) }).first(where: { $0.subject == .scopeKey(id) && $0.recipient == log.fingerprint }),
                let accountKey = own.accountKeys.first(where: { $0.generation == wrap.generation })
            else { throw CKError.keysRefused("The server shows no key of zone '\(place.zone)' for this account") }
            let newest = try accountKey.open(wrap, manifest: manifest, senders: log, recipients: log)
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
            return ZoneKeys(place: place, newest: newest, older: older, chain: chain, log: log, device: own.device)
        }

        /// Keeps the head of a zone's scope. A zone that was made again has another scope. One that it had before is
        /// refused.
        private mutating func see(_ chain: ScopeChain, inZone zone: String) throws {
            let scope = chain.newest.parts.scope
            var before: [ScopeID] = []
            if let seen = scopes[zone] {
                if seen.scope == scope {
                    try chain.check(kept: seen.head)
                    before = seen.before
                } else {
                    guard !seen.before.contains(scope) else {
                        throw CKError.keysRefused("The server shows keys of an earlier zone '\(zone)', and this device has seen later ones")
                    }
                    before = (seen.before + [seen.scope]).suffix(Self.scopesBeforeMax)
                }
            }
            scopes[zone] = SeenScope(scope: scope, head: chain.head, before: before)
            if scopes.count > Self.scopesMax, let other = scopes.keys.first(where: { $0 != zone }) { scopes[other] = nil }
        }
    }

    extension OwnKeys {
        /// The owner as manifests have it.
        private var owner: ScopeManifest.Participant {
            .init(user: log.account.user, fingerprint: log.fingerprint, head: log.head, permission: .readWrite, role: .owner)
        }

        /// Whether a scope needs a new version of its key before anything is saved: the account has removed a device,
        /// or has another recovery key, since its newest manifest was signed.
        func mustRenew(_ keys: ZoneKeys) -> Bool { keys.manifest.needsNewKey([log.fingerprint: log]) }

        /// Makes the request for the first key of a zone.
        /// - Parameter stamp: milliseconds since 1970.
        func firstKey(at place: Place, stamp: UInt64, using random: KeyRandom) throws(CKError) -> KeysScopesModifyRequest {
            try CKError.checking {
                var random = random
                guard let scope = ScopeID(try random.bytes(ScopeID.length)), let id = KeyID(scope: scope, version: 1) else {
                    throw CKError.noRandomness
                }
                let key = try ScopeKey(id, using: &random)
                let parts = ScopeManifest.Parts(
                    place: place, scope: scope, root: "", number: 0, stamp: stamp, before: .none, version: 1, oldest: 1, keyProofs: [key.proof],
                    participants: [owner], linkPermission: .none)
                return try request(for: key, parts, older: nil, using: &random)
            }
        }

        /// Makes the request for the next version of a zone's key, with which the version before is sealed.
        /// - Parameter stamp: milliseconds since 1970.
        func nextKey(after keys: ZoneKeys, stamp: UInt64, using random: KeyRandom) throws(CKError) -> KeysScopesModifyRequest {
            try CKError.checking {
                var random = random
                let last = keys.manifest.parts
                guard last.version < .max, last.number < .max, let id = KeyID(scope: last.scope, version: last.version + 1) else {
                    throw CKError.keysRefused("The zone has as many versions of its key as it may have")
                }
                let key = try ScopeKey(id, using: &random)
                var parts = last
                (parts.number, parts.before) = (last.number + 1, keys.manifest.hash)
                parts.stamp = max(stamp, last.stamp + 1)
                parts.version = id.version
                parts.keyProofs.append(key.proof)
                parts.participants = [owner]
                return try request(for: key, parts, older: key.seal(older: keys.newest, place: keys.place, using: &random), using: &random)
            }
        }

        private func request(
            for key: ScopeKey, _ parts: ScopeManifest.Parts, older: NacreEncryptionForms.SealedValue?, using random: inout KeyRandom
        ) throws -> KeysScopesModifyRequest {
            let manifest = try device.sign(parts, log: log)
            let wrap = try key.wrap(for: log.account.user, log: log, manifest: manifest, by: device, using: &random)
            return KeysScopesModifyRequest(
                zoneID: ZoneID(zoneName: parts.place.zone), manifest: manifest.bytes, wraps: [wrap.bytes], olderKey: older?.bytes)
        }
    }
#endif
