/// Finds the handler that answers a request. Built once, then shared by all loops.
///
/// A pattern is a path whose segments are literal, a `:name`, or, last, a `*name` for the rest. `HEAD` is answered by
/// the route of `GET`. An answer without a matching route goes through the middleware, too.
///
/// ```swift
/// var router = Router()
/// router.use { request, next in await next(request) }
/// router.get("/zones/:name") { request, parameters in
///     .text(try parameters.require("name"))
/// }
/// ```
package struct Router: Sendable {
    package typealias Handler = @Sendable (HTTPRequest, RouteParameters) async throws -> HTTPResponse
    /// A function that sees each request before its handler and each response after it. `next` does not throw, because
    /// an error below it has become a response.
    package typealias Middleware = @Sendable (HTTPRequest, Next) async throws -> HTTPResponse
    package typealias ErrorHook = @Sendable (any Error, HTTPRequest) -> HTTPResponse
    package typealias OptionsHook = @Sendable (HTTPRequest, [HTTPMethod]) async throws -> HTTPResponse

    private var tree = RouteTree()
    fileprivate var middleware: [Middleware] = []
    /// Turns the error of a handler into a response. An `HTTPError` has its own (also the server's refusals: 404, 405,
    /// 413, 431, 503 …). Any other error should become a 500 and a line in the log.
    package var onError: ErrorHook = { error, _ in .error(error) }
    /// Answers `OPTIONS` for a path without an `OPTIONS` route, given the methods that the path takes. Default: 204
    /// with `Allow`.
    package var onOptions: OptionsHook = { _, methods in HTTPResponse(.noContent, headers: ["Allow": Router.allow(methods)]) }

    package init() {}

    /// Adds middleware. The first added is the outermost.
    package mutating func use(_ middleware: @escaping Middleware) {
        self.middleware.append(middleware)
    }

    /// Adds a route. `bodyBytesMax` replaces the server's limit for request bodies. `isAlwaysAnswered` routes are
    /// answered by a full server, too.
    package mutating func on(
        _ method: HTTPMethod, _ pattern: String, bodyBytesMax: Int? = nil, isAlwaysAnswered: Bool = false, _ handler: @escaping Handler
    ) {
        tree.insert(
            Route(method: method, pattern: pattern, bodyBytesMax: bodyBytesMax, isAlwaysAnswered: isAlwaysAnswered, handler: handler))
    }

    package mutating func get(_ pattern: String, isAlwaysAnswered: Bool = false, _ handler: @escaping Handler) {
        on(.get, pattern, isAlwaysAnswered: isAlwaysAnswered, handler)
    }

    /// Adds a route for `HEAD` on a path without a `GET`. On other paths the `GET` route answers it.
    package mutating func head(_ pattern: String, _ handler: @escaping Handler) {
        on(.head, pattern, handler)
    }

    package mutating func post(_ pattern: String, bodyBytesMax: Int? = nil, _ handler: @escaping Handler) {
        on(.post, pattern, bodyBytesMax: bodyBytesMax, handler)
    }

    package mutating func put(_ pattern: String, bodyBytesMax: Int? = nil, _ handler: @escaping Handler) {
        on(.put, pattern, bodyBytesMax: bodyBytesMax, handler)
    }

    package mutating func patch(_ pattern: String, bodyBytesMax: Int? = nil, _ handler: @escaping Handler) {
        on(.patch, pattern, bodyBytesMax: bodyBytesMax, handler)
    }

    package mutating func delete(_ pattern: String, _ handler: @escaping Handler) {
        on(.delete, pattern, handler)
    }

    /// The methods and patterns of all routes, in the order in which they were added.
    package var routes: [(method: HTTPMethod, pattern: String)] { tree.routes.map { ($0.method, $0.pattern) } }

    /// Answers a request without a socket: the same routes, middleware and errors, but the response is as the handler
    /// made it (no ranges, no gzip).
    package func respond(to request: HTTPRequest) async -> HTTPResponse {
        var request = request
        request.match = match(request.head)
        let response = await run(request)
        response.receipt?.settle(isTaken: true)
        return response
    }

    func match(_ head: RequestHead) -> RouteMatch {
        RouteMatch(outcome: tree.find(head))
    }

    /// Runs the middleware and the matched handler, or throws `refusal` in its place.
    func run(_ request: HTTPRequest, refusal: HTTPError? = nil) async -> HTTPResponse {
        await Next(router: self, index: 0, refusal: refusal)(request)
    }

    fileprivate func answer(_ request: HTTPRequest) async throws -> HTTPResponse {
        switch request.match?.outcome ?? .nothing {
        case .route(let route):
            if let problem = request.codingProblem { throw problem }
            return try await route.handler(request, RouteParameters(request: request, route: route))
        case .otherMethods(let methods) where request.method == .options:
            return try await onOptions(request, methods)
        case .otherMethods(let methods):
            throw HTTPError(.methodNotAllowed, "The path does not take this method.", headers: ["Allow": Self.allow(methods)])
        case .nothing:
            throw HTTPError(.notFound, "There is nothing at this path.")
        }
    }

    private static func allow(_ methods: [HTTPMethod]) -> String {
        var names = methods.map(\.rawValue)
        if methods.contains(.get), !methods.contains(.head) { names.append("HEAD") }
        if !methods.contains(.options) { names.append("OPTIONS") }
        return names.sorted().joined(separator: ", ")
    }
}

/// The result of the route search for a request.
struct RouteMatch: Sendable {
    let outcome: RouteTree.Outcome

    var route: Route? {
        if case .route(let route) = outcome { route } else { nil }
    }
}

/// The rest of the way to a response: further middleware, then the handler. A middleware calls it once, or not at all
/// if it answers itself.
package struct Next: Sendable {
    fileprivate let router: Router
    fileprivate let index: Int
    fileprivate let refusal: HTTPError?

    /// Returns the response from below. The router's hook has turned errors into responses.
    package func callAsFunction(_ request: HTTPRequest) async -> HTTPResponse {
        do {
            if index < router.middleware.count {
                return try await router.middleware[index](request, Next(router: router, index: index + 1, refusal: refusal))
            }
            if let refusal { throw refusal }
            return try await router.answer(request)
        } catch is CancellationError where Task.isCancelled {
            return router.onError(request.ledger.isOverdue ? HTTPError.overdue : HTTPError.clientClosed, request)
        } catch {
            return router.onError(error, request)
        }
    }
}
