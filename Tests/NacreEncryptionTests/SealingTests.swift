import NacreCrypto
import NacreEncryption
import NacreEncryptionForms
import Testing

/// Keys and places that sealing tests share.
struct SampleSealing {
    var random = SeededBytes("sealing")
    let record: RecordPlace
    let key: ScopeKey
    let device: DeviceKeys

    init() throws {
        record = try Self.record()
        key = try Self.key()
        device = try DeviceKeys(using: &random)
    }

    static func key(_ name: String = "key", zone: String = "Diary", version: UInt32 = 1) throws -> ScopeKey {
        let scope = try #require(ScopeID(Array(sampleBytes("\(zone)'s scope").prefix(16))))
        return try ScopeKey(#require(KeyID(scope: scope, version: version)), secret: SecretBytes(sampleBytes(name)))
    }

    static func record(
        container: String = "iCloud.com.example.notes", environment: String = "development", user: String = "_ada", zone: String = "Diary",
        type: String = "Note", name: String = "note"
    ) throws -> RecordPlace {
        let account = try #require(AccountName(container: container, environment: environment, user: user))
        let place = try #require(Place(owner: account, zone: zone))
        return try #require(RecordPlace(place: place, type: type, name: name))
    }

    mutating func sealed(_ value: EncryptedPlaintext, field: String = "mood") throws -> SealedValue {
        try #require(try key.seal([field: value], of: record, using: &random)[field])
    }

    func parts(
        _ values: [String: SealedValue], files: [String: [Digest]] = [:], parent: String = "", stamp: UInt64 = 5
    ) throws -> RecordManifest.Parts {
        try #require(
            RecordManifest.Parts(
                keyID: key.id, number: 0, stamp: stamp, writer: device.id, parent: parent,
                fields: values.map { .init(name: $0.key, hash: $0.value.hash) },
                files: files.map { .init(name: $0.key, roots: $0.value) }))
    }
}

struct SealingTests {
    @Test func `a value of each type opens as it was sealed, also after a way as bytes`() throws {
        var sample = try SampleSealing()
        for value in samplePlaintexts {
            let sealed = try sample.sealed(value)
            #expect(sealed.bytes.count == SealedValue.overhead + value.padded.count)
            #expect(try sample.key.open(SealedValue(sealed.bytes), of: sample.record, field: "mood").padded == value.padded)
        }
    }

    @Test func `a sealed value with any bit changed is refused`() throws {
        var sample = try SampleSealing()
        let bytes = try sample.sealed(.string("sad")).bytes
        for index in 0..<bytes.count * 8 {
            var changed = bytes
            changed[index / 8] ^= 1 << UInt8(index % 8)
            guard let form = try? SealedValue(changed) else { continue }
            #expect(throws: EncryptionError.cannotBeOpened) { try sample.key.open(form, of: sample.record, field: "mood") }
        }
    }

    @Test func `A10: a value that was moved does not open`() throws {
        var sample = try SampleSealing()
        let sealed = try sample.sealed(.string("sad"))
        let places = [
            try SampleSealing.record(container: "iCloud.com.example.other"), try SampleSealing.record(environment: "production"),
            try SampleSealing.record(user: "_eve"), try SampleSealing.record(zone: "Other"), try SampleSealing.record(type: "Memo"),
            try SampleSealing.record(name: "other"),
            // The same letters, cut elsewhere.
            try SampleSealing.record(type: "Not", name: "enote"),
        ]
        for place in places { #expect(throws: EncryptionError.cannotBeOpened) { try sample.key.open(sealed, of: place, field: "mood") } }
        #expect(throws: EncryptionError.cannotBeOpened) { try sample.key.open(sealed, of: sample.record, field: "moo") }
        let others = [try SampleSealing.key("other"), try SampleSealing.key(zone: "Other"), try SampleSealing.key(version: 2)]
        for key in others { #expect(throws: EncryptionError.cannotBeOpened) { try key.open(sealed, of: sample.record, field: "mood") } }
        // The place in a list is inside of what is sealed, and a file is no value.
        let chunks = try ChunkSealing(sample.key, place: sample.record.place)
        let chunk = try chunks.seal([1], isLast: true)
        #expect(throws: EncryptionError.cannotBeOpened) { try sample.key.open(chunk, of: sample.record, field: "mood") }
        #expect(throws: EncryptionError.cannotBeOpened) { try chunks.open(sealed, isLast: true) }
    }

    @Test func `A21: fields of one save, and saves with one salt, never share a key; each save draws its own`() throws {
        var sample = try SampleSealing()
        var repeated = RepeatedBytes()
        let values: [String: EncryptedPlaintext] = ["a": .string("x"), "b": .string("x")]
        let first = try sample.key.seal(values, of: sample.record, using: &repeated)
        let elsewhere = try sample.key.seal(values, of: SampleSealing.record(name: "other"), using: &repeated)
        let all = try ["a", "b"].flatMap { [try #require(first[$0]), try #require(elsewhere[$0])] }
        #expect(Set(all.map(\.salt)).count == 1)
        // The commitment comes from the derivation of the key.
        #expect(Set(all.map(\.commitment)).count == 4 && Set(all.map(\.ciphertext)).count == 4)
        let before = sample.random.draws
        let saves = try (0..<3).map { _ in try sample.sealed(.string("x")) }
        #expect(sample.random.draws == before + 3 && Set(saves.map(\.salt)).count == 3 && Set(saves.map(\.ciphertext)).count == 3)
        var system = SystemRandomBytes()
        let two = try (0..<2).map { _ in try sample.key.seal(values, of: sample.record, using: &system)["a"]?.salt }
        #expect(two[0] != two[1])
    }

    @Test func `A11 and A13: an old value beside new ones, or one too many or too few, is refused`() throws {
        var sample = try SampleSealing()
        let values = try sample.key.seal(["a": .string("1"), "b": .string("2")], of: sample.record, using: &sample.random)
        let old = try sample.key.seal(["a": .string("0"), "c": .string("3")], of: sample.record, using: &sample.random)
        let files = ["scan": [sampleDigest("1"), sampleDigest("2")]]
        let manifest = try sample.key.manifest(sample.parts(values, files: files), of: sample.record, by: sample.device)
        try sample.key.check(manifest, of: sample.record, values: values, files: files, parent: "", asked: nil)
        let others: [[String: SealedValue]] = [
            values.merging(["a": try #require(old["a"])]) { $1 }, values.merging(["c": try #require(old["c"])]) { $1 },
            values.filter { $0.key == "a" }, [:], ["a": try #require(values["b"]), "b": try #require(values["a"])],
        ]
        for other in others {
            #expect(throws: EncryptionError.cannotBeOpened) {
                try sample.key.check(manifest, of: sample.record, values: other, files: files, parent: "", asked: nil)
            }
        }
        for other in [["scan": [sampleDigest("1")]], ["scan": [sampleDigest("2"), sampleDigest("1")]], [:], ["photo": files["scan"] ?? []]] {
            #expect(throws: EncryptionError.cannotBeOpened) {
                try sample.key.check(manifest, of: sample.record, values: values, files: other, parent: "", asked: nil)
            }
        }
    }

    @Test func `A11 and A13: of a record that was fetched in part, all that came and all that was asked for is checked`() throws {
        var sample = try SampleSealing()
        let values = try sample.key.seal(["a": .string("1"), "b": .string("2")], of: sample.record, using: &sample.random)
        let old = try sample.key.seal(["a": .string("0"), "c": .string("3")], of: sample.record, using: &sample.random)
        let files = ["scan": [sampleDigest("1")], "photo": [sampleDigest("2")]]
        let manifest = try sample.key.manifest(sample.parts(values, files: files), of: sample.record, by: sample.device)
        func check(_ names: [String], asked: Set<String>?, _ change: (inout [String: SealedValue], inout [String: [Digest]]) -> Void = { _, _ in })
            throws
        {
            var (some, someFiles) = (values.filter { names.contains($0.key) }, files.filter { names.contains($0.key) })
            change(&some, &someFiles)
            try sample.key.check(manifest, of: sample.record, values: some, files: someFiles, parent: "", asked: asked)
        }
        try check(["a", "scan"], asked: ["a", "scan", "plain"])
        try check([], asked: [])
        try check(["a", "b", "photo"], asked: ["a", "photo"])
        let refused: [([String], Set<String>?, (inout [String: SealedValue], inout [String: [Digest]]) -> Void)] = [
            (["a"], ["a", "b"], { _, _ in }), (["a"], ["a", "scan"], { _, _ in }), (["a", "b", "scan"], nil, { _, _ in }),
            (["b", "scan", "photo"], nil, { _, _ in }), (["a"], ["a"], { values, _ in values["a"] = old["a"] }),
            (["b"], ["b"], { values, _ in values["a"] = old["a"] }), (["a"], ["a", "c"], { values, _ in values["c"] = old["c"] }),
            (["scan"], ["scan"], { _, files in files["scan"] = [sampleDigest("2")] }),
            (["scan"], ["scan"], { _, files in files["other"] = [sampleDigest("1")] }),
        ]
        for (names, asked, change) in refused {
            #expect(throws: EncryptionError.cannotBeOpened) { try check(names, asked: asked, change) }
        }
    }

    @Test func `A14 and A15: another name, type, zone or parent, and a manifest of another key, are refused`() throws {
        var sample = try SampleSealing()
        let values = try sample.key.seal(["a": .string("1")], of: sample.record, using: &sample.random)
        let parts = try sample.parts(values, parent: "chapter")
        let manifest = try sample.key.manifest(parts, of: sample.record, by: sample.device)
        try sample.key.check(manifest, of: sample.record, values: values, files: [:], parent: "chapter", asked: nil)
        for place in [
            try SampleSealing.record(name: "other"), try SampleSealing.record(type: "Memo"), try SampleSealing.record(zone: "Other"),
            try SampleSealing.record(user: "_eve"),
        ] {
            #expect(throws: EncryptionError.cannotBeOpened) {
                try sample.key.check(manifest, of: place, values: values, files: [:], parent: "chapter", asked: nil)
            }
        }
        #expect(throws: EncryptionError.cannotBeOpened) {
            try sample.key.check(manifest, of: sample.record, values: values, files: [:], parent: "", asked: nil)
        }
        // A server makes a manifest of its own, under a key that it says is this one.
        let foreign = try SampleSealing.key("server").manifest(parts, of: sample.record, by: sample.device)
        #expect(throws: EncryptionError.cannotBeOpened) {
            try sample.key.check(foreign, of: sample.record, values: values, files: [:], parent: "chapter", asked: nil)
        }
    }

    @Test func `the root of a share is read by its owner, who sees its parent, as by participants, who do not`() throws {
        var sample = try SampleSealing()
        let values = try sample.key.seal(["a": .string("1")], of: sample.record, using: &sample.random)
        let bound = try SampleScope(owner: SampleAccount("_ada"), root: sample.record.name).manifests[0].parts
        let manifest = try sample.key.manifest(sample.parts(values), of: sample.record, by: sample.device)
        for seen in ["chapter", ""] {
            let parent = bound.boundParent(of: sample.record.name, seen)
            try sample.key.check(manifest, of: sample.record, values: values, files: [:], parent: parent, asked: nil)
        }
    }

    @Test func `a manifest with any byte changed is refused, by its code or by its signature`() throws {
        var sample = try SampleSealing()
        let values = try sample.key.seal(["a": .string("1")], of: sample.record, using: &sample.random)
        let manifest = try sample.key.manifest(sample.parts(values), of: sample.record, by: sample.device)
        let verifier = try Ed25519.PublicKey(sample.device.publicKeys.signing.bytes)
        #expect(manifest.isSigned(by: verifier))
        for index in manifest.bytes.indices {
            var changed = manifest.bytes
            changed[index] ^= 1 << UInt8(index % 8)
            guard let form = try? RecordManifest(changed) else { continue }
            #expect(!form.isSigned(by: verifier))
            guard index < manifest.signedBytes.count else { continue }
            #expect(throws: EncryptionError.cannotBeOpened) {
                try sample.key.check(form, of: sample.record, values: values, files: [:], parent: "", asked: nil)
            }
        }
    }

    @Test func `files open in their chunks, equal chunks are sealed the same under one key, and never under two`() throws {
        let sample = try SampleSealing()
        let chunks = try ChunkSealing(sample.key, place: sample.record.place)
        let file = [UInt8](repeating: 7, count: FileChunks.length * 2) + [1, 2, 3]
        let ranges = FileChunks.ranges(ofFile: file.count)
        let sealed = try ranges.enumerated().map { try chunks.seal(Array(file[$1]), isLast: $0 == ranges.count - 1) }
        var opened: [UInt8] = []
        for (index, chunk) in sealed.enumerated() {
            opened += try chunks.open(SealedValue(chunk.bytes), isLast: index == sealed.count - 1)
        }
        #expect(opened == file)
        #expect(sealed[0] == sealed[1])
        #expect(try chunks.open(chunks.seal([], isLast: true), isLast: true) == [])
        let small = try chunks.seal([1, 2], isLast: true)
        for other in [
            try ChunkSealing(SampleSealing.key(version: 2), place: sample.record.place),
            try ChunkSealing(SampleSealing.key("other"), place: sample.record.place),
            try ChunkSealing(sample.key, place: SampleSealing.record(zone: "Other").place),
        ] {
            let theirs = try other.seal([1, 2], isLast: true)
            #expect(theirs.salt != small.salt || theirs.ciphertext != small.ciphertext)
            #expect(throws: EncryptionError.cannotBeOpened) { try other.open(small, isLast: true) }
        }
        #expect(throws: EncryptionError.cannotBeOpened) { try chunks.open(small, isLast: false) }
        #expect(throws: CryptoError.self) { try chunks.seal([1], isLast: false) }
        #expect(throws: CryptoError.self) { try chunks.seal([UInt8](repeating: 0, count: FileChunks.length), isLast: true) }
    }

    @Test func `secrets print as a secret, also by a dump`() throws {
        let sample = try SampleSealing()
        var random = sample.random
        let account = sample.record.place.owner
        let secrets: [any Secret] = [
            sample.key, sample.device, try RecoveryKey(of: account, using: &random), try AccountKey(generation: 1, using: &random),
            try LinkSecret(using: &random), try ChunkSealing(sample.key, place: sample.record.place), Signer.device(sample.device),
        ]
        for secret in secrets {
            var dumped = ""
            dump(secret, to: &dumped)
            #expect("\(secret)" == "(secret)" && String(reflecting: secret) == "(secret)" && dumped == "- (secret)\n", "\(type(of: secret))")
        }
    }
}
