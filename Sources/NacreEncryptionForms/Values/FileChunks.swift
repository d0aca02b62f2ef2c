/// The cut of a file into chunks, and the root that stands for all of them.
package enum FileChunks {
    /// The length of every chunk but the last, in bytes. The last is shorter, and at most as long with its padding.
    package static let length: Int = 1 << 20

    /// Returns the ranges of a file's chunks. There is one more than whole ones: the last one has the rest, which may
    /// be empty.
    /// - Parameter count: The file's length, at least 0.
    package static func ranges(ofFile count: Int) -> [Range<Int>] {
        (0...max(count, 0) / length).map { $0 * length..<min(($0 + 1) * length, max(count, 0)) }
    }

    /// The length of every sealed chunk but the last, in bytes. The last is at most as long.
    package static let sealedLength: Int = length + SealedValue.overhead

    /// Returns the number of bytes of a sealed file, which has its sealed chunks one behind the other.
    /// - Parameter count: The plain file's length, at least 0. Above `Int.max / 2` it counts as that.
    package static func sealedCount(ofFile count: Int) -> Int {
        let (whole, rest) = min(max(count, 0), .max / 2).quotientAndRemainder(dividingBy: length)
        return whole * sealedLength + SealedValue.overhead + (Padding.bucket(for: rest + 1) ?? length)
    }

    /// Returns the ranges of the sealed chunks in a sealed file; nil for a length that no sealed file has.
    package static func ranges(inSealedFile count: Int) -> [Range<Int>]? {
        let whole = max(count - 1, 0) / sealedLength
        guard Padding.isBucket(count - whole * sealedLength - SealedValue.overhead) else { return nil }
        return (0...whole).map { $0 * sealedLength..<min(($0 + 1) * sealedLength, count) }
    }

    /// Returns the root of a file: the hash of the number of its chunks, in 4 bytes, and of the hashes of the sealed
    /// chunks in their order.
    package static func root(of chunks: [Digest]) -> Digest {
        var writer = FormWriter(capacity: 4 + chunks.count * Digest.length)
        writer.integer(UInt32(clamping: chunks.count))
        for chunk in chunks { writer.fixed(chunk) }
        return Digest(of: writer.written)
    }
}
