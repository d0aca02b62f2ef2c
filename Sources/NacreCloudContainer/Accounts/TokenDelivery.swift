package import NacreCloudWire

/// Where the web auth token of who signs in goes, and nowhere else.
///
/// CloudKit: an API token is made for one of two sign-in callbacks, "Post Message" or "URL Redirect", and for pages of any origin or of those listed.
/// See `docs/decisions/a-web-auth-token-has-one-way-to-its-app.md`.
package enum TokenDelivery: Hashable, Sendable {
    /// To the window that opened the sign-in page, if it shows a page of this origin.
    case message(WebOrigin)
    case redirect(SignInCallback)

    /// - Parameter origin: of the page that asks, as the sign-in page was told; nil: it was told none.
    /// - Throws: why nobody can be given a token.
    package init(_ token: APITokenEntry, asking origin: String?) throws(ServerError) {
        if let redirect = token.redirect {
            self = .redirect(try SignInCallback(redirect))
            return
        }
        guard let origin else { throw .noOrigin }
        guard let known = WebOrigin(origin), token.allows(origin: origin) else { throw .originRefused }
        self = .message(known)
    }

    /// What a user is shown of where the token goes.
    package var place: String {
        switch self {
        case .message(let origin): origin.text
        case .redirect(let callback): callback.place
        }
    }
}

extension APITokenEntry {
    /// Whether a page of an origin may use the token.
    /// - Parameter origin: as `Origin` says it; nil: no page of another origin asks.
    package func allows(origin: String?) -> Bool {
        guard let origins, let origin else { return true }
        return origins.contains(origin)
    }
}

extension ServerError {
    /// CloudKit's live service refuses pages elsewhere; its words are not known.
    package static let originRefused = ServerError(
        .authenticationFailed, "origin is not allowed by the API token", field: "Origin",
        remedy: "Make an API token for pages of this origin: nacre token create --kind api --origin ORIGIN.")

    package static let noOrigin = ServerError(
        .badRequest, "the page that asks has not said its origin", field: "origin",
        remedy: "Open redirectURL of an answer that a page got with fetch, or make an API token with --redirect.")
}
