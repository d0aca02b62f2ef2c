import NacreCloudContainer
import NacreCloudWire
import NacreCrypto
import NacreHTTPServer

/// The description of the API for apps: for programs at `/openapi.json`, and at `/openapi` as a page that shows the
/// document and tries calls.
struct OpenAPIPage: Sendable {
    static let path = "/openapi"
    static let documentPath = "/openapi.json"

    /// The account API, whose rates apply here too: the document is a large answer to a small request.
    let accounts: AccountAPI

    static let document = OpenAPIDocument(
        title: "Nacre", summary: "CloudKit Web Services, accounts, and what the server tells of itself.",
        endpoints: API.descriptions + AccountAPI.descriptions + Health.descriptions + [description], errors: .dictionary)
    static let documentJSON = document.json

    /// Routes for people and browsers, which the document omits.
    static let pages: Set = [
        path, FrontPage.path, ErrorsPage.path, SignInAddress.path, OpenIDPage.startPath, OpenIDPage.returnPath, PasswordPages.forgottenPath,
        PasswordPages.newPath, AddressPage.path, SharePage.path, ManagedSharePage.path, ConsoleFiles.path, ConsoleFiles.filesPath, WebLibrary.path,
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

    /// Makes the document at the first call, which takes milliseconds.
    @concurrent
    private static func madeElsewhere() async -> [UInt8] { documentJSON }

    /// The page loads nothing from elsewhere, cannot be framed, and calls only this server.
    private static func page() throws -> HTTPResponse {
        let nonce = Base64.encode(try SecureRandom.bytes(16))
        var response = HTTPResponse(.ok, headers: SignInAnswer.headers, body: .bytes(Array(OpenAPIView.page(nonce).text.utf8)))
        response.headers["Content-Type"] = "text/html; charset=utf-8"
        response.headers["Content-Security-Policy"] =
            "default-src 'none'; img-src data:; style-src 'nonce-\(nonce)'; script-src 'nonce-\(nonce)'; connect-src 'self'; form-action 'none'; "
            + "base-uri 'none'; frame-ancestors 'none'"
        return response
    }
}
