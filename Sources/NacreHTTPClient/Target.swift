import CNacreCurl
import Glibc

struct Target: Equatable, Sendable {
    /// Scheme, host and port. Transfers with the same authority share connections.
    let authority: String
    /// Whether the host is this machine. It is never reached through a proxy, which would learn the request's secrets
    /// and has a loopback of its own.
    let isLoopback: Bool

    /// Parses a URL. Returns nil if it is no absolute URL of HTTP.
    init?(_ url: String) {
        guard let parts = curl_url() else { return nil }
        defer { curl_url_cleanup(parts) }
        guard !url.utf8.contains(0), curl_url_set(parts, CURLUPART_URL, url, 0) == CURLUE_OK, let scheme = Self.part(CURLUPART_SCHEME, of: parts),
            scheme == "http" || scheme == "https", let host = Self.part(CURLUPART_HOST, of: parts)?.lowercased(),
            let port = Self.part(CURLUPART_PORT, of: parts)
        else { return nil }
        authority = "\(scheme)://\(host):\(port)"
        isLoopback = Self.isLoopback(host)
    }

    private static func part(_ part: CURLUPart, of parts: OpaquePointer) -> String? {
        var text: UnsafeMutablePointer<CChar>?
        guard curl_url_get(parts, part, &text, UInt32(CURLU_DEFAULT_PORT)) == CURLUE_OK, let text else { return nil }
        defer { curl_free(text) }
        return String(cString: text)
    }

    /// - Parameter host: The host in lower case, with an IPv6 address in brackets.
    private static func isLoopback(_ host: String) -> Bool {
        let name = host.hasSuffix(".") ? String(host.dropLast()) : host
        // RFC 6761, section 6.3.
        if name == "localhost" || name.hasSuffix(".localhost") { return true }
        var four = in_addr()
        if inet_pton(AF_INET, name, &four) == 1 { return UInt32(bigEndian: four.s_addr) >> 24 == 127 }
        guard name.hasPrefix("["), name.hasSuffix("]") else { return false }
        var six = in6_addr()
        guard inet_pton(AF_INET6, String(name.dropFirst().dropLast()), &six) == 1 else { return false }
        let bytes = withUnsafeBytes(of: &six) { Array($0) }
        let isOne = bytes.dropLast().allSatisfy { $0 == 0 } && bytes.last == 1
        // ::ffff:127.0.0.0/104
        let isMapped = bytes[..<10].allSatisfy { $0 == 0 } && bytes[10] == 0xFF && bytes[11] == 0xFF && bytes[12] == 127
        return isOne || isMapped
    }

    /// Whether connections treat an address as public, for tests; nil for text that is no address.
    static func isPublic(_ address: String) -> Bool? {
        var four = sockaddr_in()
        four.sin_family = sa_family_t(AF_INET)
        if inet_pton(AF_INET, address, &four.sin_addr) == 1 {
            return withUnsafePointer(to: &four) { $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { nacre_is_public($0) != 0 } }
        }
        var six = sockaddr_in6()
        six.sin6_family = sa_family_t(AF_INET6)
        guard inet_pton(AF_INET6, address, &six.sin6_addr) == 1 else { return nil }
        return withUnsafePointer(to: &six) { $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { nacre_is_public($0) != 0 } }
    }
}
