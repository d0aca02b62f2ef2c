import FoundationEssentials
import NacreCloudStorage
import NacreCloudWire

/// A signed token in its compact form (RFC 7515, 7.1), decoded but not verified.
package struct SignedToken: Sendable {
    package enum Algorithm: String, Sendable {
        case rs256 = "RS256"
        case es256 = "ES256"
    }

    package let algorithm: Algorithm
    /// The ID of the key that signed it; nil: the token names none.
    package let keyID: String?
    package let payload: [UInt8]
    /// The bytes that are signed.
    package let signed: [UInt8]
    package let signature: [UInt8]

    private struct Header: Decodable {
        var alg: String
        var kid: String?
        /// Members that a reader must know (4.1.11). This one knows none.
        var crit: [String]?
    }

    /// Decodes a token. nil for malformed text, for text longer than `Limits.openIDAnswerBytes`, and for other
    /// algorithms.
    package init?(_ text: String) {
        guard text.utf8.count <= Limits.openIDAnswerBytes else { return nil }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let head = Base64URL.decode(parts[0]),
            let payload = Base64URL.decode(parts[1]),
            let signature = Base64URL.decode(parts[2]),
            let header = try? JSONDecoder().decode(Header.self, from: Data(head)),
            header.crit == nil,
            let algorithm = Algorithm(rawValue: header.alg)
        else { return nil }
        (self.algorithm, keyID, self.payload, self.signature) = (
            algorithm, header.kid, payload, signature
        )
        signed = Array("\(parts[0]).\(parts[1])".utf8)
    }
}

/// An issuer's claims about a user (OpenID Connect Core 1.0, 2 and 5.1).
package struct IDTokenClaims: Decodable, Hashable, Sendable {
    package var issuer: String
    package var subject: String
    package var audiences: [String]
    package var authorizedParty: String?
    /// Seconds since 1970.
    package var expires: Double
    package var issued: Double
    package var nonce: String?
    package var email: String?
    package var isEmailVerified: Bool
    package var givenName: String?
    package var familyName: String?

    private enum Key: String, CodingKey {
        case iss, sub, aud, azp, exp, iat, nonce, email
        case isEmailVerified = "email_verified"
        case givenName = "given_name"
        case familyName = "family_name"
    }

    /// Decodes the claims; nil for JSON that lacks a required member.
    package init?(json: [UInt8]) {
        guard let value = try? JSONDecoder().decode(Self.self, from: Data(json)) else { return nil }
        self = value
    }

    package init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: Key.self)
        issuer = try values.decode(String.self, forKey: .iss)
        subject = try values.decode(String.self, forKey: .sub)
        audiences =
            try (try? values.decode([String].self, forKey: .aud)) ?? [
                values.decode(String.self, forKey: .aud)
            ]
        authorizedParty = try values.decodeIfPresent(String.self, forKey: .azp)
        expires = try values.decode(Double.self, forKey: .exp)
        issued = try values.decode(Double.self, forKey: .iat)
        nonce = try values.decodeIfPresent(String.self, forKey: .nonce)
        email = try? values.decodeIfPresent(String.self, forKey: .email)
        // Only the value `true` verifies an address.
        isEmailVerified = (try? values.decode(Bool.self, forKey: .isEmailVerified)) ?? false
        givenName = try? values.decodeIfPresent(String.self, forKey: .givenName)
        familyName = try? values.decodeIfPresent(String.self, forKey: .familyName)
    }

    package init(
        issuer: String, subject: String, audiences: [String], authorizedParty: String? = nil,
        expires: Double, issued: Double,
        nonce: String?, email: String? = nil, isEmailVerified: Bool = false
    ) {
        (self.issuer, self.subject, self.audiences, self.authorizedParty) = (
            issuer, subject, audiences, authorizedParty
        )
        (self.expires, self.issued, self.nonce) = (expires, issued, nonce)
        (self.email, self.isEmailVerified) = (email, isEmailVerified)
    }
}
