import NacreCloudStorage
package import NacreCloudWire

/// A code that was sent to a phone number.
package struct PhoneCode: Codable, Hashable, Sendable {
    /// The number, as `PhoneNumber` writes it.
    package var number: String
    /// The code itself. It only verifies the number, and expires within minutes.
    package var digits: String
    /// Seconds since 2001.
    package var expires: Double
    var attemptsLeft = Limits.phoneCodeAttempts
}

extension AccountEntry {
    /// The digits of the code that was sent last, or is to be sent.
    package var phoneDigits: String? { phoneCode?.digits }
}

/// The result of checking a typed code.
package enum PhoneCodeVerdict: Hashable, Sendable {
    case right
    case wrong
    /// No code for this number is waited for: expired, out of attempts, or never sent.
    case over
}

extension PhoneCode? {
    /// - Parameter number: Normalized.
    package func verdict(on digits: String, for number: String, at now: Timestamp) -> PhoneCodeVerdict {
        guard let code = self, code.number == number, now.secondsSince2001 < code.expires, code.attemptsLeft > 0 else { return .over }
        return code.digits == digits ? .right : .wrong
    }
}

/// The phone number of an account, which counts once its user has typed a code sent to it. See
/// `docs/decisions/accounts-recovery.md`.
extension Registry {
    /// Leaves a text message with a new code in the outbox. An older code ends.
    /// - Parameters:
    ///   - number: Normalized.
    ///   - account: The account as it was when its password was checked.
    /// - Throws: `THROTTLED` after `Limits.phoneCodesPerDay` codes, `ServerError.accountChanged` or `.tooManyLetters`.
    package func sendPhoneCode(to number: String, of account: AccountEntry) async throws {
        try await requireRoomForLetter()
        let digits = String(String(random() % Self.phoneCodes + Self.phoneCodes).dropFirst())
        _ = try await write(.account(account.id)) { database, now, transaction in
            let letter = Letter(.phoneCode, to: number, of: account.id, at: now)
            return try transaction.changeAccount(account, in: database, at: now, [letter]) { entry in
                let sent = (entry.phoneCodesSent ?? []).filter { $0 > now.secondsSince2001 - Self.daySeconds }
                if sent.count >= Limits.phoneCodesPerDay, let first = sent.min() {
                    throw ServerError.tooManyPhoneCodes(seconds: Int(first + Self.daySeconds - now.secondsSince2001) + 1)
                }
                entry.phoneCodesSent = sent + [now.secondsSince2001]
                entry.phoneCode = PhoneCode(number: number, digits: digits, expires: letter.expires.secondsSince2001)
            }
        }
    }

    private static let daySeconds: Double = 24 * 3600
    /// The number of different codes.
    private static let phoneCodes: UInt64 = (0..<Limits.phoneCodeDigits).reduce(1) { power, _ in power * 10 }

    /// Sets an account's phone number in place of its present one. A wrong code uses up an attempt.
    /// - Parameters:
    ///   - number: Normalized.
    ///   - account: The account as it was when its password was checked.
    /// - Returns: The changed account.
    /// - Throws: `ServerError.wrongPhoneCode`, `ServerError.phoneCodeIsOver`, `ServerError.accountChanged`.
    package func confirmPhone(_ number: String, code: String, of account: AccountEntry) async throws -> AccountEntry {
        if account.phone == number { return account }
        let changed = try await write(.account(account.id)) { database, now, transaction -> Ending<AccountEntry?> in
            var entry = try transaction.requireUnchanged(account, in: database, at: now)
            switch entry.phoneCode.verdict(on: code, for: number, at: now) {
            case .over: throw ServerError.phoneCodeIsOver
            case .wrong:
                entry.phoneCode?.attemptsLeft -= 1
                try transaction.put([try entry.row(account.id, in: database)])
                return .commit(nil)
            case .right: return .commit(try transaction.changePhone(of: account, in: database, at: now, to: number))
            }
        }
        guard let changed else { throw ServerError.wrongPhoneCode }
        return changed
    }

    /// Removes the number of an account, and ends a code that was sent.
    /// - Parameter account: The account as it was when its password was checked.
    /// - Returns: The changed account.
    package func removePhone(of account: AccountEntry) async throws -> AccountEntry {
        if account.phone == nil, account.phoneCode == nil { return account }
        return try await write(.account(account.id)) { database, now, transaction in
            .commit(try transaction.changePhone(of: account, in: database, at: now, to: nil))
        }
    }
}

extension WriteTransaction {
    fileprivate func changePhone(of account: AccountEntry, in database: DatabaseID, at now: Timestamp, to number: String?) throws -> AccountEntry {
        let ending = try changeAccount(account, in: database, at: now) { entry in
            entry.phone = number
            entry.phoneCode = nil
            entry.identityChanges = entry.changesOfIdentity + 1
        }
        switch ending {
        case .commit(let changed), .rollback(let changed): return changed
        }
    }
}

extension ServerError {
    static let wrongPhoneCode = ServerError(
        .authenticationFailed, "this is not the code", field: "code",
        remedy: "Type the \(Limits.phoneCodeDigits) digits of the last message. After \(Limits.phoneCodeAttempts) wrong ones, ask for another code.")

    static let phoneCodeIsOver = ServerError(
        .authenticationFailed, "no code is waited for", field: "code",
        remedy: "A code is for one number, \(Int(Limits.phoneCodeSeconds) / 60) minutes and \(Limits.phoneCodeAttempts) attempts. Ask for another.")

    static func tooManyPhoneCodes(seconds: Int) -> ServerError {
        ServerError(.throttled, "too many codes were sent to phones for this account", remedy: "Wait as told.", retryAfter: seconds)
    }
}
