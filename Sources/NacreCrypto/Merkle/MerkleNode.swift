/// A complete subtree of a Merkle tree: the one over the 2^level entries from index·2^level on. Its digest never
/// changes.
package struct MerkleNode: Hashable, Sendable {
    package let level: Int
    package let index: Int

    /// Returns the complete subtrees that a part of a tree consists of, the largest first.
    /// - Parameter part: entries whose first index is a multiple of a power of two that is not less than their number.
    static func all(of part: Range<Int>) -> [MerkleNode] {
        var nodes: [MerkleNode] = []
        var first = part.lowerBound
        while first < part.upperBound {
            let level = Int.bitWidth - 1 - (part.upperBound - first).leadingZeroBitCount
            nodes.append(MerkleNode(level: level, index: first >> level))
            first += 1 << level
        }
        return nodes
    }

    /// Returns the digest of a part of a tree, of the digests of the complete subtrees that it consists of.
    static func joined(_ digests: [[UInt8]]) -> [UInt8] {
        guard let last = digests.last else { return MerkleHead.empty.root }
        return digests.dropLast().reversed().reduce(last) { MerkleDigest.node($1, $0) }
    }
}
