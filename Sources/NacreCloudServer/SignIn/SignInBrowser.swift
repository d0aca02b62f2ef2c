import NacreCrypto
import NacreHTTPServer

/// The browser that has a sign-in page open, known by a cookie that no page can read. A form is made for one browser,
/// and is invalid in any other.
struct SignInBrowser: Sendable {
    /// The cookie's value: random hexadecimal digits.
    let id: String
    /// Whether the request had no cookie yet.
    let isNew: Bool

    private static let digits = 32

    /// - Parameter isSecure: the page is reached over HTTPS only. No other host under the same domain can set the
    ///   cookie then.
    private static func name(_ isSecure: Bool) -> String { isSecure ? "__Host-nacre-sign-in" : "nacre-sign-in" }

    /// The browser of a request; nil if the request has no cookie of this server's, or two.
    init?(_ request: HTTPRequest, isSecure: Bool) {
        guard let id = request.cookie(Self.name(isSecure)), id.utf8.count == Self.digits, id.allSatisfy(\.isHexDigit) else { return nil }
        self.id = id
        isNew = false
    }

    /// A browser that is new to the page.
    init() throws {
        id = Hex.encode(try SecureRandom.bytes(Self.digits / 2))
        isNew = true
    }

    /// The value of `Set-Cookie`. The cookie ends with the browser's session, and is not sent with requests that pages
    /// elsewhere make.
    func cookie(isSecure: Bool) -> String {
        "\(Self.name(isSecure))=\(id); Path=/; HttpOnly; SameSite=Lax" + (isSecure ? "; Secure" : "")
    }
}
