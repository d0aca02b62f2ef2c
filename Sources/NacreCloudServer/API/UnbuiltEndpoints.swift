import NacreCloudWire
import NacreHTTPServer

/// The endpoints of CloudKit Web Services that this version does not have. They answer with that error to every caller: a client that is told
/// of an unknown path looks for the fault in its URL.
enum UnbuiltEndpoints {
    private static let ofDatabases: [(methods: [HTTPMethod], name: String)] = [
        ([.post], "records/resolve"), ([.post], "records/accept"),
    ]

    private static let all: [(method: HTTPMethod, root: String, name: String)] =
        ofDatabases.flatMap { methods, name in methods.map { ($0, "/database/1/:container/:environment/:database/", name) } }

    static func addRoutes(to router: inout Router) {
        for (method, root, name) in all {
            router.on(method, root + name) { _, _ in throw ServerError.endpointNotBuilt(name) }
        }
    }

    /// As `/openapi.json` tells them.
    static let descriptions = all.map { method, root, name in
        EndpointDescription(
            method: method, pattern: root + name, summary: "Not supported by this version of the server.", group: "Not supported", answers: [],
            errors: [400, 403])
    }
}

extension ServerError {
    static func endpointNotBuilt(_ name: String) -> ServerError {
        ServerError(
            .badRequest, "\(name) is not supported by this version of the server", native: .serverRejectedRequest,
            remedy: "The endpoints that are served are listed in docs/wire.md.")
    }
}
