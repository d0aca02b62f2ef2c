import NacreCloudContainer
import NacreCloudWire
import NacreHTTPServer

/// The door of the console's own listener, which strangers may reach: it lets in the addresses that the operator
/// allows, and pages whose secrets nobody reads on the way.
struct ConsoleDoor: Sendable {
    /// Connections of the listener. A proxy or the browsers of a team need few, and the descriptors that the store
    /// needs stay free.
    static let connectionsMax = 128

    /// Networks whose clients are served; none: all.
    let networks: AddressNetworks
    /// The rates of the public listener, which has the same strangers.
    let rates: RequestRates

    /// Serves a request that may come in. A stranger's sign-in is charged to its address, as on the public listener.
    @Sendable func admit(_ request: HTTPRequest, _ next: Next) async throws -> HTTPResponse {
        guard networks.isEmpty || networks.contains(request.clientAddress) else { throw ServerError.addressNotAllowed }
        if let origin = request.header("Origin"), !Self.isProtected(origin) { throw ServerError.consoleInTheClear }
        guard request.route.map(AdminAPI.consoleOpenRoutes.contains) == true else { return await next(request) }
        return try await rates.within(request) { await next(request) }
    }

    /// Whether a page of the origin sends nothing that others on the network can read: it has HTTPS, or asks its own
    /// machine, where a tunnel begins.
    static func isProtected(_ origin: String) -> Bool {
        guard let host = Server.host(of: origin) else { return false }
        let isLocal = host == "localhost" || host.hasSuffix(".localhost") || IPAddress.isLoopback(host.filter { $0 != "[" && $0 != "]" })
        return isLocal || origin.hasPrefix("https://")
    }
}

extension ServerError {
    fileprivate static let addressNotAllowed = ServerError(
        .accessDenied, "the console is not open to this address",
        remedy: "Start the server with the address in --console-allow. Behind a proxy, name the proxy in --trusted-proxy.")
    fileprivate static let consoleInTheClear = ServerError(
        .accessDenied, "the console wants HTTPS", field: "Origin",
        remedy: "Open it by https://, at a proxy before the listener, or as localhost by a tunnel.")
}
