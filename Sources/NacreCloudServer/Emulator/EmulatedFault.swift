import NacreCloudContainer
package import NacreCloudWire
import NacreLocks

/// A fault of a request to an emulator, as ordered by a test.
package struct EmulatedFault: Sendable, CustomStringConvertible {
    package enum Kind: Sendable {
        /// The server refuses the whole request with this error.
        case refused(ServerError)
        /// The server refuses these records with this error; nil: all records that are saved.
        case recordsRefused(Set<String>?, ServerError)
        case tokenExpired
        case notSent
        case lost(afterCommit: Bool)
        case slow(Double)
    }

    package let kind: Kind
    package let description: String

    package init(_ kind: Kind, _ description: String) {
        self.kind = kind
        self.description = description
    }

    /// Whether the fault can apply to a request that matches its rule.
    func canHappen(to request: AskedRequest, inZone zone: String?) -> Bool {
        switch kind {
        case .recordsRefused(let names, _): !(names?.isDisjoint(with: request.changes) ?? request.saves.isEmpty)
        case .tokenExpired: request.followsDatabase || (zone.map(request.followed.contains) ?? !request.followed.isEmpty)
        case .refused, .notSent, .lost, .slow: true
        }
    }
}

/// A reason for which a server refuses a request or a record, and might accept it later.
package enum EmulatedRefusal: Hashable, Sendable {
    case quotaExceeded
    case permissionFailure
    case serverRejectedRequest
    case requestRateLimited(retryAfter: Int)
    case serviceUnavailable(retryAfter: Int)
    case zoneBusy(retryAfter: Int)

    package var error: ServerError {
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

/// Faults that were ordered and have not happened, the oldest first.
package final class FaultQueue: Sendable {
    package struct Rule: Sendable {
        var left: Int
        var request: FaultableRequest
        var user: String?
        var device: String?
        package private(set) var zone: String?
        package private(set) var fault: EmulatedFault

        package init(
            left: Int, request: FaultableRequest, user: String? = nil, device: String? = nil, zone: String? = nil, fault: EmulatedFault
        ) {
            (self.left, self.request, self.fault) = (left, request, fault)
            (self.user, self.device, self.zone) = (user, device, zone)
        }

        func isFor(_ asked: AskedRequest, by user: String?, on device: String?) -> Bool {
            (request == .any || request == asked.kind) && (self.user.map { $0 == user } ?? true) && (self.device.map { $0 == device } ?? true)
                && (zone.map(asked.zones.contains) ?? true) && fault.canHappen(to: asked, inZone: zone)
        }

        var text: String {
            let who = [user.map { " by \($0)" }, device.map { " on \($0)" }, zone.map { " in zone \($0)" }].compactMap { $0 }.joined()
            return "\(left) x \(request.rawValue)\(who): \(fault)"
        }
    }

    package init() {}

    private let rules = Locked<[Rule]>([])

    /// Orders that may be pending at a time. Ours: no test needs as many.
    private static let rulesMax = 1000

    /// - Returns: whether there was room.
    @discardableResult
    package func add(_ rule: Rule) -> Bool {
        guard rule.left > 0 else { return true }
        return rules.withLock { rules in
            guard rules.count < Self.rulesMax else { return false }
            rules.append(rule)
            return true
        }
    }

    var isEmpty: Bool { rules.withLock(\.isEmpty) }

    /// Whether a fault applies to one user's requests.
    var namesUsers: Bool { rules.withLock { $0.contains { $0.user != nil } } }

    /// Takes the fault for this request: the first rule that matches.
    package func take(_ asked: AskedRequest, by user: String?, on device: String?) -> Rule? {
        rules.withLock { rules in
            guard let index = rules.firstIndex(where: { $0.isFor(asked, by: user, on: device) }) else { return nil }
            rules[index].left -= 1
            defer { if rules[index].left == 0 { rules.remove(at: index) } }
            return rules[index]
        }
    }

    package var texts: [String] { rules.withLock { $0.map(\.text) } }

    package func removeAll() { rules.withLock { $0 = [] } }
}
