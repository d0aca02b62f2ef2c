import NacreCloudServerWire
import NacreCloudWire
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
    /// The account key by the device that it is sealed for.
    private(set) var accountWraps: [KeyWrap.Subject: [UInt8]] = [:]
    private(set) var olderAccountKeys: [[UInt8]] = []
    /// The scopes by the names of their zones.
    var scopes: [String: Scope] = [:]

    mutating func answer(to path: String, _ body: [UInt8]) throws(ServerError) -> [UInt8] {
        let form = AnswerForm(details: true)
        switch path {
        case "keys/append": return try append(KeysAppendRequest(json: body)).json(form)
        case "keys/log": return log(try KeysLogRequest(json: body)).json(form)
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

    private func log(_ request: KeysLogRequest) -> KeysLogResponse {
        let page = statements.dropFirst(request.after.map { $0 + 1 } ?? 0).prefix(Self.pageSize)
        let isLast = page.endIndex == statements.endIndex
        return KeysLogResponse(
            statements: Array(page), moreComing: !isLast, wraps: isLast ? Array(accountWraps.values) : nil,
            olderKeys: isLast ? olderAccountKeys : nil)
    }

    /// A page has few, so that tests have several.
    private static let pageSize = 2

    private mutating func modify(_ request: KeysScopesModifyRequest) throws(ServerError) -> KeysScopesModifyResponse {
        var scope = scopes[request.zoneID.zoneName] ?? Scope()
        if scope.manifests.last == request.manifest { return KeysScopesModifyResponse() }
        guard let manifest = try? ScopeManifest(request.manifest) else { throw ServerError(.badRequest, "not a form") }
        guard manifest.parts.number == UInt64(scope.manifests.count), manifest.parts.before == scope.manifests.last.map(Digest.init(of:)) ?? .none
        else { throw Self.conflict }
        scope.manifests.append(request.manifest)
        if !request.wraps.isEmpty { scope.wraps = request.wraps }
        if let older = request.olderKey { scope.olderKeys.append(older) }
        scopes[request.zoneID.zoneName] = scope
        return KeysScopesModifyResponse()
    }

    private func list(_ request: KeysScopesListRequest) -> KeysScopesListResponse {
        guard let scope = scopes[request.zoneID.zoneName] else { return KeysScopesListResponse(manifests: []) }
        let older = scope.manifests.prefix(request.before ?? scope.manifests.count)
        let page = older.suffix(Self.pageSize)
        return KeysScopesListResponse(
            manifests: page.reversed(), moreComing: page.count < older.count, wraps: request.before == nil ? scope.wraps : nil,
            olderKeys: request.before == nil ? scope.olderKeys : nil)
    }
}
