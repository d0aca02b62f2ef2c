import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudWire
import NacreHTTPServer

/// The addition of `nacre serve --emulator`: faults for requests, as tests of apps order them.
struct Emulator: Sendable {
    let faults: FaultQueue
    let authenticator: Authenticator
    let registry: Registry
    let clock: ServerClock

    /// Installs itself after the steps that every request passes, and before all routes.
    func guardRoutes(of router: inout Router) {
        let refuse = router.onError
        router.use { request, next in
            guard !faults.isEmpty, let root = try? request.segment(0), root == "database" || root == "assets" else { return await next(request) }
            var request = request
            var body: [UInt8] = []
            // Bodies of files are not read.
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
            // `nacre fault` refuses this kind: a request that has arrived was sent.
            case .notSent: return .lost
            }
        }
    }

    /// The address of the request's user; nil without one, and if no fault names a user.
    private func user(of request: HTTPRequest) async -> String? {
        guard faults.namesUsers, let account = try? await authenticator.signedIn(request).account else { return nil }
        return try? await registry.account(id: account)?.email
    }
}

extension HTTPResponse {
    /// An answer whose connection ends before its body.
    fileprivate static var lost: HTTPResponse {
        HTTPResponse(.ok, body: .content(HTTPContent(length: 1) { _, _ in throw HTTPError(.internalServerError, "The connection is cut.") }))
    }
}
