import NacreCloudWire

/// Hosts that a browser may name as its push service. Without a list, clients could make the server send requests to
/// any host.
package struct PushHosts: Sendable {
    /// A host name, or `*.` and a name for any host below it.
    package var names: [String]

    package init(names: [String]) {
        self.names = names
    }

    /// The push services of Chrome, Firefox, Safari and Edge.
    package static let browsers = PushHosts(names: [
        "fcm.googleapis.com", "updates.push.services.mozilla.com", "*.push.apple.com", "*.notify.windows.com",
    ])

    /// Bytes of the longest endpoint.
    private static let endpointBytes = 2000

    /// Whether a message may be sent to an endpoint: an unambiguous HTTPS URL to port 443 of one of the hosts.
    package func allows(_ endpoint: String) -> Bool {
        guard let url = GuardedURL(endpoint, bytesMax: Self.endpointBytes), url.isSecure, url.port.map({ $0 == 443 }) ?? true, url.hasPath else {
            return false
        }
        return names.contains { $0.hasPrefix("*.") ? url.host.hasSuffix($0.dropFirst()) && url.host.count > $0.count - 1 : $0 == url.host }
    }
}

/// The parts of an unambiguous URL to a host by its name: no two parsers can read another host in it.
struct GuardedURL: Hashable, Sendable {
    var isSecure: Bool
    /// A name in lower case whose last label begins with a letter, or 127.0.0.1: no user, no other numeric address.
    var host: String
    var port: UInt16?
    /// Whether a path or a query follows the host.
    var hasPath: Bool

    /// - Returns: nil for any other URL.
    init?(_ url: String, bytesMax: Int) {
        guard url.utf8.count <= bytesMax,
            url.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "\\") && $0 != UInt8(ascii: "#") })
        else { return nil }
        isSecure = url.hasPrefix("https://")
        guard isSecure || url.hasPrefix("http://") else { return nil }
        let rest = url.dropFirst(isSecure ? 8 : 7)
        let authority = rest.prefix { $0 != "/" && $0 != "?" }
        hasPath = authority.count < rest.count
        let parts = authority.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        if parts.count == 2 {
            guard let number = UInt16(parts[1]), number > 0, String(number) == parts[1] else { return nil }
            port = number
        }
        guard let name = parts.first, name.utf8.allSatisfy(Self.isOfName),
            let last = name.split(separator: ".", omittingEmptySubsequences: false).last,
            last.first?.isLetter == true || name == Self.loopbackAddress
        else { return nil }
        host = name.lowercased()
    }

    private static let loopbackAddress = "127.0.0.1"

    /// Whether the host is this machine.
    var isLoopback: Bool { host == "localhost" || host == Self.loopbackAddress }

    private static func isOfName(_ byte: UInt8) -> Bool {
        Names.isLetter(byte) || Names.isDigit(byte) || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".")
    }
}
