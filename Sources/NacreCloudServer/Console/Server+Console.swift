import NacreCloudWire
import NacreHTTPServer

/// The parts of the server that serve the console.
extension Server {
    /// Host names under which the console is served: those of the public listener, of the console's URL, and of its
    /// listeners.
    var consoleHosts: ServedHosts {
        let listeners = [configuration.adminListen, configuration.consoleListen].compactMap { $0?.host.lowercased() }
        return ServedHosts(names: hosts.union(listeners + [configuration.consoleURL.flatMap(Self.host(of:))].compactMap(\.self)))
    }

    /// The router of the admin listener or, if the API has a door, of the console's own.
    func adminRouter(_ api: AdminAPI, _ metrics: Metrics) -> Router {
        var router = Router()
        api.addRoutes(to: &router)
        metrics.addRoute(to: &router)
        ConsoleFiles(hosts: consoleHosts, folder: configuration.consoleFolder).addRoutes(to: &router)
        return router
    }

    /// The console's own listener, which has the sessions of the admin listener.
    func consoleServer(_ address: ListenAddress, _ api: AdminAPI, _ rates: RequestRates, _ metrics: Metrics) -> HTTPServer {
        var api = api
        api.door = ConsoleDoor(networks: configuration.consoleNetworks, rates: rates)
        var http = adminHTTPConfiguration(address)
        (http.connectionsMax, http.trustedProxies) = (ConsoleDoor.connectionsMax, configuration.trustedProxies)
        return HTTPServer(http, router: adminRouter(api, metrics), logger: configuration.logger)
    }

    /// Returns the URL of the console, and tells the gate that of its own listener, which has started. A listener on
    /// all addresses has that of this machine, because others are refused pages without HTTPS.
    func consoleURL(of listener: (host: String, port: Int)?, _ gate: ConsoleGate) -> String? {
        let own = listener.map { Self.urls(of: $0).local }
        gate.setListener(own)
        return configuration.consoleURL ?? own
    }
}
