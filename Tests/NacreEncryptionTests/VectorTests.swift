import Foundation
import NacreCloudTestSupport
import NacreCrypto
import Testing

private let vectors = OthersPython.scripts.appendingPathComponent("vectors.json")

struct VectorTests {
    @Test func `the same secrets give the bytes that they always gave`() throws {
        let written = try Vectors().sections
        let kept = try JSONDecoder().decode([String: [String: String]].self, from: Data(contentsOf: vectors))
        #expect(Set(written.keys) == Set(kept.keys))
        for (section, names) in written {
            #expect(Set(names.keys) == Set(kept[section, default: [:]].keys), "\(section)")
            for (name, bytes) in names { #expect(kept[section]?[name] == bytes, "\(section), \(name)") }
        }
    }
}

/// Tests of the vectors with an independent implementation, which `make encryption` installs.
@Suite(.enabled(if: OthersPython.path != nil, "NACRE_ENCRYPTION_PYTHON names no Python; see `make encryption`"))
struct IndependentEncryptionTests {
    @Test func `another implementation makes the same bytes of the same secrets, and opens them`() async throws {
        let script = OthersPython.scripts.appendingPathComponent("forms").path
        let (status, output) = try await Program(try #require(OthersPython.path), [script, vectors.path]).run(keepsErrors: true)
        #expect(status == 0, "\(String(decoding: output, as: UTF8.self))")
    }
}

/// The Python with the independent implementation.
enum OthersPython {
    static let path = ProcessInfo.processInfo.environment["NACRE_ENCRYPTION_PYTHON"]
    static let scripts = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../../Scripts/encryption")
        .standardizedFileURL
}
