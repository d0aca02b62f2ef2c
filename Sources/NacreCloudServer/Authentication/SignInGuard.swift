import NacreCloudContainer
import NacreCloudWire
import NacreHTTPServer
import NacreLocks

/// The rules for who may have a password checked: how long a guesser pauses, and how many checks go on at once.
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

        /// Passwords that may be checked at the same time, where few were wrong.
        var checksAtOnce: Int {
            switch self {
            case .account, .known: Limits.passwordChecksPerAccount
            case .address: Limits.passwordChecksPerAddress
            }
        }
    }

    /// What becomes of an attempt now.
    enum Verdict: Hashable {
        /// The password is checked.
        case goes
        /// Others are checked before it. They may all be right, so nobody hears of a wrong password.
        case waits
        /// Wrong passwords came before it.
        case pauses(seconds: Double)
    }

    /// - Parameters:
    ///   - failures: wrong passwords so far.
    ///   - checks: passwords that are being checked. All of them may be wrong: together with `failures` they begin the pause at most.
    ///   - left: seconds of the pause that are left.
    static func verdict(failures: Int, checks: Int, left: Double, for key: Key) -> Verdict {
        if left > 0 { return .pauses(seconds: left) }
        return checks < max(1, min(key.checksAtOnce, key.freeFailures - failures)) ? .goes : .waits
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
/// user out by guessing, and a part of the queue for passwords is kept for such devices. An attempt that finds as many others as may be checked at once
/// waits for its turn, in the order of arrival; only a wrong password counts. Each of several servers over one store counts for itself. Thread-safe.
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

    /// An attempt that waits for its turn.
    fileprivate struct Waiter {
        var number: Int
        var attempt: Attempt
        var continuation: CheckedContinuation<Void, any Error>
    }

    fileprivate struct State {
        var entries: [SignInPause.Key: Entry] = [:]
        /// When each known device signed in last.
        var devices: [SignInPause.Key: Double] = [:]
        var strangers = 0
        /// The attempts that wait, the oldest first: `Limits.signInsWaiting` at most.
        var waiting: [Waiter] = []
        var lastNumber = 0
        var strangersAtOnce: Int
    }

    private let state: Locked<State>

    /// - Parameter strangersAtOnce: attempts from unknown devices that go at the same time.
    init(strangersAtOnce: Int = Limits.strangersPasswordChecks) {
        state = Locked(State(strangersAtOnce: strangersAtOnce))
    }

    /// Lets an attempt through, now or after others.
    /// - Throws: `THROTTLED` with the seconds to wait, before any password is looked at; `ServerError.signInBusy` where too many wait, or after
    ///   `Limits.signInWaitSeconds`; `CancellationError`.
    /// - Parameter email: nil: nobody's password is checked, and the address alone is judged, as a stranger's.
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
                    // A place may have become free meanwhile. Where the task was cancelled before this, nobody else ends the waiting.
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

    /// Lets an attempt through now.
    /// - Returns: nil where it has to wait for others.
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

    /// Ends the waiting of an attempt that waits still.
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
                // What others tried to guess is not forgiven by one who knew.
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
        // No account has a longer address. One character more, of four bytes at most, keeps a long text apart from the address that it begins with.
        let account = String(decoding: email.lowercased().utf8.prefix(4 * (Limits.emailCharacters + 1)), as: UTF8.self)
        let address = IPAddress.customer(address)
        let device = SignInPause.Key.known(account: account, address: address)
        return SignInGuard.Attempt(keys: devices[device] != nil ? [device] : [.account(account), .address(address)], device: device)
    }

    /// Takes the places of an attempt, where it goes.
    /// - Returns: nil where it waits.
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

    /// The attempts that wait no more, since another has ended: those that go now, and those that a wrong password has made pause.
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
