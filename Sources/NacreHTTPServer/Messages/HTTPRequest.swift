/// One request: a small value around shared, immutable storage. Copies are cheap, any thread may read it, and it may
/// outlive its connection. Every access makes a new string. Keep a string that you need twice.
package struct HTTPRequest: Sendable {
    let head: RequestHead
    package let body: HTTPBody
    /// The memory and the slot that the request takes of the server.
    package let ledger: RequestLedger
    /// Whether several requests came together and wait for the same loop. Work that another thread can do is better
    /// done there.
    package let isAmongMany: Bool
    private let peer: PeerAddress
    private let identity: RequestID
    private let proxies: TrustedProxies
    /// The result of the route search, set before the middleware runs.
    var match: RouteMatch?

    init(
        head: RequestHead, body: HTTPBody, peer: PeerAddress, identity: RequestID, ledger: RequestLedger, proxies: TrustedProxies,
        isAmongMany: Bool = false
    ) {
        self.head = head
        self.body = body
        self.peer = peer
        self.identity = identity
        self.ledger = ledger
        self.proxies = proxies
        self.isAmongMany = isAmongMany
    }

    /// Creates a request without a socket, for tests and for callers in the same process. The target is a path with its
    /// query, as on the wire.
    package init(method: HTTPMethod, target: String, headers: HTTPHeaders = [:], body: [UInt8] = []) {
        self.init(
            head: RequestHead(method: method, target: target, headers: headers), body: HTTPBody(body), peer: PeerAddress(),
            identity: RequestID.random(), ledger: RequestLedger(nil, Holder(.stranger, "")), proxies: TrustedProxies())
    }

    /// Returns the same request with another body. The headers keep the old length.
    package func with(body: [UInt8]) -> HTTPRequest {
        var request = HTTPRequest(
            head: head, body: HTTPBody(body), peer: peer, identity: identity, ledger: ledger, proxies: proxies, isAmongMany: isAmongMany)
        request.match = match
        return request
    }

    package var method: HTTPMethod { head.method }

    /// The path and the query as they came.
    package var target: String { String(decoding: head.bytes[head.path.lowerBound..<head.query.upperBound], as: UTF8.self) }

    /// The path as it came, still escaped: the form that a client signs.
    package var rawPath: String { String(decoding: head.bytes[head.path], as: UTF8.self) }

    /// The query as it came, without the question mark; empty if there is none.
    package var rawQuery: String { String(decoding: head.bytes[head.query], as: UTF8.self) }

    /// The parts between the slashes of the path. Each is percent-decoded on its own, so an escaped slash does not
    /// divide.
    /// - Throws: 400 if an escape is malformed or the result is not UTF-8.
    package var segments: [String] {
        get throws {
            try head.segments.map { try decoded(head.slice($0)) }
        }
    }

    /// The percent-decoded path.
    package var path: String {
        get throws { try decoded(head.bytes[head.path]) }
    }

    /// Returns one of `segments`, without the work for the others.
    /// - Throws: The errors of `segments`; 500 if the path has no segment of this index.
    package func segment(_ index: Int) throws -> String {
        guard index < head.segments.count else { throw HTTPError(.internalServerError, "The path has no such segment.") }
        return try decoded(head.slice(head.segments[index]))
    }

    /// The number of `segments`.
    package var segmentCount: Int { head.segments.count }

    /// Returns the percent-decoded path from one of `segments` on; empty if there is none of this index.
    /// - Throws: 400 as `segments` does.
    package func path(fromSegment index: Int) throws -> String {
        index < head.segments.count ? try decoded(head.bytes[Int(head.segments[index].lowerBound)..<head.path.upperBound]) : ""
    }

    private func decoded(_ bytes: ArraySlice<UInt8>) throws -> String {
        guard let text = percentDecoded(bytes) else { throw HTTPError(.badRequest, "The path is malformed: it is UTF-8 with percent-encoding.") }
        return text
    }

    /// Returns the first value of a query parameter, percent-decoded (`+` stays `+`). A name without `=` has an empty
    /// value; nil if it is absent or malformed.
    package func query(_ name: String) -> String? {
        var rest = head.bytes[head.query]
        while !rest.isEmpty {
            let item = rest.prefix { $0 != UInt8(ascii: "&") }
            rest = rest[item.endIndex...].dropFirst()
            let equals = item.firstIndex(of: UInt8(ascii: "=")) ?? item.endIndex
            let key = item[..<equals]
            guard key.elementsEqual(name.utf8) || (key.contains(UInt8(ascii: "%")) && percentDecoded(key) == name) else { continue }
            return equals == item.endIndex ? "" : percentDecoded(item[(equals + 1)...])
        }
        return nil
    }

    /// Returns the first value of a header. Names compare without case. Bytes that are not UTF-8 become U+FFFD.
    package func header(_ name: String) -> String? { head.value(name) }

    /// Returns all values of a header, in order.
    package func headerValues(_ name: String) -> [String] { head.values(name) }

    /// The error of a coded body; nil if the body has no content coding. The server undoes none.
    var codingProblem: HTTPError? {
        let isPlain = headerValues("Content-Encoding").allSatisfy { values in
            values.split(separator: ",").allSatisfy { equalIgnoringCase(trimmingSpaces($0), "identity") }
        }
        return isPlain ? nil : .bodyCoded
    }

    /// The bytes of the target and the headers, as they came.
    package var headBytes: Int { head.bytes.count }

    /// The numeric address of the socket's other end, without its port. Behind a proxy it is the proxy's. Empty for a
    /// request made in this process.
    package var remoteAddress: String { peer.text }

    /// The address of the client: the socket's other end or, if that is a trusted proxy, the address that it names in
    /// `X-Forwarded-For`.
    package var clientAddress: String { head.client(of: peer, proxies) }

    /// A random UUID (version 4, lower case) that the server made for this request.
    package var id: String { identity.text }

    /// The pattern of the route that answers, for example `/zones/:name`; nil if none matches. It has few values, so it
    /// can label metrics.
    package var route: String? { match?.route?.pattern }
}
