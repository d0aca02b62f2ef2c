import NacreCloudContainer
import NacreCloudWire
import NacreHTTPServer
import NacreLocks

/// How long somebody who guesses passwords has to wait.
enum SignInPause {
    /// What is judged apart, and how soon.
    enum Key: Hashable {
        /// An account, for all devices from which it never signed in.
        case account(String)
        /// An address, for all accounts that never signed in from it.
        case address(String)
        /// An account from an address from which it has signed in before: a stranger's guesses do not concern it.
        case known(account: String, address: String)

        /// Wrong passwords before there are pauses.
        var freeFailures: Int {
            switch self {
            case .account, .known: Limits.wrongPasswordsPerAccount
            case .address: Limits.wrongPasswordsPerAddress
            }
        }

        /// The longest pause in seconds.
        var longest: Double {
            switch self {
            case .account: Limits.accountPauseSeconds
            case .address, .known: Limits.addressPauseSeconds
            }
        }

        /// Passwords that may be checked at the same time.
        var checksAtOnce: Int {
            switch self {
            case .account, .known: Limits.passwordChecksPerAccount
            case .address: Limits.passwordChecksPerAddress
            }
        }
    }

    /// Seconds after the last of so many failures: none at first, then one, two, four, …
    static func seconds(after failures: Int, for key: Key) -> Double {
        guard failures >= key.freeFailures else { return 0 }
        return min(key.longest, Double(1 << min(failures - key.freeFailures, 30)))
    }
}

/// Lets sign-ins through to the check of their passwords: fewer and fewer of those who guess, and always some of others.
///
/// A device from which an account has signed in is known by its address, until the server ends. It is judged for itself, so that nobody locks a
/// user out by guessing, and a part of the queue for passwords is kept for such devices. Thread-safe.
final class SignInGuard: Sendable {
    /// Seconds without a failure after which all is forgotten. On this server: a day.
    private static let forgetSeconds: Double = 24 * 3600
    /// Accounts, addresses and devices that are remembered; the one whose last attempt is longest ago goes first. On this server: 2 MB.
    static let entriesMax = 20_000

    /// One attempt that was let through, to be ended with what became of it.
    struct Attempt {
        fileprivate var keys: [SignInPause.Key]
        fileprivate var device: SignInPause.Key
        fileprivate var isStranger: Bool { keys != [device] }
    }

    enum Outcome {
        case right
        case wrong
        /// The password was not checked.
        case unknown
    }

    fileprivate struct Entry {
        var failures = 0
        var last: Double
        var checks = 0
    }

    fileprivate struct State {
        var entries: [SignInPause.Key: Entry] = [:]
        /// When each known device signed in last.
        var devices: [SignInPause.Key: Double] = [:]
        var strangers = 0
    }

    private let state = Locked(State())

    /// - Throws: `THROTTLED` with the seconds to wait, before any password is looked at.
    func begin(email: String, address: String, at now: Timestamp) throws -> Attempt {
        let now = now.secondsSince2001
        // No account has a longer address; one character more keeps a long text apart from the address that it begins with.
        let email = String(email.lowercased().prefix(Limits.emailCharacters + 1))
        let address = IPAddress.customer(address)
        let device = SignInPause.Key.known(account: email, address: address)
        let result = state.withLock { state -> Result<Attempt, ServerError> in
            let keys = state.devices[device] != nil ? [device] : [.account(email), .address(address)]
            var wait = 0.0
            for key in keys { wait = max(wait, state.wait(key, now)) }
            let attempt = Attempt(keys: keys, device: device)
            if wait == 0, attempt.isStranger, state.strangers >= Limits.strangersPasswordChecks { wait = 1 }
            guard wait == 0 else { return .failure(.signInPaused(seconds: Int(wait.rounded(.up)))) }
            for key in keys { state.entries[key, default: Entry(last: now)].checks += 1 }
            if attempt.isStranger { state.strangers += 1 }
            state.forget()
            return .success(attempt)
        }
        return try result.get()
    }

    func end(_ attempt: Attempt, _ outcome: Outcome, at now: Timestamp) {
        let now = now.secondsSince2001
        state.withLock { state in
            if attempt.isStranger { state.strangers -= 1 }
            for key in attempt.keys {
                guard var entry = state.entries[key] else { continue }
                entry.checks -= 1
                if outcome == .wrong {
                    entry.failures = now - entry.last > Self.forgetSeconds ? 1 : entry.failures + 1
                    entry.last = now
                }
                // What others tried to guess is not forgiven by one who knew.
                if outcome == .right, key == attempt.device { entry.failures = 0 }
                state.entries[key] = entry.failures == 0 && entry.checks == 0 ? nil : entry
            }
            if outcome == .right { state.devices[attempt.device] = now }
        }
    }
}

extension SignInGuard.State {
    /// Seconds for which a key has to wait.
    fileprivate func wait(_ key: SignInPause.Key, _ now: Double) -> Double {
        guard let entry = entries[key] else { return 0 }
        let pause = SignInPause.seconds(after: entry.failures, for: key)
        // A clock that was set back does not make a pause longer.
        let left = min(entry.last + pause - now, pause)
        if left > 0 { return left }
        return entry.checks >= key.checksAtOnce ? 1 : 0
    }

    fileprivate mutating func forget() {
        if entries.count > SignInGuard.entriesMax, let oldest = entries.filter({ $0.value.checks == 0 }).min(by: { $0.value.last < $1.value.last }) {
            entries[oldest.key] = nil
        }
        if devices.count > SignInGuard.entriesMax, let oldest = devices.min(by: { $0.value < $1.value }) { devices[oldest.key] = nil }
    }
}

extension ServerError {
    static func signInPaused(seconds: Int) -> ServerError {
        ServerError(
            .throttled, "too many sign-ins with a wrong password", remedy: "Wait, and check address and password before you try again.",
            retryAfter: seconds)
    }
}
