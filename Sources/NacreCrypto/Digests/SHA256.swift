import CNacreOpenSSL
import CNacreSodium

/// SHA-256 (FIPS 180-4).
package enum SHA256 {
    /// The length of a digest, in bytes.
    package static let digestLength: Int = 32

    // Safe to share: an EVP_MD is immutable once fetched. A fetch looks the name up under a lock, so it happens once.
    // The algorithm is never freed.
    nonisolated(unsafe) fileprivate static let algorithm: OpaquePointer? = EVP_MD_fetch(nil, "SHA256", nil)

    /// The digest of a message in memory. Never fails; about 0.2 µs for a short message and 2 GB/s for a long one.
    package static func digest(_ message: [UInt8]) -> [UInt8] {
        message.withUnsafeBytes { digest($0) }
    }

    package static func digest(_ message: UnsafeRawBufferPointer) -> [UInt8] {
        var isDigested = false
        let digest = [UInt8](unsafeUninitializedCapacity: digestLength) { buffer, count in
            isDigested = EVP_Digest(message.baseAddress, message.count, buffer.baseAddress, nil, algorithm, nil) == 1
            count = isDigested ? digestLength : 0
        }
        return isDigested ? digest : portableDigest(message)
    }

    /// Returns the digest of a label and of values, each behind its length in two bytes, highest first: two different
    /// lists have different digests.
    /// - Throws: `invalidLength` for a value of 65,536 bytes or more.
    package static func context(_ label: String, _ values: [[UInt8]]) throws(CryptoError) -> [UInt8] {
        var message: [UInt8] = []
        for value in [Array(label.utf8)] + values {
            guard let count = UInt16(exactly: value.count) else { throw CryptoError(.invalidLength) }
            message += [UInt8(count >> 8), UInt8(count & 0xff)] + value
        }
        return digest(message)
    }

    /// Digests with libsodium: four times slower than OpenSSL, but it allocates nothing and cannot fail. Stands in when
    /// OpenSSL has no memory or no provider.
    static func portableDigest(_ message: UnsafeRawBufferPointer) -> [UInt8] {
        ERR_clear_error()
        var digest = [UInt8](repeating: 0, count: digestLength)
        _ = crypto_hash_sha256(&digest, message.baseAddress?.assumingMemoryBound(to: UInt8.self), UInt64(message.count))
        return digest
    }
}

extension SHA256 {
    /// The digest of a message that arrives in pieces. A stream has one owner and no lock. It may move between threads,
    /// but one thread at a time uses it.
    package struct Stream: ~Copyable, @unchecked Sendable {
        // Sendable: the context is reached through this value only, which cannot be copied, and OpenSSL ties it to no
        // thread.
        private let context: OpaquePointer
        private var isIntact = true

        package init() throws(CryptoError) {
            guard let context = EVP_MD_CTX_new() else { throw .fromOpenSSL(.libraryFailure) }
            guard EVP_DigestInit_ex2(context, SHA256.algorithm, nil) == 1 else {
                EVP_MD_CTX_free(context)
                throw .fromOpenSSL(.libraryFailure)
            }
            self.context = context
        }

        deinit {
            EVP_MD_CTX_free(context)
        }

        /// Takes the next piece. A failure of the library is reported by `finish`.
        package mutating func update(_ piece: UnsafeRawBufferPointer) {
            guard isIntact, piece.count > 0 else { return }
            isIntact = EVP_DigestUpdate(context, piece.baseAddress, piece.count) == 1
        }

        package mutating func update(_ piece: [UInt8]) {
            piece.withUnsafeBytes { update($0) }
        }

        /// Returns the digest of everything since the start or the last `finish`, and begins a new message.
        package mutating func finish() throws(CryptoError) -> [UInt8] {
            var digest = [UInt8](repeating: 0, count: SHA256.digestLength)
            let isFinished = isIntact && EVP_DigestFinal_ex(context, &digest, nil) == 1
            isIntact = EVP_DigestInit_ex2(context, SHA256.algorithm, nil) == 1
            guard isFinished else { throw .fromOpenSSL(.libraryFailure) }
            return digest
        }
    }
}
