import NacreCloudServerWire
import NacreCloudTestSupport
import NacreCloudWire
import NacreCrypto
import NacreEncryptionForms

/// The keys of one user on a server that keeps what devices send, in their order, and verifies nothing else. A test can
/// change what it shows.
struct PretendKeys: Sendable {
    struct Scope: Sendable {
        /// The oldest first.
        var manifests: [[UInt8]] = []
        var wraps: [[UInt8]] = []
        var olderKeys: [[UInt8]] = []
    }

    var statements: [[UInt8]] = []
    /// The statements of other users, by the names of their records.
    var others: [String: [[UInt8]]] = [:]
    /// The account key by the device that it is sealed for.
    var accountWraps: [KeyWrap.Subject: [UInt8]] = [:]
    private(set) var olderAccountKeys: [[UInt8]] = []
    /// The scopes by the names of their zones.
    var scopes: [String: Scope] = [:]
    /// The names of the scopes of shares of records among these, by zone and share.
    private var shares: [String: String] = [:]
    /// The entries of the tree of logs. A log that is read enters it, as far as it is not there.
    var tree: [[UInt8]] = []
    var entersLogs = true
    /// The name of the key that signs the tree.
    var treeKey = "server"

    /// Shows what another server has, in this one's tree of logs.
    mutating func show(_ other: PretendKeys) {
        let (tree, entersLogs, treeKey) = (tree, entersLogs, treeKey)
        self = other
        (self.tree, self.entersLogs, self.treeKey) = (tree, entersLogs, treeKey)
    }

    mutating func answer(to path: String, _ body: [UInt8]) throws(ServerError) -> [UInt8] {
        let form = AnswerForm(details: true)
        switch path {
        case "keys/append": return try append(KeysAppendRequest(json: body)).json(form)
        case "keys/log": return try log(try KeysLogRequest(json: body)).json(form)
        case "scopes/modify": return try modify(KeysScopesModifyRequest(json: body)).json(form)
        default: return list(try KeysScopesListRequest(json: body)).json(form)
        }
    }

    private static let conflict = ServerError(.conflict, "it does not follow the newest one")

    private mutating func append(_ request: KeysAppendRequest) throws(ServerError) -> KeysAppendResponse {
        if statements.last == request.statement { return KeysAppendResponse(place: statements.count - 1) }
        let statement: KeyStatement
        let last: KeyStatement?
        let wraps: [KeyWrap]
        do {
            statement = try KeyStatement(request.statement)
            last = try statements.last.map { try KeyStatement($0) }
            wraps = try request.wraps.map { try KeyWrap($0) }
        } catch {
            throw ServerError(.badRequest, "not a form")
        }
        let isBeginning = if case .begin = statement.action { true } else { false }
        let hasEnded = if case .reset? = last?.action { true } else { last == nil }
        let follows = last.map { statement.number == $0.number + 1 && statement.before == $0.hash } ?? false
        guard isBeginning ? hasEnded : follows && !hasEnded else { throw Self.conflict }
        if isBeginning { (accountWraps, olderAccountKeys) = ([:], []) }
        statements.append(request.statement)
        for wrap in wraps { accountWraps[wrap.subject] = wrap.bytes }
        if let older = request.olderKey { olderAccountKeys.append(older) }
        return KeysAppendResponse(place: statements.count - 1)
    }

    private mutating func log(_ request: KeysLogRequest) throws(ServerError) -> KeysLogResponse {
        let isOwn = request.user == nil
        let statements = request.user.map { others[$0] ?? [] } ?? statements
        let page = statements.dropFirst(request.after.map { $0 + 1 } ?? 0).prefix(Self.pageSize)
        let isLast = page.endIndex == statements.endIndex
        return KeysLogResponse(
            statements: Array(page), moreComing: !isLast, wraps: isLast && isOwn ? Array(accountWraps.values) : nil,
            olderKeys: isLast && isOwn ? olderAccountKeys : nil,
            tree: try shownTree(of: statements, with: page.last, since: request.treeSize))
    }

    private mutating func shownTree(of statements: [[UInt8]], with newest: [UInt8]?, since seen: Int?) throws(ServerError) -> KeysLogResponse.Tree {
        let entries = Self.entries(of: statements)
        if entersLogs { tree += entries.filter { !tree.contains($0) } }
        let merkle = MerkleTree(tree)
        if let seen, seen > merkle.size { throw ServerError(.badRequest, ServerError.treeIsSmallerReason) }
        let entry = newest.flatMap { newest in statements.firstIndex(of: newest) }.map { entries[$0] }
        let index = entry.flatMap { entry in tree.firstIndex(of: entry) }
        do {
            let key = try KeyringDevice(treeKey)
            let head = try TreeHead(
                container: "iCloud.test", environment: "development", head: merkle.head, stamp: 1_000, sign: key.sign)
            return KeysLogResponse.Tree(
                head: head?.bytes ?? [], serverKey: key.publicKeys.signing.bytes, index: index,
                inclusion: index.flatMap { merkle.inclusionProof(of: $0, in: merkle.size) },
                consistency: seen.flatMap { merkle.consistencyProof(from: $0, to: merkle.size) })
        } catch {
            throw ServerError(.badRequest, "not a form")
        }
    }

    private static func entries(of statements: [[UInt8]]) -> [[UInt8]] {
        var fingerprint = Digest.none
        return statements.map { bytes in
            let number = (try? KeyStatement(bytes))?.number ?? 0
            if number == 0 { fingerprint = Digest(of: bytes) }
            return TreeOfLogs.entry(fingerprint: fingerprint, number: number, hash: Digest(of: bytes))
        }
    }

    /// A page has few, so that tests have several.
    private static let pageSize = 2

    private mutating func modify(_ request: KeysScopesModifyRequest) throws(ServerError) -> KeysScopesModifyResponse {
        guard let manifest = try? ScopeManifest(request.manifest) else { throw ServerError(.badRequest, "not a form") }
        let zone = request.zoneID.zoneName
        let name = manifest.parts.root.isEmpty ? zone : "\(zone)\n\(Hex.encode(manifest.parts.scope.bytes))"
        var scope = scopes[name] ?? Scope()
        if scope.manifests.last == request.manifest { return KeysScopesModifyResponse() }
        guard manifest.parts.number == UInt64(scope.manifests.count), manifest.parts.before == scope.manifests.last.map(Digest.init(of:)) ?? .none
        else { throw Self.conflict }
        scope.manifests.append(request.manifest)
        if !request.wraps.isEmpty { scope.wraps = request.wraps }
        if let older = request.olderKey { scope.olderKeys.append(older) }
        scopes[name] = scope
        if let share = request.share { shares["\(zone)\n\(share)"] = name }
        return KeysScopesModifyResponse()
    }

    private func list(_ request: KeysScopesListRequest) -> KeysScopesListResponse {
        let zone = request.zoneID.zoneName
        let ofShare = request.share.map { shares["\(zone)\n\($0)"] ?? "" } ?? request.scope.map { "\(zone)\n\(Hex.encode($0))" }
        guard let scope = scopes[ofShare ?? zone] else { return KeysScopesListResponse(manifests: []) }
        let older = scope.manifests.prefix(request.before ?? scope.manifests.count)
        let page = older.suffix(Self.pageSize)
        return KeysScopesListResponse(
            manifests: page.reversed(), moreComing: page.count < older.count, wraps: request.before == nil ? scope.wraps : nil,
            olderKeys: request.before == nil ? scope.olderKeys : nil)
    }
}
