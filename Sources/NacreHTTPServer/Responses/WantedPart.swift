/// The bytes of a body that a request gets: `If-None-Match` first, then `Range` under `If-Range` (RFC 9110 §13.2.2 has
/// the order).
package enum WantedPart: Equatable, Sendable {
    /// No bytes, because the client has them (304).
    case unmodified
    case whole
    case part(Range<UInt64>)
    /// No bytes, because the range begins after the end (416).
    case behindTheEnd

    /// - Parameters:
    ///   - length: The length of the body; nil if no part of it can be had.
    ///   - tag: The response's `ETag`.
    ///   - modified: The response's `Last-Modified`.
    package init(of length: UInt64?, tag: String?, modified: String? = nil, for request: HTTPRequest) {
        if let tag, EntityTag.anyMatches(request.headerValues("If-None-Match"), tag) {
            self = .unmodified
            return
        }
        self = .whole
        guard let length, request.method == .get, let header = request.header("Range"), let range = ByteRange(header) else { return }
        if let condition = request.header("If-Range"), !EntityTag.isSame(condition, tag), condition != modified { return }
        self = range.resolved(in: length).map { .part($0) } ?? .behindTheEnd
    }
}
