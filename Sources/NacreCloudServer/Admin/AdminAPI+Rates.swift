import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudWire
import NacreHTTPServer

/// Rates of work for a container and its users.
extension AdminAPI {
    /// `GET /admin/1/rates?container=…`
    @Sendable func rates(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        guard let container = request.query("container") else { throw ServerError.missingQuery("container") }
        try await cloud.registry.requireContainer(container)
        return try answer(AdminMessages.Rates(try await cloud.registry.rates(of: container), serverRates))
    }

    /// `POST /admin/1/rates/change`
    @Sendable func changeRates(_ request: HTTPRequest, _: RouteParameters) async throws -> HTTPResponse {
        let asked = try await body(AdminMessages.NewRates.self, of: request)
        try Self.requireOne(of: asked.userRate != nil, asked.resetsUserRate, "userRate")
        try Self.requireOne(of: asked.containerRate != nil, asked.resetsContainerRate, "containerRate")
        let after = try await cloud.registry.setRates(of: asked.container) { entry in
            if let rate = asked.userRate { entry.userRate = rate }
            if let rate = asked.containerRate { entry.containerRate = rate }
            if asked.resetsUserRate == true { entry.userRate = nil }
            if asked.resetsContainerRate == true { entry.containerRate = nil }
        }
        return try answer(AdminMessages.Rates(after, serverRates))
    }
}

extension AdminMessages.Rates {
    fileprivate init(_ entry: RateEntry, _ servers: Rates) {
        let rates = servers.with(entry)
        self.init(
            userRate: rates.userRate ?? 0, containerRate: rates.containerRate ?? 0, isUserRateOwn: entry.userRate != nil,
            isContainerRateOwn: entry.containerRate != nil)
    }
}
