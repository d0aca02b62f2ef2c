/// The Merkle tree over a log (RFC 9162, section 2.1), which proves that an entry is in it and that it only grew.
///
/// The digest of each complete subtree is kept: 64 bytes an entry. To append takes two digests on average, a root or a
/// proof a number that grows with the square of the tree's height: about 3 µs for a million entries.
package struct MerkleTree: Sendable {
    /// levels[k][i]: the digest of the complete subtree over the 2^k entries from i·2^k on.
    private var levels: [[[UInt8]]] = [[]]

    /// Makes a tree without entries.
    package init() {}

    package init(_ entries: some Sequence<[UInt8]>) {
        for entry in entries { append(entry) }
    }

    /// The number of entries.
    package var size: Int { levels[0].count }

    package var head: MerkleHead { MerkleHead(size: size, root: digest(of: 0..<size)) }

    /// Returns the head that the log had with its first entries; nil if it has not as many.
    package func head(at size: Int) -> MerkleHead? {
        guard (0...self.size).contains(size) else { return nil }
        return MerkleHead(size: size, root: digest(of: 0..<size))
    }

    package mutating func append(_ entry: [UInt8]) {
        var digest = MerkleDigest.leaf(entry)
        var level = 0
        levels[0].append(digest)
        while levels[level].count.isMultiple(of: 2) {
            digest = MerkleDigest.node(levels[level][levels[level].count - 2], digest)
            level += 1
            if level == levels.count { levels.append([]) }
            levels[level].append(digest)
        }
    }

    /// Returns the digests for `MerkleHead.includes`, from the entry upwards; nil if the log with `size` entries has no
    /// such index, or was never that long.
    package func inclusionProof(of index: Int, in size: Int) -> [[UInt8]]? {
        guard size <= self.size, index >= 0, index < size else { return nil }
        var subtree = 0..<size
        var proof: [[UInt8]] = []
        while subtree.count > 1 {
            let (left, right) = Self.halves(of: subtree)
            let isLeft = index < right.lowerBound
            proof.append(digest(of: isLeft ? right : left))
            subtree = isLeft ? left : right
        }
        return proof.reversed()
    }

    /// Returns the digests for `MerkleHead.extends`; nil if the log was never as long as `newer`, or `older` is longer.
    package func consistencyProof(from older: Int, to newer: Int) -> [[UInt8]]? {
        guard older >= 0, older <= newer, newer <= size else { return nil }
        guard older > 0 else { return [] }
        var subtree = 0..<newer
        var proof: [[UInt8]] = []
        while subtree.upperBound != older {
            let (left, right) = Self.halves(of: subtree)
            let isLeft = older <= right.lowerBound
            proof.append(digest(of: isLeft ? right : left))
            subtree = isLeft ? left : right
        }
        // The whole older tree is known to the verifier.
        if subtree.lowerBound > 0 { proof.append(digest(of: subtree)) }
        return proof.reversed()
    }

    /// Splits two or more entries as RFC 9162 does: the left part is the largest power of two that leaves something.
    private static func halves(of subtree: Range<Int>) -> (left: Range<Int>, right: Range<Int>) {
        let middle = subtree.lowerBound + 1 << (Int.bitWidth - 1 - (subtree.count - 1).leadingZeroBitCount)
        return (subtree.lowerBound..<middle, middle..<subtree.upperBound)
    }

    /// Returns the digest of a subtree that `halves` leads to: its first index is a multiple of a power of two that is
    /// not less than its length, so that a subtree of a power of two is in `levels`.
    private func digest(of subtree: Range<Int>) -> [UInt8] {
        guard !subtree.isEmpty else { return MerkleHead.empty.root }
        guard subtree.count.nonzeroBitCount > 1 else {
            let level = subtree.count.trailingZeroBitCount
            return levels[level][subtree.lowerBound >> level]
        }
        let (left, right) = Self.halves(of: subtree)
        return MerkleDigest.node(digest(of: left), digest(of: right))
    }
}
