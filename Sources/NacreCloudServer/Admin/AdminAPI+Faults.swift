import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire
import NacreHTTPServer

/// Faults for tests of apps. Only an emulator has these routes.
extension AdminAPI {
    func addFaultRoutes(to router: inout Router) {
        guard faults != nil else { return }
        router.get("/admin/1/faults", listFaults)
        router.post("/admin/1/faults", bodyBytesMax: Limits.accountBodyBytes, addFault)
        router.post("/admin/1/faults/clear", bodyBytesMax: Limits.accountBodyBytes, clearFaults)
    }

    /// `GET /admin/1/faults`
    @Sendable private func listFaults(_: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        try answer(AdminMessages.Faults(faults: faults?.texts ?? []))
    }

    /// `POST /admin/1/faults`
    @Sendable private func addFault(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let asked = try await body(AdminMessages.NewFault.self, of: request)
        guard faults?.add(try asked.rule()) == true else {
            throw ServerError(
                .badRequest, "too many faults are pending", field: "fault", remedy: "Take back what has not happened: nacre fault clear.")
        }
        return try answer(AdminMessages.Faults(faults: faults?.texts ?? []), .created)
    }

    /// `POST /admin/1/faults/clear`
    @Sendable private func clearFaults(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        _ = try await body(AdminMessages.NoFaults.self, of: request)
        let before = faults?.texts ?? []
        faults?.removeAll()
        return try answer(AdminMessages.Faults(faults: before))
    }
}

extension AdminMessages.NewFault {
    /// The largest number of requests that one order applies to.
    private static let countMax = 1_000_000
    /// Seconds of the longest pause or latency: a day.
    private static let secondsMax = 86_400

    /// The rule that the request orders.
    func rule() throws(ServerError) -> FaultQueue.Rule {
        guard let request = FaultableRequest(rawValue: request ?? FaultableRequest.any.rawValue) else {
            throw ServerError(.badRequest, "unknown request", field: "request", remedy: Self.choices(FaultableRequest.allCases.map(\.rawValue)))
        }
        let count = count ?? 1
        guard (1...Self.countMax).contains(count) else {
            throw ServerError(.badRequest, "invalid count", field: "count", remedy: "Give a number from 1 to \(Self.countMax).")
        }
        return FaultQueue.Rule(left: count, request: request, user: user, zone: zone, fault: try emulated())
    }

    private static func choices(_ words: [String]) -> String { "Take one of \(words.joined(separator: ", "))." }

    private func emulated() throws(ServerError) -> EmulatedFault {
        guard let kind = AdminMessages.FaultKind(rawValue: fault) else {
            throw ServerError(.badRequest, "unknown fault", field: "fault", remedy: Self.choices(AdminMessages.FaultKind.allCases.map(\.rawValue)))
        }
        let seconds = retryAfter ?? 1
        guard (0...Self.secondsMax).contains(seconds) else {
            throw ServerError(.badRequest, "invalid pause", field: "retryAfter", remedy: "Give seconds from 0 to \(Self.secondsMax).")
        }
        let refusal: EmulatedRefusal
        switch kind {
        case .changeTokenExpired: return EmulatedFault(.tokenExpired, fault)
        case .connectionLostBeforeCommit: return EmulatedFault(.lost(afterCommit: false), fault)
        case .connectionLostAfterCommit: return EmulatedFault(.lost(afterCommit: true), fault)
        case .latency:
            guard let latency = self.seconds, latency >= 0, latency <= Double(Self.secondsMax) else {
                throw ServerError(.badRequest, "invalid latency", field: "seconds", remedy: "Give seconds from 0 to \(Self.secondsMax).")
            }
            return EmulatedFault(.slow(latency), "\(fault) \(latency)")
        case .quotaExceeded: refusal = .quotaExceeded
        case .permissionFailure: refusal = .permissionFailure
        case .serverRejectedRequest: refusal = .serverRejectedRequest
        case .requestRateLimited: refusal = .requestRateLimited(retryAfter: seconds)
        case .serviceUnavailable: refusal = .serviceUnavailable(retryAfter: seconds)
        case .zoneBusy: refusal = .zoneBusy(retryAfter: seconds)
        }
        if let records {
            return EmulatedFault(.recordsRefused(Set(records), refusal.error), "records \(records.joined(separator: ", ")) fail: \(refusal)")
        }
        if kind == .quotaExceeded { return EmulatedFault(.recordsRefused(nil, refusal.error), fault) }
        return EmulatedFault(.refused(refusal.error), "\(refusal)")
    }
}
