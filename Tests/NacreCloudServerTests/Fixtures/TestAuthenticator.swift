import NacreCloudTestSupport
import NacreCloudWire
import NacreCrypto

@testable import NacreCloudAccounts
@testable import NacreCloudContainer

/// An authenticator with one passkey, and a browser around it with settable properties.
struct TestAuthenticator {
    let key: P256.PrivateKey
    var id: [UInt8]
    var counter: UInt32 = 0
    /// The account of the passkey.
    var user = ""
    var host = "localhost"
    var origin = "http://localhost"
    /// User present and user verified.
    var flags: UInt8 = 0x05

    init(id: [UInt8] = (0..<20).map { _ in .random(in: 0...255) }) throws {
        key = try P256.PrivateKey()
        self.id = id
    }

    /// Returns the fields of the form that adds it.
    func creation(_ challenge: String, name: String = "Phone") throws -> [String: String] {
        let pem = try key.publicKey().pem().split(separator: "\n").dropFirst().dropLast().joined()
        let point = Base64.decode(pem)?.suffix(64) ?? []
        let cose: CBOR = .map([
            .integer(1): .integer(2), .integer(3): .integer(-7), .integer(-1): .integer(1),
            .integer(-2): .bytes(Array(point.prefix(32))),
            .integer(-3): .bytes(Array(point.suffix(32))),
        ])
        let credential =
            [UInt8](repeating: 0, count: 16) + [UInt8(id.count >> 8), UInt8(id.count & 255)] + id
            + cose.written
        let attestation: CBOR = .map([
            .text("fmt"): .text("none"), .text("attStmt"): .map([:]),
            .text("authData"): .bytes(data(flags | 0x40) + credential),
        ])
        return [
            "step": "add-passkey", "name": name,
            "client": Base64URL.encode(client("webauthn.create", challenge)),
            "attestation": Base64URL.encode(attestation.written),
        ]
    }

    /// Returns the fields of the form by which it signs in.
    mutating func assertion(_ challenge: String, type: String = "webauthn.get") throws -> [String:
        String]
    {
        if counter > 0 { counter += 1 }
        let (client, data) = (client(type, challenge), data(flags))
        return [
            "step": "passkey", "user": Base64URL.encode(Array(user.utf8)),
            "credential": Base64URL.encode(id),
            "client": Base64URL.encode(client), "data": Base64URL.encode(data),
            "signature": Base64URL.encode(try key.sign(data + SHA256.digest(client))),
        ]
    }

    private func client(_ type: String, _ challenge: String) -> [UInt8] {
        Array(
            #"{"type":"\#(type)","challenge":"\#(challenge)","origin":"\#(origin)","crossOrigin":false}"#
                .utf8)
    }

    private func data(_ flags: UInt8) -> [UInt8] {
        SHA256.digest(Array(host.utf8)) + [flags]
            + (0..<4).reversed().map { UInt8(truncatingIfNeeded: counter >> ($0 * 8)) }
    }
}

extension TestBrowser {
    /// The challenge in the current page.
    var challenge: String {
        (shown?.text ?? "").firstMatch(of: /data-challenge="([^"]*)"/).map { String($0.1) } ?? ""
    }

    /// Signs in by password and adds a passkey; then the page that lists it is shown.
    mutating func add(
        _ authenticator: inout TestAuthenticator, for user: String = "ada", name: String = "Phone"
    ) async throws -> Answer {
        authenticator.user = server.names[user + ".account"] ?? ""
        await open()
        await signIn("\(user)@example.com")
        await send(["step": "passkeys"])
        return await send(try authenticator.creation(challenge, name: name))
    }
}
