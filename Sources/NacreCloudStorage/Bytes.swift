/// Writes the binary forms that this server keeps: little-endian, lengths and numbers as LEB128 varints.
///
/// `@inlinable`, since other modules read and write bodies and rows byte by byte.
package struct ByteWriter {
    package var bytes: [UInt8] = []

    @inlinable
    package init() {}

    @inlinable
    package mutating func byte(_ value: UInt8) {
        bytes.append(value)
    }

    @inlinable
    package mutating func number(_ value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }

    /// Writes a number in zigzag form: small negative numbers are short too.
    @inlinable
    package mutating func signed(_ value: Int64) {
        number(value.zigzag)
    }

    @inlinable
    package mutating func fixed(_ value: UInt64) {
        withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
    }

    @inlinable
    package mutating func double(_ value: Double) {
        fixed(value.bitPattern)
    }

    @inlinable
    package mutating func string(_ value: String) {
        var value = value
        value.withUTF8 { utf8 in
            number(UInt64(utf8.count))
            bytes.append(contentsOf: utf8)
        }
    }

    @inlinable
    package mutating func block(_ value: [UInt8]) {
        number(UInt64(value.count))
        bytes.append(contentsOf: value)
    }

    @inlinable
    package mutating func write(_ number: ChangeNumber) {
        signed(number.run)
        signed(number.seq)
    }
}

/// Computes the checksum of the bytes that a `ByteWriter` would write, without writing them.
package struct ChecksumWriter {
    package private(set) var sum: UInt32

    /// - Parameter seed: the checksum of the bytes before.
    package init(seed: UInt32) {
        sum = seed
    }

    package mutating func byte(_ value: UInt8) {
        withUnsafeBytes(of: value) { sum = Checksum.crc32c(raw: $0, seed: sum) }
    }

    package mutating func number(_ value: UInt64) {
        // A varint has ten bytes at most.
        var words: (UInt64, UInt64) = (0, 0)
        withUnsafeMutableBytes(of: &words) { bytes in
            var (rest, last) = (value, 0)
            while rest >= 0x80 {
                bytes[last] = UInt8(truncatingIfNeeded: rest) | 0x80
                rest >>= 7
                last += 1
            }
            bytes[last] = UInt8(rest)
            sum = Checksum.crc32c(raw: UnsafeRawBufferPointer(rebasing: bytes[...last]), seed: sum)
        }
    }

    package mutating func signed(_ value: Int64) {
        number(value.zigzag)
    }

    package mutating func fixed(_ value: UInt64) {
        withUnsafeBytes(of: value.littleEndian) { sum = Checksum.crc32c(raw: $0, seed: sum) }
    }

    package mutating func string(_ value: String) {
        var value = value
        value.withUTF8 { utf8 in
            number(UInt64(utf8.count))
            sum = Checksum.crc32c(raw: UnsafeRawBufferPointer(utf8), seed: sum)
        }
    }
}

extension Int64 {
    /// The number with its sign in the lowest bit: small negative numbers become small unsigned ones.
    @inlinable
    package var zigzag: UInt64 { UInt64(bitPattern: (self << 1) ^ (self >> 63)) }
}

extension FixedWidthInteger {
    /// The bytes of the number, the highest one first.
    package var bigEndianBytes: [UInt8] { withUnsafeBytes(of: bigEndian) { Array($0) } }
}

/// The bytes that were read are not what a writer of this server wrote.
package struct MalformedBytes: Error {
    @inlinable
    package init() {}
}

/// Reads what `ByteWriter` wrote. Never reads past the end, and never trusts a count before it has seen the bytes.
package struct ByteReader {
    @usableFromInline let bytes: [UInt8]
    @usableFromInline let end: Int
    @usableFromInline var index: Int

    /// - Parameter last: bytes at the end that are not read.
    @inlinable
    package init(_ bytes: [UInt8], droppingFirst first: Int = 0, last: Int = 0) {
        self.bytes = bytes
        index = min(first, bytes.count)
        end = max(index, bytes.count - last)
    }

    @inlinable
    package var isAtEnd: Bool { index == end }

    /// The number of bytes that were read or dropped since the beginning.
    @inlinable
    package var place: Int { index }

    @inlinable
    package mutating func byte() throws(MalformedBytes) -> UInt8 {
        guard index < end else { throw MalformedBytes() }
        defer { index += 1 }
        return bytes[index]
    }

    @inlinable
    @inline(__always)
    package mutating func number() throws(MalformedBytes) -> UInt64 {
        // Most numbers are short.
        if index < end, bytes[index] < 0x80 {
            defer { index += 1 }
            return UInt64(bytes[index])
        }
        return try longNumber()
    }

    @inlinable
    mutating func longNumber() throws(MalformedBytes) -> UInt64 {
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while shift < 64 {
            let next = try byte()
            if shift == 63 && next > 1 { throw MalformedBytes() }
            value |= UInt64(next & 0x7f) << shift
            if next < 0x80 { return value }
            shift += 7
        }
        throw MalformedBytes()
    }

    @inlinable
    package mutating func signed() throws(MalformedBytes) -> Int64 {
        let value = try number()
        return Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1)
    }

    @inlinable
    package mutating func fixed() throws(MalformedBytes) -> UInt64 {
        let place = try take(8).lowerBound
        return bytes.withUnsafeBytes { UInt64(littleEndian: $0.loadUnaligned(fromByteOffset: place, as: UInt64.self)) }
    }

    @inlinable
    package mutating func double() throws(MalformedBytes) -> Double {
        Double(bitPattern: try fixed())
    }

    @inlinable
    package mutating func string() throws(MalformedBytes) -> String {
        try block { String(decoding: $0, as: UTF8.self) }
    }

    /// Reads `count` bytes without a copy.
    @inlinable
    package mutating func slice<Value>(_ count: UInt64, _ read: (UnsafeBufferPointer<UInt8>) -> Value) throws(MalformedBytes) -> Value {
        guard count <= UInt64(end - index) else { throw MalformedBytes() }
        let range = try take(Int(count))
        return bytes.withUnsafeBufferPointer { read(UnsafeBufferPointer(rebasing: $0[range])) }
    }

    @inlinable
    package mutating func block() throws(MalformedBytes) -> [UInt8] {
        try block { Array($0) }
    }

    /// Reads a string or a block without a copy.
    @inlinable
    package mutating func block<Value>(_ read: (UnsafeBufferPointer<UInt8>) -> Value) throws(MalformedBytes) -> Value {
        try slice(UInt64(try count()), read)
    }

    @inlinable
    package mutating func changeNumber() throws(MalformedBytes) -> ChangeNumber {
        ChangeNumber(run: try signed(), seq: try signed())
    }

    /// Skips a string or a block.
    @inlinable
    package mutating func skipBlock() throws(MalformedBytes) {
        _ = try take(try count())
    }

    /// Reads the count of a list of which each item takes at least one byte.
    @inlinable
    package mutating func count() throws(MalformedBytes) -> Int {
        let value = try number()
        guard value <= UInt64(end - index) else { throw MalformedBytes() }
        return Int(value)
    }

    @inlinable
    mutating func take(_ count: Int) throws(MalformedBytes) -> Range<Int> {
        guard end - index >= count else { throw MalformedBytes() }
        defer { index += count }
        return index..<index + count
    }
}
