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

    package var head: MerkleHead { MerkleHead(size: size, root: root(of: size)) }

    /// Returns the head that the log had with its first entries; nil if it has not as many.
    package func head(at size: Int) -> MerkleHead? {
        guard (0...self.size).contains(size) else { return nil }
        return MerkleHead(size: size, root: root(of: size))
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
        guard size <= self.size else { return nil }
        return MerkleProof.inclusion(of: index, in: size)?.digests(kept)
    }

    /// Returns the digests for `MerkleHead.extends`; nil if the log was never as long as `newer`, or `older` is longer.
    package func consistencyProof(from older: Int, to newer: Int) -> [[UInt8]]? {
        guard newer <= size else { return nil }
        return MerkleProof.consistency(from: older, to: newer)?.digests(kept)
    }

    private func kept(_ node: MerkleNode) -> [UInt8]? { levels[node.level][node.index] }

    private func root(of size: Int) -> [UInt8] { MerkleNode.joined(MerkleNode.all(of: 0..<size).compactMap(kept)) }
}
