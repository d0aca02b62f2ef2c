import FoundationEssentials
import NacreCloudStorage
import NacreCloudWire

/// The data that an authenticator reports and signs (WebAuthn level 2, 6.1).
package struct AuthenticatorData: Hashable, Sendable {
    /// A newly made credential.
    package struct Credential: Hashable, Sendable {
        package var id: [UInt8]
        /// COSE_Key (RFC 9052, 7).
        package var key: CBOR
    }

    /// SHA-256 of the ID of the relying party.
    package var relyingParty: [UInt8]
    package var flags: UInt8
    package var counter: UInt32
    package var credential: Credential?

    /// Decodes an authenticator's bytes; nil if they are malformed.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count >= 37 else { return nil }
        relyingParty = Array(bytes[..<32])
        flags = bytes[32]
        counter = bytes[33..<37].reduce(0) { $0 << 8 | UInt32($1) }
        var rest = bytes[37...]
        if flags & 0x40 != 0 {
            guard let credential = Self.credential(&rest) else { return nil }
            self.credential = credential
        }
        if flags & 0x80 != 0 {
            var reader = CBORReader(rest)
            guard case .map? = reader.value() else { return nil }
            rest = reader.rest
        }
        guard rest.isEmpty else { return nil }
    }

    /// Whether a person touched the authenticator.
    var isUserPresent: Bool { flags & 0x01 != 0 }
    /// Whether the authenticator verified its user, by a PIN, a finger or a face.
    var isUserVerified: Bool { flags & 0x04 != 0 }

    private static func credential(_ rest: inout ArraySlice<UInt8>) -> Credential? {
        // The first 16 bytes name the authenticator's model, which is ignored.
        let head = Array(rest.prefix(18))
        guard head.count == 18 else { return nil }
        rest = rest.dropFirst(18)
        let length = Int(head[16]) << 8 | Int(head[17])
        guard (1...Limits.passkeyIDBytes).contains(length), length <= rest.count else { return nil }
        let id = Array(rest.prefix(length))
        var reader = CBORReader(rest.dropFirst(length))
        guard let key = reader.value() else { return nil }
        rest = reader.rest
        return Credential(id: id, key: key)
    }
}

/// The browser's data about a request to an authenticator, also signed (WebAuthn level 2, 5.8.1).
package struct PasskeyClientData: Hashable, Sendable, Codable {
    package enum Kind: String, Sendable {
        case creation = "webauthn.create"
        case assertion = "webauthn.get"
    }

    package var type: String
    /// Base64 for URLs, as `PasskeyQuestion.challenge`.
    package var challenge: String
    package var origin: String
    /// Whether the page that asked was embedded in a page of another origin.
    package var crossOrigin: Bool?

    /// Decodes the browser's JSON; nil if it is malformed.
    package init?(json: [UInt8]) {
        guard let value = try? JSONDecoder().decode(Self.self, from: Data(json)) else { return nil }
        self = value
    }

    package init(type: String, challenge: String, origin: String, crossOrigin: Bool? = nil) {
        (self.type, self.challenge, self.origin, self.crossOrigin) = (
            type, challenge, origin, crossOrigin
        )
    }
}
