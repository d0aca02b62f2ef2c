/// The request line and the headers of one request: one array of bytes, and the ranges of its parts. Strings are made
/// on demand. The bytes are a copy of the connection's, because a handler may keep its request longer than the
/// connection lives, on another thread.
final class RequestHead: Sendable {
    struct Field: Sendable {
        let name: Range<Int32>
        let value: Range<Int32>
    }

    let method: HTTPMethod
    /// The target, then the headers.
    let bytes: [UInt8]
    let fields: [Field]
    /// The range of the path in `bytes`, without the query. The query's range follows.
    let path: Range<Int>
    let query: Range<Int>
    /// The ranges of the path's segments, still escaped. `/` has one, which is empty.
    let segments: [Range<Int32>]

    /// Splits the target, which `bytes` begins with.
    init(method: HTTPMethod, bytes: [UInt8], targetLength: Int, fields: [Field]) {
        self.method = method
        self.bytes = bytes
        self.fields = fields
        var end = targetLength
        var segments: [Range<Int32>] = []
        segments.reserveCapacity(12)
        var start = 1
        bytes.withUnsafeBufferPointer { bytes in
            var index = 1
            while index < targetLength {
                if bytes[index] == UInt8(ascii: "?") {
                    end = index
                    break
                }
                if bytes[index] == UInt8(ascii: "/") {
                    segments.append(Int32(start)..<Int32(index))
                    start = index + 1
                }
                index += 1
            }
        }
        if end >= start { segments.append(Int32(start)..<Int32(end)) }
        self.segments = segments
        path = 0..<end
        query = min(end + 1, targetLength)..<targetLength
    }

    /// Creates a head that did not come over a socket.
    convenience init(method: HTTPMethod, target: String, headers: HTTPHeaders) {
        var bytes = Array(target.utf8)
        let length = bytes.count
        var fields: [Field] = []
        for (name, value) in headers {
            let start = bytes.count
            bytes += name.utf8
            let middle = bytes.count
            bytes += value.utf8
            fields.append(Field(name: Int32(start)..<Int32(middle), value: Int32(middle)..<Int32(bytes.count)))
        }
        self.init(method: method, bytes: bytes, targetLength: length, fields: fields)
    }

    func slice(_ range: Range<Int32>) -> ArraySlice<UInt8> {
        bytes[Int(range.lowerBound)..<Int(range.upperBound)]
    }

    /// Calls `body` with the values of all fields of this name, in order, until it returns false.
    func forEachValue(_ name: String, _ body: (Range<Int32>) -> Bool) {
        var name = name
        name.withUTF8 { name in
            bytes.withUnsafeBufferPointer { bytes in
                for field in fields where field.name.count == name.count {
                    let candidate = UnsafeBufferPointer(rebasing: bytes[Int(field.name.lowerBound)..<Int(field.name.upperBound)])
                    if equalIgnoringCase(candidate, name), !body(field.value) { return }
                }
            }
        }
    }

    func value(_ name: String) -> String? {
        var found: Range<Int32>?
        forEachValue(name) { range in
            found = range
            return false
        }
        return found.map { String(decoding: slice($0), as: UTF8.self) }
    }

    /// Returns all values of a header, in order.
    func values(_ name: String) -> [String] {
        var values: [String] = []
        forEachValue(name) { range in
            values.append(String(decoding: slice(range), as: UTF8.self))
            return true
        }
        return values
    }

    /// Returns the address of the client: the socket's other end or, if that is a trusted proxy, the address that it
    /// names in `X-Forwarded-For`.
    func client(of peer: PeerAddress, _ proxies: TrustedProxies) -> String {
        proxies.isEmpty ? peer.text : proxies.client(of: peer.text, forwardedFor: values("X-Forwarded-For"))
    }
}
