/// What a passkey is asked to sign.
package struct PasskeyQuestion: Hashable, Sendable {
    /// Base64 for URLs: 32 random bytes, drawn for one page in one browser.
    package var challenge: String
    /// Of the sign-in page, by the server's public URL.
    package var origin: String
    /// SHA-256 of the host of that origin.
    package var relyingParty: [UInt8]

    package init(challenge: String, origin: String, relyingParty: [UInt8]) {
        (self.challenge, self.origin, self.relyingParty) = (challenge, origin, relyingParty)
    }
}

/// Why a passkey does not count.
package enum PasskeyFault: String, Error, Hashable, Sendable, CaseIterable {
    /// It is not what browsers send.
    case malformed
    /// It was made for something else: a sign-in where a passkey is to be added, or the other way round.
    case purpose
    /// It answers another question.
    case challenge
    /// It was made on another page.
    case origin
    /// It was made for another server.
    case relyingParty
    case userNotPresent
    case userNotVerified
    /// Its key is not for ES256.
    case algorithm
    /// The account that it names has no such passkey.
    case credential
    case signature
    /// It has counted backwards: there may be two of it.
    case counter
}

/// When a passkey is added, and when it signs in. WebAuthn level 2, 7.1 and 7.2; which model of an authenticator it is in is not
/// asked. See `docs/decisions/a-passkey-signs-in-by-itself.md`.
package enum PasskeyRule {
    /// COSE's numbers: the keys of a key's map, and what stands under them.
    private enum COSE {
        static let (kind, algorithm, curve) = (CBOR.integer(1), CBOR.integer(3), CBOR.integer(-1))
        static let (x, y) = (CBOR.integer(-2), CBOR.integer(-3))
        static let (ec2, es256, p256) = (CBOR.integer(2), CBOR.integer(-7), CBOR.integer(1))
    }

    /// A key that was made to be added.
    package struct Made: Hashable, Sendable {
        /// Base64 for URLs.
        package var id: String
        package var x: [UInt8]
        package var y: [UInt8]
        package var counter: UInt32
    }

    /// What is added by what a browser sends.
    /// - Parameter attestation: the attestation object. Its statement is not looked at.
    package static func made(
        _ client: PasskeyClientData?, attestation: [UInt8], for question: PasskeyQuestion
    ) throws(PasskeyFault) -> Made {
        guard let client,
            let data = CBOR(attestation)?[.text("authData")]?.bytes.flatMap(AuthenticatorData.init),
            let credential = data.credential
        else { throw .malformed }
        if let fault = fault(client, .creation, data, question) { throw fault }
        let key = credential.key
        guard key[COSE.kind] == COSE.ec2, key[COSE.algorithm] == COSE.es256,
            key[COSE.curve] == COSE.p256,
            let x = key[COSE.x]?.bytes, let y = key[COSE.y]?.bytes, x.count == 32, y.count == 32
        else { throw .algorithm }
        return Made(id: Base64URL.encode(credential.id), x: x, y: y, counter: data.counter)
    }

    /// Why an answer signs nobody in; nil: it does.
    /// - Parameters:
    ///   - passkey: that the account which the answer names has under its ID; nil: it has none.
    ///   - isSigned: the key of that passkey has signed what the browser sent.
    package static func fault(
        _ client: PasskeyClientData?, _ data: AuthenticatorData?, for question: PasskeyQuestion,
        passkey: PasskeyEntry?, isSigned: Bool
    ) -> PasskeyFault? {
        guard let client, let data else { return .malformed }
        if let fault = fault(client, .assertion, data, question) { return fault }
        guard let passkey else { return .credential }
        if !isSigned { return .signature }
        return counts(from: passkey.counter, to: data.counter) ? nil : .counter
    }

    /// Whether a counter may follow another. Most passkeys are kept in several places and do not count: theirs is 0 for ever.
    package static func counts(from last: UInt32, to next: UInt32) -> Bool {
        next > last || (next == 0 && last == 0)
    }

    private static func fault(
        _ client: PasskeyClientData, _ kind: PasskeyClientData.Kind, _ data: AuthenticatorData,
        _ question: PasskeyQuestion
    ) -> PasskeyFault? {
        if client.type != kind.rawValue { return .purpose }
        if client.challenge != question.challenge { return .challenge }
        if client.origin != question.origin || client.crossOrigin == true { return .origin }
        if data.relyingParty != question.relyingParty { return .relyingParty }
        if !data.isUserPresent { return .userNotPresent }
        return data.isUserVerified ? nil : .userNotVerified
    }
}
