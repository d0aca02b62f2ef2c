package import NacreCrypto
package import NacreEncryptionForms

/// A version of a scope's key.
package struct ScopeKey: Secret {
    package let id: KeyID
    let secret: SecretBytes
    /// The key under the keys of manifests, chunks and proofs.
    let extracted: SecretBytes
    /// The proof that a scope's manifest has of the key, and that tells nothing of it.
    package let proof: Digest

    /// Makes a new key.
    package init(_ id: KeyID, using random: inout some RandomBytes) throws(CryptoError) {
        try self.init(id, secret: random.secret(32))
    }

    package init(_ id: KeyID, secret: SecretBytes) throws(CryptoError) {
        guard secret.count == 32 else { throw CryptoError(.invalidKeyLength) }
        self.id = id
        self.secret = secret
        extracted = HKDFSHA256.extract(secret, salt: [])
        let info = try Digest(label: "nacre key proof", [id.scope.bytes, Array(id.bytes.suffix(4))]).bytes
        proof = try Digest(code: HKDFSHA256.expand(extracted, info: info).exposed)
    }

    /// Whether a scope's manifest says that the key counts.
    package func counts(in manifest: ScopeManifest) -> Bool {
        manifest.parts.scope == id.scope && manifest.parts.keyProof(of: id.version) == proof
    }
}
