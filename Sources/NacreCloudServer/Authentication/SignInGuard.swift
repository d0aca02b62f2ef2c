import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire
import NacreHTTPServer
import NacreLocks

/// The rules for password checks: how long a guesser pauses, and how many checks run at once.
enum SignInPause {
    /// A subject whose failures are counted on their own, with its limits.
    enum Key: Hashable {
        /// An account, for all devices from which it never signed in.
        case account(String)
        /// An address, for all accounts that never signed in from it.
        case address(String)
        /// An account from an address from which it has signed in before: strangers' guesses do not affect it.
        case known(account: String, address: String)

        /// Wrong passwords before pauses begin.
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

        /// Passwords that may be checked at the same time, after few failures.
        var checksAtOnce: Int {
            switch self {
            case .account, .known: Limits.passwordChecksPerAccount
            case .address: Limits.passwordChecksPerAddress
            }
        }
    }

    /// The decision about an attempt.
    enum Verdict: Hashable {
        /// The password is checked.
        case goes
        /// Other attempts are checked first. All of them may be right, so no wrong password is reported.
        case waits
        /// The attempt is refused because of earlier wrong passwords.
        case pauses(seconds: Double)
    }

    /// - Parameters:
    ///   - failures: wrong passwords so far.
    ///   - checks: passwords that are being checked. All of them may be wrong: together with `failures` they reach at
    ///     most the pause's beginning.
    ///   - left: remaining seconds of the pause.
    static func verdict(failures: Int, checks: Int, left: Double, for key: Key) -> Verdict {
        if left > 0 { return .pauses(seconds: left) }
        return checks < max(1, min(key.checksAtOnce, key.freeFailures - failures)) ? .goes : .waits
    }

    /// Seconds of the pause after so many failures: none at first, then one, two, four, …
    static func seconds(after failures: Int, for key: Key) -> Double {
        guard failures >= key.freeFailures else { return 0 }
        return min(key.longest, Double(1 << min(failures - key.freeFailures, 30)))
    }
}

/// Admits sign-ins to the check of their passwords: fewer and fewer from guessers, and always some from others.
///
/// A device from which an account has signed in is known by its address until the server ends. It is judged on its own,
/// so that guesses from elsewhere cannot lock a user out. A part of the password queue is kept for known devices. An
/// attempt waits, in order of arrival, while as many others as allowed are being checked. Only wrong passwords count.
/// Each of several servers over one store counts for itself. Thread-safe.
///
/// ```swift
/// let attempt = try await attempts.begin(email: email, address: request.clientAddress, clock)
/// var outcome = SignInGuard.Outcome.unknown
/// defer { attempts.end(attempt, outcome, at: clock.now()) }
/// outcome = try await passwords.verify(password, against: hash) ? .right : .wrong
/// ```
final class SignInGuard: Sendable {
    /// Seconds without a failure after which failures are forgotten. On this server: a day.
    private static let forgetSeconds: Double = 24 * 3600
    /// Accounts, addresses and devices that are remembered; the one unused for longest is dropped first. On this
    /// server: 2 MB.
    static let entriesMax = 20_000

    /// An admitted attempt, which has to be ended with its outcome.
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

    /// An attempt that waits for its turn.
    fileprivate struct Waiter {
        var number: Int
        var attempt: Attempt
        var continuation: CheckedContinuation<Void, any Error>
    }

    fileprivate struct State {
        var entries: [SignInPause.Key: Entry] = [:]
        /// The time of each known device's last sign-in.
        var devices: [SignInPause.Key: Double] = [:]
        var strangers = 0
        /// Waiting attempts, the oldest first: at most `Limits.signInsWaiting`.
        var waiting: [Waiter] = []
        var lastNumber = 0
        var strangersAtOnce: Int
    }

    private let state: Locked<State>

    /// - Parameter strangersAtOnce: attempts from unknown devices that are checked at the same time.
    init(strangersAtOnce: Int = Limits.strangersPasswordChecks) {
        state = Locked(State(strangersAtOnce: strangersAtOnce))
    }

    /// Admits an attempt, now or when its turn comes.
    /// - Throws: `THROTTLED` with the seconds to wait, before any password is checked; `ServerError.signInBusy` if too
    ///   many attempts wait, or after `Limits.signInWaitSeconds`; `CancellationError`.
    /// - Parameter email: nil: no account's password is checked, and only the address is judged, as a stranger's.
    func begin(email: String?, address: String, _ clock: ServerClock) async throws -> Attempt {
        if let attempt = try beginNow(email: email, address: address, at: clock.now()) { return attempt }
        let (attempt, number) = state.withLock { state in
            state.lastNumber += 1
            return (state.attempt(email, address), state.lastNumber)
        }
        var timer: Task<Void, any Error>?
        defer { timer?.cancel() }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let known = state.withLock { state -> Result<Void, any Error>? in
                    // A slot may have become free meanwhile. If the task was cancelled before this, its cancellation
                    // handler found no waiter to end.
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if let result = state.enter(attempt, clock.now().secondsSince2001) { return result }
                    guard state.hasRoom(for: attempt) else { return .failure(ServerError.signInBusy) }
                    state.waiting.append(Waiter(number: number, attempt: attempt, continuation: continuation))
                    return nil
                }
                if let known { return continuation.resume(with: known) }
                timer = Task {
                    try await clock.sleep(.seconds(Limits.signInWaitSeconds))
                    leave(number, ServerError.signInBusy)
                }
            }
        } onCancel: {
            leave(number, CancellationError())
        }
        return attempt
    }

    /// Admits an attempt if it does not have to wait.
    /// - Returns: nil if it has to wait for others.
    /// - Throws: `THROTTLED` with the seconds to wait.
    func beginNow(email: String?, address: String, at now: Timestamp) throws -> Attempt? {
        try state.withLock { state in
            let attempt = state.attempt(email, address)
            return try state.enter(attempt, now.secondsSince2001).map { result in
                try result.get()
                return attempt
            }
        }
    }

    /// Ends the wait of an attempt with an error, if it still waits.
    private func leave(_ number: Int, _ reason: any Error) {
        let waiter = state.withLock { state in
            state.waiting.firstIndex { $0.number == number }.map { state.waiting.remove(at: $0) }
        }
        waiter?.continuation.resume(throwing: reason)
    }

    func end(_ attempt: Attempt, _ outcome: Outcome, at now: Timestamp) {
        let now = now.secondsSince2001
        let next = state.withLock { state in
            if attempt.isStranger { state.strangers -= 1 }
            for key in attempt.keys {
                guard var entry = state.entries[key] else { continue }
                entry.checks -= 1
                if outcome == .wrong {
                    entry.failures = now - entry.last > Self.forgetSeconds ? 1 : entry.failures + 1
                    entry.last = now
                }
                // A right password clears only the device's own failures, not those of strangers' guesses.
                if outcome == .right, key == attempt.device { entry.failures = 0 }
                state.entries[key] = entry.failures == 0 && entry.checks == 0 ? nil : entry
            }
            if outcome == .right { state.devices[attempt.device] = now }
            return state.next(now)
        }
        for (waiter, result) in next { waiter.continuation.resume(with: result) }
    }
}

extension SignInGuard.State {
    fileprivate func attempt(_ email: String?, _ address: String) -> SignInGuard.Attempt {
        guard let email else {
            let customer = IPAddress.customer(address)
            return SignInGuard.Attempt(keys: [.address(customer)], device: .known(account: "", address: customer))
        }
        // No account has a longer address. One character more, of four bytes at most, keeps a long text apart from an
        // address that is its prefix.
        let account = String(decoding: email.lowercased().utf8.prefix(4 * (Limits.emailCharacters + 1)), as: UTF8.self)
        let address = IPAddress.customer(address)
        let device = SignInPause.Key.known(account: account, address: address)
        return SignInGuard.Attempt(keys: devices[device] != nil ? [device] : [.account(account), .address(address)], device: device)
    }

    /// Takes the slots of an attempt, if it is admitted.
    /// - Returns: nil if it has to wait.
    fileprivate mutating func enter(_ attempt: SignInGuard.Attempt, _ now: Double) -> Result<Void, any Error>? {
        var (pause, waits) = (0.0, attempt.isStranger && strangers >= strangersAtOnce)
        for key in attempt.keys {
            switch verdict(key, now) {
            case .goes: continue
            case .waits: waits = true
            case .pauses(let seconds): pause = max(pause, seconds)
            }
        }
        if pause > 0 { return .failure(ServerError.signInPaused(seconds: Int(pause.rounded(.up)))) }
        if waits { return nil }
        for key in attempt.keys { entries[key, default: SignInGuard.Entry(last: now)].checks += 1 }
        if attempt.isStranger { strangers += 1 }
        forget()
        return .success(())
    }

    private func verdict(_ key: SignInPause.Key, _ now: Double) -> SignInPause.Verdict {
        guard let entry = entries[key] else { return .goes }
        let pause = SignInPause.seconds(after: entry.failures, for: key)
        // A clock that was set back does not make a pause longer.
        return SignInPause.verdict(failures: entry.failures, checks: entry.checks, left: min(entry.last + pause - now, pause), for: key)
    }

    fileprivate func hasRoom(for attempt: SignInGuard.Attempt) -> Bool {
        waiting.count < Limits.signInsWaiting
            && attempt.keys.allSatisfy { key in waiting.count { $0.attempt.keys.contains(key) } < Limits.signInsWaitingTogether }
    }

    /// Removes the attempts whose wait is over, because another has ended: those admitted now, and those refused
    /// because of a wrong password.
    fileprivate mutating func next(_ now: Double) -> [(waiter: SignInGuard.Waiter, result: Result<Void, any Error>)] {
        var (done, left) = ([(waiter: SignInGuard.Waiter, result: Result<Void, any Error>)](), [SignInGuard.Waiter]())
        for waiter in waiting {
            if let result = enter(waiter.attempt, now) { done.append((waiter, result)) } else { left.append(waiter) }
        }
        waiting = left
        return done
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
