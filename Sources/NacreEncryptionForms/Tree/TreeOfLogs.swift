package import NacreCrypto

/// The Merkle tree over the statements of all accounts of an environment.
package enum TreeOfLogs {
    /// Returns the entry of a statement, which `MerkleTree` hashes behind a zero byte.
    package static func entry(fingerprint: Digest, number: UInt64, hash: Digest) -> [UInt8] {
        var writer = FormWriter(capacity: 8 + 2 * Digest.length)
        writer.fixed(fingerprint)
        writer.integer(number)
        writer.fixed(hash)
        return writer.written
    }
}

/// The part of the tree that a server needs for the next statement and for the head. It keeps each node of the tree
/// under the node's name.
package struct TreeEdge: Hashable, Sendable {
    private var edge: MerkleEdge

    /// Makes the edge of a tree without statements.
    package init() { edge = MerkleEdge() }

    /// Reads what `size` and `digests` were; nil for anything else.
    package init?(size: UInt64, digests: [Digest]) {
        guard let size = Int(exactly: size), let edge = MerkleEdge(size: size, digests: digests.map(\.bytes)) else { return nil }
        self.edge = edge
    }

    /// The number of statements.
    package var size: UInt64 { UInt64(edge.size) }
    /// The digests of the complete subtrees that the tree consists of, the largest first.
    package var digests: [Digest] { edge.digests.compactMap(Digest.init) }

    /// Appends a statement.
    /// - Parameter entry: as `TreeOfLogs.entry` makes it.
    /// - Returns: the digests of the nodes that it completes, by their names.
    package mutating func append(_ entry: [UInt8]) -> [(node: String, digest: Digest)] {
        edge.append(entry).compactMap { node, digest in Digest(digest).map { (node.name, $0) } }
    }

    /// Returns the signed head; nil where `TreeHead` refuses the names.
    package func signed<Failure: Error>(
        container: String, environment: String, stamp: UInt64, sign: ([UInt8]) throws(Failure) -> Signature
    ) throws(Failure) -> TreeHead? {
        try TreeHead(container: container, environment: environment, head: edge.head, stamp: stamp, sign: sign)
    }
}

/// A proof about the tree, as the names of the nodes that it is made of.
package struct TreeProof: Hashable, Sendable {
    private let proof: MerkleProof

    /// Proves that a statement is in the tree; nil if a tree of this size has no such index.
    package init?(of index: UInt64, in size: UInt64) {
        guard let index = Int(exactly: index), let size = Int(exactly: size), let proof = MerkleProof.inclusion(of: index, in: size) else {
            return nil
        }
        self.proof = proof
    }

    /// Proves that the tree extends the one that it was; nil if that was larger.
    package init?(from older: UInt64, to newer: UInt64) {
        guard let older = Int(exactly: older), let newer = Int(exactly: newer), let proof = MerkleProof.consistency(from: older, to: newer)
        else { return nil }
        self.proof = proof
    }

    package var nodes: [String] { proof.nodes.map(\.name) }

    /// Returns the digests of the proof; nil if a node is missing.
    /// - Parameter kept: the digests of nodes, by their names.
    package func digests(_ kept: [String: Digest]) -> [Digest]? {
        proof.digests { kept[$0.name]?.bytes }?.compactMap(Digest.init)
    }
}

extension MerkleNode {
    /// The name under which a server keeps the node's digest.
    fileprivate var name: String { "\(level) \(index)" }
}

/// The head of the tree, as the server signs it.
package struct TreeHead: SignedForm {
    package static let kinds: [FormKind] = [.treeHead]

    package let container: String
    package let environment: String
    package let size: UInt64
    package let root: Digest
    /// Milliseconds since 1970.
    package let stamp: UInt64
    package let signature: Signature

    package var kind: FormKind { .treeHead }

    /// Makes a signed head. Returns nil if a name is empty or longer than 255 bytes, or the size negative.
    package init?<Failure: Error>(
        container: String, environment: String, head: MerkleHead, stamp: UInt64, sign: ([UInt8]) throws(Failure) -> Signature
    ) throws(Failure) {
        guard [container, environment].allSatisfy({ !$0.isEmpty && $0.utf8.count <= FormReader.textBytesMax }), let root = Digest(head.root),
            let size = UInt64(exactly: head.size)
        else { return nil }
        self.container = container
        self.environment = environment
        self.size = size
        self.root = root
        self.stamp = stamp
        var writer = FormWriter(capacity: 256)
        writer.integer(Suite.current)
        writer.integer(FormKind.treeHead.rawValue)
        Self.write(container, environment, size, root, stamp, to: &writer)
        signature = try sign(writer.written)
    }

    package init(kind: FormKind, parts reader: inout FormReader) throws(FormFault) {
        container = try reader.name("container")
        environment = try reader.name("environment")
        size = try reader.integer()
        guard size <= UInt64(Int.max) else { throw .invalid("size") }
        root = try reader.fixed()
        stamp = try reader.integer()
        signature = try reader.fixed()
    }

    package func writeSignedParts(to writer: inout FormWriter) {
        Self.write(container, environment, size, root, stamp, to: &writer)
    }

    private static func write(
        _ container: String, _ environment: String, _ size: UInt64, _ root: Digest, _ stamp: UInt64, to writer: inout FormWriter
    ) {
        writer.text(container)
        writer.text(environment)
        writer.integer(size)
        writer.fixed(root)
        writer.integer(stamp)
    }

    package var merkle: MerkleHead { MerkleHead(size: Int(clamping: size), root: root.bytes) }
}

/// The largest head of the tree that a client has seen.
package struct KeptTreeHead: Hashable, Sendable {
    package private(set) var head: TreeHead

    /// Takes the first head that a client sees, without proof.
    package init(first head: TreeHead, server: Ed25519.PublicKey) throws(TreeFault) {
        guard head.isSigned(by: server) else { throw .notSigned }
        self.head = head
    }

    /// Takes a head that the server shows. A larger one is kept.
    /// - Parameter proof: The proof that the larger of the two extends the smaller one.
    /// - Throws: `forked` with both heads, if one is no extension of the other.
    package mutating func take(_ shown: TreeHead, proof: [[UInt8]], server: Ed25519.PublicKey) throws(TreeFault) {
        guard shown.isSigned(by: server), shown.container == head.container, shown.environment == head.environment else { throw .notSigned }
        let isLarger = shown.size > head.size
        let (older, newer) = isLarger ? (head, shown) : (shown, head)
        if older.size == newer.size, older.root != newer.root { throw .forked(head, shown) }
        guard newer.merkle.extends(older.merkle, proof: proof) else { throw .notProved }
        if isLarger { head = shown }
    }
}

/// The reason why a head of the tree is refused.
package enum TreeFault: Error, Equatable, Sendable {
    case notSigned
    case notProved
    /// Two signed heads of one size with two roots, which only a server that shows two trees has signed.
    case forked(TreeHead, TreeHead)
}

extension TreeFault: CustomStringConvertible {
    package var description: String {
        switch self {
        case .notSigned: "The head of the tree of logs is not signed by this server, or is of another container"
        case .notProved: "The tree of logs does not extend the one that this client has seen"
        case .forked(let first, let second):
            "The server has signed two trees of \(first.size) statements: \(Hex.encode(first.bytes)) and \(Hex.encode(second.bytes))"
        }
    }
}
