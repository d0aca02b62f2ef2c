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
        let scheme = "https://"
        guard endpoint.utf8.count <= Self.endpointBytes, endpoint.hasPrefix(scheme),
            endpoint.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "\\") && $0 != UInt8(ascii: "#") })
        else { return false }
        let rest = endpoint.dropFirst(scheme.count)
        let authority = rest.prefix { $0 != "/" && $0 != "?" }
        guard authority.count < rest.count else { return false }
        let host = authority.hasSuffix(":443") ? authority.dropLast(4) : authority
        // A host name whose last label begins with a letter: no port, no user, no numeric address.
        guard host.utf8.allSatisfy(Self.isOfName), let last = host.split(separator: ".", omittingEmptySubsequences: false).last,
            last.first?.isLetter == true
        else { return false }
        let name = host.lowercased()
        return names.contains { $0.hasPrefix("*.") ? name.hasSuffix($0.dropFirst()) && name.count > $0.count - 1 : $0 == name }
    }

    private static func isOfName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
            UInt8(ascii: "."):
            true
        default: false
        }
    }
}
