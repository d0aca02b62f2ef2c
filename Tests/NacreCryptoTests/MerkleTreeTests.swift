import NacreCloudTestSupport
import NacreCrypto
import Testing

struct MerkleTreeTests {
    /// The entries of the tests of Certificate Transparency, and the roots of their first 0 to 8.
    private static let entries = ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"].map(bytes)
    private static let roots = [
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125", "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7", "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
        "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef", "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
        "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
    ].map(bytes)

    @Test func `published entries have the published roots`() {
        let tree = MerkleTree(Self.entries)
        #expect((0...8).map { tree.head(at: $0)?.root } == Self.roots)
        #expect((0...8).map { MerkleTree(Self.entries.prefix($0)).head } == Self.roots.enumerated().map { MerkleHead(size: $0, root: $1) })
        #expect(MerkleHead.empty == MerkleTree().head)
    }

    /// RFC 9162, 2.1.5: the nodes of a tree of seven entries have letters, and the proofs are lists of these letters.
    @Test func `the tree of seven entries has the proofs of the standard`() throws {
        let tree = MerkleTree(Self.entries.prefix(7))
        let leaves = Self.entries.prefix(7).map { SHA256.digest([0] + $0) }
        let (a, b, c, d, f, j) = (leaves[0], leaves[1], leaves[2], leaves[3], leaves[5], leaves[6])
        let node = { (left: [UInt8], right: [UInt8]) in SHA256.digest([1] + left + right) }
        let (g, h, i) = (node(a, b), node(c, d), node(leaves[4], f))
        let (k, l) = (node(g, h), node(i, j))
        #expect(tree.head.root == node(k, l))
        #expect(tree.inclusionProof(of: 0, in: 7) == [b, h, l])
        #expect(tree.inclusionProof(of: 3, in: 7) == [c, g, l])
        #expect(tree.inclusionProof(of: 4, in: 7) == [f, j, k])
        #expect(tree.inclusionProof(of: 6, in: 7) == [i, k])
        #expect(tree.consistencyProof(from: 3, to: 7) == [c, d, g, l])
        #expect(tree.consistencyProof(from: 4, to: 7) == [l])
        #expect(tree.consistencyProof(from: 6, to: 7) == [i, j, k])
    }

    /// The tree as the standard defines it, by recursion over the entries (RFC 9162, 2.1.1 to 2.1.4).
    private struct Definition {
        let entries: [[UInt8]]

        func root(_ range: Range<Int>) -> [UInt8] {
            guard range.count > 1 else { return range.isEmpty ? SHA256.digest([]) : SHA256.digest([0] + entries[range.lowerBound]) }
            let middle = range.lowerBound + split(range.count)
            return SHA256.digest([1] + root(range.lowerBound..<middle) + root(middle..<range.upperBound))
        }

        func path(_ index: Int, _ range: Range<Int>) -> [[UInt8]] {
            guard range.count > 1 else { return [] }
            let middle = range.lowerBound + split(range.count)
            return index < middle
                ? path(index, range.lowerBound..<middle) + [root(middle..<range.upperBound)]
                : path(index, middle..<range.upperBound) + [root(range.lowerBound..<middle)]
        }

        func proof(_ older: Int, _ range: Range<Int>, _ isWhole: Bool = true) -> [[UInt8]] {
            if older == range.count { return isWhole ? [] : [root(range)] }
            let half = split(range.count)
            let middle = range.lowerBound + half
            return older <= half
                ? proof(older, range.lowerBound..<middle, isWhole) + [root(middle..<range.upperBound)]
                : proof(older - half, middle..<range.upperBound, false) + [root(range.lowerBound..<middle)]
        }

        private func split(_ count: Int) -> Int {
            var half = 1
            while half * 2 < count { half *= 2 }
            return half
        }
    }

    @Test func `roots and proofs are those of the definition, and a proof with one wrong bit proves nothing`() throws {
        var random = SeededRandom()
        let entries = (0..<200).map { _ in random.bytes(Int.random(in: 0...40, using: &random)) }
        let definition = Definition(entries: entries)
        let tree = MerkleTree(entries)
        for size in 0...200 {
            let head = try #require(tree.head(at: size))
            #expect(head == MerkleHead(size: size, root: definition.root(0..<size)), "\(size), \(random)")
            guard size > 0 else { continue }
            for index in Set([0, size - 1, Int.random(in: 0..<size, using: &random)]) {
                let proof = try #require(tree.inclusionProof(of: index, in: size))
                #expect(proof == definition.path(index, 0..<size) && head.includes(entries[index], at: index, proof: proof), "\(index), \(random)")
                for wrong in altered(proof, &random) { #expect(!head.includes(entries[index], at: index, proof: wrong), "\(index), \(random)") }
                #expect(!head.includes(entries[index] + [0], at: index, proof: proof))
                #expect(!head.includes(entries[index], at: (index + 1) % size, proof: proof) || size == 1)
            }
            for older in Set([1, size, Int.random(in: 1...size, using: &random)]) {
                let proof = try #require(tree.consistencyProof(from: older, to: size))
                let olderHead = try #require(tree.head(at: older))
                #expect(proof == definition.proof(older, 0..<size) && head.extends(olderHead, proof: proof), "\(older), \(random)")
                for wrong in altered(proof, &random) { #expect(!head.extends(olderHead, proof: wrong), "\(older), \(random)") }
                var root = olderHead.root
                root[Int.random(in: 0..<32, using: &random)] ^= 1
                #expect(!head.extends(MerkleHead(size: older, root: root), proof: proof))
            }
        }
    }

    /// Returns the proof with each digest changed by one bit, left out, cut or repeated, and with another at its end.
    private func altered(_ proof: [[UInt8]], _ random: inout SeededRandom) -> [[[UInt8]]] {
        var altered = [proof + [random.bytes(32)], proof + [[]]]
        for index in proof.indices {
            var (flipped, shorter, cut, repeated) = (proof, proof, proof, proof)
            flipped[index][Int.random(in: 0..<32, using: &random)] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            shorter.remove(at: index)
            cut[index].removeLast()
            repeated.insert(proof[index], at: index)
            altered += [flipped, shorter, cut, repeated]
        }
        return altered
    }

    @Test func `the edge of a tree has its heads, and kept nodes its proofs`() throws {
        var random = SeededRandom()
        var (tree, edge) = (MerkleTree(), MerkleEdge())
        var nodes: [MerkleNode: [UInt8]] = [:]
        for size in 1...130 {
            let entry = random.bytes(20)
            tree.append(entry)
            for (node, digest) in edge.append(entry) {
                #expect(nodes[node] == nil, "a digest never changes")
                nodes[node] = digest
            }
            #expect(edge.head == tree.head && MerkleEdge(size: size, digests: edge.digests) == edge)
            let index = Int.random(in: 0..<size, using: &random)
            #expect(MerkleProof.inclusion(of: index, in: size)?.digests { nodes[$0] } == tree.inclusionProof(of: index, in: size), "\(random)")
            let proof = try #require(MerkleProof.consistency(from: index, to: size))
            #expect(proof.digests { nodes[$0] } == tree.consistencyProof(from: index, to: size), "\(random)")
            #expect(proof.nodes.isEmpty || proof.digests { _ in nil } == nil)
        }
        #expect(MerkleEdge(size: 130, digests: edge.digests + [MerkleHead.empty.root]) == nil && MerkleEdge(size: 1, digests: [[1]]) == nil)
    }

    @Test func `a log that was written anew does not extend what it was`() throws {
        let old = MerkleTree(Self.entries)
        for changed in Self.entries.indices {
            var entries = Self.entries
            entries[changed] += [1]
            let new = MerkleTree(entries + [[9]])
            for older in 1...8 {
                let proof = try #require(new.consistencyProof(from: older, to: 9))
                let olderHead = try #require(old.head(at: older))
                #expect(new.head.extends(olderHead, proof: proof) == (changed >= older))
            }
        }
    }

    @Test func `each log extends the empty one and itself without a proof, and no longer one`() throws {
        let tree = MerkleTree(Self.entries)
        for size in 0...8 {
            let head = try #require(tree.head(at: size))
            #expect(tree.consistencyProof(from: size, to: size) == [] && tree.consistencyProof(from: 0, to: size) == [])
            #expect(head.extends(head, proof: []) && head.extends(.empty, proof: []))
            #expect(!head.extends(head, proof: [Self.roots[1]]) && !head.extends(.empty, proof: [Self.roots[1]]))
            #expect(!head.extends(MerkleHead(size: 0, root: Self.roots[1]), proof: []))
            #expect(!head.extends(MerkleHead(size: size, root: Self.roots[(size + 1) % 9]), proof: []))
            if size < 8 { #expect(!head.extends(tree.head, proof: [])) }
        }
    }

    @Test func `sizes and indices that a log does not have are no proof and no crash`() {
        let tree = MerkleTree(Self.entries)
        for size in [-1, 9, Int.min, Int.max] {
            #expect(tree.head(at: size) == nil && tree.inclusionProof(of: 0, in: size) == nil)
            #expect(tree.consistencyProof(from: size, to: 8) == nil && tree.consistencyProof(from: 1, to: size) == nil)
            let head = MerkleHead(size: size, root: Self.roots[8])
            #expect(!head.extends(tree.head, proof: [Self.roots[1]]) && !tree.head.extends(head, proof: [Self.roots[1]]))
            #expect(!head.includes(Self.entries[0], at: 0, proof: [Self.roots[1]]))
            #expect(!tree.head.includes(Self.entries[0], at: size, proof: [Self.roots[1]]))
        }
        #expect(tree.inclusionProof(of: 8, in: 8) == nil && tree.inclusionProof(of: -1, in: 8) == nil)
        #expect(tree.inclusionProof(of: 0, in: 0) == nil && tree.consistencyProof(from: 5, to: 4) == nil)
    }

    /// A node's digest is made of 65 bytes that begin with 1. An entry of its last 64 would have the same digest, if
    /// leaves had no prefix of their own.
    @Test func `a node does not pass for an entry`() {
        let leaves = Self.entries.prefix(2).map { SHA256.digest([0] + $0) }
        let head = MerkleTree(Self.entries.prefix(2)).head
        #expect(!MerkleHead(size: 1, root: head.root).includes(leaves[0] + leaves[1], at: 0, proof: []))
    }
}
