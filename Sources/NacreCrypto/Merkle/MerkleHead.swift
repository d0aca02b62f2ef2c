/// The head of an append-only log: its size, and the root of the Merkle tree over its entries (RFC 9162, section 2.1).
/// Two holders of equal heads have the same entries in the same order.
///
/// A root says nothing about the size, so sign both. A check takes about 0.4 µs for each digest of the proof, of which
/// there are at most 64.
package struct MerkleHead: Hashable, Sendable {
    package let size: Int
    /// 32 bytes.
    package let root: [UInt8]

    package init(size: Int, root: [UInt8]) {
        (self.size, self.root) = (size, root)
    }

    /// The head of a log without entries.
    package static let empty: MerkleHead = MerkleHead(size: 0, root: SHA256.digest([]))

    /// Whether the proof shows that an entry is in the log at this index, from 0.
    package func includes(_ entry: [UInt8], at index: Int, proof: [[UInt8]]) -> Bool {
        guard index >= 0, index < size else { return false }
        var ascent = Ascent(node: index, last: size - 1)
        var digest = MerkleDigest.leaf(entry)
        for sibling in proof {
            guard let isLeft = ascent.climb(beside: sibling) else { return false }
            digest = isLeft ? MerkleDigest.node(sibling, digest) : MerkleDigest.node(digest, sibling)
        }
        return ascent.isAtRoot && digest == root
    }

    /// Whether the proof shows that the log had the older head once and only grew since.
    package func extends(_ older: MerkleHead, proof: [[UInt8]]) -> Bool {
        if older.size == size || older.size == 0 {
            return proof.isEmpty && older.root == (older.size == 0 ? MerkleHead.empty : self).root && size >= 0
        }
        guard older.size > 0, older.size < size else { return false }
        var ascent = Ascent(node: older.size - 1, last: size - 1)
        ascent.skipRightEdges()
        var siblings = proof[...]
        // An older tree of a power of two is a whole subtree of the newer one: its root is not repeated in the proof.
        let start = older.size.nonzeroBitCount == 1 ? older.root : siblings.popFirst()
        guard let start, start.count == MerkleDigest.length else { return false }
        var (olderDigest, digest) = (start, start)
        for sibling in siblings {
            guard let isLeft = ascent.climb(beside: sibling) else { return false }
            if isLeft { olderDigest = MerkleDigest.node(sibling, olderDigest) }
            digest = isLeft ? MerkleDigest.node(sibling, digest) : MerkleDigest.node(digest, sibling)
        }
        return ascent.isAtRoot && olderDigest == older.root && digest == root
    }
}

/// The way from a node up to the root. The node's index and that of the last node are of the level that it has reached.
private struct Ascent {
    private var node: Int
    private var last: Int

    init(node: Int, last: Int) {
        (self.node, self.last) = (node, last)
    }

    var isAtRoot: Bool { last == 0 }

    /// Goes up to the parent of this node and a sibling.
    /// - Returns: Whether the sibling is on the left; nil at the root, and for bytes that are no digest.
    mutating func climb(beside sibling: [UInt8]) -> Bool? {
        guard last > 0, sibling.count == MerkleDigest.length else { return nil }
        let isLeft = node & 1 == 1 || node == last
        // The last node of a level may have no sibling there, and is its own parent.
        while isLeft, node & 1 == 0, node > 0 { ascend() }
        ascend()
        return isLeft
    }

    /// Goes up as long as the node is the right child of its parent.
    mutating func skipRightEdges() {
        while node & 1 == 1 { ascend() }
    }

    private mutating func ascend() {
        node >>= 1
        last >>= 1
    }
}

/// The digests of a Merkle tree. Leaves and nodes have different prefixes, so that no node passes for a leaf.
enum MerkleDigest {
    static let length = SHA256.digestLength

    static func leaf(_ entry: [UInt8]) -> [UInt8] { SHA256.digest([0] + entry) }

    static func node(_ left: [UInt8], _ right: [UInt8]) -> [UInt8] { SHA256.digest([1] + left + right) }
}
