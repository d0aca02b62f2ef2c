import NacreCloudStorage
package import NacreCloudWire

/// The URL of an app: the sign-in callback of an API token, or the one that a container's shares are opened with.
///
/// CloudKit: "URL Redirect" of an API token's sign-in callback, an `http` or `https` URL or one of the app's own
/// scheme. A request only adds values to its query, and changes nothing before it.
package struct SignInCallback: Hashable, Sendable {
    package let url: String

    /// - Parameter field: The field that an error names.
    /// - Throws: The fault of the URL.
    package init(_ url: String, field: String = "redirect") throws(ServerError) {
        let allowed = url.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f && !Array("\"<>\\^`{|}#".utf8).contains($0) }
        guard allowed, url.utf8.count <= Limits.callbackCharacters, Self.isEscaped(url), let scheme = Self.scheme(of: url) else {
            throw Self.fault(
                field, "Give an absolute URL of ASCII characters without a fragment, at most \(Limits.callbackCharacters) of them.")
        }
        if scheme == "http" || scheme == "https" {
            guard WebOrigin(ofURL: url) != nil else {
                throw Self.fault(field, "Write the host as browsers do: lower case, without a user, a final point or the scheme's own port.")
            }
        } else if !scheme.contains(".") {
            // RFC 8252, 7.1. The point also rules out `javascript:` and `data:`.
            throw Self.fault(
                field, "Take https, or a scheme of the app's own with a point in it, such as cloudkit-icloud.com.example.notes://signed-in.")
        }
        self.url = url
    }

    /// The part of the URL that a user is shown: an origin, or a scheme.
    package var place: String { WebOrigin(ofURL: url)?.text ?? (Self.scheme(of: url) ?? "") + ":" }

    /// Returns the URL with values appended to its query.
    package func url(with values: [(name: String, value: String)]) -> String {
        let query = values.map { "\($0.name)=\(PercentEncoding.ofQueryValue($0.value))" }.joined(separator: "&")
        return url + (url.contains("?") ? "&" : "?") + query
    }

    /// The scheme of a URL with text behind it; nil if there is none, or it is not in lower case.
    private static func scheme(of url: String) -> String? {
        guard let colon = url.firstIndex(of: ":") else { return nil }
        let scheme = url[..<colon]
        let isScheme = scheme.utf8.allSatisfy { byte in
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                || Array("+-.".utf8).contains(byte)
        }
        guard isScheme, let first = scheme.utf8.first, (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(first),
            !url[url.index(after: colon)...].isEmpty
        else { return nil }
        return String(scheme)
    }

    /// Whether each `%` begins an escape.
    private static func isEscaped(_ url: String) -> Bool {
        url.split(separator: "%", omittingEmptySubsequences: false).dropFirst().allSatisfy { $0.count >= 2 && $0.prefix(2).allSatisfy(\.isHexDigit) }
    }

    private static func fault(_ field: String, _ remedy: String) -> ServerError {
        .badValue(field, "invalid URL of an app", remedy: remedy)
    }
}
