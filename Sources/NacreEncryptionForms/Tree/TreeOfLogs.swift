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
