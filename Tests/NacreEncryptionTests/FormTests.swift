import NacreCrypto
import NacreEncryptionForms
import Testing

/// A form of each kind, as bytes.
struct SampleForm: CustomTestStringConvertible {
    let kind: FormKind
    let bytes: [UInt8]
    /// Reads bytes as the form's type, and writes what was read.
    let rewritten: ([UInt8]) throws(FormFault) -> [UInt8]
    /// Whether the form still has the signature of the one who made it; nil for a form that has none.
    let isSigned: ([UInt8]) throws(FormFault) -> Bool?

    var testDescription: String { "\(kind)" }

    init<Value: Form>(_ form: Value, isSigned: @escaping (Value) -> Bool? = { _ in nil }) {
        kind = form.kind
        bytes = form.bytes
        rewritten = { (bytes) throws(FormFault) in try Value(bytes).bytes }
        self.isSigned = { (bytes) throws(FormFault) in isSigned(try Value(bytes)) }
    }

    static func all() throws -> [SampleForm] {
        var ada = try SampleAccount("_ada")
        let (phone, verifier) = (try SampleKeys("phone"), ada.first.signing.publicKey)
        let scope = try SampleScope(owner: ada)
        let keyID = try #require(KeyID(scope: scope.id, version: 2))
        let beginning = ada.statements[0]
        let manifest = try scope.signed(scope.next.with(SampleScope.participant(try SampleAccount("_grace"))).rotated())
        try ada.say(ada.adding(phone))
        let statements = [
            beginning, ada.statements[1], try ada.statement(ada.removing(phone, generation: 2)),
            try ada.statement(ada.renewing(phone, SampleAccount.accountKey(2, of: "_ada"))),
            try ada.statement(SampleAccount.reset()),
        ]
        let sealed: [(FormKind, Int)] = [(.value, 16), (.chunk, 16), (.olderKey, 32), (.link, 32), (.linkSecret, 32)]
        let values = try sealed.map { kind, count in
            try #require(
                SealedValue(
                    kind: kind, keyID: keyID, salt: sampleDigest("salt"), commitment: sampleDigest("commitment"),
                    ciphertext: [UInt8](repeating: 7, count: count + 16)))
        }
        let device = try ada.first.id
        let wraps = try [KeyWrap.Subject.scopeKey(keyID), .accountKey(device), .accountKey(nil)].map { subject in
            try #require(
                try KeyWrap(
                    subject: subject, recipient: ada.fingerprint, generation: 1, sender: device, sealed: [UInt8](repeating: 9, count: 80),
                    sign: ada.first.sign))
        }
        let head = try #require(
            try TreeHead(
                container: "iCloud.com.example.notes", environment: "production", head: MerkleTree([[1], [2]]).head, stamp: 5,
                sign: ada.first.sign))
        let commitment = try EnrolmentCommitment(keys: phone.publicKeys, random: sampleDigest("random"))
        let answer = EnrolmentAnswer(
            commitment: commitment.hash, fingerprint: ada.fingerprint, head: ada.head, device: device, random: sampleDigest("other"))
        let opening = EnrolmentOpening(keys: try phone.publicKeys, random: sampleDigest("random"), signature: manifest.signature)
        return statements.map { SampleForm($0) { $0.isSigned(by: verifier) } } + values.map { SampleForm($0) }
            + wraps.map { SampleForm($0) { $0.isSigned(by: verifier) } }
            + [
                SampleForm(manifest) { $0.isSigned(by: verifier) }, SampleForm(head) { $0.isSigned(by: verifier) },
                SampleForm(try recordManifest(keyID, by: ada.first)) { $0.isSigned(by: verifier) },
                SampleForm(
                    try recordManifest(keyID, by: ada.first, admission: .init(number: 0, stamp: 7, device: device, signature: manifest.signature))
                ) {
                    $0.isSigned(by: verifier)
                },
                SampleForm(commitment), SampleForm(answer), SampleForm(opening),
                SampleForm(try joining(keyID, manifest)),
            ]
    }

    private static func joining(_ keyID: KeyID, _ manifest: ScopeManifest) throws -> Joining {
        let parts = Joining.Parts(
            place: manifest.parts.place, keyID: keyID, link: "p", user: "_grace", fingerprint: sampleDigest("grace"))
        return Joining(parts: try #require(parts), code: sampleDigest("code"))
    }

    /// Returns a record's manifest by a writer, nobody in particular if it is nil.
    static func recordManifest(
        _ keyID: KeyID, by writer: SampleKeys?, number: UInt64 = 0, stamp: UInt64 = 7, admission: RecordManifest.Admission? = nil
    ) throws -> RecordManifest {
        let writer = try writer ?? SampleKeys("nobody")
        let parts = try #require(
            RecordManifest.Parts(
                keyID: keyID, number: number, stamp: stamp, writer: try writer.id, parent: "chapter",
                fields: [.init(name: "mood", hash: sampleDigest("mood")), .init(name: "diagnosis", hash: sampleDigest("diagnosis"))],
                files: [.init(name: "scans", roots: [sampleDigest("scan 1"), sampleDigest("scan 2")])], admission: admission))
        return try RecordManifest(parts: parts, code: sampleDigest("code"), sign: writer.sign)
    }
}

struct FormTests {
    @Test func `each kind of form has a sample, whose bytes are read and written the same`() throws {
        let samples = try SampleForm.all()
        #expect(Set(samples.map(\.kind)) == Set(FormKind.allCases))
        for sample in samples {
            #expect(try sample.rewritten(sample.bytes) == sample.bytes && sample.isSigned(sample.bytes) != false, "\(sample.kind)")
        }
    }

    @Test func `no beginning of a form is a form, nor one with a byte behind it`() throws {
        for sample in try SampleForm.all() {
            for count in sample.bytes.indices {
                #expect(throws: FormFault.self, "\(sample.kind), \(count) bytes") { try sample.rewritten(Array(sample.bytes[..<count])) }
            }
            #expect(throws: FormFault.self, "\(sample.kind)") { try sample.rewritten(sample.bytes + [0]) }
        }
    }

    @Test func `a form with a changed byte is refused, or read as just what it says and without its signature`() throws {
        for sample in try SampleForm.all() {
            for index in sample.bytes.indices {
                var changed = sample.bytes
                changed[index] ^= 1 << UInt8(index % 8)
                guard let read = try? sample.rewritten(changed) else { continue }
                #expect(try read == changed && sample.isSigned(changed) != true, "\(sample.kind), byte \(index)")
            }
        }
    }

    @Test func `A9: a form of any other suite is refused, and one of any other kind`() throws {
        for sample in try SampleForm.all() {
            for suite in UInt8.min...UInt8.max where suite != 1 {
                #expect(throws: FormFault.unknownSuite(suite)) { try sample.rewritten([suite] + sample.bytes.dropFirst()) }
            }
            for kind in UInt8.min...UInt8.max where kind == 0 || kind > 15 {
                #expect(throws: FormFault.otherKind(kind)) { try sample.rewritten([1, kind] + sample.bytes.dropFirst(2)) }
            }
        }
        let statement = try SampleAccount("_ada").statements[0].bytes
        #expect(throws: FormFault.otherKind(3)) { try SealedValue(statement) }
    }

    @Test func `a length that the bytes do not have is refused before anything is made`() throws {
        let keyID = try #require(KeyID(scope: SampleScope(owner: SampleAccount("_ada")).id, version: 1))
        let head = [1, 2] + keyID.bytes + [UInt8](repeating: 0, count: 8 + 8 + 16)
        #expect(throws: FormFault.truncated) { try RecordManifest(head + [0, 0] + [0xff, 0xff]) }
        #expect(throws: FormFault.truncated) { try RecordManifest(head + [0, 5] + Array("abcd".utf8)) }
    }

    @Test func `names out of order, twice, too long or not of UTF-8 are refused`() throws {
        let keyID = try #require(KeyID(scope: SampleScope(owner: SampleAccount("_ada")).id, version: 1))
        func manifest(_ names: [[UInt8]], parent: [UInt8] = []) throws(FormFault) -> RecordManifest {
            var bytes: [UInt8] = [1, 2] + keyID.bytes + [UInt8](repeating: 0, count: 8 + 8 + 16)
            bytes += [0, UInt8(parent.count)] + parent + [0, UInt8(names.count)]
            for name in names { bytes += [UInt8(name.count >> 8), UInt8(name.count & 0xff)] + name + Digest.zeros }
            return try RecordManifest(bytes + [0, 0, 0, 0] + Digest.zeros + Signature.zeros)
        }
        #expect(try manifest([[0x61], [0x61, 0x61], [0x62]]).parts.fields.map(\.name) == ["a", "aa", "b"])
        #expect(throws: FormFault.outOfOrder("fields")) { try manifest([[0x62], [0x61]]) }
        #expect(throws: FormFault.outOfOrder("fields")) { try manifest([[0x61], [0x61]]) }
        let files: [UInt8] = [0, 2, 0, 1, 0x62, 0, 1] + Digest.zeros + [0, 1, 0x61, 0, 1] + Digest.zeros + [0, 0] + Digest.zeros + Signature.zeros
        let head: [UInt8] = [1, 2] + keyID.bytes + [UInt8](repeating: 0, count: 8 + 8 + 16 + 4)
        #expect(throws: FormFault.outOfOrder("files")) { try RecordManifest(head + files) }
        #expect(throws: FormFault.invalid("field")) { try manifest([[]]) }
        #expect(throws: FormFault.invalid("field")) { try manifest([[0xff]]) }
        #expect(throws: FormFault.invalid("field")) { try manifest([[UInt8](repeating: 0x61, count: 256)]) }
        #expect(throws: FormFault.invalid("parent")) { try manifest([], parent: [0xc0, 0x80]) }
    }

    @Test func `a record's manifest has one admission at most, and none that is later than itself`() throws {
        let keyID = try #require(KeyID(scope: SampleScope(owner: SampleAccount("_ada")).id, version: 1))
        let signature = try #require(Signature(Signature.zeros))
        func parts(number: UInt64, stamp: UInt64) throws -> RecordManifest.Parts? {
            let writer = try SampleKeys("x").id
            return RecordManifest.Parts(
                keyID: keyID, number: 3, stamp: 8, writer: writer, parent: "", fields: [], files: [],
                admission: .init(number: number, stamp: stamp, device: writer, signature: signature))
        }
        let latest = try #require(try parts(number: 3, stamp: 8))
        #expect(try parts(number: 4, stamp: 8) == nil && parts(number: 3, stamp: 9) == nil)
        let admission = latest.bytes.suffix(8 + 8 + 16 + 64)
        let head = latest.bytes.dropLast(admission.count + 2)
        let tail = Digest.zeros + Signature.zeros
        #expect(try RecordManifest(head + [0, 1] + admission + tail).parts == latest)
        #expect(throws: FormFault.invalid("number of admissions")) { try RecordManifest(head + [0, 2] + admission + admission + tail) }
        #expect(throws: FormFault.invalid("admission")) { try RecordManifest(head + [0, 1, 1] + admission.dropFirst() + tail) }
    }

    @Test func `two spellings of one letter are two names`() throws {
        // Swift's == holds them for equal; their hashes are not.
        let (composed, decomposed) = ("\u{e9}", "e\u{301}")
        let keyID = try #require(KeyID(scope: SampleScope(owner: SampleAccount("_ada")).id, version: 1))
        let fields = [RecordManifest.Field(name: composed, hash: sampleDigest("1")), .init(name: decomposed, hash: sampleDigest("2"))]
        let parts = try #require(
            RecordManifest.Parts(keyID: keyID, number: 0, stamp: 1, writer: try SampleKeys("x").id, parent: "", fields: fields, files: []))
        #expect(parts.fields.map { Array($0.name.utf8) } == [Array(decomposed.utf8), Array(composed.utf8)])
    }

    @Test func `a key's name is 40 small hexadecimal digits, and has a version`() throws {
        let scope = try #require(ScopeID([UInt8](0xa0...0xaf)))
        let id = try #require(KeyID(scope: scope, version: 258))
        #expect(id.text == "a0a1a2a3a4a5a6a7a8a9aaabacadaeaf00000102")
        #expect(KeyID(text: id.text) == id)
        for text in [id.text.uppercased(), String(id.text.dropLast(2)), id.text + "00", String(repeating: "0", count: 40), "", "x"] {
            #expect(KeyID(text: text) == nil, "\(text)")
        }
    }

    @Test func `accounts and places are the same if their bytes are, and not if people read the same`() throws {
        let users = ["_caf\u{e9}", "_cafe\u{301}"]
        let accounts = try users.map { try #require(AccountName(container: "iCloud.com.example.notes", environment: "development", user: $0)) }
        #expect(users[0] == users[1] && accounts[0] != accounts[1] && accounts[0] == accounts[0])
        let places = try users.map { try #require(Place(owner: accounts[0], zone: $0)) }
        #expect(places[0] != places[1] && places[0] == places[0])
    }

    @Test func `a plaintext is padded to the least bucket, and only what padding makes is taken off`() {
        let expected = [
            (0, 16), (15, 16), (16, 32), (239, 240), (255, 256), (256, 272), (511, 512), (512, 544), (1_023, 1_024), (1 << 20, 1_114_112),
        ]
        for (count, bucket) in expected {
            var bytes = [UInt8](repeating: 0, count: count)
            Padding.pad(&bytes)
            #expect(bytes.count == bucket && Padding.isBucket(bytes.count) && Padding.unpaddedCount(bytes) == count, "\(count)")
        }
        #expect(!Padding.isBucket(0) && !Padding.isBucket(17) && !Padding.isBucket(513) && !Padding.isBucket(-16))
        #expect(Padding.bucket(for: .max) == nil)
        #expect(Padding.unpaddedCount([UInt8](repeating: 0, count: 16)) == nil)
        #expect(Padding.unpaddedCount([1] + [UInt8](repeating: 0, count: 15)) == nil)
        #expect(Padding.unpaddedCount([Padding.mark] + [UInt8](repeating: 0, count: 31)) == nil)
    }

    @Test func `a sealed value has the length of a bucket, and a sealed key that of a key`() throws {
        let keyID = try #require(KeyID(scope: SampleScope(owner: SampleAccount("_ada")).id, version: 1))
        func isForm(_ kind: FormKind, _ count: Int) -> Bool {
            (try? SealedValue([1, kind.rawValue] + keyID.bytes + [UInt8](repeating: 0, count: 64 + count + 16))) != nil
        }
        #expect(isForm(.value, 16) && isForm(.value, 272) && !isForm(.value, 0) && !isForm(.value, 17) && !isForm(.value, 260))
        #expect(isForm(.link, 32) && isForm(.olderKey, 32) && !isForm(.link, 16) && !isForm(.olderKey, 48))
        let whole = FileChunks.length
        #expect(isForm(.chunk, 16) && isForm(.chunk, whole) && !isForm(.chunk, whole + whole / 16))
    }

    @Test(arguments: [(0, [0]), (5, [5]), (1 << 20, [1 << 20, 0]), (1 << 21 + 3, [1 << 20, 1 << 20, 3])])
    func `a file has whole chunks and a last one, which may be empty`(length: Int, chunks: [Int]) {
        let ranges = FileChunks.ranges(ofFile: length)
        #expect(ranges.map(\.count) == chunks && ranges.first?.lowerBound == 0 && ranges.last?.upperBound == length)
    }

    @Test(arguments: [0, 1, 15, 16, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 3 << 20])
    func `a sealed file is cut where its chunks end, and no other length is one of a sealed file`(length: Int) throws {
        let count = FileChunks.sealedCount(ofFile: length)
        let ranges = try #require(FileChunks.ranges(inSealedFile: count))
        #expect(ranges.count == FileChunks.ranges(ofFile: length).count && ranges.last?.upperBound == count)
        #expect(ranges.dropLast().allSatisfy { $0.count == FileChunks.sealedLength } && ranges.first?.lowerBound == 0)
        for other in [count - 1, count + 1, 0, -1, SealedValue.overhead] { #expect(FileChunks.ranges(inSealedFile: other) == nil) }
    }

    @Test func `A13: the root of a file changes with a chunk, their order and their number`() {
        let (first, second) = (sampleDigest("1"), sampleDigest("2"))
        let roots = [[first, second], [second, first], [first], [first, second, second], []].map(FileChunks.root)
        #expect(Set(roots).count == roots.count)
    }
}
