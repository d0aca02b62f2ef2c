import NacreCloudServer
import NacreCloudWire
import Testing

/// Tests of a server's pages at its root, and of its pages of errors.
@Suite struct FrontPageTests {
    @Test func `a browser gets a page at the root, and a program JSON whose links all lead somewhere`() async throws {
        let server = try await TestServer()
        let page = await server.respond(Question(method: "GET", target: "/", headers: ["Accept": "text/html,*/*;q=0.8"]))
        #expect(page.status == 200 && page.header("Content-Type") == "text/html; charset=utf-8")
        #expect(page.text.contains("nacre up iCloud.com.example.Notes"))
        #expect(page.header("Content-Security-Policy")?.contains("default-src 'none'") == true)
        let json = await server.respond(Question(method: "GET", target: "/"))
        #expect(json.json?.at("name")?.text == "nacre")
        #expect(json.json?.at("serverVersion")?.text == ServerVersion.current)
        for name in ["openapi", "api", "errors", "limits", "version", "health"] {
            let path = try #require(json.json?.at(name)?.text)
            #expect(await server.respond(Question(method: "GET", target: path)).status == 200, "\(path)")
            #expect(page.text.contains(">\(path)</a>"))
        }
    }

    @Test func `the page of errors has a place for every code, to which the header of a refusal leads`() async throws {
        let server = try await TestServer()
        let page = await server.respond(Question(method: "GET", target: "/errors"))
        #expect(page.status == 200)
        for code in ServerErrorCode.allCases {
            #expect(page.text.contains("<section id=\"\(code.rawValue)\">") && page.text.contains("<a href=\"#\(code.rawValue)\">"))
        }
        let refusal = await server.respond(Question(method: "GET", target: "/nothing"))
        #expect(refusal.header("X-Nacre-Help") == "/errors#NOT_FOUND")
        #expect(refusal.header("X-Nacre-Remedy") == "Check the path and its version.")
    }

    @Test func `a browser's wrong path is a page, and that of a program or an app stays JSON`() async throws {
        let server = try await TestServer()
        func ask(_ path: String, _ accept: String) async -> Answer {
            await server.respond(Question(method: "GET", target: path, headers: ["Host": "localhost", "Accept": accept]))
        }
        let page = await ask("/shares/nothing", "text/html,*/*;q=0.8")
        #expect(page.status == 404 && page.header("Content-Type") == "text/html; charset=utf-8" && page.text.contains("There is no such page"))
        #expect(
            page.text.contains("<link rel=\"icon\" href=\"data:image/svg+xml,")
                && page.header("Content-Security-Policy")?.contains("img-src data:") == true)
        for (path, accept) in [("/shares/nothing", "*/*"), ("/database/1/nothing", "text/html"), ("/account/1/nothing", "text/html")] {
            #expect(await ask(path, accept).json?.at("serverErrorCode")?.text == "NOT_FOUND", "\(path)")
        }
    }

    @Test func `codes are found by their name in any case of letters and by the framework's number, and every one says what to do`() {
        #expect(ErrorGuide.find("bad_request")?.name == "BAD_REQUEST")
        #expect(ErrorGuide.find("serverrecordchanged")?.name == "serverRecordChanged")
        #expect(ErrorGuide.find("14")?.name == "serverRecordChanged")
        #expect(ErrorGuide.find("0") == nil && ErrorGuide.find("99") == nil && ErrorGuide.find("") == nil)
        #expect(ErrorGuide.all.count == ServerErrorCode.allCases.count + NativeErrorCode.allCases.count)
        for guide in ErrorGuide.all { #expect(guide.cause.hasSuffix(".") && guide.fix.hasSuffix("."), "\(guide.name)") }
        #expect(Set(ErrorGuide.all.map(\.name)).count == ErrorGuide.all.count)
    }
}
