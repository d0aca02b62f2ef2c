import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire
import NacreHTTPServer

/// `/share/{short GUID}`: the page of a share's URL in a browser. It leads to the sign-in, after which the share is
/// shown, accepted and opened in its app.
///
/// The answer is the same whether or not the share exists. A malformed URL gets a page of its own, without a QR code.
/// If an administrator has said so, the URL of a container's share leads to the container's fallback at once.
struct SharePage: Sendable {
    static let path = "/share/:shortGUID"

    let page: SignInPage

    func addRoute(to router: inout Router) {
        router.get(Self.path) { request, parameters in
            try await page.shown(request) {
                let guid = (try? parameters.require("shortGUID")) ?? ""
                guard ShareKey(guid).isWellFormed else { return try SignInAnswer.page(.notFound, ShareViews.malformed) }
                if let url = try await page.accounts.cloud.shareRedirect(guid) { return SignInAnswer.redirect(to: url) }
                return try SignInAnswer.page(.ok, ShareViews.door(page.shareURL(guid, request)))
            }
        }
    }
}

/// Steps of a user who has signed in from the page of a share.
extension SignInPage {
    /// The URL of a share, by its short GUID.
    fileprivate func shareURL(_ guid: String, _ request: HTTPRequest) -> ShareViews.Link {
        ShareViews.Link(guid: guid, url: "\(address.root(for: request))/share/\(PercentEncoding.ofQueryValue(guid))")
    }

    /// Shows what is shared, as far as the account may know it.
    func shareQuestion(_ guid: String, _ sealed: String, _ account: AccountEntry, _ request: HTTPRequest) async throws -> HTTPResponse {
        let link = shareURL(guid, request)
        let shareLink = try await accounts.cloud.shareLink(guid)
        do {
            let opened = try await accounts.cloud.openShare(shareLink, for: account)
            if opened.metadata.participantStatus == .accepted {
                return try SignInAnswer.page(.ok, ShareViews.inside(opened, link, account, isNew: false))
            }
            return try SignInAnswer.page(.ok, ShareViews.question(opened, sealed, account))
        } catch let error as ServerError where error.code == .accessDenied {
            if account.accountState == .available, try await accounts.cloud.takesRequests(shareLink, of: account) {
                return try SignInAnswer.page(.ok, ShareViews.asking(sealed, email: account.email))
            }
            return try refused(error, link, sealed, account, request)
        }
    }

    func acceptShare(_ fields: FormFields, _ browser: SignInBrowser, _ request: HTTPRequest) async throws -> HTTPResponse {
        let consent = try consent(fields, browser)
        guard case .share(let guid) = consent.flow.purpose else { throw ServerError.unknownStep }
        let (link, account) = (shareURL(guid, request), try await account(of: consent))
        try await accounts.cloud.registry.use(consent.used, of: account)
        let shareLink = try await accounts.cloud.shareLink(guid)
        do {
            let opened = try await accounts.cloud.acceptShare(shareLink, for: account)
            return try SignInAnswer.page(.ok, ShareViews.inside(opened, link, account, isNew: true))
        } catch let error as ServerError where error.code == .accessDenied {
            return try refused(error, link, fields["consent"] ?? "", account, request)
        }
    }

    func requestShare(_ fields: FormFields, _ browser: SignInBrowser, _ request: HTTPRequest) async throws -> HTTPResponse {
        let consent = try consent(fields, browser)
        guard case .share(let guid) = consent.flow.purpose else { throw ServerError.unknownStep }
        let account = try await account(of: consent)
        try await accounts.cloud.registry.use(consent.used, of: account)
        do {
            try await accounts.cloud.requestAccess(to: try await accounts.cloud.shareLink(guid), for: account)
            return try SignInAnswer.page(.ok, ShareViews.asked)
        } catch let error as ServerError where error.code == .accessDenied {
            return try refused(error, shareURL(guid, request), fields["consent"] ?? "", account, request)
        }
    }

    /// Declines a share. CloudKit: an invitation that is not accepted remains until its sender removes it.
    func declineShare(_ fields: FormFields, _ browser: SignInBrowser, _ request: HTTPRequest) async throws -> HTTPResponse {
        let consent = try consent(fields, browser)
        guard case .share(let guid) = consent.flow.purpose else { throw ServerError.unknownStep }
        try await accounts.cloud.registry.use(consent.used, of: try await account(of: consent))
        return try SignInAnswer.page(.ok, ShareViews.declined(shareURL(guid, request)))
    }

    /// Mails the link that verifies the address of the signed-in account, unless it is verified. A used consent is
    /// enough: it still names the account, and mails have a rate of their own.
    func mailShareAddress(_ fields: FormFields, _ browser: SignInBrowser, _ request: HTTPRequest) async throws -> HTTPResponse {
        let consent = try consent(fields, browser)
        guard case .share(let guid) = consent.flow.purpose else { throw ServerError.unknownStep }
        let account = try await account(of: consent)
        if account.isEmailVerified { return try SignInAnswer.page(.ok, ShareViews.verified(shareURL(guid, request), email: account.email)) }
        try await accounts.mailVerification(of: account, request)
        return try SignInAnswer.page(.ok, ShareViews.mailed(shareURL(guid, request), email: account.email))
    }

    /// - Parameter sealed: the consent of the refused step.
    private func refused(
        _ error: ServerError, _ link: ShareViews.Link, _ sealed: String, _ account: AccountEntry, _ request: HTTPRequest
    ) throws -> HTTPResponse {
        let heard = errors.heard(error, request)
        let view =
            heard.asksForVerification
            ? ShareViews.unverified(sealed, link, email: account.email, sendsMail: sendsMail)
            : ShareViews.refused(heard, link, email: account.email)
        return try SignInAnswer.page(HTTPStatus(rawValue: heard.code.status), view)
    }
}
