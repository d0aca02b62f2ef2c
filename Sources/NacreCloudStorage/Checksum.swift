import CNacreChecksum

/// CRC-32C (Castagnoli, RFC 3720): finds every burst of up to 32 bits, and bit rot with all but 2⁻³² certainty.
///
/// Uses the processor's instruction if it has one. Otherwise it uses tables, eight bytes at a time.
package enum Checksum {
    private static let polynomial: UInt32 = 0x82f6_3b78

    private static let tables: [UInt32] = {
        var tables = [UInt32](repeating: 0, count: 8 * 256)
        for value in 0..<256 {
            var remainder = UInt32(value)
            for _ in 0..<8 {
                remainder = remainder & 1 == 1 ? (remainder >> 1) ^ polynomial : remainder >> 1
            }
            tables[value] = remainder
        }
        for slice in 1..<8 {
            for value in 0..<256 {
                let before = tables[(slice - 1) * 256 + value]
                tables[slice * 256 + value] = (before >> 8) ^ tables[Int(before & 0xff)]
            }
        }
        return tables
    }()

    /// - Parameter seed: the checksum of the bytes before, or 0.
    package static func crc32c(_ bytes: some Collection<UInt8>, seed: UInt32 = 0) -> UInt32 {
        bytes.withContiguousStorageIfAvailable { update(seed, UnsafeRawBufferPointer($0)) }
            ?? Array(bytes).withUnsafeBytes { update(seed, $0) }
    }

    package static func crc32c(raw bytes: UnsafeRawBufferPointer, seed: UInt32) -> UInt32 { update(seed, bytes) }

    private static let hasInstruction = nacre_has_crc32c() != 0

    private static func update(_ seed: UInt32, _ bytes: UnsafeRawBufferPointer) -> UInt32 {
        hasInstruction ? ~nacre_crc32c(~seed, bytes.baseAddress, bytes.count) : updateByTables(seed, bytes)
    }

    static func updateByTables(_ seed: UInt32, _ bytes: UnsafeRawBufferPointer) -> UInt32 {
        tables.withUnsafeBufferPointer { table in
            var crc = ~seed
            var index = 0
            while bytes.count - index >= 8 {
                let low = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: index, as: UInt32.self)) ^ crc
                let high = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: index + 4, as: UInt32.self))
                crc = table[7 * 256 + Int(low & 0xff)] ^ table[6 * 256 + Int(low >> 8 & 0xff)]
                crc ^= table[5 * 256 + Int(low >> 16 & 0xff)] ^ table[4 * 256 + Int(low >> 24)]
                crc ^= table[3 * 256 + Int(high & 0xff)] ^ table[2 * 256 + Int(high >> 8 & 0xff)]
                crc ^= table[256 + Int(high >> 16 & 0xff)] ^ table[Int(high >> 24)]
                index += 8
            }
            while index < bytes.count {
                crc = (crc >> 8) ^ table[Int((crc ^ UInt32(bytes[index])) & 0xff)]
                index += 1
            }
            return ~crc
        }
    }
}
