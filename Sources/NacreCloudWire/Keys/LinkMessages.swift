/// A link of a scope: the scope's key, sealed under the link's secret, and that secret, sealed under the key. Forms of
/// docs/encryption.md.
package struct ScopeLink: Equatable, Sendable {
    /// The participant whose one-time link it is; nil: the share's own link.
    package var participantID: String?
    package var key: [UInt8]
    /// nil: the caller may not hand the link out.
    package var secret: [UInt8]?

    package init(participantID: String? = nil, key: [UInt8], secret: [UInt8]?) {
        self.participantID = participantID
        self.key = key
        self.secret = secret
    }
}

/// `POST keys/scopes/join`, an endpoint of this server's own: keeps the key that a link has opened, sealed for the
/// account of the caller, who takes part.
package struct KeysScopesJoinRequest: Equatable, Sendable {
    package var zoneID: ZoneID
    /// The newest scope key, sealed for the caller's account.
    package var wrap: [UInt8]
    /// The word by which the owner's devices know the caller's account.
    package var joining: [UInt8]
    package var `extension`: RequestExtension

    package init(zoneID: ZoneID, wrap: [UInt8], joining: [UInt8], extension: RequestExtension = RequestExtension()) {
        self.zoneID = zoneID
        self.wrap = wrap
        self.joining = joining
        self.extension = `extension`
    }
}

/// The answer to `keys/scopes/join`: an empty object.
package struct KeysScopesJoinResponse: Equatable, Sendable {
    package init() {}
}

extension KeysScopesJoinRequest: RequestMessage {
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        `extension`.write(to: &writer)
        writer.write("zoneID", zoneID, asAnswer: false)
        writer.write(ifPresent: "wrap", base64: wrap)
        writer.write(ifPresent: "joining", base64: joining)
        writer.endObject()
    }
}

extension KeysScopesJoinResponse: AnswerMessage {
    package init(from reader: inout JSONReader) throws(JSONError) {
        try reader.beginObject()
        while try reader.nextKey() != nil { try reader.skip() }
    }
}

extension JSONReader {
    /// Reads the links of a scope.
    package mutating func optionalScopeLinks() throws(JSONError) -> [ScopeLink]? {
        try takeNull() ? nil : try array { reader throws(JSONError) in try ScopeLink(from: &reader) }
    }
}

extension JSONWriter {
    /// Writes the links of a scope.
    package mutating func write(_ key: StaticString, links: [ScopeLink]) {
        write(key, links) { writer, link in link.write(to: &writer) }
    }
}

extension ScopeLink {
    fileprivate init(from reader: inout JSONReader) throws(JSONError) {
        var (participantID, key, secret): (String?, [UInt8]?, [UInt8]?) = (nil, nil, nil)
        let start = try reader.beginObject()
        while let name = try reader.nextKey() {
            switch name {
            case "participantID": participantID = try reader.optionalString()
            case "key": key = try reader.optionalBase64()
            case "secret": secret = try reader.optionalBase64()
            default: try reader.skip()
            }
        }
        self.init(participantID: participantID, key: try reader.require(key, "key", at: start), secret: secret)
    }

    fileprivate func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.write(ifPresent: "participantID", participantID)
        writer.write(ifPresent: "key", base64: key)
        writer.write(ifPresent: "secret", base64: secret)
        writer.endObject()
    }
}
