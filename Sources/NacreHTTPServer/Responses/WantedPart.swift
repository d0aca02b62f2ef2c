/// Which bytes of a body a request is answered with: `If-None-Match`, then `Range` under `If-Range` (RFC 9110 §13.2.2 has the order).
package enum WantedPart: Equatable, Sendable {
    /// None: the client has them (304).
    case unmodified
    case whole
    case part(Range<UInt64>)
    /// None: the range begins where there is nothing (416).
    case behindTheEnd

    /// - Parameters:
    ///   - length: of the body; nil where no part of it can be had.
    ///   - tag: what the response's `ETag` says.
    ///   - modified: what its `Last-Modified` says.
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
