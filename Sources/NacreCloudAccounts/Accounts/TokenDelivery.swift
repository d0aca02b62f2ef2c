package import NacreCloudWire

/// The only way by which a user's web auth token reaches its app.
///
/// CloudKit: an API token has one of two sign-in callbacks, "Post Message" or "URL Redirect", and is for pages of any
/// origin or of listed ones. See `docs/decisions/accounts-sign-in.md`.
package enum TokenDelivery: Hashable, Sendable {
    /// A message to the window that opened the sign-in page, if it shows a page of this origin.
    case message(WebOrigin)
    case redirect(SignInCallback)

    /// - Parameter origin: The origin of the page that asks, as told to the sign-in page; nil: it was told none.
    /// - Throws: Why the token cannot be delivered.
    package init(_ token: APITokenEntry, asking origin: String?) throws(ServerError) {
        if let redirect = token.redirect {
            self = .redirect(try SignInCallback(redirect))
            return
        }
        guard let origin else { throw .noOrigin }
        guard let known = WebOrigin(origin), token.allows(origin: origin) else { throw .originRefused }
        self = .message(known)
    }

    /// The receiver of the token that a user is shown.
    package var place: String {
        switch self {
        case .message(let origin): origin.text
        case .redirect(let callback): callback.place
        }
    }
}

extension APITokenEntry {
    /// Whether a page of an origin may use the token.
    /// - Parameter origin: The value of `Origin`; nil: the request is not from a page of another origin.
    package func allows(origin: String?) -> Bool {
        guard let origins, let origin else { return true }
        return origins.contains(origin)
    }
}

extension ServerError {
    /// CloudKit's live service refuses pages of other origins; its text is unknown.
    package static let originRefused = ServerError(
        .authenticationFailed, "origin is not allowed by the API token", field: "Origin",
        remedy: "Make an API token for pages of this origin: nacre token create --kind api --origin ORIGIN.")

    package static let noOrigin = ServerError(
        .badRequest, "the page that asks has not said its origin", field: "origin",
        remedy: "Open redirectURL of an answer that a page got with fetch, or make an API token with --redirect.")
}
