import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire
import NacreCrypto
import NacreHTTPServer

/// The sign-in page as WebAuthn's relying party, for browsers that reach it by a name, over HTTPS or on this machine.
struct RelyingParty: Hashable, Sendable {
    /// The host of the page's origin, for which browsers keep passkeys.
    let id: String
    let origin: String

    /// The party of an origin; nil if browsers offer no passkeys: for addresses instead of names (WebAuthn level 2,
    /// 5.1.3), and without TLS.
    init?(origin: String) {
        guard let separator = origin.firstRange(of: "://"), let host = Server.host(of: origin),
            !host.hasPrefix("["),
            !host.utf8.allSatisfy({ $0 == UInt8(ascii: ".") || (0x30...0x39).contains($0) })
        else { return nil }
        let isLocal = host == "localhost" || host.hasSuffix(".localhost")
        guard origin[..<separator.lowerBound] == "https" || isLocal else { return nil }
        (id, self.origin) = (host, origin)
    }

    func question(_ challenge: String) -> PasskeyQuestion {
        PasskeyQuestion(
            challenge: challenge, origin: origin, relyingParty: SHA256.digest(Array(id.utf8)))
    }

    /// 32 random bytes. WebAuthn level 2, 13.4.3 requires 16.
    static func newChallenge() throws -> String { Base64URL.encode(try SecureRandom.bytes(32)) }
}

/// The answer of a browser's authenticator when a passkey signs in: fields of a form, each in base64 for URLs.
struct PasskeyAssertion: Sendable {
    /// The account that the authenticator keeps the passkey for. An account's ID has 32 characters.
    let account: String
    let credential: String
    let client: [UInt8]
    let data: [UInt8]
    let signature: [UInt8]

    /// Reads the fields; nil if one is missing or malformed.
    init?(_ fields: FormFields) {
        guard let user = fields["user"], let credential = fields["credential"], let client = fields["client"], let data = fields["data"],
            let signature = fields["signature"]
        else { return nil }
        self.init(user: user, credential: credential, client: client, data: data, signature: signature)
    }

    /// Reads the answer's parts; nil if one is malformed.
    init?(user: String, credential: String, client: String, data: String, signature: String) {
        guard let user = Base64URL.decode(user), user.count <= 64, user.allSatisfy({ 0x21...0x7e ~= $0 }),
            let account = String(validating: user, as: UTF8.self),
            let id = Base64URL.decode(credential), (1...Limits.passkeyIDBytes).contains(id.count),
            let client = Base64URL.decode(client), let data = Base64URL.decode(data), let signature = Base64URL.decode(signature)
        else { return nil }
        (self.account, self.credential) = (account, Base64URL.encode(id))
        (self.client, self.data, self.signature) = (client, data, signature)
    }

    /// - Parameter passkey: the account's passkey with this ID.
    /// - Returns: the reason for which it does not sign in; nil: it does. Takes about 100 µs.
    func fault(for question: PasskeyQuestion, by passkey: PasskeyEntry?) throws -> PasskeyFault? {
        let isSigned = try passkey.map {
            try P256.PublicKey(pem: $0.publicKey).isValid(
                signature, for: data + SHA256.digest(client))
        }
        return PasskeyRule.fault(
            PasskeyClientData(json: client), AuthenticatorData(data), for: question,
            passkey: passkey, isSigned: isSigned ?? false)
    }

    /// The authenticator's counter of uses.
    var counter: UInt32 { AuthenticatorData(data)?.counter ?? 0 }
}

/// The answer of a browser's authenticator that has made a passkey.
enum NewPasskey {
    /// Returns the passkey to add, and its public key as PEM. Takes about 100 µs.
    /// - Throws: `ServerError.passkeyRefused`.
    static func read(client: [UInt8], attestation: [UInt8], for question: PasskeyQuestion) throws -> (made: PasskeyRule.Made, publicKey: String) {
        let made: PasskeyRule.Made
        do {
            made = try PasskeyRule.made(PasskeyClientData(json: client), attestation: attestation, for: question)
        } catch {
            throw ServerError.passkeyRefused(error)
        }
        guard let key = try? P256.PublicKey(x: made.x, y: made.y).pem() else { throw ServerError.passkeyRefused(.algorithm) }
        return (made, key)
    }
}

extension ServerError {
    /// One error for every fault, so that the caller does not learn which accounts and passkeys exist.
    static let wrongPasskey = ServerError(
        .authenticationFailed, "this passkey is not known here", field: "credential",
        remedy: "Take another one, or sign in with your password.")

    /// The error for a signed-in user who adds a passkey, and may know the fault.
    static func passkeyRefused(_ fault: PasskeyFault) -> ServerError {
        let remedy =
            switch fault {
            case .algorithm: "Take an authenticator that makes keys for ES256."
            case .userNotVerified, .userNotPresent:
                "Take one that asks for a PIN, a finger or a face."
            default: "Begin anew, in the app that you want to use."
            }
        return ServerError(
            .badRequest, "the passkey cannot be added (\(fault.rawValue))", field: "credential",
            remedy: remedy)
    }
}
