import NacreCloudAccounts
import NacreCloudStorage
import NacreCloudWire
import NacreEncryptionForms

/// A statement as the tree of logs has it.
struct TreeLeaf: Hashable, Sendable {
    /// The fingerprint of the log that the statement is of.
    let fingerprint: Digest
    let number: UInt64
    let hash: Digest

    var entry: [UInt8] { TreeOfLogs.entry(fingerprint: fingerprint, number: number, hash: hash) }

    /// Returns the leaves of all statements of an account, which begin with the first of its first log.
    static func all(of statements: [KeyStatement]) -> [TreeLeaf] {
        var fingerprint = Digest.none
        return statements.map { statement in
            let hash = statement.hash
            if statement.number == 0 { fingerprint = hash }
            return TreeLeaf(fingerprint: fingerprint, number: statement.number, hash: hash)
        }
    }
}

/// The keys of the entries that a tree of logs consists of, in a database of the registry.
private enum TreeEntries {
    static func edge(in database: DatabaseID) -> EntryKey { EntryKey(database, .treeEdge, "1") }

    static func node(_ name: String, in database: DatabaseID) -> EntryKey { EntryKey(database, .treeNode, name) }

    static func place(of leaf: TreeLeaf, in database: DatabaseID) -> EntryKey {
        EntryKey(database, .treePlace, "\(HexText.encode(leaf.fingerprint.bytes)) \(leaf.number)")
    }
}

extension Cloud {
    /// Enters the statements of an account that are not in the tree of logs yet.
    ///
    /// The tree is in another database than the log, and is written after it. A crash may come in between: the next
    /// request that needs the statement there enters it. Costs four calls of the store.
    /// - Parameters:
    ///   - statements: all statements of the account.
    ///   - key: the account's private database.
    func enter(_ statements: [KeyStatement], of key: DatabaseKey) async throws {
        let leaves = TreeLeaf.all(of: statements)
        let part = Registry.Part.logs(container: key.container, key.environment)
        try await registry.write(part) { database, _, transaction in
            let missing = try transaction.missing(leaves, in: database)
            if missing.isEmpty { return .rollback(()) }
            var edge = try transaction.treeEdge(in: database)
            var plan = WritePlan()
            for leaf in missing {
                plan.entries.append(TreePlace(index: edge.size).row(TreeEntries.place(of: leaf, in: database)))
                plan.entries += edge.append(leaf.entry).map { EntryRow(key: TreeEntries.node($0.node, in: database), value: $0.digest.bytes) }
            }
            plan.entries.append(edge.row(TreeEntries.edge(in: database)))
            try transaction.apply(plan)
            return .commit(())
        }
    }

    /// Returns the tree of logs with its signed head, and the proofs about it. Costs four calls of the store.
    /// - Parameters:
    ///   - key: the private database of the account whose log is read.
    ///   - leaf: the statement to prove; nil: none.
    ///   - seen: the size of a tree that the client has seen; nil: none.
    func tree(of key: DatabaseKey, showing leaf: TreeLeaf?, since seen: Int?) async throws -> KeysLogResponse.Tree {
        if let seen, seen < 0 { throw ServerError.badValue("treeSize", "invalid size", remedy: "A tree of logs has 0 statements or more.") }
        let database = try await registry.databaseID(Registry.Part.logs(container: key.container, key.environment).key)
        func read() async throws -> ShownTree? {
            try await stored(of: key) {
                try await self.store.read { try ShownTree(showing: leaf, since: seen.map(UInt64.init), in: database, $0) }
            }
        }
        var shown = try await read()
        if shown == nil {
            let account = try await databaseID(key)
            try await enter(stored(of: key) { try await self.store.read { try $0.keyStatements(in: account) } }, of: key)
            shown = try await read()
        }
        WorkMeter.current?.add(rows: (shown?.inclusion?.count ?? 0) + (shown?.consistency?.count ?? 0))
        let secret = try await registry.serverKey(.treeKey)
        let stamp = UInt64(max(0, clock().millisecondsSince1970))
        let head = try shown?.edge.signed(container: key.container, environment: key.environment.rawValue, stamp: stamp) { message in
            guard let signature = Signature(try tokens.signature(of: message, key: secret)) else { throw ServerError.internalError }
            return signature
        }
        guard let head, let shown else { throw ServerError.internalError }
        return KeysLogResponse.Tree(
            head: head.bytes, serverKey: try tokens.publicKey(of: secret), index: shown.index.map { Int(clamping: $0) },
            inclusion: shown.inclusion?.map(\.bytes), consistency: shown.consistency?.map(\.bytes))
    }
}

/// The tree of logs as one snapshot has it, with proofs about it.
private struct ShownTree: Sendable {
    let edge: TreeEdge
    let index: UInt64?
    let inclusion: [Digest]?
    let consistency: [Digest]?

    /// Returns nil if the statement is not in the tree yet.
    /// - Throws: `ServerError.treeIsSmaller` if the client has seen a larger one.
    init?(showing leaf: TreeLeaf?, since seen: UInt64?, in database: DatabaseID, _ transaction: any ReadTransaction) throws {
        edge = try transaction.treeEdge(in: database)
        var inclusionProof: TreeProof?
        if let leaf {
            let key = TreeEntries.place(of: leaf, in: database)
            guard let row = try transaction.entries(in: database, .treePlace, keys: [key.key]).first else { return nil }
            let place = try TreePlace(row)
            guard let proof = TreeProof(of: place.index, in: edge.size) else { throw StoreError.treeIsCorrupt }
            (index, inclusionProof) = (place.index, proof)
        } else {
            index = nil
        }
        var consistencyProof: TreeProof?
        if let seen {
            guard let proof = TreeProof(from: seen, to: edge.size) else { throw ServerError.treeIsSmaller }
            consistencyProof = proof
        }
        let names = Set((inclusionProof?.nodes ?? []) + (consistencyProof?.nodes ?? []))
        var nodes: [String: Digest] = [:]
        for row in try transaction.entries(in: database, .treeNode, keys: names.sorted()) { nodes[row.key.key] = Digest(row.value) }
        func digests(_ proof: TreeProof?) throws -> [Digest]? {
            guard let proof else { return nil }
            guard let digests = proof.digests(nodes) else { throw StoreError.treeIsCorrupt }
            return digests
        }
        inclusion = try digests(inclusionProof)
        consistency = try digests(consistencyProof)
    }
}

extension ReadTransaction {
    /// Returns the edge of a tree of logs, as its row keeps it.
    fileprivate func treeEdge(in database: DatabaseID) throws -> TreeEdge {
        let key = TreeEntries.edge(in: database)
        guard let row = try entries(in: database, .treeEdge, keys: [key.key]).first else { return TreeEdge() }
        return try TreeEdge(row)
    }

    /// Returns the last leaves that are not in the tree yet. Each leaf before one that is there is there too.
    fileprivate func missing(_ leaves: [TreeLeaf], in database: DatabaseID) throws -> ArraySlice<TreeLeaf> {
        var missing = leaves.suffix(0)
        // Nearly always the last one alone is missing.
        for count in [2, leaves.count] {
            let last = leaves.suffix(count)
            let keys = last.map { TreeEntries.place(of: $0, in: database).key }
            let found = Set(try entries(in: database, .treePlace, keys: keys).map(\.key.key))
            missing = leaves.suffix(zip(last, keys).reversed().prefix { !found.contains($0.1) }.count)
            if missing.count < last.count || last.count == leaves.count { break }
        }
        return missing
    }

    /// Returns a kept statement as the tree has it.
    func leaf(of row: EntryRow) throws -> TreeLeaf {
        let statement: KeyStatement = try row.form()
        guard statement.number > 0 else { return TreeLeaf(fingerprint: statement.hash, number: 0, hash: statement.hash) }
        // The log's first statement is as many places before it as its number says.
        let database = row.key.database
        guard let place = UInt64(row.key.key, radix: 16), place >= statement.number, let first = Int(exactly: place - statement.number),
            let begin = try entries(in: database, .keyStatement, keys: [KeyEntries.statement(at: first, in: database).key]).first
        else { throw StoreError(.corrupt, "A kept log of keys has no beginning", ["key": row.key.key]) }
        return TreeLeaf(fingerprint: Digest(of: begin.value), number: statement.number, hash: statement.hash)
    }
}

/// The place of a statement in the tree of logs, as its row keeps it.
private struct TreePlace {
    let index: UInt64

    init(index: UInt64) { self.index = index }

    init(_ row: EntryRow) throws(StoreError) {
        var reader = ByteReader(row.value)
        guard let index = try? reader.number(), reader.isAtEnd else { throw .treeIsCorrupt }
        self.index = index
    }

    func row(_ key: EntryKey) -> EntryRow {
        var writer = ByteWriter()
        writer.number(index)
        return EntryRow(key: key, value: writer.bytes)
    }
}

extension TreeEdge {
    fileprivate init(_ row: EntryRow) throws(StoreError) {
        var reader = ByteReader(row.value)
        do {
            let size = try reader.number()
            var digests: [Digest] = []
            while !reader.isAtEnd {
                guard let digest = Digest(try reader.block()) else { throw MalformedBytes() }
                digests.append(digest)
            }
            guard let edge = TreeEdge(size: size, digests: digests) else { throw MalformedBytes() }
            self = edge
        } catch {
            throw .treeIsCorrupt
        }
    }

    fileprivate func row(_ key: EntryKey) -> EntryRow {
        var writer = ByteWriter()
        writer.number(size)
        for digest in digests { writer.block(digest.bytes) }
        return EntryRow(key: key, value: writer.bytes)
    }
}

extension StoreError {
    fileprivate static var treeIsCorrupt: StoreError { StoreError(.corrupt, "A kept tree of logs is malformed") }
}
