import NacreHTTPServer

/// The hosts that a listener answers, against DNS rebinding: a page elsewhere can point its own name at this server,
/// and the browser sends that name. An IP address cannot be rebound, so every address is answered.
struct ServedHosts: Sendable {
    /// Lower case, without ports.
    let names: Set<String>

    /// Whether the request's host is served; true for a request that names none.
    func serve(_ request: HTTPRequest) -> Bool { request.header("Host").map(serve) ?? true }

    func serve(_ host: String) -> Bool {
        guard let name = Self.parts(of: host)?.name else { return false }
        return names.contains(name) || names.contains(name.lowercased()) || IPAddress.isLiteral(name)
    }

    /// Returns the name and the port of a `Host` header, the port without its colon and empty where there is none; nil
    /// for a text of another form. Only a port can follow the name: anything else is part of a foreign name.
    static func parts(of host: String) -> (name: String, port: Substring)? {
        let bytes = host.utf8
        let end = host.hasPrefix("[") ? bytes.firstIndex(of: UInt8(ascii: "]")).map(bytes.index(after:)) : bytes.lastIndex(of: UInt8(ascii: ":"))
        let rest = host[(end ?? host.endIndex)...]
        guard
            rest.isEmpty
                || (rest.utf8.first == UInt8(ascii: ":") && rest.utf8.dropFirst().allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else { return nil }
        return (String(host[..<(end ?? host.endIndex)]), rest.dropFirst())
    }
}
