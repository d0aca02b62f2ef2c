/// A proof about a Merkle tree, as the nodes that its digests are made of.
package struct MerkleProof: Hashable, Sendable {
    /// The nodes of each digest.
    private let parts: [[MerkleNode]]

    private init(_ parts: [Range<Int>]) {
        self.parts = parts.map(MerkleNode.all)
    }

    /// Returns the proof for `MerkleHead.includes`, from the entry upwards; nil if a log with `size` entries has no
    /// such index.
    package static func inclusion(of index: Int, in size: Int) -> MerkleProof? {
        guard index >= 0, index < size else { return nil }
        var subtree = 0..<size
        var parts: [Range<Int>] = []
        while subtree.count > 1 {
            let (left, right) = halves(of: subtree)
            let isLeft = index < right.lowerBound
            parts.append(isLeft ? right : left)
            subtree = isLeft ? left : right
        }
        return MerkleProof(parts.reversed())
    }

    /// Returns the proof for `MerkleHead.extends`; nil if `older` is longer.
    package static func consistency(from older: Int, to newer: Int) -> MerkleProof? {
        guard older >= 0, older <= newer else { return nil }
        guard older > 0 else { return MerkleProof([]) }
        var subtree = 0..<newer
        var parts: [Range<Int>] = []
        while subtree.upperBound != older {
            let (left, right) = halves(of: subtree)
            let isLeft = older <= right.lowerBound
            parts.append(isLeft ? right : left)
            subtree = isLeft ? left : right
        }
        // The whole older tree is known to the verifier.
        if subtree.lowerBound > 0 { parts.append(subtree) }
        return MerkleProof(parts.reversed())
    }

    /// Splits two or more entries as RFC 9162 does: the left part is the largest power of two that leaves something.
    private static func halves(of subtree: Range<Int>) -> (left: Range<Int>, right: Range<Int>) {
        let middle = subtree.lowerBound + 1 << (Int.bitWidth - 1 - (subtree.count - 1).leadingZeroBitCount)
        return (subtree.lowerBound..<middle, middle..<subtree.upperBound)
    }

    /// The nodes whose digests the proof needs. Their number grows with the square of the tree's height.
    package var nodes: [MerkleNode] { parts.flatMap(\.self) }

    /// Returns the digests of the proof; nil if the digest of a node is missing.
    package func digests(_ digest: (MerkleNode) -> [UInt8]?) -> [[UInt8]]? {
        var proof: [[UInt8]] = []
        for part in parts {
            let digests = part.compactMap(digest)
            guard digests.count == part.count else { return nil }
            proof.append(MerkleNode.joined(digests))
        }
        return proof
    }
}
