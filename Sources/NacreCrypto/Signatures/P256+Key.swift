import CNacreOpenSSL

extension P256 {
    /// The longest PEM text that is read, in bytes. A P-256 key takes 250, and may have comments.
    static let pemBytesMaximum = 16_384

    enum Part {
        case privateKey, publicKey
    }

    /// An OpenSSL key that is verified to be on P-256.
    final class Key: @unchecked Sendable {
        // Sendable: the key is not changed after `init`, and OpenSSL locks its internal caches, so signing and
        // verifying may run at once.
        let pointer: OpaquePointer

        init(owning pointer: OpaquePointer) {
            self.pointer = pointer
        }

        deinit {
            EVP_PKEY_free(pointer)
        }

        convenience init(pem: String, part: Part) throws(CryptoError) {
            let bytes = Array(pem.utf8)
            guard !bytes.isEmpty, bytes.count <= pemBytesMaximum else { throw CryptoError(.malformedKey) }
            guard let pointer = bytes.withUnsafeBytes({ Self.read($0, part) }) else { throw .fromOpenSSL(.malformedKey) }
            self.init(owning: pointer)
            guard isOnP256, isConsistent(part) else { throw .fromOpenSSL(.malformedKey) }
            // OpenSSL tries several formats, and each that did not fit leaves an error in the queue.
            ERR_clear_error()
        }

        /// - Parameter subjectPublicKeyInfo: The key in DER.
        convenience init(subjectPublicKeyInfo: [UInt8]) throws(CryptoError) {
            guard let pointer = nacre_read_public_key(subjectPublicKeyInfo, subjectPublicKeyInfo.count) else {
                throw .fromOpenSSL(.malformedKey)
            }
            self.init(owning: pointer)
            guard isOnP256, isConsistent(.publicKey) else { throw .fromOpenSSL(.malformedKey) }
        }

        private static func read(_ bytes: UnsafeRawBufferPointer, _ part: Part) -> OpaquePointer? {
            guard let source = BIO_new_mem_buf(bytes.baseAddress, Int32(bytes.count)) else { return nil }
            defer { BIO_free(source) }
            return switch part {
            case .privateKey: PEM_read_bio_PrivateKey(source, nil, nacre_no_passphrase, nil)
            case .publicKey: PEM_read_bio_PUBKEY(source, nil, nacre_no_passphrase, nil)
            }
        }

        /// Whether OpenSSL's name of the curve is P-256's. A key that spells the curve out in parameters has no name
        /// and is refused.
        private var isOnP256: Bool {
            var name = [CChar](repeating: 0, count: 64)
            guard EVP_PKEY_get_group_name(pointer, &name, name.count, nil) == 1 else { return false }
            return name.prefix { $0 != 0 }.elementsEqual("prime256v1".utf8.map(CChar.init(bitPattern:)))
        }

        private func isConsistent(_ part: Part) -> Bool {
            guard let context = EVP_PKEY_CTX_new_from_pkey(nil, pointer, nil) else { return false }
            defer { EVP_PKEY_CTX_free(context) }
            return switch part {
            case .privateKey: EVP_PKEY_check(context) == 1
            case .publicKey: EVP_PKEY_public_check(context) == 1
            }
        }

        /// Returns the text that `write` writes for the key.
        func text(_ write: (OpaquePointer, OpaquePointer) -> Int32) throws(CryptoError) -> String {
            // Secure memory is wiped when it is freed.
            guard let sink = BIO_new(BIO_s_secmem()) else { throw .fromOpenSSL(.libraryFailure) }
            defer { BIO_free(sink) }
            guard write(sink, pointer) == 1 else { throw .fromOpenSSL(.libraryFailure) }
            var bytes = [UInt8](repeating: 0, count: BIO_ctrl_pending(sink))
            guard !bytes.isEmpty, BIO_read(sink, &bytes, Int32(bytes.count)) == bytes.count else { throw .fromOpenSSL(.libraryFailure) }
            return String(decoding: bytes, as: UTF8.self)
        }
    }
}
