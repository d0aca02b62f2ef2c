#if canImport(NacreEncryption)
    import NacreCloudWire
    import NacreCrypto
    import NacreEncryption
    import NacreEncryptionForms

    // The rules by which an account's devices and its recovery key change. All are functions over values, as in
    // Keyring.swift; `UserKeys` asks the server.

    // MARK: On a device that has keys

    extension OwnKeys {
        /// Makes the request for a statement that adds a device. The account key is sealed for that device alone.
        /// - Parameter log: the log with the statement.
        func addition(_ statement: KeyStatement, of id: DeviceID, in log: KeyLog, using random: KeyRandom) throws -> KeysAppendRequest {
            try KeysAppendRequest(adding: id, statement, in: log, with: accountKeys[0], by: device, using: random)
        }

        /// Makes the request that removes a device.
        func removal(of id: DeviceID, using random: KeyRandom) throws -> KeysAppendRequest {
            var (log, random) = (log, random)
            let (statement, key) = try log.remove(id, by: .device(device), using: &random)
            return try request(statement, log, next: key, using: &random)
        }

        /// Makes the request that puts another recovery key in the place of the account's.
        /// - Parameter secret: 32 bytes, which the user has as 24 words.
        func newRecovery(_ secret: SecretBytes, using random: KeyRandom) throws -> KeysAppendRequest {
            var (log, random) = (log, random)
            let (statement, key) = try log.replaceRecovery(
                with: RecoveryKey(secret, of: log.account), by: .device(device), using: &random)
            return try request(statement, log, next: key, using: &random)
        }

        private func request(
            _ statement: KeyStatement, _ log: KeyLog, next key: AccountKey, using random: inout KeyRandom
        ) throws -> KeysAppendRequest {
            KeysAppendRequest(
                statement: statement.bytes, wraps: try key.wraps(for: log, by: device, using: &random).map(\.bytes),
                olderKey: try key.seal(older: accountKeys[0], of: log, using: &random).bytes)
        }
    }

    extension KeysAppendRequest {
        fileprivate init(
            adding id: DeviceID, _ statement: KeyStatement, in log: KeyLog, with key: AccountKey, by sender: DeviceKeys, using random: KeyRandom
        ) throws {
            var random = random
            let wraps = try key.wraps(for: log, by: sender, using: &random).filter { $0.subject == .accountKey(id) }
            self.init(statement: statement.bytes, wraps: wraps.map(\.bytes))
        }
    }

    // MARK: On a device without keys

    extension KeptKeys {
        /// Takes the account that the user has compared on both devices. From now on only a log that extends the shown
        /// one counts. The keys count when it has them.
        /// - Parameters:
        ///   - next: the keys that the code was of. They are not kept before: a server that had another account than
        ///     the compared one answer could show them enrolled there.
        ///   - answer: the answer that the code was of.
        /// - Returns: false if the server shows another account now.
        mutating func join(_ next: DeviceKeys, _ shown: ShownAccount, of account: AccountName, as answer: EnrolmentAnswer) throws(CKError) -> Bool {
            guard let log = try take(shown, of: account).log, !log.isReset, log.fingerprint == answer.fingerprint,
                log.hash(at: answer.head.number) == answer.head.hash
            else { return false }
            keep(next, in: log)
            return true
        }

        /// Takes the account, and makes the request by which the recovery key adds a device to it.
        /// - Parameters:
        ///   - next: the keys of this device.
        ///   - secret: the secret of the recovery key. It tells the account: a log has only recovery keys that have
        ///     signed for it.
        mutating func join(
            _ next: DeviceKeys, _ shown: ShownAccount, of account: AccountName, with secret: SecretBytes, using random: KeyRandom
        ) throws(CKError) -> KeysAppendRequest {
            switch try take(shown, of: account) {
            case .empty, .ended: throw .accountHasNoKeys
            case .open: throw .deviceHasKeys
            case .closed(let log, _):
                guard !log.isReset else { throw .accountHasNoKeys }
                let recovery = try Self.recovery(secret, of: log)
                let request = try CKError.checking {
                    let wraps = try shown.wraps.map { try KeyWrap($0) }
                    guard let wrap = wraps.first(where: { $0.subject == .accountKey(nil) }) else {
                        throw CKError.keysRefused("The server shows no account key for the recovery key")
                    }
                    let key = try recovery.open(wrap, log: log)
                    guard key.generation == log.generation else {
                        throw CKError.keysRefused("The server shows account key \(key.generation) for the words, and the log has \(log.generation)")
                    }
                    var grown = log
                    let statement = try grown.add(next.publicKeys, agreement: next.agreement(toJoin: log.head), by: .recovery(recovery))
                    return try KeysAppendRequest(adding: next.id, statement, in: grown, with: key, by: next, using: random)
                }
                keep(next, in: log)
                return request
            }
        }

        private mutating func keep(_ next: DeviceKeys, in log: KeyLog) {
            (device, recovery, own) = (next, nil, Pin(fingerprint: log.fingerprint, head: log.head))
        }

        /// Returns the recovery key of a log.
        private static func recovery(_ secret: SecretBytes, of log: KeyLog) throws(CKError) -> RecoveryKey {
            guard let key = try? RecoveryKey(secret, of: log.account), key.publicKeys == log.recovery else { throw .otherRecoveryWords }
            return key
        }

        /// Makes the request that ends the account's log, and names this device as the one that begins the next. A
        /// device that is not enrolled makes new keys for that.
        /// - Parameter secret: the secret of the recovery key, which signs on a device that is not enrolled.
        /// - Returns: nil if such a reset was made already.
        mutating func toReset(
            _ shown: ShownAccount, of account: AccountName, with secret: SecretBytes?, using random: KeyRandom
        ) throws(CKError) -> KeysAppendRequest? {
            var random = random
            var log: KeyLog
            let signer: Signer
            let next: DeviceKeys
            switch try take(shown, of: account) {
            case .empty: throw .accountHasNoKeys
            case .ended: return nil
            case .open(let own): (log, signer, next) = (own.log, .device(own.device), own.device)
            case .closed(let closed, let wasRemoved):
                guard !closed.isReset else {
                    throw .keysUnchanged("Another device has reset the account, and begins it anew", remedy: CKError.enrolment)
                }
                guard let secret else { throw .deviceHasNoKeys(wasRemoved: wasRemoved) }
                guard let made = try? DeviceKeys(using: &random) else { throw .noRandomness }
                (log, signer, next) = (closed, .recovery(try Self.recovery(secret, of: closed)), made)
            }
            device = next
            return try CKError.checking { KeysAppendRequest(statement: try log.reset(by: signer, next: next.publicKeys).bytes) }
        }
    }

    extension Digest {
        /// The hash in groups of four digits, which two people can read to each other.
        var groups: String {
            let digits = Array(description)
            return stride(from: 0, to: digits.count, by: 4).map { String(digits[$0..<min($0 + 4, digits.count)]) }.joined(separator: " ")
        }
    }
#endif
