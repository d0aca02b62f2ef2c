import CNacreSodium

/// Bytes of a key or another secret. They are wiped when the last reference to them goes, compared in constant time,
/// and never printed: a description, a dump and a failed expectation show "(secret)".
///
/// The memory is ordinary: the system may swap it out, and a core has it. Making one takes about 60 ns.
package final class SecretBytes: @unchecked Sendable {
    // Sendable: the bytes are written in `init` alone.
    private let start: UnsafeMutablePointer<UInt8>
    package let count: Int

    /// Makes a secret in place, so that nothing else holds a copy of it.
    /// - Parameters:
    ///   - count: The number of bytes, not negative.
    ///   - fill: Writes the bytes, which are zeros before. If it throws, they are wiped.
    init<Failure: Error>(count: Int, _ fill: (UnsafeMutablePointer<UInt8>) throws(Failure) -> Void) throws(Failure) {
        start = .allocate(capacity: max(count, 1))
        start.initialize(repeating: 0, count: max(count, 1))
        self.count = count
        try fill(start)
    }

    /// Copies the bytes of an array. Nothing wipes the array.
    package convenience init(_ bytes: [UInt8]) {
        self.init(count: bytes.count) { $0.update(from: bytes, count: bytes.count) }
    }

    deinit {
        sodium_memzero(start, count)
        start.deallocate()
    }

    /// The bytes as an array, to store or to send them. Nothing wipes it.
    package var exposed: [UInt8] { Array(UnsafeBufferPointer(start: start, count: count)) }

    /// Returns the bytes of a range as a secret, as far as there are any: one of several that were derived together.
    package func part(_ range: Range<Int>) -> SecretBytes {
        let range = range.clamped(to: 0..<count)
        guard range.count < count else { return self }
        return SecretBytes(count: range.count) { $0.update(from: start + range.lowerBound, count: range.count) }
    }

    /// Calls `body` with the address of `count` bytes. The address is valid during the call alone.
    func withBytes<Result, Failure: Error>(_ body: (UnsafePointer<UInt8>) throws(Failure) -> Result) throws(Failure) -> Result {
        try body(start)
    }
}

extension SecretBytes: Equatable {
    /// Whether two secrets are equal. The time depends on their length alone. Different lengths are unequal at once.
    package static func == (left: SecretBytes, right: SecretBytes) -> Bool {
        left.count == right.count && sodium_memcmp(left.start, right.start, left.count) == 0
    }
}

extension SecretBytes: CustomStringConvertible, CustomReflectable {
    package var description: String { "(secret)" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
