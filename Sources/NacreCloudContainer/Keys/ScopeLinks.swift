package import NacreCloudAccounts
import NacreCloudStorage
package import NacreCloudWire
package import NacreEncryptionForms

/// A link of a scope that is to be kept.
package struct LinkRow: Hashable, Sendable {
    /// The ID of the participant whose one-time link it is; empty for the share's own link.
    package let name: String
    /// The scope's key, sealed under the link's secret.
    let key: NacreEncryptionForms.SealedValue
    /// That secret, sealed under the scope's key.
    let secret: NacreEncryptionForms.SealedValue

    /// The most links of a scope: the share's own, and one for each participant.
    static let most = Limits.participantsPerShare + 1

    /// Reads the links of a request.
    static func rows(_ links: [ScopeLink]) throws(ServerError) -> [LinkRow] {
        guard links.count <= most else { throw .tooManyItems(links.count, limit: most, field: "links") }
        var rows: [LinkRow] = []
        for link in links { rows.append(try LinkRow(link)) }
        return rows
    }

    private init(_ link: ScopeLink) throws(ServerError) {
        if let name = link.participantID, !Names.isName(name) { throw .linksRefused("The ID of a participant is no name.") }
        guard let secret = link.secret else { throw .linksRefused("Each has its secret, sealed under the scope's key.") }
        name = link.participantID ?? ""
        key = try .init(of: link.key, in: "links")
        self.secret = try .init(of: secret, in: "links")
    }
}

extension ScopeAddition {
    /// Returns the error of the links; nil if they are to be kept. A scope has a link of its share if, and only if, its
    /// manifest gives that one a permission.
    func fault(ofLinksOver last: ScopeManifest?) -> ServerError? {
        let parts = manifest.parts
        guard let links else {
            let isSame = last.map { $0.parts.version == parts.version && $0.parts.linkPermission == parts.linkPermission } ?? false
            return isSame || parts.linkPermission == .none
                ? nil : .linksRefused("A new key, and another permission of the share's link, come with the link.")
        }
        guard Set(links.map(\.name)).count == links.count else { return .linksRefused("Each participant has one link.") }
        guard links.allSatisfy({ $0.key.kind == .link && $0.secret.kind == .linkSecret }),
            links.allSatisfy({ $0.key.keyID == parts.keyID && $0.secret.keyID == parts.keyID })
        else { return .linksRefused("Each has the newest key under its secret, and its secret under that key.") }
        guard links.contains(where: \.name.isEmpty) == (parts.linkPermission != .none) else {
            return .linksRefused("The share has a link if the manifest gives one a permission.")
        }
        return nil
    }
}

/// The word of a user who came by a link, with the key that the link has opened, sealed for the user's account.
package struct JoiningRow: Hashable, Sendable {
    package let joining: Joining
    package let wrap: KeyWrap

    package init(_ request: KeysScopesJoinRequest) throws(ServerError) {
        joining = try .init(of: request.joining, in: "joining")
        wrap = try .init(of: request.wrap, in: "wrap")
    }

    /// Returns the error of a word that is not to be kept. The owner's devices alone can verify its code.
    /// - Parameters:
    ///   - newest: the newest manifest of the scope.
    ///   - links: the names of the scope's links.
    ///   - user: the caller, who takes part.
    ///   - participant: the ID of the caller's participant.
    package func fault(in newest: ScopeManifest, links: Set<String>, of user: String, as participant: String) -> ServerError? {
        let parts = joining.parts
        guard parts.place == newest.parts.place, parts.user.utf8.elementsEqual(user.utf8) else {
            return .joiningRefused("It names the zone, and the user who sends it.")
        }
        guard wrap.recipient == parts.fingerprint, wrap.subject == .scopeKey(parts.keyID) else {
            return .joiningRefused("The wrap is of the key and for the account that it names.")
        }
        guard newest.parts.participant(parts.fingerprint) == nil else { return .joiningRefused("The account has the key already.") }
        guard parts.keyID == newest.parts.keyID, links.contains(parts.link), parts.link.isEmpty || parts.link == participant else {
            return .linkHasOtherKey
        }
        return nil
    }
}

extension ScopeEntries {
    /// Returns the key of a link.
    fileprivate static func link(_ name: String, of scope: KnownScope, in zone: ZoneAddress) -> EntryKey {
        EntryKey(zone.database, .scopeLink, prefix(of: scope, in: zone) + HexText.encode(Digest(of: Array(name.utf8)).bytes))
    }

    /// Returns the key of the word of a user who came by a link.
    fileprivate static func joining(of user: String, of scope: KnownScope, in zone: ZoneAddress) -> EntryKey {
        EntryKey(zone.database, .scopeJoining, prefix(of: scope, in: zone) + HexText.encode(Digest(of: Array(user.utf8)).bytes))
    }
}

extension LinkRow {
    fileprivate func row(of scope: KnownScope, in zone: ZoneAddress) -> EntryRow {
        var writer = ByteWriter()
        writer.string(name)
        writer.block(key.bytes)
        writer.block(secret.bytes)
        return EntryRow(key: ScopeEntries.link(name, of: scope, in: zone), value: writer.bytes)
    }

    fileprivate init(_ row: EntryRow) throws {
        (name, key, secret) = try row.read { reader in
            (try reader.string(), try .init(try reader.block()), try .init(try reader.block()))
        }
    }
}

extension JoiningRow {
    fileprivate func row(of scope: KnownScope, in zone: ZoneAddress) -> EntryRow {
        var writer = ByteWriter()
        writer.block(joining.bytes)
        writer.block(wrap.bytes)
        return EntryRow(key: ScopeEntries.joining(of: joining.parts.user, of: scope, in: zone), value: writer.bytes)
    }

    fileprivate init(_ row: EntryRow) throws {
        (joining, wrap) = try row.read { reader in (try .init(try reader.block()), try .init(try reader.block())) }
    }
}

extension EntryRow {
    /// Reads the forms of a row.
    fileprivate func read<Value>(_ body: (inout ByteReader) throws -> Value) throws -> Value {
        var reader = ByteReader(value)
        do {
            return try body(&reader)
        } catch {
            throw StoreError(.corrupt, "A kept link of a scope is malformed", ["key": key.key, "fault": "\(error)"])
        }
    }
}

/// The links of a scope that a member of its zone is shown.
struct ShownLinks {
    var links: [ScopeLink]?
    var joinings: [[UInt8]]?
    /// The keys that links have opened, sealed for the member's account.
    var wraps: [[UInt8]] = []
}

extension ReadTransaction {
    /// Returns the rows of the links of a scope, and of who came by them. Costs two calls of the store.
    func linkRows(of scope: KnownScope, in zone: ZoneAddress) throws -> [EntryRow] {
        let prefix = ScopeEntries.prefix(of: scope, in: zone)
        return try [EntryKind.scopeLink, .scopeJoining].flatMap { kind in
            try everyEntry(kind, of: zone) { $0.key.key.hasPrefix(prefix) }
        }
    }

    /// Returns the links that a member is shown: all for the owner, with who came by them; for a participant the
    /// share's own, and the key of the participant's one-time link. Costs two calls of the store, and another one in
    /// zones of others.
    func shownLinks(in zone: ResolvedZone, of scope: KnownScope) throws -> ShownLinks {
        let rows = try linkRows(of: scope, in: zone.address)
        guard !rows.isEmpty else { return ShownLinks() }
        let links = try rows.filter { $0.key.kind == .scopeLink }.map(LinkRow.init)
        let joinings = try rows.filter { $0.key.kind == .scopeJoining }.map(JoiningRow.init)
        guard case .participant(let user, _) = zone.membership else {
            guard case .owner = zone.membership else { return ShownLinks() }
            return ShownLinks(links: links.map { $0.shown(withSecret: true) }, joinings: joinings.map(\.joining.bytes))
        }
        let own = try zoneShare(in: zone.address)?.content.sharing?.participants.first { $0.user == user && $0.isAccepted }
        return ShownLinks(
            links: links.filter { $0.name.isEmpty || $0.name == own?.id }.map { $0.shown(withSecret: $0.name.isEmpty) },
            wraps: joinings.filter { $0.joining.parts.user.utf8.elementsEqual(user.utf8) }.map(\.wrap.bytes))
    }
}

extension LinkRow {
    fileprivate func shown(withSecret: Bool) -> ScopeLink {
        ScopeLink(participantID: name.isEmpty ? nil : name, key: key.bytes, secret: withSecret ? secret.bytes : nil)
    }
}

extension WritePlan {
    /// Keeps the links of a manifest, and ends those that open an older key, with who came by them.
    /// - Parameter rows: the rows of the scope's links and of who came by them.
    mutating func putLinks(
        of addition: ScopeAddition, after last: ScopeManifest?, over rows: [EntryRow], in zone: ZoneAddress
    ) throws {
        let parts = addition.manifest.parts
        let isNewKey = last.map { $0.parts.version < parts.version } ?? true
        let kept = (addition.links ?? []).map { $0.row(of: KnownScope(addition.manifest), in: zone) }
        entries += kept
        let keys = Set(kept.map(\.key))
        for row in rows where !keys.contains(row.key) {
            let isOver =
                switch row.key.kind {
                case .scopeLink: isNewKey || addition.links != nil
                // A user who is in the manifest has a wrap by the owner.
                default: isNewKey ? true : parts.readers.contains(try JoiningRow(row).joining.parts.fingerprint)
                }
            if isOver { entriesRemoved.append(row.key) }
        }
    }
}

extension Cloud {
    /// `keys/scopes/join`: keeps the key that a link has opened, sealed for the account of the caller, and the word by
    /// which the owner's devices take the account into the next manifest. A one-time link serves one user. A repeated
    /// request finds its word, and is answered as before.
    ///
    /// The caller takes part by the share of the whole zone. So there are at most as many words as participants: those
    /// of users who left go. Costs seven calls of the store.
    package func joinScope(
        _ request: KeysScopesJoinRequest, in target: DatabaseTarget, by caller: Caller
    ) async throws -> KeysScopesJoinResponse {
        let zone = try await scopedZone(request.zoneID, target, by: caller)
        let addition = try JoiningRow(request)
        return try await stored(of: zone.database.key, zone: request.zoneID) {
            try await self.store.write { transaction in
                _ = try transaction.lock(zoneNamed: zone.name, in: zone.database.id)
                guard let found = try zone.find(transaction), case .participant(let user, _) = found.membership,
                    let people = try transaction.zoneShare(in: found.address)?.content.sharing?.participants.filter(\.isAccepted),
                    let own = people.first(where: { $0.user == user })
                else { throw ServerError.joiningRefused("It is for a zone that another user shares with the caller as a whole.") }
                guard let newest = try transaction.newestManifest(of: found.address) else { throw ServerError.linkHasOtherKey }
                let (scope, address) = (KnownScope(newest), found.address)
                let rows = try transaction.linkRows(of: scope, in: address)
                let row = addition.row(of: scope, in: address)
                // Another wrap of the same key is as good.
                if let known = rows.first(where: { $0.key == row.key }), try JoiningRow(known).joining == addition.joining { return .commit(()) }
                let links = try rows.filter { $0.key.kind == .scopeLink }.map(LinkRow.init)
                if let fault = addition.fault(in: newest, links: Set(links.map(\.name)), of: user, as: own.id) { throw fault }
                var plan = WritePlan()
                plan.entries = [row]
                let link = addition.joining.parts.link
                // The owner's devices need the secret to verify the word: a one-time link stays for them until the next
                // manifest, and serves nobody else.
                let others = try rows.filter { $0.key.kind == .scopeJoining && $0.key != row.key }.map(JoiningRow.init)
                guard link.isEmpty || !others.contains(where: { $0.joining.parts.link == link }) else { throw ServerError.linkHasOtherKey }
                let users = Set(people.compactMap(\.user))
                plan.entriesRemoved += try rows.filter { $0.key.kind == .scopeJoining && $0.key != row.key }.filter {
                    !users.contains(try JoiningRow($0).joining.parts.user)
                }.map(\.key)
                try transaction.apply(plan)
                return .commit(())
            }
            return KeysScopesJoinResponse()
        }
    }
}
