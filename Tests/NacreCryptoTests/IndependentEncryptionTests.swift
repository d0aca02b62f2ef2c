import Foundation
import NacreCloudTestSupport
import NacreCrypto
import Testing

/// Tests of the parts of encrypted values with an independent implementation: `make encryption` installs it, and names
/// its Python.
@Suite(.enabled(if: OthersPython.path != nil, "NACRE_ENCRYPTION_PYTHON names no Python; see `make encryption`"))
struct IndependentEncryptionTests {
    private static let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../Scripts/encryption/read").standardizedFileURL.path

    /// The script's JSON: bytes are hexadecimal text.
    private struct Given: Encodable {
        var key: String?, sealed: String?, secret: String?, info: String?, associated: String?
        var seed: String?, message: String?, signature: String?
        var entries: [String]?, index: Int?, older: Int?
    }

    private struct Answer: Decodable {
        var opened: String?, sealed: String?
        var key: String?, signature: String?
        var root: String?, path: [String]?, proof: [String]?
    }

    private func ask(_ verb: String, _ given: Given) async throws -> Answer {
        let python = try #require(OthersPython.path)
        let (status, output) = try await Program(python, [Self.script, verb]).run(input: Array(try JSONEncoder().encode(given)))
        try #require(status == 0, "\(String(decoding: output, as: UTF8.self))")
        return try JSONDecoder().decode(Answer.self, from: Data(output))
    }

    @Test(arguments: [0, 1, 32, 1_000]) func `cryptography opens what HPKE seals here, and seals what opens here`(count: Int) async throws {
        let key = try X25519.PrivateKey()
        let (info, associated) = (try SecureRandom.bytes(count / 2), try SecureRandom.bytes(count / 3))
        let (secret, other) = (try SecureRandom.secret(count), try SecureRandom.secret(count))
        let sealed = try HPKE.seal(secret, for: key.publicKey, info: info, associated: associated)
        let answer = try await ask(
            "hpke",
            Given(
                key: Hex.encode(key.bytes.exposed), sealed: Hex.encode(sealed), secret: Hex.encode(other.exposed), info: Hex.encode(info),
                associated: Hex.encode(associated)))
        #expect(answer.opened == Hex.encode(secret.exposed))
        #expect(try HPKE.open(bytes(try #require(answer.sealed)), with: key, info: info, associated: associated) == other)
    }

    @Test(arguments: [0, 1, 1_000]) func `cryptography verifies a signature of Ed25519, and makes the same`(count: Int) async throws {
        let key = try Ed25519.PrivateKey()
        let message = try SecureRandom.bytes(count)
        let signature = Hex.encode(try key.sign(message))
        let answer = try await ask("ed25519", Given(seed: Hex.encode(key.seed.exposed), message: Hex.encode(message), signature: signature))
        #expect(answer.key == Hex.encode(key.publicKey.bytes) && answer.signature == signature)
    }

    @Test(arguments: [1, 2, 3, 8, 200]) func `a Merkle tree has the root and proofs of the other implementation`(size: Int) async throws {
        var random = SeededRandom()
        let entries = (0..<size).map { _ in random.bytes(Int.random(in: 0...100, using: &random)) }
        let (index, older) = (Int.random(in: 0..<size, using: &random), Int.random(in: 1...size, using: &random))
        let answer = try await ask("merkle", Given(entries: entries.map { Hex.encode($0) }, index: index, older: older))
        let tree = MerkleTree(entries)
        #expect(answer.root == Hex.encode(tree.head.root), "\(random)")
        #expect(answer.path == tree.inclusionProof(of: index, in: size)?.map { Hex.encode($0) }, "\(random)")
        #expect(answer.proof == tree.consistencyProof(from: older, to: size)?.map { Hex.encode($0) }, "\(random)")
    }
}

/// The Python with the independent implementation.
private enum OthersPython {
    static let path = ProcessInfo.processInfo.environment["NACRE_ENCRYPTION_PYTHON"]
}
