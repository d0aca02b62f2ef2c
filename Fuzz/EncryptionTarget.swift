import NacreCrypto
import NacreEncryption
import NacreEncryptionForms

/// Fuzzes the forms of encrypted values: from the server they reach clients, and from clients the server.
enum EncryptionTarget {
    /// A key with which nothing of the corpus was sealed.
    private static let key = KeyID(text: String(repeating: "01", count: KeyID.length)).flatMap {
        try? ScopeKey($0, secret: SecretBytes([UInt8](repeating: 1, count: 32)))
    }
    private static let record = AccountName(container: "iCloud.com.example.notes", environment: "development", user: "_ada")
        .flatMap { Place(owner: $0, zone: "Diary") }.flatMap { RecordPlace(place: $0, type: "Note", name: "note") }

    static func run(_ input: UnsafeRawBufferPointer) {
        let bytes = [UInt8](input)
        check(KeyWrap.self, bytes)
        check(TreeHead.self, bytes)
        check(EnrolmentCommitment.self, bytes)
        check(EnrolmentAnswer.self, bytes)
        check(EnrolmentOpening.self, bytes)
        check(Joining.self, bytes)
        if let manifest = check(RecordManifest.self, bytes) {
            promise("a manifest does not replace itself", manifest.conflict(with: manifest, base: nil, newest: nil) != nil)
        }
        if let value = check(SealedValue.self, bytes), let key, let record {
            promise("a key opens nothing that it did not seal", (try? key.open(value, of: record, field: "mood")) == nil)
            let chunks = try? ChunkSealing(key, place: record.place)
            promise("a key opens no chunk that it did not seal", [true, false].allSatisfy { (try? chunks?.open(value, isLast: $0)) == nil })
        }
        if let manifest = check(ScopeManifest.self, bytes) {
            let parts = manifest.parts
            promise(
                "a chain needs the log of its signer",
                (try? ScopeChain([manifest], of: parts.place, root: parts.root, owner: manifest.signer, logs: [:])) == nil)
        }
        if let statement = check(KeyStatement.self, bytes), let log = try? KeyLog(first: statement) {
            promise("a log has the fingerprint of its first statement", log.fingerprint == statement.hash && log.enrolled.count == 1)
        }
        if let value = EncryptedPlaintext(padded: bytes) {
            promise("a plaintext that was read is written as the same bytes", value.padded == bytes)
        }
        let text = String(decoding: bytes, as: UTF8.self)
        if let id = KeyID(text: text) { promise("a key's name is written as it was read", id.text == text) }
        if let link = LinkSecret(fragment: text) { promise("a link is written as it was read", link.fragment == text.lowercased()) }
        if let secret = try? RecoveryWords.secret(from: text) {
            let words = (try? RecoveryWords.words(for: secret))?.joined(separator: " ")
            promise("words that were read have one secret", words.flatMap { try? RecoveryWords.secret(from: $0) } == secret)
        }
        if let code = EnrolmentCode(typed: text) {
            promise("a code is read as it is shown", EnrolmentCode(typed: "\(code)") == code && code.number < EnrolmentCode.count)
        }
        if let ranges = FileChunks.ranges(inSealedFile: bytes.count) {
            promise("the chunks of a sealed file are all of it", ranges.reduce(0) { $0 + $1.count } == bytes.count)
        }
        checkTree(bytes)
        checkChain(bytes)
    }

    /// Reads a number, and digests behind it: the edge of a tree as a server keeps it, and the proofs that it shows.
    private static func checkTree(_ bytes: [UInt8]) {
        guard bytes.count >= 8 else { return }
        let size = bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
        let digests = stride(from: 8, to: bytes.count, by: Digest.length).compactMap { Digest(Array(bytes[$0...].prefix(Digest.length))) }
        for proof in [TreeProof(of: size / 2, in: size), TreeProof(from: size / 2, to: size)] {
            promise("a proof has two nodes at most for each level", (proof?.nodes.count ?? 0) <= 2 * UInt64.bitWidth)
        }
        guard let newer = Int(exactly: size), let root = Digest(SHA256.digest(bytes)) else { return }
        let (head, proof) = (MerkleHead(size: newer, root: root.bytes), digests.map(\.bytes))
        promise("a head has no entry that nobody put there", !head.includes(bytes, at: newer / 2, proof: proof))
        if newer > 1 {
            promise("a head extends no tree that it did not grow from", !head.extends(MerkleHead(size: newer / 2, root: root.bytes), proof: proof))
        }
        // A tree of so many statements is none that a server has.
        guard size < UInt64(Int32.max), var edge = TreeEdge(size: size, digests: digests) else { return }
        promise("an edge that was read is kept as it was read", edge.size == size && edge.digests == digests)
        promise("a statement completes a node", !edge.append(bytes).isEmpty && edge.size == size + 1)
    }

    /// Reads several forms, each behind its length in two bytes: the statements of a log, or the manifests of a scope.
    private static func checkChain(_ bytes: [UInt8]) {
        var (forms, rest): ([[UInt8]], ArraySlice<UInt8>) = ([], bytes[...])
        while let high = rest.popFirst(), let low = rest.popFirst(), Int(high) << 8 + Int(low) <= rest.count {
            forms.append(Array(rest.prefix(Int(high) << 8 + Int(low))))
            rest = rest.dropFirst(Int(high) << 8 + Int(low))
        }
        let statements = forms.compactMap { try? KeyStatement($0) }
        // A server reads a log again without its signatures, and by all other rules.
        let (verified, unsigned) = (try? KeyLog(statements), try? KeyLog(verified: statements))
        promise("a log that verifies is read without its signatures too", verified == nil || verified == unsigned)
        if let unsigned { promise("a log has a hash of each statement", unsigned.hash(at: unsigned.head.number) == unsigned.head.hash) }
        let manifests = forms.compactMap { try? ScopeManifest($0) }
        guard let first = manifests.first, let log = verified else { return }
        if let chain = try? ScopeChain(
            manifests, of: first.parts.place, root: first.parts.root, owner: log.fingerprint, logs: [log.fingerprint: log])
        {
            promise("a chain ends with its newest manifest", chain.head == manifests[manifests.count - 1].head)
        }
    }

    @discardableResult private static func check<Value: Form>(_: Value.Type, _ bytes: [UInt8]) -> Value? {
        guard let form = try? Value(bytes) else { return nil }
        promise("a form that was read is written as the same bytes", form.bytes == bytes)
        return form
    }
}
