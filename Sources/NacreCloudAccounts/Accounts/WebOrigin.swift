import NacreCloudStorage
package import NacreCloudWire

/// An origin of web pages, as browsers write it in `Origin`: a scheme, a host, and a port unless it is the scheme's own
/// (RFC 6454, 6.1).
///
/// Origins are equal if their bytes are, since browsers write each in one way. `null`, which a browser sends for pages
/// without an origin, is no origin.
package struct WebOrigin: Hashable, Sendable {
    package let text: String

    /// Parses an origin. nil for text that no browser writes as one, and for a host that ends with a point or has an
    /// empty part.
    package init?(_ text: String) {
        guard text.utf8.count <= Limits.originCharacters else { return nil }
        let rest: Substring
        let ownPort: String
        if text.hasPrefix("https://") {
            (rest, ownPort) = (text.dropFirst("https://".count), "443")
        } else if text.hasPrefix("http://") {
            (rest, ownPort) = (text.dropFirst("http://".count), "80")
        } else {
            return nil
        }
        guard let port = Self.port(behindHostOf: rest), port.map({ $0 != ownPort && Self.isPort($0) }) ?? true else { return nil }
        self.text = text
    }

    /// The origin of an `http` or `https` URL whose authority is written as in an origin; nil for others.
    package init?(ofURL url: String) {
        guard let separator = url.firstRange(of: "://") else { return nil }
        let authority = url[separator.upperBound...].prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        self.init(String(url[..<authority.endIndex]))
    }

    /// The text behind the colon of `host[:port]`: an inner nil without a colon, an outer nil for a malformed host.
    private static func port(behindHostOf authority: Substring) -> Substring?? {
        let end: Substring.Index
        if authority.hasPrefix("[") {
            guard let bracket = authority.firstIndex(of: "]") else { return nil }
            let address = authority[authority.index(after: authority.startIndex)..<bracket]
            guard !address.isEmpty, address.utf8.allSatisfy({ isHexadecimal($0) || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: ".") }) else {
                return nil
            }
            end = authority.index(after: bracket)
        } else {
            end = authority.firstIndex(of: ":") ?? authority.endIndex
            let parts = authority[..<end].split(separator: ".", omittingEmptySubsequences: false)
            guard parts.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy(isOfName) }) else { return nil }
        }
        let port = authority[end...]
        if port.isEmpty { return .some(nil) }
        return port.hasPrefix(":") ? .some(port.dropFirst()) : nil
    }

    private static func isPort(_ text: Substring) -> Bool {
        guard let number = UInt16(text), number > 0 else { return false }
        return String(number) == text
    }

    /// Lower case only: a browser writes no other.
    private static func isOfName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"): true
        default: false
        }
    }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "f"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        default: false
        }
    }
}

extension WebOrigin {
    /// The distinct origins that an API token is registered with.
    /// - Returns: nil for an empty list, which allows any origin.
    /// - Throws: The fault of an origin, or of their number.
    package static func registered(_ origins: [String]) throws(ServerError) -> [String]? {
        var known: [String] = []
        for origin in origins where !known.contains(origin) {
            guard WebOrigin(origin) != nil else {
                throw .badValue(
                    "origins", "invalid origin",
                    remedy: "Give the scheme and the host of a page as browsers write them: https://app.example or http://localhost:3000.")
            }
            known.append(origin)
        }
        guard known.count <= Limits.originsPerToken else {
            throw .badValue("origins", "too many origins", remedy: "Give at most \(Limits.originsPerToken), or make another API token.")
        }
        return known.isEmpty ? nil : known
    }
}
