package import NacreCloudWire

/// The position of a page in a list of credentials of several kinds, in the order of kinds and IDs.
package struct CredentialCursor<Kind: RawRepresentable<String> & Sendable>: Sendable {
    package var kind: Kind
    /// The ID before the page; nil: the page begins with the first one of the kind.
    package var id: String?

    package init(kind: Kind, id: String? = nil) {
        self.kind = kind
        self.id = id
    }

    /// The value of an answer's `next`.
    package var text: String { "\(kind.rawValue):\(id ?? "")" }

    /// - Throws: `BAD_REQUEST` for text that `text` never returns.
    package init(text: String) throws(ServerError) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let kind = Kind(rawValue: String(parts[0])) else {
            throw ServerError.unknownPage
        }
        self.init(kind: kind, id: parts[1].isEmpty ? nil : String(parts[1]))
    }
}

extension ServerError {
    /// 400: `after` of a list is not the `next` of an answer.
    package static let unknownPage = ServerError(
        .badRequest, "unknown place to go on", field: "after", remedy: "Take `next` of the page before.")
}
