import NacreCloudWire
import NacreHTTPServer

/// The endpoints of CloudKit Web Services that this version does not have. They answer with that error to every caller: a client that is told
/// of an unknown path looks for the fault in its URL.
enum UnbuiltEndpoints {
    private static let ofDatabases: [(methods: [HTTPMethod], name: String)] = [
        ([.post], "records/resolve"), ([.post], "records/accept"),
        ([.get, .post], "subscriptions/list"), ([.post], "subscriptions/lookup"), ([.post], "subscriptions/modify"),
    ]

    /// CloudKit documents them under `database`, and serves them under `device`.
    private static let ofContainers = ["tokens/create", "tokens/register"]

    static func addRoutes(to router: inout Router) {
        for (methods, name) in ofDatabases {
            for method in methods { add(name, method, "/database/1/:container/:environment/:database/", to: &router) }
        }
        for name in ofContainers {
            for root in ["database", "device"] { add(name, .post, "/\(root)/1/:container/:environment/", to: &router) }
        }
    }

    private static func add(_ name: String, _ method: HTTPMethod, _ root: String, to router: inout Router) {
        router.on(method, root + name) { _, _ in throw ServerError.endpointNotBuilt(name) }
    }
}

extension ServerError {
    static func endpointNotBuilt(_ name: String) -> ServerError {
        ServerError(
            .badRequest, "\(name) is not supported by this version of the server", native: .serverRejectedRequest,
            remedy: "The endpoints that are served are listed in docs/wire.md.")
    }
}
