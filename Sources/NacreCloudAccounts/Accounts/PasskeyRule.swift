/// A challenge that a passkey is asked to sign.
package struct PasskeyQuestion: Hashable, Sendable {
    /// Base64 for URLs: 32 random bytes, drawn for one page in one browser.
    package var challenge: String
    /// The origin of the sign-in page, from the server's public URL.
    package var origin: String
    /// SHA-256 of the host of that origin.
    package var relyingParty: [UInt8]

    package init(challenge: String, origin: String, relyingParty: [UInt8]) {
        (self.challenge, self.origin, self.relyingParty) = (challenge, origin, relyingParty)
    }
}

/// The reason why an answer of a passkey is refused.
package enum PasskeyFault: String, Error, Hashable, Sendable, CaseIterable {
    /// The answer is not in the form that browsers send.
    case malformed
    /// The answer is for another purpose: for a sign-in instead of a new passkey, or the reverse.
    case purpose
    /// The answer is to another challenge.
    case challenge
    /// The answer was made on a page of another origin.
    case origin
    /// The answer was made for another server.
    case relyingParty
    case userNotPresent
    case userNotVerified
    /// The key is not for ES256.
    case algorithm
    /// The account that the answer names has no passkey with its ID.
    case credential
    case signature
    /// The counter went backwards: the passkey may have been copied.
    case counter
}

/// The checks of a passkey when it is added and when it signs in: WebAuthn level 2, 7.1 and 7.2. The model of its
/// authenticator is not checked. See `docs/decisions/accounts-sign-in.md`.
package enum PasskeyRule {
    /// COSE's numbers: the keys in the map of a key, and their values.
    private enum COSE {
        static let (kind, algorithm, curve) = (CBOR.integer(1), CBOR.integer(3), CBOR.integer(-1))
        static let (x, y) = (CBOR.integer(-2), CBOR.integer(-3))
        static let (ec2, es256, p256) = (CBOR.integer(2), CBOR.integer(-7), CBOR.integer(1))
    }

    /// A newly made key, to be added.
    package struct Made: Hashable, Sendable {
        /// Base64 for URLs.
        package var id: String
        package var x: [UInt8]
        package var y: [UInt8]
        package var counter: UInt32
    }

    /// Returns the passkey to add from a browser's answer.
    /// - Parameter attestation: The attestation object. Its statement is ignored.
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

    /// Why an answer signs no user in; nil: it does.
    /// - Parameters:
    ///   - passkey: The passkey with the answer's ID, of the account that the answer names; nil: there is none.
    ///   - isSigned: Whether the passkey's key has signed the browser's data.
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

    /// Whether a counter may follow another. Most passkeys are synchronized and do not count: theirs stays 0.
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
