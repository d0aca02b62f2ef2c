/// The complete subtrees that a Merkle tree consists of: what its holder needs to append, and to tell the head. Other
/// nodes may be kept elsewhere.
package struct MerkleEdge: Hashable, Sendable {
    /// The number of entries.
    package private(set) var size: Int
    /// The digests of the subtrees, the largest first: one for each bit of the size.
    package private(set) var digests: [[UInt8]]

    /// Makes the edge of a tree without entries.
    package init() { (size, digests) = (0, []) }

    /// Returns nil if a tree of this size consists of another number of subtrees.
    package init?(size: Int, digests: [[UInt8]]) {
        guard size >= 0, digests.count == size.nonzeroBitCount, digests.allSatisfy({ $0.count == MerkleDigest.length }) else { return nil }
        (self.size, self.digests) = (size, digests)
    }

    package var head: MerkleHead { MerkleHead(size: size, root: MerkleNode.joined(digests)) }

    /// Appends an entry. Takes two digests on average.
    /// - Returns: the nodes that it completes, with their digests; its own leaf comes first.
    package mutating func append(_ entry: [UInt8]) -> [(node: MerkleNode, digest: [UInt8])] {
        var completed = [(node: MerkleNode(level: 0, index: size), digest: MerkleDigest.leaf(entry))]
        while completed[completed.count - 1].node.index & 1 == 1, let left = digests.popLast() {
            let (node, digest) = completed[completed.count - 1]
            completed.append((MerkleNode(level: node.level + 1, index: node.index >> 1), MerkleDigest.node(left, digest)))
        }
        digests.append(completed[completed.count - 1].digest)
        size += 1
        return completed
    }
}
