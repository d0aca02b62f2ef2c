import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudServerWire
import NacreCloudStorage
import NacreCloudWire
import NacreCrypto
import NacreHTTPServer

/// CloudKit Web Services: every endpoint decodes its request, calls the cloud, and encodes the answer.
struct API: Sendable {
    /// Places for pages of records that are made at the same time. On this server: 8, enough to keep one loop and its
    /// readers busy; a page may take 8 MB in several forms. Two places are left for short answers. One asker holds at
    /// most four of the other six with queries: two being read, as many as the engine has readers, and two being
    /// encoded or next. With fewer, a reader falls asleep between two pages of one asker, which costs a third of its
    /// rate. Pages of feeds are larger, and two at a time lose nothing.
    private static let pagesAtATime = LanePlaces(all: 8, long: 6, longOfOneKind: 6, shortOfOneAsker: 6, longOfOneAsker: 4, bulkOfOneAsker: 2)
    /// Bodies with more bytes are decoded on another thread, while the loop serves others. On this server: 0.2 ms for a
    /// body of short numbers only.
    private static let decodedOnLoopBytesMax = 32 * 1024
    /// Answers with more bytes of values are encoded on another thread. On this server: 0.1 ms.
    private static let encodedOnLoopBytesMax = 128 * 1024
    /// Bodies and answers from this size on are long work, which yields to all other work; a batch of 200 notes is
    /// smaller.
    private static let longBytesMin = 512 * 1024
    /// Large bodies that are decoded at the same time. On this server: 2, because decoded values take several times the
    /// body's bytes.
    private static let decodedAtATime = LanePlaces(all: 2, long: 2, longOfOneKind: 2, shortOfOneAsker: 1, longOfOneAsker: 1)

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
    static let roots = databaseRoots.union(["assets", "push"])
    /// First segments of the paths that name a container and an environment.
    static let databaseRoots: Set = ["database", "device"]

    func addRoutes(to router: inout Router) {
        let database = "/database/1/:container/:environment/:database"
        post(database + "/records/modify", to: &router, recordsModify)
        post(database + "/records/lookup", to: &router, recordsLookup)
        post(database + "/records/query", to: &router, recordsQuery)
        post(database + "/records/changes", to: &router, recordsChanges)
        post(database + "/records/resolve", to: &router, recordsResolve)
        post(database + "/records/accept", to: &router, recordsAccept)
        post(database + "/records/request-access", to: &router, recordsRequestAccess)
        get(database + "/zones/list", to: &router, zonesList)
        post(database + "/zones/list", to: &router, zonesListPosted)
        post(database + "/zones/lookup", to: &router, zonesLookup)
        post(database + "/zones/modify", to: &router, zonesModify)
        post(database + "/zones/changes", to: &router, zonesChanges)
        post(database + "/changes/database", to: &router, changesDatabase)
        post(database + "/changes/zone", to: &router, changesZone)
        get(database + "/users/caller", to: &router, usersCaller)
        get(database + "/users/current", to: &router, usersCurrent)
        get(database + "/users/discover", to: &router, usersDiscoverAll)
        post(database + "/users/discover", to: &router, usersDiscover)
        post(database + "/users/lookup/email", to: &router, usersLookupEmail)
        post(database + "/users/lookup/id", to: &router, usersLookupID)
        post(database + "/users/lookup/contacts", to: &router, usersLookupContacts)
        get(database + "/users/permission", to: &router, usersPermission)
        post(database + "/users/permission", to: &router, usersAnswerPermission)
        get(database + "/users/contact-key", to: &router, usersContactKey)
        post(database + "/users/web-auth-token", to: &router, usersWebAuthToken)
        post(database + "/assets/upload", to: &router, assetsUpload)
        post(database + "/assets/rereference", to: &router, assetsRereference)
        get(database + "/subscriptions/list", to: &router, subscriptionsList)
        post(database + "/subscriptions/list", to: &router, subscriptionsList)
        post(database + "/subscriptions/lookup", to: &router, subscriptionsLookup)
        post(database + "/subscriptions/modify", to: &router, subscriptionsModify)
        // CloudKit documents these under `database`, and serves them under `device`.
        for root in ["/device/1/:container/:environment", "/database/1/:container/:environment"] {
            post(root + "/tokens/create", to: &router, tokensCreate)
            post(root + "/tokens/register", to: &router, tokensRegister)
        }
        get("/device/1/:container/:environment/tokens/web-push", to: &router, tokensWebPushKey)
        post("/device/1/:container/:environment/tokens/web-push", to: &router, tokensWebPush)
        get("/device/1/:container/:environment/notifications", to: &router, notifications)
        post("/device/1/:container/:environment/notifications", to: &router, noteOfDevice)
        addCourierRoute(to: &router)
        addAssetRoutes(to: &router)
    }

    /// A request whose sender is known.
    struct Call: Sendable {
        var request: HTTPRequest
        var target: DatabaseTarget
        var caller: Caller
        /// The body, if it was already read to authenticate the sender.
        fileprivate var readBody: [UInt8]?
        /// Authenticates the sender again if the request has taken long. Call it before going on after a wait.
        fileprivate(set) var requireCaller: @Sendable () async throws -> Void
        /// The payers whose rates the request's work is charged to.
        fileprivate(set) var payers: [RequestRates.Payer]

        func body() async throws -> [UInt8] {
            if let readBody { return readBody }
            let body = try await request.body.collect(upTo: Limits.bodyBytes)
            WorkMeter.current?.add(bytes: body.count)
            try await requireCaller()
            return body
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

    typealias Endpoint = @Sendable (Call) async throws -> HTTPResponse

    private func post(_ pattern: String, to router: inout Router, _ endpoint: @escaping Endpoint) {
        router.post(pattern, bodyBytesMax: Limits.bodyBytes, handler(endpoint, of: pattern))
    }

    private func get(_ pattern: String, to router: inout Router, _ endpoint: @escaping Endpoint) {
        router.get(pattern, handler(endpoint, of: pattern))
    }

    private func handler(_ endpoint: @escaping Endpoint, of pattern: String) -> Router.Handler {
        let isOfDatabase = pattern.contains(":database")
        return { request, parameters in
            try await answer(request, in: try DatabaseTarget(parameters, isOfDatabase: isOfDatabase), endpoint)
        }
    }

    /// Answers a request within the rates, budgets and turns of its sender.
    /// - Parameter credential: authenticates the sender of a URL that the server handed out; nil: the request carries
    ///   its credential.
    func answer(
        _ request: HTTPRequest, in target: DatabaseTarget, by credential: Credential? = nil, _ endpoint: Endpoint
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
            guard let origin = await authenticator.reader(of: request) else { throw error }
            var response = errors.response(to: error, request)
            response.letRead(by: origin)
            return response
        }
        var response: HTTPResponse
        do {
            let more = rates.payers(of: identity.caller, at: address, in: target, try await rates.entry(of: target.container, in: cloud.registry))
            try rates.require(more)
            payers += more
            let call = Call(
                request: request, target: target, caller: identity.caller, readBody: identity.body,
                requireCaller: {
                    try await authenticator.requireStill(
                        identity, request, by: credential, container: target.container, environment: target.environment)
                }, payers: payers)
            try request.account.belong(to: call.holder)
            defer { request.account.zone = meter.zone }
            response = try await answer(call, endpoint)
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

    /// Runs the endpoint in a turn of the request's holder.
    private func answer(_ call: Call, _ endpoint: Endpoint) async throws -> HTTPResponse {
        try await Turn.$current.withValue(Turn(asker: call.holder.name, isAmongMany: call.request.isAmongMany)) { try await endpoint(call) }
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

/// An error of a request whose extension was decoded, so that the answer may carry this server's details.
struct DetailedError: Error {
    var error: any Error
    var wantsDetails: Bool
}

extension API {
    /// Decodes the request, asks the cloud and encodes the answer. Errors from here on know whether the client wants
    /// this server's details.
    /// - Parameter turn: sets how much work the request is.
    func answer<Request: ReadableRequest, Answer: WritableAnswer>(
        _ call: Call, _ body: [UInt8], as type: Request.Type, form: (Request) -> AnswerForm = { AnswerForm(details: $0.extension.wantsDetails) },
        turn: (Request, inout Turn) -> Void = { _, _ in }, ask: (Request) async throws -> Answer
    ) async throws -> HTTPResponse {
        try await respond(to: body, as: type, form: form, turn: turn) { .json(try await ask($0).json($1)) }
    }

    /// Does the same as `answer`, for answers that may be large.
    /// - Parameter turn: sets how much work the request is, and of which kind.
    func page<Request: ReadableRequest, Answer: RecordAnswerMessage>(
        _ call: Call, _ body: [UInt8], as type: Request.Type, form: (Request) -> AnswerForm, turn: (Request, inout Turn) -> Void,
        ask: (Request) async throws -> Answer
    ) async throws -> HTTPResponse {
        try await respond(to: body, as: type, form: form, turn: turn) { request, form in
            try await page(of: call) {
                try await ask(request)
            } json: {
                $0.json(form)
            }
        }
    }

    func respond<Request: ReadableRequest>(
        to body: [UInt8], as type: Request.Type, form: (Request) -> AnswerForm, turn: (Request, inout Turn) -> Void,
        _ answer: (Request, AnswerForm) async throws -> HTTPResponse
    ) async throws -> HTTPResponse {
        let request = try await decoded(type, body)
        let form = form(request)
        return try await inTurn {
            turn(request, &$0)
        } run: {
            try await detailed(form.details) { try await answer(request, form) }
        }
    }

    /// Charges for the names of wanted fields, which are sorted and compared. On this server: 32 names cost as much as
    /// a record.
    func charge(names: [String]?) { WorkMeter.current?.add(rows: (names?.count ?? 0) / 32) }

    /// Runs `body` in a turn that `change` adapts, and charges the turn's rows.
    func inTurn<Value>(_ change: (inout Turn) -> Void, run body: () async throws -> Value) async rethrows -> Value {
        var turn = Turn.current
        change(&turn)
        WorkMeter.current?.add(rows: turn.rows)
        return try await Turn.$current.withValue(turn) { try await body() }
    }

    /// Makes an answer that may be large. Few are made at a time, and none for a client with too many unread answers;
    /// long JSON is encoded on another thread.
    func page<Answer: RecordAnswerMessage>(
        of call: Call, turn: Turn = .current, _ make: () async throws -> Answer, isDone: (Answer) -> Bool = { _ in false },
        json: @escaping @Sendable (Answer) -> [UInt8]
    ) async throws -> HTTPResponse {
        try await pages.pass(turn) {
            // The client may have gone while the request waited for its turn.
            try Task.checkCancellation()
            try call.request.account.requireAnswerRoom()
            let answer = try await make()
            let isDone = isDone(answer)
            return try await encoded(answer, of: call, isDone: isDone, json: json)
        }
    }

    /// Encodes an answer as JSON, on another thread if it is long.
    /// - Parameter isDone: something was written, so the answer is sent whatever room there is.
    func encoded<Answer: RecordAnswerMessage>(
        _ answer: consuming Answer, of call: Call, isDone: Bool, json: @escaping @Sendable (Answer) -> [UInt8]
    ) async throws -> HTTPResponse {
        let account = call.request.account
        let valueBytes = answer.valueBytes
        guard valueBytes > Self.encodedOnLoopBytesMax else {
            // Measuring the room it needs would cost as much as making it.
            let bytes = json(answer)
            account.countAnswer(bytes.count)
            return .json(bytes)
        }
        // Takes the least that the answer needs before it waits for a thread with all its values.
        if !isDone { try account.takeAnswer(valueBytes) }
        var handedOn: Answer? = consume answer
        return try await withTaskExecutorPreference(Self.executor(for: valueBytes)) {
            try await Self.encodedElsewhere(handedOn.take(), account, isDone: isDone, json)
        }
    }

    /// Takes room for the bytes, then makes them. The answer is freed here: on the loop that would take a millisecond.
    /// - Parameter answer: never nil; it is optional so that it can be moved out of the caller.
    @concurrent
    private static func encodedElsewhere<Answer: RecordAnswerMessage>(
        _ answer: consuming Answer?, _ account: RequestAccount, isDone: Bool, _ json: @Sendable (Answer) -> [UInt8]
    ) async throws -> HTTPResponse {
        if !isDone { try account.takeAnswer(answer?.answerBytes ?? 0) }
        let bytes = answer.map(json) ?? []
        account.countAnswer(bytes.count)
        return .json(bytes)
    }

    func decoded<Request: ReadableRequest>(_ type: Request.Type, _ body: [UInt8]) async throws -> Request {
        guard body.count > Self.decodedOnLoopBytesMax else { return try Request(json: body) }
        guard body.count >= Self.longBytesMin else {
            return try await withTaskExecutorPreference(Self.executor(for: body.count)) { try await Self.decodedElsewhere(type, body) }
        }
        return try await largeBodies.pass(Turn(asker: Turn.current.asker, bytes: body.count)) {
            try await withTaskExecutorPreference(Self.executor(for: body.count)) { try await Self.decodedElsewhere(type, body) }
        }
    }

    /// The threads that encode or decode `bytes` of JSON.
    static func executor(for bytes: Int) -> any TaskExecutor { bytes < longBytesMin ? globalConcurrentExecutor : LongWork.shared }

    @concurrent
    private static func decodedElsewhere<Request: ReadableRequest>(_ type: Request.Type, _ body: [UInt8]) async throws -> Request {
        try Request(json: body)
    }

    /// Runs `answer` and wraps its errors with whether the client wants this server's details.
    func detailed(_ wantsDetails: Bool, _ answer: () async throws -> HTTPResponse) async throws -> HTTPResponse {
        do {
            return try await answer()
        } catch let error as CancellationError {
            // The request was cancelled: no client reads its details.
            throw error
        } catch {
            throw DetailedError(error: error, wantsDetails: wantsDetails)
        }
    }
}
