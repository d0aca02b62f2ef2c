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
        if let manifest = check(RecordManifest.self, bytes) {
            promise("a manifest does not replace itself", manifest.conflict(with: manifest, base: nil, newest: nil) != nil)
        }
        if let value = check(SealedValue.self, bytes), let key, let record {
            promise("a key opens nothing that it did not seal", (try? key.open(value, of: record, field: "mood")) == nil)
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
    }

    @discardableResult private static func check<Value: Form>(_: Value.Type, _ bytes: [UInt8]) -> Value? {
        guard let form = try? Value(bytes) else { return nil }
        promise("a form that was read is written as the same bytes", form.bytes == bytes)
        return form
    }
}
