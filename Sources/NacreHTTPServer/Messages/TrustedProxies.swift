import Glibc

/// Networks of addresses, which a list of the operator's names. Empty by default.
package struct AddressNetworks: Sendable, Hashable {
    private var networks: [Network] = []

    package init() {}

    package var isEmpty: Bool { networks.isEmpty }

    /// Adds an address like `127.0.0.1` or `::1`, or a network like `10.0.0.0/8`. Returns false for other text.
    package mutating func add(_ text: String) -> Bool {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let bytes = IPAddress.bytes(String(parts[0])) else { return false }
        var bits = bytes.count * 8
        if parts.count == 2 {
            guard var given = Int(parts[1]) else { return false }
            if IPAddress.isMapped(String(parts[0])) { given -= 96 }
            guard (0...bits).contains(given) else { return false }
            bits = given
        }
        networks.append(Network(bytes: bytes, bits: bits))
        return true
    }

    /// Whether a numeric address is in one of the networks; false for other text.
    package func contains(_ address: String) -> Bool {
        guard let bytes = IPAddress.bytes(address) else { return false }
        return networks.contains { $0.contains(bytes) }
    }

    private struct Network: Hashable {
        var bytes: [UInt8]
        var bits: Int

        func contains(_ other: [UInt8]) -> Bool {
            guard other.count == bytes.count else { return false }
            let whole = bits / 8
            guard bytes[..<whole] == other[..<whole] else { return false }
            let rest = bits % 8
            return rest == 0 || (bytes[whole] ^ other[whole]) >> UInt8(8 - rest) == 0
        }
    }
}

/// The addresses of proxies whose `X-Forwarded-For` is trusted. Empty by default, because any client can write that
/// header.
package struct TrustedProxies: Sendable, Hashable {
    private var networks = AddressNetworks()

    package init() {}

    package var isEmpty: Bool { networks.isEmpty }

    /// Adds an address or a network. Returns false for other text.
    package mutating func add(_ text: String) -> Bool { networks.add(text) }

    /// Returns the address before all trusted proxies. Each proxy appends the address of its own client, so the header
    /// is read from its end. Any client can have written the part before the first untrusted address.
    func client(of peer: String, forwardedFor headers: [String]) -> String {
        guard networks.contains(peer) else { return peer }
        var client = peer
        for item in headers.joined(separator: ",").split(separator: ",").reversed() {
            guard let address = IPAddress.plain(String(trimmingSpaces(item))) else { return client }
            client = address
            guard networks.contains(address) else { return client }
        }
        return client
    }
}

package enum IPAddress {
    /// Returns the four or sixteen bytes of a numeric address; nil for other text. A mapped IPv4 address like
    /// `::ffff:192.0.2.1`, as dual-stack sockets write it, has four.
    static func bytes(_ text: String) -> [UInt8]? {
        var four = [UInt8](repeating: 0, count: 4)
        if inet_pton(AF_INET, text, &four) == 1 { return four }
        var sixteen = [UInt8](repeating: 0, count: 16)
        guard inet_pton(AF_INET6, text, &sixteen) == 1 else { return nil }
        return sixteen.starts(with: mapped) ? Array(sixteen[12...]) : sixteen
    }

    /// The first 96 bits of an IPv4 address that is written as an IPv6 address (RFC 4291, 2.5.5.2).
    private static let mapped = [UInt8](repeating: 0, count: 10) + [0xff, 0xff]
    /// The first 96 bits of an IPv4 address that a gateway translated (RFC 6052, 2.1).
    private static let translated: [UInt8] = [0, 0x64, 0xff, 0x9b] + [UInt8](repeating: 0, count: 8)

    /// Whether the text is an IPv4 address that is written as an IPv6 address.
    static func isMapped(_ text: String) -> Bool { text.utf8.contains(UInt8(ascii: ":")) && bytes(text)?.count == 4 }

    /// Returns the address, with a mapped IPv4 address in dotted form; nil for text that is no numeric address.
    static func plain(_ text: String) -> String? {
        bytes(text).map { $0.count == 4 ? dotted($0) : text }
    }

    private static func dotted(_ four: some Sequence<UInt8>) -> String { four.map { String($0) }.joined(separator: ".") }

    /// Returns the address block of one customer of a network: an IPv4 address, or the /64 of an IPv6 address, in which
    /// one machine has as many addresses as it likes.
    package static func customer(_ text: String) -> String {
        guard text.utf8.contains(UInt8(ascii: ":")), let bytes = bytes(text) else { return text }
        if bytes.count == 4 || bytes.starts(with: translated) { return dotted(bytes.suffix(4)) }
        return stride(from: 0, to: 8, by: 2).map { String(Int(bytes[$0]) << 8 | Int(bytes[$0 + 1]), radix: 16) }.joined(separator: ":") + "::/64"
    }

    /// Whether the host of a URL is a numeric address, for example `192.0.2.1` or `[2001:db8::1]`.
    package static func isLiteral(_ host: String) -> Bool {
        let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
        let text = isBracketed ? String(host.dropFirst().dropLast()) : host
        return text.utf8.contains(UInt8(ascii: ":")) == isBracketed && bytes(text) != nil
    }

    /// Whether the address stands for every address of a machine.
    package static func isAny(_ text: String) -> Bool { bytes(text)?.allSatisfy { $0 == 0 } ?? false }

    /// Whether the address is a loopback address.
    package static func isLoopback(_ text: String) -> Bool {
        guard let bytes = bytes(text) else { return false }
        return bytes.count == 4 ? bytes[0] == 127 : bytes == [UInt8](repeating: 0, count: 15) + [1]
    }
}
