import NacreCloudStorage
package import NacreCloudWire
package import NacreEncryptionForms

/// The logs of an account, one after another: each but the last has ended with a reset.
package struct AccountKeys: Hashable, Sendable {
    /// The newest log, which may have ended; nil: the account has none.
    package let log: KeyLog?
    /// The number of statements of all logs.
    package let count: Int
    /// The newest statement.
    package let newest: KeyStatement?

    /// Reads the logs from rows of the store, each of which was verified when it came. About 10 µs for each statement
    /// of the newest log, and 0.1 ms for one with new keys.
    package init(_ statements: [KeyStatement]) throws(KeyLogFault) {
        count = statements.count
        newest = statements.last
        guard !statements.isEmpty else {
            log = nil
            return
        }
        let first = statements.lastIndex { if case .begin = $0.action { true } else { false } }
        log = try KeyLog(verified: Array(statements[(first ?? 0)...]))
    }
}

/// A statement that is to be kept, with the keys that come with it.
package struct KeyAddition: Hashable, Sendable {
    package var statement: KeyStatement
    package var wraps: [KeyWrap]
    package var olderKey: NacreEncryptionForms.SealedValue?

    package init(statement: KeyStatement, wraps: [KeyWrap] = [], olderKey: NacreEncryptionForms.SealedValue? = nil) {
        self.statement = statement
        self.wraps = wraps
        self.olderKey = olderKey
    }
}

extension AccountKeys {
    /// Decides whether a statement is kept. The server refuses what a client would refuse, and a statement without the
    /// keys that its devices need.
    /// - Parameter account: The caller's account.
    /// - Returns: The newest log with the statement.
    package func adding(_ addition: KeyAddition, of account: AccountName) throws(ServerError) -> KeyLog {
        guard count < Limits.keyStatementsPerAccount || addition.statement.action.isTakenByFullLog else { throw .tooManyStatements }
        let after: KeyLog
        do throws(KeyLogFault) {
            after = try continued(by: addition.statement)
        } catch {
            if case .begin = addition.statement.action, case .notNext = error { throw .accountHasKeys }
            throw .statementRefused(error)
        }
        guard after.account == account else { throw .otherAccountsStatement }
        let needed = after.devicesNeedingKeys(after: addition.statement.action)
        if let fault = after.fault(of: addition.wraps, for: needed) { throw fault }
        let isNewKey = log.map { !$0.isReset && $0.generation < after.generation } ?? false
        guard after.isRightOlderKey(addition.olderKey, isNeeded: isNewKey) else { throw .olderKeyRefused(isNeeded: isNewKey) }
        return after
    }

    private func continued(by statement: KeyStatement) throws(KeyLogFault) -> KeyLog {
        if case .begin(let beginning, _) = statement.action {
            guard let log else {
                // A first log follows nothing.
                guard beginning.reset == .none else { throw .notABeginning }
                return try KeyLog(first: statement)
            }
            guard log.isReset else { throw .notNext(number: statement.number) }
            let next = try KeyLog(first: statement)
            try next.check(follows: log)
            return next
        }
        guard var log else { throw .notABeginning }
        try log.append(statement)
        return log
    }
}

extension KeyLog {
    /// The devices that need the account key after a statement. nil stands for the recovery key.
    fileprivate func devicesNeedingKeys(after action: KeyStatement.Action) -> Set<DeviceID?> {
        switch action {
        case .begin, .removeDevice, .newRecovery: Set(enrolled.keys.map(Optional.some) + [nil])
        case .addDevice: Set(enrolled.filter { $0.value.added == head.number }.keys.map(Optional.some))
        case .reset: []
        }
    }

    /// Returns the error of wraps of the account key, unless there is one for each device and no other.
    fileprivate func fault(of wraps: [KeyWrap], for needed: Set<DeviceID?>) -> ServerError? {
        var devices: Set<DeviceID?> = []
        for wrap in wraps {
            guard case .accountKey(let device) = wrap.subject, wrap.generation == generation else {
                return .wrapsRefused("Each is an account key of generation \(generation).")
            }
            if let fault = wrap.fault(senders: self, recipients: self) { return .wrapsRefused("\(fault).") }
            devices.insert(device)
        }
        guard devices == needed, wraps.count == needed.count else {
            return .wrapsRefused("The statement needs the account key for \(needed.count) devices, the recovery key counted, and once for each.")
        }
        return nil
    }

    /// The bytes by which an older account key names the account.
    private var keyName: ScopeID? { ScopeID(Array(fingerprint.bytes.prefix(ScopeID.length))) }

    fileprivate func isRightOlderKey(_ older: NacreEncryptionForms.SealedValue?, isNeeded: Bool) -> Bool {
        guard isNeeded, let older else { return older == nil && !isNeeded }
        return older.kind == .olderKey && older.keyID.scope == keyName && older.keyID.version == generation
    }
}
