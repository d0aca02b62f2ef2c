import NacreCloudTestSupport
import NacreHTTPServer
import NacreLocks
import NacreTelemetry
import Testing

/// Tests of the server's reactions to handlers.
@Suite(.timeLimit(.minutes(5))) struct HandlerTests {
    private struct Surprise: Error {}

    @Test func `what a handler throws becomes a response, and the connection goes on`() async throws {
        try await withServer(
            routes: routing { router in
                router.get("/known") { _, _ in throw HTTPError(.conflict, "Twice.", headers: ["X-Why": "because"]) }
                router.get("/unknown") { _, _ in throw Surprise() }
                router.onError = { error, request in
                    var response = HTTPResponse.error(error)
                    response.headers["X-Request-ID"] = request.id
                    return response
                }
            }
        ) { server in
            let client = try await server.client()
            for (path, status) in [("/known", 409), ("/unknown", 500), ("/nowhere", 404), ("/ping", 200)] {
                try await client.send("GET \(path) HTTP/1.1\r\nHost: a\r\n\r\n")
                let response = try await client.response()
                #expect(response.status == status)
                #expect(response.header("X-Why") == (status == 409 ? "because" : nil))
                #expect((response.header("X-Request-ID")?.count == 36) == (status != 200))
            }
        }
    }

    @Test func `refusals of the server itself pass through middleware and the error hook`() async throws {
        try await withServer(
            configured { $0.budgets = Budgets(slots: Budget.Parts(stranger: 0, guest: 0, user: 0)) },
            routes: routing { router in
                router.onError = { error, _ in .text("hook", status: (error as? HTTPError)?.status ?? 500) }
                router.use { request, next in
                    var response = await next(request)
                    response.headers["X-Request-ID"] = request.id
                    return response
                }
            }
        ) { server in
            for (request, status) in [
                ("GET /x HTTP/1.1\r\nHost: a\r\n\r\n", 503), ("GET /x HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
                ("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999\r\n\r\n", 413),
            ] {
                let client = try await server.client()
                try await client.send(request)
                let response = try await client.response()
                #expect(response.status == status && response.text == "hook" && response.header("X-Request-ID")?.count == 36)
            }
        }
    }

    @Test func `a header that would break the response is a 500, and the server's own headers stay its own`() async throws {
        try await withServer(
            routes: routing { router in
                router.get("/split") { _, _ in HTTPResponse(.ok, headers: ["X-Bad": "a\r\nX-Injected: b"]) }
                router.get("/own") { _, _ in
                    var response = HTTPResponse(.ok, headers: ["content-length": "99", "Connection": "weird", "Date": "never"], body: .bytes([65]))
                    response.headers.add("Set-Cookie", "a=1")
                    response.headers.add("Set-Cookie", "b=2")
                    return response
                }
            }
        ) { server in
            let split = try await server.get("/split")
            #expect(split.status == 500 && split.header("X-Injected") == nil)
            let own = try await server.get("/own")
            #expect(own.header("Content-Length") == "1" && own.count("Content-Length") == 1 && own.count("Date") == 1)
            #expect(own.header("Date") != "never" && own.count("Set-Cookie") == 2 && own.text == "A")
        }
    }

    @Test func `204 and 304 have no body, whatever the handler says`() async throws {
        try await withServer(
            routes: routing { router in
                router.get("/204") { _, _ in .text("body", status: .noContent) }
                router.get("/304") { _, _ in .text("body", status: .notModified) }
            }
        ) { server in
            let client = try await server.client()
            try await client.send("GET /204 HTTP/1.1\r\nHost: a\r\n\r\nGET /304 HTTP/1.1\r\nHost: a\r\n\r\nGET /ping HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await client.response().status == 204)
            #expect(try await client.response().status == 304)
            #expect(try await client.response().text == "pong")
        }
    }

    @Test func `a handler runs on its loop, and an actor that it awaits too`() async throws {
        try await withServer(
            routes: routing { router in
                router.get("/where") { request, _ in
                    let gate = Gate()
                    let before = try threadName()
                    await gate.open()
                    await gate.pass()
                    return .text("\(before) \(try threadName()) \(request.remoteAddress)")
                }
            }
        ) { server in
            let response = try await server.get("/where")
            #expect(response.text == "http loop http loop 127.0.0.1")
        }
    }

    @Test func `requests are counted and timed, and nothing is left when all are gone`() async throws {
        let telemetry = Telemetry()
        try await withServer(telemetry: telemetry, routes: routing { _ in }) { server in
            for path in ["/ping", "/ping", "/nowhere"] { _ = try await server.get(path) }
            try await server.settle()
            await server.server.shutdown(grace: .seconds(10))
            #expect(telemetry.counter(.httpRequests, "4xx").value == 1)
            #expect(telemetry.counter(.httpRequests, "2xx").value >= 3)
            #expect(telemetry.histogram(.httpDuration).snapshot.count >= 4)
            #expect(telemetry.gauge(.httpConnections).value == 0 && telemetry.gauge(.httpInFlight).value == 0)
        }
    }
}
