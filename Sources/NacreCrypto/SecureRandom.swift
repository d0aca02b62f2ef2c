import CNacreOpenSSL

/// Unpredictable bytes from OpenSSL's generator, which the kernel seeds. Each thread has its own: no lock, about 0.6 µs
/// a call. If no good randomness is available it throws. It never returns weaker bytes.
package enum SecureRandom {
    /// - Parameter count: The number of bytes; 0 returns none.
    package static func bytes(_ count: Int) throws(CryptoError) -> [UInt8] {
        try draw(count, from: RAND_bytes)
    }

    package static func uint64() throws(CryptoError) -> UInt64 {
        var value: UInt64 = 0
        let drawn = withUnsafeMutableBytes(of: &value) { bytes in
            RAND_bytes(bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), Int32(bytes.count))
        }
        guard drawn == 1 else { throw .fromOpenSSL(.randomnessUnavailable) }
        return value
    }

    /// Returns bytes that stay secret, from a second generator. The bytes that `bytes` shows to the world tell nothing
    /// about keys, even if the state of its generator leaks.
    package static func keyBytes(_ count: Int) throws(CryptoError) -> [UInt8] {
        try draw(count, from: RAND_priv_bytes)
    }

    /// Returns the bytes of a new key, which are wiped after their last use.
    package static func secret(_ count: Int) throws(CryptoError) -> SecretBytes {
        guard count >= 0, let length = Int32(exactly: count) else { throw CryptoError(.invalidLength) }
        return try SecretBytes(count: count) { start throws(CryptoError) in
            guard RAND_priv_bytes(start, length) == 1 else { throw .fromOpenSSL(.randomnessUnavailable) }
        }
    }

    private static func draw(
        _ count: Int, from generator: (UnsafeMutablePointer<UInt8>?, Int32) -> Int32
    ) throws(CryptoError) -> [UInt8] {
        guard count >= 0, let length = Int32(exactly: count) else { throw CryptoError(.invalidLength) }
        guard length > 0 else { return [] }
        var drawn: Int32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            drawn = generator(buffer.baseAddress, length)
            initialized = drawn == 1 ? count : 0
        }
        guard drawn == 1 else { throw .fromOpenSSL(.randomnessUnavailable) }
        return bytes
    }
}
