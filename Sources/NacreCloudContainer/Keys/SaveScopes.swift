import NacreCloudStorage
import NacreCloudWire
import NacreEncryptionForms

/// The scopes of a zone for which the saves of a request may be sealed.
struct SaveScopes: Sendable {
    /// The zone's own scope; nil: it has none.
    private(set) var zone: ScopeID?
    /// The newest version of the key of each scope that is known.
    private(set) var newest: [ScopeID: UInt32] = [:]
    /// The scopes of the shares of records whose views saved records are in; nil within: the share has none.
    var ofViews: [FeedView: ScopeID?] = [:]

    init() {}

    /// - Parameter zone: the newest manifest of the zone's own scope.
    init(zone: ScopeManifest?) {
        if let zone { add(zone) }
        self.zone = zone?.parts.scope
    }

    mutating func add(_ manifest: ScopeManifest) { newest[manifest.parts.scope] = manifest.parts.version }

    /// Returns the error of a record that is sealed for another scope than that of its place: the share that shows it,
    /// if that has a scope, and otherwise the zone.
    /// - Parameter view: the view of the share that shows the record after the save; nil: no share does.
    func fault(sealing scope: ScopeID, in view: FeedView?) -> ServerError? {
        let ofShare = view.flatMap { ofViews[$0] ?? nil }
        return scope == ofShare ?? zone ? nil : .otherScope("nacre.manifest", isShared: ofShare != nil)
    }
}

extension ModifyBatch {
    /// Returns the new manifest that an item brings, if it is saved; nil: it brings none, or the one that is stored.
    private func newManifest(at index: Int) -> SentManifest? {
        guard case .save(let save) = verdicts[index], let sent = items[index].manifest else { return nil }
        let live = save.over.flatMap { $0.isLive ? $0 : nil }
        return sent.bytes == live?.content.manifest ? nil : sent
    }

    /// The views of shares of records whose scopes the batch is still to be held against.
    var viewsWithoutScopes: Set<FeedView> {
        Set(items.indices.compactMap { newManifest(at: $0) == nil ? nil : position(of: items[$0].name).view }).subtracting(scopes.ofViews.keys)
    }

    /// Returns why an item may not be sealed as it is; nil: it may, or is not sealed anew.
    func faultOfScope(at index: Int) -> ServerError? {
        guard let sent = newManifest(at: index) else { return nil }
        return scopes.fault(sealing: sent.form.parts.keyID.scope, in: position(of: items[index].name).view)
    }

    /// Reads the scopes of the shares in which sealed records of the batch are. Costs two calls of the store where
    /// there are such records, and none otherwise.
    mutating func loadScopes(in zone: ZoneAddress, _ transaction: any ReadTransaction) throws {
        let views = viewsWithoutScopes
        guard !views.isEmpty else { return }
        var shares = try transaction.sharesOfRecords(by: views, in: zone)
        for made in newShares.values { if let view = made.view, let share = made.share, views.contains(view) { shares[view] = share } }
        let found = try transaction.scopes(ofShares: Set(shares.values), in: zone)
        for view in views { scopes.ofViews[view] = .some(shares[view].flatMap { found[$0] }) }
    }
}

extension ReadTransaction {
    /// Returns the names of the shares of records to which views belong. Costs a call of the store.
    func sharesOfRecords(by views: Set<FeedView>, in zone: ZoneAddress) throws -> [FeedView: String] {
        let keys = Dictionary(views.map { (ShareEntries.share(of: zone, $0).key, $0) }, uniquingKeysWith: { $1 })
        guard !keys.isEmpty else { return [:] }
        var shares: [FeedView: String] = [:]
        for row in try entries(in: zone.database, .recordShare, keys: keys.keys.sorted()) {
            if let view = keys[row.key.key] { shares[view] = try ShareEntries.read(row).share }
        }
        return shares
    }

    /// Returns the IDs of the scopes of shares, by the names of the shares that have one. Costs a call of the store.
    func scopes(ofShares names: Set<String>, in zone: ZoneAddress) throws -> [String: ScopeID] {
        let keys = Dictionary(names.map { (ScopeEntries.scope(ofShare: $0, in: zone).key, $0) }, uniquingKeysWith: { $1 })
        guard !keys.isEmpty else { return [:] }
        var scopes: [String: ScopeID] = [:]
        for row in try entries(in: zone.database, .scopeOfShare, keys: keys.keys.sorted()) {
            if let name = keys[row.key.key] { scopes[name] = ScopeID(row.value) }
        }
        return scopes
    }
}
