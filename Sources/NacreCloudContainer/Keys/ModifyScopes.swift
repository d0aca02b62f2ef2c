package import NacreCloudAccounts
import NacreCloudStorage
package import NacreCloudWire
import NacreEncryptionForms

extension Cloud {
    /// Manifests on a page: a megabyte of the largest.
    private static let manifestsPerPage = 30

    /// `keys/scopes/modify`: adds a manifest to a scope of a zone. A repeated request finds its manifest as the
    /// newest, and is answered as before.
    ///
    /// The manifest is verified against the caller's log on a snapshot. The transaction then writes only if neither it
    /// nor the scope has moved.
    package func modifyScope(
        _ request: KeysScopesModifyRequest, in target: DatabaseTarget, by caller: Caller
    ) async throws -> KeysScopesModifyResponse {
        let (database, account) = try await keyDatabase(target, by: caller)
        let zone = try database.zone(request.zoneID)
        let addition = try ScopeAddition(request)
        guard let place = Place(owner: account, zone: zone.name) else { throw ServerError.zoneNotFound(request.zoneID) }
        let (newZone, now) = (Int64(bitPattern: random() >> 1), clock())
        return try await stored(of: database.key, zone: request.zoneID) {
            let (statements, address, last) = try await self.store.read { transaction -> ([KeyStatement], ZoneAddress?, ScopeManifest?) in
                let address = try zone.find(transaction)?.address
                return (
                    try transaction.keyStatements(in: database.id), address,
                    try address.flatMap { try transaction.newestManifest(before: addition, in: $0) }
                )
            }
            if let last, last == addition.manifest { return KeysScopesModifyResponse() }
            WorkMeter.current?.add(rows: statements.count)
            let log = try await withTaskExecutorPreference(process.longWork) { try await Self.newestLog(of: statements) }
            guard let log else { throw ServerError.noKeys }
            if let fault = addition.fault(at: now) ?? addition.fault(over: last, at: place, by: log) { throw fault }
            try await self.store.write { transaction in
                // Saves of encrypted values lock the zone, and look at its newest manifest.
                _ = try transaction.lock(zoneNamed: zone.name, in: database.id)
                // The lock keeps statements and manifests apart. A statement after these may have removed the signer.
                let next = KeyEntries.statement(at: statements.count, in: database.id)
                let advance = try transaction.lock(zoneNamed: nil, in: database.id, operation: nil, entries: [next])
                let found = try zone.find(transaction)?.address
                guard advance.entries.isEmpty, found == address,
                    try found.flatMap({ try transaction.newestManifest(before: addition, in: $0) }) == last
                else {
                    throw ServerError.manifestRefused(.notNext(number: addition.manifest.parts.number))
                }
                if last == nil, addition.share != nil, let found, try transaction.hasAllScopesOfShares(in: found) {
                    throw ServerError.tooManyScopes
                }
                var plan = WritePlan()
                let place = found ?? ZoneAddress(database: database.id, zone: newZone)
                if found == nil {
                    // A default zone in which nothing was saved yet.
                    plan.zones = [ZoneRow(address: place, name: zone.name, run: advance.run, lastSeq: advance.database?.lastSeq ?? 0)]
                }
                try plan.put(addition, after: last, over: transaction.linkRows(of: KnownScope(addition.manifest), in: place), in: place)
                try transaction.apply(plan)
                return .commit(())
            }
            return KeysScopesModifyResponse()
        }
    }

    private static func newestLog(of statements: [KeyStatement]) async throws -> KeyLog? { try AccountKeys(stored: statements).log }

    /// `keys/scopes/list`: a page of the manifests of a scope of a zone, the newest first. Users with whom the zone is
    /// shared as a whole read its own scope in the shared database, and those who take part in a share of records the
    /// scope of that. They get the key that is sealed for them alone.
    package func listScope(
        _ request: KeysScopesListRequest, in target: DatabaseTarget, by caller: Caller
    ) async throws -> KeysScopesListResponse {
        let zone = try await scopedZone(request.zoneID, target, by: caller)
        let key = zone.database.key
        if let before = request.before, before < 0 { throw ServerError.badValue("before", "invalid number", remedy: "Numbers begin at 0.") }
        let answer = try await stored(of: key, zone: request.zoneID) {
            try await self.store.read { transaction -> KeysScopesListResponse in
                guard let found = try zone.find(transaction), let newest = try transaction.newestManifest(asked: request, by: found)
                else { return KeysScopesListResponse(manifests: []) }
                let (address, scope) = (found.address, KnownScope(newest))
                let prefix = ScopeEntries.prefix(of: scope, in: address)
                let after = request.before.map { ScopeEntries.manifest(UInt64($0), of: scope, in: address).key } ?? prefix
                let rows = try transaction.entries(in: address.database, .scopeManifest, after: after, limit: Self.manifestsPerPage + 1)
                    .filter { $0.key.key.hasPrefix(prefix) }
                let page = rows.prefix(Self.manifestsPerPage).map(\.value)
                guard request.before == nil else { return KeysScopesListResponse(manifests: page, moreComing: page.count < rows.count) }
                let links = try transaction.shownLinks(in: found, of: scope)
                let own = newest.wrap(for: found.membership, in: address)
                let isOfScope = { (row: EntryRow) in row.key.key.hasPrefix(prefix) }
                return KeysScopesListResponse(
                    manifests: page, moreComing: page.count < rows.count,
                    wraps: try transaction.everyEntry(.scopeKeyWrap, of: address) { isOfScope($0) && own($0) }.map(\.value) + links.wraps,
                    olderKeys: try transaction.everyEntry(.olderScopeKey, of: address, where: isOfScope).map(\.value), links: links.links,
                    joinings: links.joinings)
            }
        }
        let keys = [answer.wraps?.count, answer.olderKeys?.count, answer.links?.count, answer.joinings?.count].compactMap(\.self)
        WorkMeter.current?.add(rows: keys.reduce(answer.manifests.count, +))
        return answer
    }

    /// Returns a zone whose scope a request names: the caller's own, or in the shared database one of another user.
    func scopedZone(_ zoneID: ZoneID, _ target: DatabaseTarget, by caller: Caller) async throws -> RequestedZone {
        if let fault = scopesVerdict(target, by: caller) { throw fault }
        return try await database(holding: zoneID, target, for: .read, by: caller).zone(zoneID)
    }
}

extension ReadTransaction {
    /// Returns the newest manifest of the scope to which another one is to be added; nil if the scope begins with it.
    fileprivate func newestManifest(before addition: ScopeAddition, in zone: ZoneAddress) throws -> ScopeManifest? {
        let isOfShare = !addition.manifest.parts.root.isEmpty
        if isOfShare, addition.share == nil { return try newestManifest(of: KnownScope(addition.manifest), in: zone) }
        return try newestManifest(ofShare: isOfShare ? addition.share : nil, in: zone)
    }

    /// Returns the newest manifest of the scope that a request asks for; nil if there is none that the caller may read.
    fileprivate func newestManifest(asked request: KeysScopesListRequest, by found: ResolvedZone) throws -> ScopeManifest? {
        let zone = found.address
        let asked = request.scope.flatMap(ScopeID.init)
        if request.scope == nil, request.share == nil { return found.membership.seesAll ? try newestManifest(of: zone) : nil }
        switch found.membership {
        case .participant: return nil
        case .owner:
            if let asked { return try newestManifest(of: KnownScope(asked, isOfShare: true), in: zone) }
            return try request.share.flatMap { try newestManifest(ofShare: $0, in: zone) }
        case .guest(_, let shares):
            let scopes = try scopes(ofShares: Set(try sharesOfRecords(by: Set(shares.keys), in: zone).values), in: zone)
            let id = request.scope == nil ? request.share.flatMap { scopes[$0] } : scopes.values.first { $0 == asked }
            return try id.flatMap { try newestManifest(of: KnownScope($0, isOfShare: true), in: zone) }
        }
    }
}

extension ScopeManifest {
    /// Returns the test for the entries with the scope's key that a member of the zone is shown: all for its owner,
    /// and otherwise the one for the account that this manifest has for the user.
    fileprivate func wrap(for membership: ZoneMembership, in zone: ZoneAddress) -> (EntryRow) -> Bool {
        let user: String
        switch membership {
        case .owner: return { _ in true }
        case .participant(let name, _), .guest(let name, _): user = name
        }
        let account = parts.participants.first { $0.user.utf8.elementsEqual(user.utf8) }?.fingerprint
        let key = account.map { ScopeEntries.wrap(for: $0, of: KnownScope(self), in: zone) }
        return { $0.key == key }
    }
}

extension ScopeAddition {
    /// Manifests of a scope, which clients verify from the first on. They count in no quota, so there are few: one for
    /// each change of participants, each removed device and each replaced recovery key.
    static let manifestsPerScope = 500

    /// Reads the forms of a request.
    init(_ request: KeysScopesModifyRequest) throws(ServerError) {
        guard request.manifest.count <= Limits.scopeManifestBytes else { throw .scopeManifestTooLarge }
        guard request.wraps.count <= Limits.participantsPerShare else {
            throw .tooManyItems(request.wraps.count, limit: Limits.participantsPerShare, field: "wraps")
        }
        manifest = try .init(of: request.manifest, in: "manifest")
        guard manifest.parts.number < Self.manifestsPerScope else { throw .tooManyManifests }
        share = request.share
        if let share, let fault = Names.recordNameFault(share, field: "share") { throw fault }
        if share != nil, let fault = Names.recordNameFault(manifest.parts.root, field: "manifest") { throw fault }
        var wraps: [KeyWrap] = []
        for bytes in request.wraps { wraps.append(try .init(of: bytes, in: "wraps")) }
        self.wraps = wraps
        olderKey = if let bytes = request.olderKey { try .init(of: bytes, in: "olderKey") } else { nil }
        links = try request.links.map { links throws(ServerError) in try LinkRow.rows(links) }
    }
}
