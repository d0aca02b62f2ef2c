import CNacreOpenSSL

/// The reason why a cryptographic operation failed. The text is static. Nothing in it comes from a key, a password or a
/// plaintext, so it may be logged.
package struct CryptoError: Error, Equatable, Sendable {
    package enum Code: String, Sendable, CaseIterable {
        /// OpenSSL or libsodium refused an operation that cannot fail on valid input: no memory, or a broken
        /// installation.
        case libraryFailure
        case randomnessUnavailable
        case invalidKeyLength
        /// An input that is empty where it may not be, negative, or longer than the library takes.
        case invalidLength
        /// A sealed value that was not made with this key and this associated data, or was changed since.
        case notAuthentic
        /// Text or bytes that are no key of the kind that was asked for: another form or curve, a passphrase, a point
        /// that is not on the curve or has a small order.
        case malformedKey
        /// Text that is not hexadecimal.
        case malformedText
        /// A stored password hash that is damaged, of another algorithm, or dearer than the server is willing to pay.
        case malformedPasswordHash
        case passwordTooLong
        /// Argon2id could not allocate the memory that it works in.
        case outOfMemory
        /// The queue of passwords is full. The caller tries again later (HTTP 503).
        case busy
    }

    package let code: Code
    /// OpenSSL's packed error number, for `openssl errstr`; 0 if OpenSSL was not asked or gave none.
    package let libraryError: UInt

    package init(_ code: Code, libraryError: UInt = 0) {
        self.code = code
        self.libraryError = libraryError
    }

    /// Returns the error for an OpenSSL call that just failed on this thread. Empties the thread's error queue, so that
    /// a later failure is not blamed on this call.
    static func fromOpenSSL(_ code: Code) -> CryptoError {
        let number = ERR_peek_last_error()
        ERR_clear_error()
        return CryptoError(code, libraryError: number)
    }
}

extension CryptoError: CustomStringConvertible {
    package var description: String {
        switch code {
        case .libraryFailure: "A cryptographic library failed"
        case .randomnessUnavailable: "No secure randomness is available"
        case .invalidKeyLength: "The key has the wrong length"
        case .invalidLength: "The input has a length that is not allowed"
        case .notAuthentic: "The value is not authentic"
        case .malformedKey: "The key is malformed, of another kind, or under a passphrase"
        case .malformedText: "The text is not correctly encoded"
        case .malformedPasswordHash: "The stored password hash cannot be used"
        case .passwordTooLong: "The password is too long"
        case .outOfMemory: "There is not enough memory to hash a password"
        case .busy: "Too many passwords are waiting to be hashed"
        }
    }
}
