import NacreCloudContainer
import NacreCloudWire
import NacreLocks

/// Something that goes wrong with a request.
///
/// What a server would say is said by the server of the cloud, as it writes errors, so an app meets the `CKError` that it would meet; what a network
/// does happens
/// between the framework and the server.
public struct TestFault: Sendable, CustomStringConvertible {
    /// Why a single record of a batch is refused. What two devices do to each other, such as a conflict, needs no fault: let another device save.
    public enum RecordFailure: Hashable, Sendable {
        case quotaExceeded
        case permissionFailure
        case serverRejectedRequest
        case requestRateLimited(retryAfter: Int)
        case serviceUnavailable(retryAfter: Int)
        case zoneBusy(retryAfter: Int)
    }

    enum Kind: Sendable {
        /// The server says this of the whole request.
        case refused(ServerError)
        /// The server says this of these records; nil: of all that are saved.
        case recordsRefused(Set<String>?, ServerError)
        case tokenExpired
        case notSent
        case lost(afterCommit: Bool)
        case slow(Double)
    }

    let kind: Kind
    public let description: String

    // MARK: The server refuses

    /// `CKError.requestRateLimited`, with the seconds after which the app may ask again.
    public static func requestRateLimited(retryAfter: Int) -> TestFault { refused(.requestRateLimited(retryAfter: retryAfter)) }

    /// `CKError.serviceUnavailable`.
    public static func serviceUnavailable(retryAfter: Int) -> TestFault { refused(.serviceUnavailable(retryAfter: retryAfter)) }

    /// `CKError.zoneBusy`.
    public static func zoneBusy(retryAfter: Int) -> TestFault { refused(.zoneBusy(retryAfter: retryAfter)) }

    /// The next records that are saved find the quota full, each with `CKError.quotaExceeded`; deletions do not. For a quota that really fills,
    /// `TestCloud.setQuota`.
    public static let quotaExceeded = TestFault(kind: .recordsRefused(nil, RecordFailure.quotaExceeded.error), description: "quotaExceeded")

    /// These records are refused: the app gets `partialFailure`. In a zone whose batches are atomic nothing of the batch is kept, and the others fail
    /// with
    /// `batchRequestFailed`; elsewhere the others are kept.
    ///
    /// Is for `modifyRecords`, and waits for a request that changes one of them.
    public static func records(_ names: String..., failWith failure: RecordFailure) -> TestFault {
        TestFault(kind: .recordsRefused(Set(names), failure.error), description: "records \(names.joined(separator: ", ")) fail: \(failure)")
    }

    /// `CKError.changeTokenExpired`. Is for `fetchZoneChanges` and `fetchDatabaseChanges`, and waits for a request that has a token.
    public static let changeTokenExpired = TestFault(kind: .tokenExpired, description: "changeTokenExpired")

    // MARK: The network fails

    /// Nothing reaches the server: `CKError.networkUnavailable`.
    public static let networkUnavailable = TestFault(kind: .notSent, description: "networkUnavailable")

    /// The connection breaks while the request is under way, and the server has done nothing. The framework cannot know that, and asks again.
    public static let connectionLostBeforeCommit = TestFault(kind: .lost(afterCommit: false), description: "connectionLostBeforeCommit")

    /// The server has done it, and its answer is lost. The framework asks again, and the server answers as it did: nothing is done twice.
    public static let connectionLostAfterCommit = TestFault(kind: .lost(afterCommit: true), description: "connectionLostAfterCommit")

    /// The answer takes so many seconds of the cloud's clock. Longer than the operation's timeouts, it does not arrive.
    public static func latency(_ seconds: Double) -> TestFault { TestFault(kind: .slow(seconds), description: "latency \(seconds)") }

    private static func refused(_ failure: RecordFailure) -> TestFault { TestFault(kind: .refused(failure.error), description: "\(failure)") }

    /// Whether a request that a rule is for is one that this can happen to.
    func canHappen(to request: AskedRequest, inZone zone: String?) -> Bool {
        switch kind {
        case .recordsRefused(let names, _): !(names?.isDisjoint(with: request.changes) ?? request.saves.isEmpty)
        case .tokenExpired: request.followsDatabase || (zone.map(request.followed.contains) ?? !request.followed.isEmpty)
        case .refused, .notSent, .lost, .slow: true
        }
    }
}

extension TestFault.RecordFailure {
    var error: ServerError {
        switch self {
        case .quotaExceeded: .quotaExceeded(isPublic: false)
        case .permissionFailure: ServerError(.accessDenied, "a fault of the test: permission failure")
        case .serverRejectedRequest: ServerError(.badRequest, "a fault of the test: request rejected", native: .serverRejectedRequest)
        case .requestRateLimited(let seconds): ServerError(.throttled, "a fault of the test: rate limited", retryAfter: seconds)
        case .serviceUnavailable(let seconds): ServerError(.tryAgainLater, "a fault of the test: service unavailable", retryAfter: seconds)
        case .zoneBusy(let seconds): ServerError(.tryAgainLater, "a fault of the test: zone busy", native: .zoneBusy, retryAfter: seconds)
        }
    }
}

/// The faults that were ordered and have not happened, oldest first.
final class FaultQueue: Sendable {
    struct Rule: Sendable {
        var left: Int
        var request: TestRequest
        var user: String?
        var device: String?
        var zone: String?
        var fault: TestFault

        func isFor(_ asked: AskedRequest, by user: String?, on device: String) -> Bool {
            (request == .any || request == asked.kind) && (self.user.map { $0 == user } ?? true) && (self.device.map { $0 == device } ?? true)
                && (zone.map(asked.zones.contains) ?? true) && fault.canHappen(to: asked, inZone: zone)
        }

        var text: String {
            let who = [user.map { " by \($0)" }, device.map { " on \($0)" }, zone.map { " in zone \($0)" }].compactMap { $0 }.joined()
            return "\(left) x \(request.rawValue)\(who): \(fault)"
        }
    }

    private let rules = Locked<[Rule]>([])

    func add(_ rule: Rule) {
        guard rule.left > 0 else { return }
        rules.withLock { $0.append(rule) }
    }

    /// What happens to this request: at most one thing.
    func take(_ asked: AskedRequest, by user: String?, on device: String) -> Rule? {
        rules.withLock { rules in
            guard let place = rules.firstIndex(where: { $0.isFor(asked, by: user, on: device) }) else { return nil }
            rules[place].left -= 1
            defer { if rules[place].left == 0 { rules.remove(at: place) } }
            return rules[place]
        }
    }

    var texts: [String] { rules.withLock { $0.map(\.text) } }

    func removeAll() { rules.withLock { $0 = [] } }
}
