import Foundation
import NacreCloudTestSupport
import NacreCloudWire
import NacreCrypto
import Testing

@testable import NacreCloudServer

/// Tests of requests to push services with independent implementations: `make push` installs them, and names their
/// Python.
@Suite(.enabled(if: OthersPython.path != nil, "NACRE_PUSH_PYTHON names no Python; see `make push`"))
struct IndependentPushTests {
    private static let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../../../Scripts/push/read")
        .standardizedFileURL.path

    /// Runs the script on files in a temporary folder.
    private func read(_ verb: String, _ files: [String: [UInt8]], into answer: String? = nil) throws -> [UInt8] {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("nacre-push-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        for (name, bytes) in files { try Data(bytes).write(to: folder.appendingPathComponent(name)) }
        let status = try Program(try #require(OthersPython.path), [Self.script, verb, folder.path]).run()
        try #require(status == 0)
        guard let answer else { return [] }
        return Array(try Data(contentsOf: folder.appendingPathComponent(answer)))
    }

    @Test(arguments: [0, 1, 41, WebPushContent.plaintextLength]) func `http_ece opens our messages`(_ count: Int) throws {
        let key = try P256.PrivateKey()
        let secret = try SecureRandom.bytes(16)
        let message = try SecureRandom.bytes(count)
        let receiver = try WebPushContent.Receiver(point: key.publicKey().point(), authentication: secret)
        let opened = try read(
            "message",
            ["receiver.pem": Array(try key.pem().utf8), "authentication": secret, "sealed": try WebPushContent.seal(message, for: receiver)],
            into: "opened")
        #expect(opened == message)
    }

    @Test func `py_vapid believes who we say that we are`() throws {
        let identity = try WebPushIdentity(key: P256.PrivateKey(), contact: "mailto:push@example.com")
        let now = Timestamp(secondsSince2001: Date().timeIntervalSinceReferenceDate)
        let header = try identity.authorization(for: "https://push.example.com", at: now)
        _ = try read("vapid", ["authorization": Array(header.utf8)])
    }

    @Test func `PyJWT reads our tokens`() throws {
        let key = try P256.PrivateKey()
        let identity = try APNsIdentity(pem: key.pem(), keyID: "ABC123DEFG", teamID: "DEF123GHIJ")
        let bearer = try identity.authorization(at: Timestamp(secondsSince2001: 800_000_000))
        let said = try read(
            "token",
            ["token": Array(bearer.dropFirst("bearer ".count).utf8), "public.pem": Array(try key.publicKey().pem().utf8)], into: "said")
        let object = try #require(try JSONSerialization.jsonObject(with: Data(said)) as? [String: [String: Any]])
        #expect(object["head"]?["kid"] as? String == "ABC123DEFG" && object["head"]?["alg"] as? String == "ES256")
        #expect(object["claims"]?["iss"] as? String == "DEF123GHIJ" && object["claims"]?["iat"] as? Int == 1_778_307_200)
    }
}

/// The Python with the independent implementations.
private enum OthersPython {
    static let path = ProcessInfo.processInfo.environment["NACRE_PUSH_PYTHON"]
}
