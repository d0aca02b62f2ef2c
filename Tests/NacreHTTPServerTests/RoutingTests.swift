import NacreCloudTestSupport
import NacreHTTPServer
import Testing

/// Tests of routes from a path to a handler, without a socket, and through one where the wire matters.
@Suite(.timeLimit(.minutes(5))) struct RoutingTests {
    private enum Scope: String { case `public`, `private` }

    private func router() -> Router {
        var router = Router()
        router.get("/zones/:name/list") { _, parameters in .text("list \(try parameters.require("name"))") }
        router.post("/zones/:name/list") { _, _ in .text("posted") }
        router.get("/zones/default/list") { _, _ in .text("the default") }
        router.get("/zones/:name/:count") { _, parameters in .text("\(try parameters.require("count", as: Int.self) + 1)") }
        router.get("/scopes/:scope") { _, parameters in .text(try parameters.require("scope", as: Scope.self).rawValue) }
        router.get("/web/*path") { _, parameters in .text("file \(try parameters.require("path"))") }
        router.get("/fails") { _, _ in throw HTTPError(.conflict, "Twice.") }
        return router
    }

    private func answer(_ method: HTTPMethod, _ target: String) async -> String {
        let response = await router().respond(to: HTTPRequest(method: method, target: target))
        guard case .bytes(let bytes) = response.body else { return "\(response.status.rawValue)" }
        return response.status == .ok ? String(decoding: bytes, as: UTF8.self) : "\(response.status.rawValue)"
    }

    @Test(arguments: [
        ("/zones/a/list", "list a"), ("/zones/a%2Fb%20c/list?x=1", "list a/b c"), ("/zones/default/list", "the default"),
        ("/zones/d%65fault/list", "the default"), ("/zones/default/41", "42"), ("/zones/a/41", "42"), ("/zones/a/b", "400"),
        ("/zones//list", "400"), ("/zones/%zz/list", "400"), ("/zones/%00/list", "400"), ("/zones/%FF/list", "400"),
        ("/scopes/public", "public"), ("/scopes/shared", "404"), ("/web/a/b.js", "file a/b.js"), ("/web/", "file "), ("/web", "404"),
        ("/zones/a/list/", "404"), ("/", "404"), ("/fails", "409"),
    ])
    func `a path leads to its route`(_ target: String, _ expected: String) async {
        #expect(await answer(.get, target) == expected)
    }

    @Test func `a router tells all its routes, in the order in which they were added`() {
        let routes = router().routes.map { "\($0.method) \($0.pattern)" }
        #expect(
            routes == [
                "GET /zones/:name/list", "POST /zones/:name/list", "GET /zones/default/list", "GET /zones/:name/:count", "GET /scopes/:scope",
                "GET /web/*path", "GET /fails",
            ])
    }

    @Test func `another method is refused with those that are allowed, and HEAD is GET`() async {
        let response = await router().respond(to: HTTPRequest(method: .delete, target: "/zones/a/list"))
        #expect(response.status == .methodNotAllowed)
        #expect(response.headers["allow"] == "GET, HEAD, OPTIONS, POST")
        #expect(await router().respond(to: HTTPRequest(method: .options, target: "/zones/a/list")).status == .noContent)
        #expect(await answer(.head, "/zones/a/list") == "list a")
        #expect(await answer(.post, "/zones/default/list") == "posted")
    }

    @Test func `middleware wraps every answer, the first outermost, and errors are responses on the way out`() async {
        var router = router()
        router.onError = { error, request in
            var response = HTTPResponse.error(error)
            response.headers["X-Request-ID"] = request.id
            return response
        }
        for name in ["outer", "inner"] {
            router.use { request, next in
                if request.query("stop") == name { throw HTTPError(.forbidden, "Stop.") }
                var response = await next(request)
                response.headers.addItem("X-Seen", name)
                return response
            }
        }
        for (target, status, seen) in [
            ("/web/a", 200, "inner, outer"), ("/nowhere", 404, "inner, outer"), ("/web/a?stop=inner", 403, "outer"), ("/web/a?stop=outer", 403, nil),
        ] as [(String, Int, String?)] {
            let request = HTTPRequest(method: .get, target: target)
            let response = await router.respond(to: request)
            #expect(response.status.rawValue == status && response.headers["X-Seen"] == seen, "\(target)")
            #expect(status == 200 || response.headers["X-Request-ID"] == request.id)
        }
    }

    @Test func `a request tells its parts`() throws {
        let request = HTTPRequest(
            method: .get, target: "/a%20b//c?x=1%2B1&empty&y=a+b&%7A=z&bad=%4", headers: ["Accept": "one", "ACCEPT": "two"])
        #expect(try request.path == "/a b//c")
        #expect(request.rawPath == "/a%20b//c")
        #expect(try request.segments == ["a b", "", "c"])
        #expect(request.query("x") == "1+1" && request.query("y") == "a+b" && request.query("z") == "z")
        #expect(request.query("empty") == "" && request.query("none") == nil && request.query("bad") == nil)
        #expect(request.header("accept") == "one" && request.headerValues("Accept") == ["one", "two"])
        #expect(request.id.count == 36 && request.id != HTTPRequest(method: .get, target: "/").id)
    }

    @Test func `HEAD has the headers of GET and no body, and the connection goes on`() async throws {
        try await withServer(routes: routing { _ in }) { server in
            let client = try await server.client()
            for _ in 0..<2 {
                try await client.send("HEAD /ping HTTP/1.1\r\nHost: a\r\n\r\n")
                let response = try await client.response(toHead: true)
                #expect(response.status == 200 && response.header("Content-Length") == "4")
            }
            try await client.send("GET http://a/ping HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await client.response().text == "pong")
        }
    }

    @Test func `HEAD of what is streamed has no byte behind its head, and the connection closes`() async throws {
        let routes = routing { router in
            router.get("/streamed") { _, _ in HTTPResponse(.ok, body: .stream { writer in try await writer.write(Array("streamed".utf8)) }) }
        }
        try await withServer(routes: routes) { server in
            let client = try await server.client()
            try await client.send("HEAD /streamed HTTP/1.1\r\nHost: a\r\n\r\n")
            let response = try await client.response(toHead: true)
            #expect(response.status == 200 && response.header("Connection") == "close" && response.header("Content-Length") == nil)
            #expect(try await client.rest().isEmpty)
        }
    }
}
