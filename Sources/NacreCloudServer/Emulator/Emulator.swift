import NacreCloudContainer
import NacreCloudWire
import NacreHTTPServer

/// What `nacre serve --emulator` does beside serving: faults that tests of apps order happen to requests.
struct Emulator: Sendable {
    let faults: FaultQueue
    let authenticator: Authenticator
    let registry: Registry
    let clock: ServerClock

    /// Puts itself behind what every request passes, and before all routes.
    func guardRoutes(of router: inout Router) {
        let refuse = router.onError
        router.use { request, next in
            guard !faults.isEmpty, let root = try? request.segment(0), root == "database" || root == "assets" else { return await next(request) }
            var request = request
            var body: [UInt8] = []
            // Files are not looked into.
            if root == "database" {
                body = try await request.body.collect()
                request = request.with(body: body)
            }
            let asked = AskedRequest(path: request.rawPath, body: body)
            guard let rule = faults.take(asked, by: await user(of: request), on: nil) else { return await next(request) }
            let answers = FaultedAnswers(ask: { await next($0) }, refuse: refuse)
            switch rule.fault.kind {
            case .refused(let error): return refuse(error, request)
            case .recordsRefused(let names, let error): return await answers.refusing(names, error, of: request, body)
            case .tokenExpired: return await answers.expiring(rule.zone, of: request, body, asked)
            case .lost(let afterCommit):
                if afterCommit { _ = await next(request) }
                return .lost
            case .slow(let seconds):
                try await clock.sleep(.seconds(seconds))
                return await next(request)
            // `nacre fault` does not take it: what has arrived cannot be kept from arriving.
            case .notSent: return .lost
            }
        }
    }

    /// The address of who asks; nil for nobody, and where no fault is for one user.
    private func user(of request: HTTPRequest) async -> String? {
        guard faults.namesUsers, let account = try? await authenticator.signedIn(request).account else { return nil }
        return try? await registry.account(id: account)?.email
    }
}

extension HTTPResponse {
    /// An answer whose connection ends before its body does.
    fileprivate static var lost: HTTPResponse {
        HTTPResponse(.ok, body: .content(HTTPContent(length: 1) { _, _ in throw HTTPError(.internalServerError, "The connection is cut.") }))
    }
}
