import NacreCloudContainer
import NacreCloudWire
import NacreCrypto
import NacreHTTPServer

/// What apps may ask, for programs at `/openapi.json` and for people at `/openapi`: a page of our own that shows that document and tries a call.
struct OpenAPIPage: Sendable {
    static let path = "/openapi"
    static let documentPath = "/openapi.json"

    /// Whose rates hold here, too: the document is much for a small request.
    let accounts: AccountAPI

    static let document = OpenAPIDocument(
        title: "Nacre", summary: "CloudKit Web Services, accounts, and what the server tells of itself.",
        endpoints: API.descriptions + AccountAPI.descriptions + Health.descriptions + [description], errors: .dictionary)
    static let documentJSON = document.json

    /// Routes for people, which the document leaves out.
    static let pages: Set = [
        path, FrontPage.path, ErrorsPage.path, SignInAddress.path, OpenIDPage.startPath, OpenIDPage.returnPath, PasswordPages.forgottenPath,
        PasswordPages.newPath, AddressPage.path, SharePage.path,
    ]

    private static let description = EndpointDescription(
        method: .get, pattern: documentPath, summary: "This document.", group: "Server", answers: [.init(status: 200, schema: .map(.any))],
        errors: [403])

    func addRoutes(to router: inout Router) {
        router.get(Self.documentPath) { request, _ in
            try await accounts.withinRate(of: request) {
                .json(await withTaskExecutorPreference(globalConcurrentExecutor) { await Self.madeElsewhere() })
            }
        }
        router.get(Self.path) { request, _ in try await accounts.withinRate(of: request) { try Self.page() } }
    }

    /// The first one makes the document, which takes milliseconds.
    @concurrent
    private static func madeElsewhere() async -> [UInt8] { documentJSON }

    /// It takes no part of anybody else's, stands in no other page, and asks this server alone.
    private static func page() throws -> HTTPResponse {
        let nonce = Base64.encode(try SecureRandom.bytes(16))
        var response = HTTPResponse(.ok, headers: SignInAnswer.headers, body: .bytes(Array(OpenAPIView.page(nonce).text.utf8)))
        response.headers["Content-Type"] = "text/html; charset=utf-8"
        response.headers["Content-Security-Policy"] =
            "default-src 'none'; style-src 'nonce-\(nonce)'; script-src 'nonce-\(nonce)'; connect-src 'self'; form-action 'none'; "
            + "base-uri 'none'; frame-ancestors 'none'"
        return response
    }
}
