import NacreHTTPServer
import Testing

@testable import NacreCloudServer

struct OpenAPITests {
    /// Returns methods and paths in the document's form.
    private static func names(_ routes: [(method: HTTPMethod, pattern: String)]) -> Set<String> {
        Set(routes.filter { !OpenAPIPage.pages.contains($0.pattern) }.map { "\($0.method) \(OpenAPIDocument.path($0.pattern))" })
    }

    @Test func `every route is described, and nothing else is`() async throws {
        let (server, emulator) = (try await AdministeredServer(), try await AdministeredServer(isEmulator: true))
        for (router, described) in [
            (server.server.router, DescribedEndpoints.publicOnes), (server.admin, .administration), (emulator.server.router, .publicOnes),
            (emulator.admin, .emulator),
        ] {
            let routes = Self.names(router.routes)
            #expect(routes.count > 10)
            #expect(routes.subtracting(described.all).sorted() == [], "these routes need a description beside them")
            #expect(described.all.subtracting(routes).sorted() == [], "these are no routes: take their descriptions out")
        }
    }

    @Test func `every endpoint has a name of its own for programs`() {
        for document in [OpenAPIPage.document, AdminAPI.emulatorDocument] {
            let names = document.endpoints.map(OpenAPIDocument.operationID)
            #expect(Set(names).count == names.count)
            #expect(names.allSatisfy { $0.allSatisfy { $0.isASCII && $0.isLetter } }, "\(names)")
        }
        let names = Set(OpenAPIPage.document.endpoints.map(OpenAPIDocument.operationID))
        #expect(names.isSuperset(of: ["postDatabaseRecordsModify", "getDatabaseUsersContactKey", "postAccountSignIn", "getOpenapiJson"]))
    }

    @Test func `every link leads from an endpoint of its document to one that takes what it sends`() throws {
        var followed: Set<String> = []
        for (document, described) in [(OpenAPIPage.document, DescribedEndpoints.publicOnes), (AdminAPI.emulatorDocument, .emulator)] {
            let byName = Dictionary(uniqueKeysWithValues: document.endpoints.map { (OpenAPIDocument.operationID($0), $0) })
            for (name, links) in EndpointLink.table where byName[name] != nil {
                for link in links {
                    let target = try #require(byName[link.operation], "\(name) \(link.name)")
                    #expect(Set(link.query.keys).isSubset(of: target.query.map(\.name)), "\(name) \(link.name)")
                    #expect((link.body == nil) == (target.body == nil), "\(name) \(link.name)")
                    if let body = link.body { _ = try JSON(Array("\(body)".utf8)) }
                    followed.insert(name)
                }
            }
            #expect(described.document?.at("openapi") != nil)
        }
        #expect(followed == Set(EndpointLink.table.keys))
    }

    @Test func `every title stands for one schema, and every reference leads to one`() throws {
        for (document, described) in [(OpenAPIPage.document, DescribedEndpoints.publicOnes), (AdminAPI.emulatorDocument, .emulator)] {
            var texts: [String: Set<String>] = [:]
            func collect(_ schema: Schema) {
                var titled: [String: Schema] = [:]
                schema.collectTitled(into: &titled)
                for (title, schema) in titled { texts[title, default: []].insert("\(schema)") }
            }
            for endpoint in document.endpoints {
                endpoint.body.map(collect)
                for answer in endpoint.answers { answer.schema.map(collect) }
            }
            #expect(texts.filter { $0.value.count > 1 }.keys.sorted() == [], "two schemas have this title")
            let schemas = try #require(described.document?.at("components.schemas"))
            for title in texts.keys { #expect(schemas[title] != nil, "\(title)") }
        }
    }

    @Test func `every message has the schema that its own reader shows`() throws {
        for described in [DescribedEndpoints.publicOnes, .administration] {
            guard case .object(let schemas)? = described.document?.at("components.schemas") else { throw ServerErrorOfTest.noSchemas }
            for (title, schema) in schemas { #expect(schema["enum"]?.count != 0, "\(title) does not take the values that its schema is read with") }
        }
        let token = try #require(DescribedEndpoints.administration.document?.at("components.schemas.NewToken"))
        #expect(token["required"] == .array(["container", "kind"].map(JSON.string)))
        #expect(token.at("properties.origins.items.type") == .string("string"))
        #expect(DescribedEndpoints.administration.document?.at("components.schemas.CheckFinding.properties.outcome.enum")?.count == 4)
    }

    @Test func `an answer that is not as described is told from one that is`() {
        let described = DescribedEndpoints.publicOnes
        let path = "/database/1/c/development/private/users/caller"
        func fault(_ status: Int, _ json: String, type: String = "application/json") -> String? {
            described.fault("GET", path, Answer(status: status, headers: [("Content-Type", type)], body: Array(json.utf8)))
        }
        #expect(fault(200, #"{"userRecordName":"_a"}"#) == nil)
        #expect(fault(200, #"{"userRecordName":"_a","secret":1}"#) == "answer.secret is not described")
        #expect(fault(200, "{}") == "answer.userRecordName is missing")
        #expect(fault(200, #"{"userRecordName":1}"#) == "answer.userRecordName is not of type string")
        #expect(fault(200, #"{"userRecordName":"_a"}"#, type: "text/plain") != nil)
        #expect(fault(418, "{}") == "status 418 is not described")
        #expect(fault(421, #"{"uuid":"","serverErrorCode":"AUTHENTICATION_REQUIRED","reason":""}"#) == "answer.redirectURL is missing")
        #expect(fault(401, #"{"uuid":"","serverErrorCode":"NOT_FOUND","reason":""}"#) != nil)
    }

    @Test func `each listener tells its own document, and the page asks this server alone`() async throws {
        let server = try await AdministeredServer()
        let document = await server.server.respond(Question(method: "GET", target: "/openapi.json"))
        #expect(document.status == 200 && document.body == OpenAPIPage.documentJSON)
        #expect(!document.text.contains("/admin/"))
        let ofAdministration = await server.administrate("GET", "/admin/1/openapi.json")
        #expect(ofAdministration.status == 200 && ofAdministration.json?.at("openapi")?.text == "3.1.1")
        #expect(ofAdministration.body == AdminAPI.documentJSON && !ofAdministration.text.contains("faults"))
        let ofEmulator = try await AdministeredServer(isEmulator: true).administrate("GET", "/admin/1/openapi.json")
        #expect(ofEmulator.body == AdminAPI.emulatorDocumentJSON && ofEmulator.text.contains("/admin/1/faults/clear"))
        let page = await server.server.respond(Question(method: "GET", target: "/openapi?container=%3Cscript%3E"))
        let policy = try #require(page.header("Content-Security-Policy"))
        #expect(policy.hasPrefix("default-src 'none'; img-src data:; style-src 'nonce-") && policy.contains("connect-src 'self'; form-action 'none'"))
        #expect(page.header("X-Frame-Options") == "DENY" && page.header("Cache-Control") == "no-store")
        #expect(!page.text.contains("http://") && !page.text.contains("https://") && !page.text.contains("innerHTML"))
        let other = await server.server.respond(Question(method: "GET", target: "/openapi"))
        #expect(page.header("Content-Security-Policy") != other.header("Content-Security-Policy"))
    }

    private enum ServerErrorOfTest: Error { case noSchemas }
}
