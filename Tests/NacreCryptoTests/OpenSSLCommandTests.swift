import Foundation
import NacreCloudTestSupport
import NacreCrypto
import Testing

/// Tests that `P256` and the `openssl` command read each other's keys and signatures.
@Suite(.enabled(if: mayRun(OpenSSLCommand.isInstalled), "the openssl command is not installed"))
struct OpenSSLCommandTests {
    static let message = "signed by one, verified by the other"

    @Test func `the command verifies our signature with our public key`() throws {
        let command = try OpenSSLCommand()
        let key = try P256.PrivateKey()
        try command.write(try key.publicKey().pem(), to: "public.pem")
        try command.write(Self.message, to: "message")
        try command.write(try key.sign(Array(Self.message.utf8)), to: "signature")
        #expect(try command.run("dgst", "-sha256", "-verify", "public.pem", "-signature", "signature", "message") == 0)
        try command.write(Self.message + ".", to: "message")
        #expect(try command.run("dgst", "-sha256", "-verify", "public.pem", "-signature", "signature", "message") != 0)
    }

    /// The command of CloudKit's documentation for a server-to-server key (SEC 1), the same with the curve's
    /// parameters in front, and PKCS #8.
    @Test(arguments: [
        ["ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", "key.pem"],
        ["ecparam", "-name", "prime256v1", "-genkey", "-out", "key.pem"],
        ["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", "key.pem"],
    ])
    func `a key of the command signs and verifies here`(arguments: [String]) throws {
        let command = try OpenSSLCommand()
        try #require(try command.run(arguments) == 0)
        try #require(try command.run("pkey", "-in", "key.pem", "-pubout", "-out", "public.pem") == 0)
        try command.write(Self.message, to: "message")
        try #require(try command.run("dgst", "-sha256", "-sign", "key.pem", "-out", "signature", "message") == 0)
        let key = try P256.PrivateKey(pem: command.text("key.pem"))
        let publicKey = try P256.PublicKey(pem: command.text("public.pem"))
        #expect(try publicKey.isValid(command.bytes("signature"), for: Array(Self.message.utf8)))
        #expect(try publicKey.isValid(key.sign(Array(Self.message.utf8)), for: Array(Self.message.utf8)))
        #expect(try key.publicKey().pem() == command.text("public.pem"))
    }

    @Test(arguments: [
        ["ecparam", "-name", "secp384r1", "-genkey", "-noout", "-out", "key.pem"],
        ["ecparam", "-name", "secp256k1", "-genkey", "-noout", "-out", "key.pem"],
        ["genpkey", "-algorithm", "ED25519", "-out", "key.pem"],
        ["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-aes256", "-pass", "pass:secret", "-out", "key.pem"],
    ])
    func `a key on another curve or under a passphrase is refused at once`(arguments: [String]) throws {
        let command = try OpenSSLCommand()
        try #require(try command.run(arguments) == 0)
        let text = try command.text("key.pem")
        let error = #expect(throws: CryptoError.self) { try P256.PrivateKey(pem: text) }
        #expect(error?.code == .malformedKey)
        try #require(try command.run("pkey", "-in", "key.pem", "-passin", "pass:secret", "-pubout", "-out", "public.pem") == 0)
        let publicText = try command.text("public.pem")
        if !arguments.contains("-aes256") {
            #expect(throws: CryptoError.self) { try P256.PublicKey(pem: publicText) }
        }
    }

    @Test func `the command has the same digests`() throws {
        let command = try OpenSSLCommand()
        var random = SeededRandom(seed: 256)
        let message = random.bytes(5_000)
        try command.write(message, to: "message")
        try #require(try command.run("dgst", "-sha256", "-binary", "-out", "digest", "message") == 0)
        #expect(try command.bytes("digest") == SHA256.digest(message))
        try #require(try command.run("dgst", "-sha256", "-hmac", "key", "-binary", "-out", "code", "message") == 0)
        #expect(try command.bytes("code") == HMACSHA256.code(for: message, key: Array("key".utf8)))
    }
}

/// The `openssl` command in a temporary folder, which is deleted with this value.
private final class OpenSSLCommand {
    private static let path = ["/usr/bin/openssl", "/usr/local/bin/openssl"].first { FileManager.default.isExecutableFile(atPath: $0) }
    static var isInstalled: Bool { path != nil }

    private let folder: URL

    init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("nacre-openssl-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(at: folder)
    }

    func run(_ arguments: String...) throws -> Int32 {
        try run(arguments)
    }

    func run(_ arguments: [String]) throws -> Int32 {
        try Program(try #require(Self.path), arguments, in: folder.path).run()
    }

    func write(_ text: String, to name: String) throws {
        try write(Array(text.utf8), to: name)
    }

    func write(_ bytes: [UInt8], to name: String) throws {
        try Data(bytes).write(to: folder.appendingPathComponent(name))
    }

    func bytes(_ name: String) throws -> [UInt8] {
        Array(try Data(contentsOf: folder.appendingPathComponent(name)))
    }

    func text(_ name: String) throws -> String {
        String(decoding: try bytes(name), as: UTF8.self)
    }
}
