import Testing

@testable import NacreCloudServer

/// The page behind `redirectURL`, as a browser gets it.
@Suite struct SignInPageTests {
    private static let question = Question(
        method: "GET", target: "/sign-in", headers: ["Accept": "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8"])

    private func check(_ answer: Answer) {
        #expect(answer.status == 501)
        #expect(answer.header("Content-Type") == "text/html; charset=utf-8")
        #expect(answer.header("Vary") == "Accept")
        #expect(answer.header("Content-Security-Policy")?.contains("default-src 'none'") == true)
        #expect(answer.text.contains("<code>nacre user sign-in</code>"))
        for word in ["<script", "<form", "<input", "serverErrorCode", "http://", "https://"] { #expect(!answer.text.contains(word), "\(word)") }
    }

    @Test func `a browser gets a page that says what to do, and asks for nothing`() async throws {
        let server = try await TestServer()
        check(await server.respond(Self.question))
        let port = try await server.startListening()
        check(try await ask(Self.question, port: port))
        await server.server.shutdown(grace: .zero)
    }

    @Test(arguments: [
        ("https://cloud.example", "https://cloud.example/sign-in"), ("https://cloud.example/apps/", "https://cloud.example/apps/sign-in"),
    ])
    func `redirectURL is built from the public URL, whatever host was asked`(_ publicURL: String, _ expected: String) async throws {
        let server = try await TestServer(publicURL: publicURL)
        let target = "/database/1/\(TestServer.container)/development/private/zones/list?ckAPIToken=\(server.names["api"] ?? "")"
        for host in ["cloud.example", "localhost"] {
            let answer = await server.respond(Question(method: "GET", target: target, headers: ["Host": host]))
            #expect(answer.status == 421)
            #expect(answer.json?["redirectURL"] == .string(expected))
        }
    }
}
