/// What an engine knows between its runs. Pure.
struct SyncState: Sendable {
    /// The app changed a list.
    struct AppChange: Sendable {
        /// Something is there to be sent.
        var wantsSend: Bool
    }

    /// The user record of the account that all of this is of; nil: none was seen.
    var user: String?
    /// The database subscription that stands on the server.
    var subscriptionID: String?
    var databaseToken: String?
    var zoneTokens: [CKRecordZone.ID: String] = [:]
    /// Zones of which the database's feed or a notification told, in that order.
    private(set) var unfetched: [CKRecordZone.ID] = []
    var records = PendingList<CKSyncEngine.PendingRecordZoneChange>()
    var zones = PendingList<CKSyncEngine.PendingDatabaseChange>()
    var hasPendingUntrackedChanges = false
    /// Another one for each change that is to be kept.
    var revision = 0

    var hasSomethingToSend: Bool { !records.isEmpty || !zones.isEmpty || hasPendingUntrackedChanges }

    /// - Parameter body: returns whether it changed anything.
    mutating func change(_ body: (inout SyncState) -> Bool) {
        if body(&self) { revision += 1 }
    }

    /// What belongs to one account goes.
    mutating func reset(user: String?) {
        let revision = revision + 1
        self = SyncState()
        self.user = user
        self.revision = revision
    }

    // MARK: The feeds

    /// A zone has changes that were not fetched. Its place stays when it was known.
    mutating func noteUnfetched(_ zoneID: CKRecordZone.ID) {
        if !unfetched.contains(zoneID) { unfetched.append(zoneID) }
    }

    /// Everything of a zone was fetched, or there is no such zone.
    mutating func noteFetched(_ zoneID: CKRecordZone.ID) {
        unfetched.removeAll { $0 == zoneID }
    }

    mutating func forgetZone(_ zoneID: CKRecordZone.ID) {
        zoneTokens[zoneID] = nil
        noteFetched(zoneID)
    }

    /// The delegate has handled a page of the database's feed.
    mutating func took(_ page: SyncDatabasePage) {
        for deletion in page.deletions { forgetZone(deletion.zoneID) }
        for modification in page.modifications { noteUnfetched(modification.zoneID) }
        if page.token != databaseToken || !page.isEmpty { revision += 1 }
        databaseToken = page.token
    }

    /// The delegate has handled a page of a zone's feed.
    mutating func took(_ page: SyncZonePage, of zoneID: CKRecordZone.ID) {
        zoneTokens[zoneID] = page.token
        if !page.moreComing { noteFetched(zoneID) }
        revision += 1
    }

    /// Which zone is fetched next: the prioritized first, in their order, and then in the order of the feed.
    func nextZone(_ options: CKSyncEngine.FetchChangesOptions, done: Set<CKRecordZone.ID>) -> CKRecordZone.ID? {
        let waiting = unfetched.filter { !done.contains($0) && options.scope.contains($0) }
        return options.prioritizedZoneIDs.first { waiting.contains($0) } ?? waiting.first
    }
}
