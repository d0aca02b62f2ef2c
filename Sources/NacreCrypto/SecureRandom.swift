import CNacreOpenSSL

/// Unpredictable bytes from OpenSSL's generator, which the kernel seeds and which is the thread's own: no lock, about 0.6 µs a call.
///
/// Where no good randomness is to be had it throws; it never answers with something weaker.
package enum SecureRandom {
    /// - Parameter count: how many bytes; 0 gives none.
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

    /// Bytes that stay secret. They come from a second generator, so that what `bytes` shows to the world tells nothing of keys even if a
    /// generator's state leaked.
    package static func keyBytes(_ count: Int) throws(CryptoError) -> [UInt8] {
        try draw(count, from: RAND_priv_bytes)
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
