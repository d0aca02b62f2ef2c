import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire
import NacreHTTPServer
import NacreTelemetry

/// The page of a link that verifies an address, present if the server sends mail. Opening the link changes nothing,
/// because mail scanners open links. See `docs/decisions/accounts-recovery.md`.
struct AddressPage: Sendable {
    static let path = "/verify-address"

    let page: SignInPage

    func addRoutes(to router: inout Router) {
        router.get(Self.path) { request, _ in
            try await page.shown(request) {
                let text = request.query("link") ?? ""
                return try SignInAnswer.page(.ok, AddressViews.form(text, try await account(of: text)))
            }
        }
        router.post(Self.path, bodyBytesMax: Limits.accountBodyBytes) { request, _ in
            try await page.shown(request) { try await verify(request) }
        }
    }

    /// - Throws: `ServerError.addressLinkIsOver`.
    private func account(of text: String) async throws -> AccountEntry {
        guard let link = page.sealer.open(AddressLink.self, text, for: .mailAddress), link.isGood(at: page.now),
            let account = try await page.accounts.cloud.registry.account(id: link.account), account.email == link.address
        else { throw ServerError.addressLinkIsOver }
        return account
    }

    private func verify(_ request: HTTPRequest) async throws -> HTTPResponse {
        try page.requireOwnForm(request)
        let fields = FormFields(try await request.accountBody())
        let text = fields["link"] ?? ""
        let account = try await account(of: text)
        do {
            try await requirePassword(fields["password"] ?? "", of: account, request)
        } catch let error as ServerError where error.code != .internalError {
            let problem = page.errors.heard(error, request)
            return try SignInAnswer.page(
                HTTPStatus(rawValue: problem.code.status), AddressViews.form(text, account, problem: problem), retryAfter: problem.retryAfter)
        }
        guard try await page.accounts.cloud.registry.verifyEmail(account.email, of: account.id) else { throw ServerError.addressLinkIsOver }
        // If this fails, a task does it later.
        try? await page.accounts.cloud.refreshIdentity(of: account.id)
        page.accounts.logger.log(
            .notice, "An address was verified",
            [.address: .string(request.clientAddress), .user: .string(account.id), .requestID: .string(request.id)])
        return try SignInAnswer.page(.ok, AddressViews.done)
    }
}

extension AddressPage {
    /// Requires the account's password: only the account's owner both reads the mail and knows the password. Without
    /// it, a click could verify an account that another person made with the reader's address, and can open. An account
    /// without a password comes from the issuer of a team's accounts, and needs none.
    private func requirePassword(_ password: String, of account: AccountEntry, _ request: HTTPRequest) async throws {
        guard account.knownPasswordHash != nil else { return }
        guard try await page.accounts.checked(email: account.email, password: password, of: request).id == account.id else {
            throw ServerError.wrongPassword
        }
    }
}

enum AddressViews {
    static func form(_ link: String, _ account: AccountEntry, problem: ServerError? = nil) -> SignInViews.View {
        SignInViews.page(
            title: "Is this your address?", isProblem: problem != nil,
            """
            <h1>Is this your address?</h1>
            \(problem.map(SignInViews.problemLine))
            <p>Somebody has an account here with the address <strong>\(account.email)</strong>. Say so if it is you. If it is not, close this page.</p>
            <form method="post" action="verify-address">
            <input type="hidden" name="link" value="\(link)">
            \(account.knownPasswordHash == nil ? nil : password)
            <div class="buttons"><button class="main">It is my account</button></div>
            </form>
            """)
    }

    private static var password: HTML {
        """
        <label for="password">Password of the account</label>
        <p class="hint" id="rule">If you do not know it, <a href="forgotten-password">set a new one</a>: that verifies the address too.</p>
        <input id="password" name="password" type="password" autocomplete="current-password" required aria-describedby="rule" data-focus>
        """
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
