import CloudContainer
import CloudWire
import Crypto
import HTTPServer

/// CloudKit Web Services: every endpoint decodes, asks the cloud, and encodes.
struct API: Sendable {
    /// The largest body of a request. decisions: 8 MB; sizes that CloudKit limits are measured on values.
    static let bodyBytesMax = 8 * 1024 * 1024

    /// Pages of records that are made at the same time. On this server: four times as many as keep a loop and its readers busy.
    private static let pagesAtATime = 32

    let cloud: Cloud
    let authenticator: Authenticator
    let hub: ChangeHub
    let errors: ErrorAnswer
    /// That one page of a query may look at.
    let queryScanRows: Int
    let pages = Gate(places: pagesAtATime)

    func addRoutes(to router: inout Router) {
        let database = "/database/1/:container/:environment/:database"
        post(database + "/records/modify", to: &router, recordsModify)
        post(database + "/records/lookup", to: &router, recordsLookup)
        post(database + "/records/query", to: &router, recordsQuery)
        post(database + "/records/changes", to: &router, recordsChanges)
        get(database + "/zones/list", to: &router, zonesList)
        // CloudKit JS and others ask with POST and an empty object.
        post(database + "/zones/list", to: &router, zonesList)
        post(database + "/zones/lookup", to: &router, zonesLookup)
        post(database + "/zones/modify", to: &router, zonesModify)
        post(database + "/zones/changes", to: &router, zonesChanges)
        post(database + "/changes/database", to: &router, changesDatabase)
        post(database + "/changes/zone", to: &router, changesZone)
        get(database + "/users/caller", to: &router, usersCaller)
    }

    /// One request whose sender is known.
    struct Call: Sendable {
        var request: HTTPRequest
        var target: DatabaseTarget
        var caller: Caller

        func body() async throws -> [UInt8] {
            try await request.body.collect(upTo: API.bodyBytesMax)
        }
    }

    private typealias Endpoint = @Sendable (Call) async throws -> HTTPResponse

    private func post(_ pattern: String, to router: inout Router, _ endpoint: @escaping Endpoint) {
        router.post(pattern, bodyBytesMax: Self.bodyBytesMax, handler(endpoint))
    }

    private func get(_ pattern: String, to router: inout Router, _ endpoint: @escaping Endpoint) {
        router.get(pattern, handler(endpoint))
    }

    private func handler(_ endpoint: @escaping Endpoint) -> Router.Handler {
        { request, parameters in
            let target = try DatabaseTarget(parameters)
            let identity = try await authenticator.identify(request, container: target.container, environment: target.environment)
            let call = Call(request: request, target: target, caller: identity.caller)
            var response: HTTPResponse
            do {
                response = try await endpoint(call)
            } catch let error as CancellationError {
                // The client went away: nobody reads an answer, and nothing failed.
                throw error
            } catch {
                // Not thrown on, because the token goes back with an error too.
                response = errors.response(to: error, request)
            }
            if let token = identity.webAuthToken { response.headers["X-Apple-CloudKit-Web-Auth-Token"] = token }
            return response
        }
    }
}

extension DatabaseTarget {
    /// - Throws: what is wrong with the path's parts.
    fileprivate init(_ parameters: RouteParameters) throws {
        let container = try parameters.require("container")
        if let fault = Names.containerFault(container) { throw fault }
        guard let environment = DatabaseKey.Environment(rawValue: try parameters.require("environment")) else {
            throw ServerError(
                .badRequest, "unknown environment", field: "environment", remedy: "Environments are development and production, in lower case.")
        }
        guard let scope = DatabaseKey.Scope(rawValue: try parameters.require("database")), scope != .registry else {
            throw ServerError(.badRequest, "unknown database", field: "database", remedy: "Databases are public, private and shared.")
        }
        self.init(container: container, environment: environment, scope: scope)
    }
}

/// An error of a request whose extension was read: the answer may carry our details.
struct DetailedError: Error {
    var error: any Error
    var wantsDetails: Bool
}

extension API {
    /// Decode, ask, encode. Errors from here on know whether the client wants our details.
    /// - Parameter gate: where answers may be large, so that few are made at a time.
    func answer<Request: RequestMessage, Answer: AnswerMessage>(
        _ call: Call, _ body: [UInt8], as type: Request.Type, through gate: Gate? = nil,
        form: (Request) -> AnswerForm = { AnswerForm(details: $0.extension.wantsDetails) }, ask: (Request) async throws -> Answer
    ) async throws -> HTTPResponse {
        let request = try Request(json: body)
        let form = form(request)
        return try await detailed(form.details) {
            guard let gate else { return .json(try await ask(request).json(form)) }
            return try await gate.pass { .json(try await ask(request).json(form)) }
        }
    }

    /// Runs what answers a request; its errors know whether the client wants our details.
    func detailed(_ wantsDetails: Bool, _ answer: () async throws -> HTTPResponse) async throws -> HTTPResponse {
        do {
            return try await answer()
        } catch {
            throw DetailedError(error: error, wantsDetails: wantsDetails)
        }
    }
}
