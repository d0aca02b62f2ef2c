import NacreCloudContainer
import NacreCloudWire
import NacreHTTPServer
import NacreTelemetry

/// Where a link leads that verifies an address. It is there where the server sends mail. To open a link changes nothing: mail scanners do that.
/// See `docs/decisions/a-mailed-link-asks-first.md`.
struct AddressPage: Sendable {
    static let path = "/verify-address"

    let page: SignInPage

    func addRoutes(to router: inout Router) {
        router.get(Self.path) { request, _ in
            try await page.shown(request) {
                let text = request.query("link") ?? ""
                return try SignInAnswer.page(.ok, AddressViews.form(text, address: try opened(text).address))
            }
        }
        router.post(Self.path, bodyBytesMax: Limits.accountBodyBytes) { request, _ in
            try await page.shown(request) { try await verify(request) }
        }
    }

    private func opened(_ text: String) throws(ServerError) -> AddressLink {
        guard let link = page.sealer.open(AddressLink.self, text, for: .mailAddress), link.isGood(at: page.now) else { throw .addressLinkIsOver }
        return link
    }

    private func verify(_ request: HTTPRequest) async throws -> HTTPResponse {
        try page.requireOwnForm(request)
        let fields = FormFields(try await request.body.collect(upTo: Limits.accountBodyBytes))
        let link = try opened(fields["link"] ?? "")
        guard try await page.accounts.cloud.registry.verifyEmail(link.address, of: link.account) else { throw ServerError.addressLinkIsOver }
        page.accounts.logger.log(
            .notice, "An address was verified",
            [.address: .string(request.clientAddress), .user: .string(link.account), .requestID: .string(request.id)])
        return try SignInAnswer.page(.ok, AddressViews.done)
    }
}

/// The page, as HTML.
enum AddressViews {
    static func form(_ link: String, address: String) -> SignInViews.View {
        SignInViews.page(
            title: "Is this your address?",
            """
            <h1>Is this your address?</h1>
            <p>Somebody has an account here with the address <strong>\(address)</strong>. Say so if it is you. If it is not, close this page.</p>
            <form method="post" action="verify-address">
            <input type="hidden" name="link" value="\(link)">
            <div class="buttons"><button class="main" data-focus>It is my account</button></div>
            </form>
            """)
    }

    static var done: SignInViews.View {
        SignInViews.page(
            title: "The address is verified",
            """
            <h1 tabindex="-1" data-focus>The address is verified</h1>
            <p role="status">You can close this page.</p>
            """)
    }
}

extension ServerError {
    fileprivate static let addressLinkIsOver = ServerError(
        .authenticationFailed, "this link is over", field: "link",
        remedy: "A link is good for a day, for the address that the account has. Ask for another mail in the app.")
}
