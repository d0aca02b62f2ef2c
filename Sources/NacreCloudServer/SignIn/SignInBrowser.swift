import NacreCrypto
import NacreHTTPServer

/// The browser that has a sign-in page open, by a cookie that no page can read. Forms are made for one browser: another's are no good in it.
struct SignInBrowser: Sendable {
    /// Random hexadecimal digits.
    let id: String
    /// It had none before.
    let isNew: Bool

    private static let digits = 32

    /// - Parameter isSecure: the page is reached over HTTPS alone. Then no other host under the same domain can set the cookie.
    private static func name(_ isSecure: Bool) -> String { isSecure ? "__Host-nacre-sign-in" : "nacre-sign-in" }

    /// The browser of a request; nil where it has no cookie of ours, or two.
    init?(_ request: HTTPRequest, isSecure: Bool) {
        let name = Self.name(isSecure) + "="
        var found: [Substring] = []
        for cookies in request.headerValues("Cookie") {
            let values = cookies.split(separator: ";").map { (cookie: Substring) in cookie.drop { $0 == " " } }
            found += values.filter { $0.hasPrefix(name) }.map { $0.dropFirst(name.count) }
        }
        guard found.count == 1, let id = found.first, id.utf8.count == Self.digits, id.allSatisfy(\.isHexDigit) else { return nil }
        self.id = String(id)
        isNew = false
    }

    /// A browser that is seen first.
    init() throws {
        id = Hex.encode(try SecureRandom.bytes(Self.digits / 2))
        isNew = true
    }

    /// `Set-Cookie`. It ends with the browser's session, and does not come with requests that pages elsewhere make.
    func cookie(isSecure: Bool) -> String {
        "\(Self.name(isSecure))=\(id); Path=/; HttpOnly; SameSite=Lax" + (isSecure ? "; Secure" : "")
    }
}
