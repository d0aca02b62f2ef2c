package import NacreCloudWire

/// Where a page of credentials of several kinds begins: they stand in the order of kinds and IDs.
package struct CredentialPosition<Kind: RawRepresentable<String> & Sendable>: Sendable {
    package var kind: Kind
    /// The last one before the page; nil: the page begins with the first of the kind.
    package var id: String?

    package init(kind: Kind, id: String? = nil) {
        self.kind = kind
        self.id = id
    }

    /// As an answer's `next`.
    package var text: String { "\(kind.rawValue):\(id ?? "")" }

    /// - Throws: `BAD_REQUEST` for a text that is nobody's `next`.
    package init(text: String) throws(ServerError) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let kind = Kind(rawValue: String(parts[0])) else {
            throw ServerError.unknownPage
        }
        self.init(kind: kind, id: parts[1].isEmpty ? nil : String(parts[1]))
    }
}

extension ServerError {
    /// `after` of a list is nobody's `next`.
    package static let unknownPage = ServerError(
        .badRequest, "unknown place to go on", field: "after", remedy: "Take `next` of the page before.")
}
