import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudServerWire
import NacreCloudStorage
import NacreCloudTasks
import NacreCloudWire
import NacreCrypto
import NacreHTTPServer

/// CloudKit Web Services. An endpoint that takes a request is a value, an `Endpoint`; others are functions of the call.
struct API: Sendable {
    /// Slots for pages of records that are made at the same time. On this server: 8, enough to keep one loop and its
    /// readers busy; a page may take 8 MB in several forms. Two slots are left for short answers. One asker holds at
    /// most four of the other six with queries: two being read, as many as the engine has readers, and two being
    /// encoded or next. With fewer, a reader falls asleep between two pages of one asker, which costs a third of its
    /// rate. Pages of feeds are larger, and two at a time lose nothing.
    private static let pagesAtATime = TurnLimits(all: 8, long: 6, longOfOneKind: 6, shortOfOneAsker: 6, longOfOneAsker: 4, bulkOfOneAsker: 2)
    /// Large bodies that are decoded at the same time. On this server: 2, because decoded values take several times the
    /// body's bytes.
    private static let decodedAtATime = TurnLimits(all: 2, long: 2, longOfOneKind: 2, shortOfOneAsker: 1, longOfOneAsker: 1)

    let cloud: Cloud
    let authenticator: Authenticator
    let hub: ChangeHub
    let errors: ErrorAnswer
    /// Rows that one page of a query may look at.
    let queryScanRows: Int
    let rates: RequestRates
    let pages = Gate(pagesAtATime)
    let largeBodies = Gate(decodedAtATime)
    let courier = CourierAnswers()

    /// First segments of the paths that this API serves.
    static let roots = databaseRoots.union(["assets", "push", "webhooks"])
    /// First segments of the paths that name a container and an environment.
    static let databaseRoots: Set = ["database", "device"]

    func addRoutes(to router: inout Router) {
        let database = "/database/1/:container/:environment/:database"
        post(database + "/records/modify", to: &router, if: may(.write), recordsModify)
        post(database + "/records/lookup", to: &router, if: may(.read), recordsLookup)
        post(database + "/records/query", to: &router, if: may(.read), recordsQuery)
        post(database + "/records/changes", to: &router, if: may(.changes), recordsChanges)
        post(database + "/records/resolve", to: &router, if: usersVerdict, recordsResolve)
        post(database + "/records/accept", to: &router, if: usersVerdict, recordsAccept)
        post(database + "/records/request-access", to: &router, if: usersVerdict, recordsRequestAccess)
        post(database + "/records/share-page", to: &router, if: may(.changes), recordsSharePage)
        get(database + "/zones/list", to: &router, zonesList)
        post(database + "/zones/list", to: &router, if: may(.read), zonesListPosted)
        post(database + "/zones/lookup", to: &router, if: may(.read), zonesLookup)
        post(database + "/zones/modify", to: &router, if: may(.zones), zonesModify)
        post(database + "/zones/changes", to: &router, if: may(.changes), zonesChanges)
        post(database + "/changes/database", to: &router, if: may(.changes), changesDatabase)
        post(database + "/changes/zone", to: &router, if: may(.changes), changesZone)
        get(database + "/users/caller", to: &router, usersCaller)
        get(database + "/users/current", to: &router, usersCurrent)
        get(database + "/users/discover", to: &router, usersDiscoverAll)
        post(database + "/users/discover", to: &router, if: usersVerdict, usersDiscover)
        post(database + "/users/lookup/email", to: &router, if: usersVerdict, usersLookupEmail)
        post(database + "/users/lookup/id", to: &router, if: usersVerdict, usersLookupID)
        post(database + "/users/lookup/contacts", to: &router, usersLookupContacts)
        get(database + "/users/permission", to: &router, usersPermission)
        post(database + "/users/permission", to: &router, if: usersVerdict, usersAnswerPermission)
        get(database + "/users/contact-key", to: &router, usersContactKey)
        post(database + "/users/web-auth-token", to: &router, if: webAuthTokenVerdict, usersWebAuthToken)
        post(database + "/assets/upload", to: &router, if: may(.write), assetsUpload)
        post(database + "/assets/rereference", to: &router, if: may(.write), assetsRereference)
        get(database + "/subscriptions/list", to: &router, subscriptionsList)
        post(database + "/subscriptions/list", to: &router, subscriptionsList)
        post(database + "/subscriptions/lookup", to: &router, if: may(.write), subscriptionsLookup)
        post(database + "/subscriptions/modify", to: &router, if: may(.write), subscriptionsModify)
        post(database + "/keys/append", to: &router, if: keysVerdict, keysAppend)
        post(database + "/keys/log", to: &router, if: keysVerdict, keysLog)
        post(database + "/keys/scopes/modify", to: &router, if: keysVerdict, keysScopesModify)
        post(database + "/keys/scopes/list", to: &router, if: scopesVerdict, keysScopesList)
        post(database + "/keys/scopes/join", to: &router, if: scopesVerdict, keysScopesJoin)
        post(database + "/keys/enrolment/post", to: &router, if: keysVerdict, keysEnrolmentPost)
        post(database + "/keys/enrolment/list", to: &router, if: keysVerdict, keysEnrolmentList)
        // CloudKit documents these under `database`, and serves them under `device`.
        for root in ["/device/1/:container/:environment", "/database/1/:container/:environment"] {
            post(root + "/tokens/create", to: &router, if: mayHaveDevices, tokensCreate)
            post(root + "/tokens/register", to: &router, if: mayHaveDevices, tokensRegister)
        }
        get("/device/1/:container/:environment/tokens/web-push", to: &router, tokensWebPushKey)
        post("/device/1/:container/:environment/tokens/web-push", to: &router, if: mayHaveDevices, tokensWebPush)
        get("/device/1/:container/:environment/notifications", to: &router, notifications)
        post("/device/1/:container/:environment/notifications", to: &router, if: mayHaveDevices, noteOfDevice)
        addCourierRoute(to: &router)
        addWebhookRoute(to: &router)
        addAssetRoutes(to: &router)
    }

    /// A request whose sender is known.
    struct Call: Sendable {
        var request: HTTPRequest
        var target: DatabaseTarget
        var caller: Caller
        /// The body once it was read, which may have been needed to authenticate the sender.
        fileprivate(set) var body: [UInt8]?
        /// Authenticates the sender again if the request has taken long. Call it before going on after a wait.
        fileprivate(set) var requireCaller: @Sendable () async throws -> Void
        /// The payers whose rates the request's work is charged to.
        fileprivate(set) var payers: [RequestRates.Payer]

        mutating func readBody() async throws -> [UInt8] {
            if let body { return body }
            let read = try await request.body.collect(upTo: Limits.bodyBytes)
            WorkMeter.current?.add(bytes: read.count)
            try await requireCaller()
            body = read
            return read
        }

        /// The holder that the request's bytes are counted to: the user, or the address if the request has only an API
        /// token.
        var holder: Holder {
            switch caller.identity {
            case .world: Holder(.guest, IPAddress.customer(request.clientAddress))
            case .user(let name), .serverKey(let name): Holder(.user, name)
            }
        }
    }

    /// A function that answers a request whose sender is known.
    typealias Handler = @Sendable (Call) async throws -> HTTPResponse

    /// Decides by the path and the sender alone; nil: the request may go on.
    private typealias Verdict = @Sendable (DatabaseTarget, Caller) -> ServerError?

    private func may(_ access: Access) -> Verdict {
        { target, caller in if case .failure(let fault) = databaseVerdict(target, for: access, by: caller) { fault } else { nil } }
    }

    private var mayHaveDevices: Verdict { { _, caller in devicesVerdict(by: caller) } }

    private func post<Request, Answer>(
        _ pattern: String, to router: inout Router, if verdict: @escaping Verdict, _ endpoint: Endpoint<Request, Answer>
    ) {
        post(pattern, to: &router, if: verdict) { try await answer($0, by: endpoint) }
    }

    /// Adds a route. The body is read only if the verdict lets the sender ask. A sender without a user therefore hears
    /// first that it must sign in.
    private func post(_ pattern: String, to router: inout Router, if verdict: @escaping Verdict = { _, _ in nil }, _ handler: @escaping Handler) {
        let handler: Handler = { call in
            if let fault = verdict(call.target, call.caller) { throw fault }
            return try await handler(call)
        }
        router.post(pattern, bodyBytesMax: Limits.bodyBytes, route(handler, of: pattern))
    }

    private func get(_ pattern: String, to router: inout Router, _ handler: @escaping Handler) {
        router.get(pattern, route(handler, of: pattern))
    }

    private func route(_ handler: @escaping Handler, of pattern: String) -> Router.Handler {
        let isOfDatabase = pattern.contains(":database")
        return { request, parameters in
            try await answer(request, in: try DatabaseTarget(parameters, isOfDatabase: isOfDatabase), handler)
        }
    }

    /// Answers a request within the rates, budgets and turns of its sender.
    /// - Parameter credential: authenticates the sender of a URL that the server handed out; nil: the request carries
    ///   its credential.
    func answer(
        _ request: HTTPRequest, in target: DatabaseTarget, by credential: Credential? = nil, _ handler: Handler
    ) async throws -> HTTPResponse {
        let address = IPAddress.customer(request.clientAddress)
        let meter = WorkMeter.current ?? WorkMeter(requestID: request.id, operation: request.route ?? "")
        var payers = rates.payers(of: address)
        try rates.require(payers)
        defer { rates.take(meter.takeUnpaid(), from: payers) }
        // Until the user is known, the request counts as its address's.
        let identity: Authenticator.Identity
        do {
            identity = try await Turn.$current.withValue(Turn(asker: address, isAmongMany: request.isAmongMany)) {
                try await authenticator.identify(request, by: credential, container: target.container, environment: target.environment)
            }
        } catch let error where !(error is CancellationError) {
            meter.add(rows: Limits.unknownCredentialCost)
            let error = await authenticator.told(error, of: target.container)
            guard let origin = await authenticator.reader(of: request) else { throw error }
            var response = errors.response(to: error, request)
            response.letRead(by: origin)
            return response
        }
        meter.note {
            $0.database = DatabaseKey(container: target.container, environment: target.environment, scope: target.scope, owner: "")
        }
        var response: HTTPResponse
        do {
            let more = rates.payers(of: identity.caller, at: address, in: target, try await rates.entry(of: target.container, in: cloud.registry))
            try rates.require(more)
            payers += more
            let call = Call(
                request: request, target: target, caller: identity.caller, body: identity.body,
                requireCaller: {
                    try await authenticator.requireStill(
                        identity, request, by: credential, container: target.container, environment: target.environment)
                }, payers: payers)
            try request.ledger.belong(to: call.holder)
            response = try await Turn.$current.withValue(Turn(asker: call.holder.name, isAmongMany: request.isAmongMany)) { try await handler(call) }
        } catch let error as CancellationError {
            // The client went away: no answer can be read, and nothing failed.
            throw error
        } catch {
            // Not rethrown, because the web auth token goes back with an error too.
            response = errors.response(to: error, request)
        }
        meter.count(response, to: request)
        if let token = identity.webAuthToken { response.headers["X-Apple-CloudKit-Web-Auth-Token"] = token }
        if let origin = identity.readableBy { response.letRead(by: origin) }
        return response
    }
}

extension HTTPResponse {
    /// Allows the page of this origin to read the answer: an API token that has origins is valid for no other.
    mutating func letRead(by origin: String) {
        headers["Access-Control-Allow-Origin"] = origin
        headers.addItem("Vary", "Origin")
    }
}

extension DatabaseTarget {
    /// - Parameter isOfDatabase: whether the path names a database; otherwise the target is the container's public
    ///   database.
    /// - Throws: an error that names the part of the path at fault.
    fileprivate init(_ parameters: RouteParameters, isOfDatabase: Bool) throws {
        let container = try parameters.require("container")
        if let fault = Names.containerFault(container) { throw fault }
        guard let environment = DatabaseKey.Environment(rawValue: try parameters.require("environment")) else {
            throw ServerError(
                .badRequest, "unknown environment", field: "environment", remedy: "Environments are development and production, in lower case.")
        }
        let name = isOfDatabase ? try parameters.require("database") : DatabaseKey.Scope.public.rawValue
        guard let scope = DatabaseKey.Scope(rawValue: name), scope != .registry else {
            throw ServerError(.badRequest, "unknown database", field: "database", remedy: "Databases are public, private and shared.")
        }
        self.init(container: container, environment: environment, scope: scope)
    }
}
