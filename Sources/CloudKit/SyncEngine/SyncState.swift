/// The knowledge that an engine keeps between runs. Pure.
struct SyncState: Sendable {
    /// A change that the app made to a list.
    struct AppChange: Sendable {
        /// Whether there is something to send.
        var wantsSend: Bool
    }

    /// The name of the user record whose account the state belongs to; nil if no account was seen.
    var user: String?
    /// Whether the server has a database subscription. An engine that begins asks again: the app may have deleted it.
    var hasSubscription = false
    var databaseToken: String?
    var zoneTokens: [CKRecordZone.ID: String] = [:]
    /// Zones with unfetched changes, in the order in which the database's feed or notifications named them.
    private(set) var unfetched: [CKRecordZone.ID] = []
    var records = PendingList<CKSyncEngine.PendingRecordZoneChange>()
    var zones = PendingList<CKSyncEngine.PendingDatabaseChange>()
    var hasPendingUntrackedChanges = false
    /// A number that grows with each change that is to be stored.
    var revision = 0

    var hasSomethingToSend: Bool { !records.isEmpty || !zones.isEmpty || hasPendingUntrackedChanges }

    /// Increments the revision if `body` returns true, which means that it changed something.
    mutating func change(_ body: (inout SyncState) -> Bool) {
        if body(&self) { revision += 1 }
    }

    /// Clears the state, because it belonged to another account.
    mutating func reset(user: String?) {
        let revision = revision + 1
        self = SyncState()
        self.user = user
        self.revision = revision
    }

    // MARK: The feeds

    /// Notes that a zone has unfetched changes. A zone that is listed already keeps its place.
    mutating func noteUnfetched(_ zoneID: CKRecordZone.ID) {
        if !unfetched.contains(zoneID) { unfetched.append(zoneID) }
    }

    /// Notes that all changes of a zone were fetched, or that the zone does not exist.
    mutating func noteFetched(_ zoneID: CKRecordZone.ID) {
        unfetched.removeAll { $0 == zoneID }
    }

    mutating func forgetZone(_ zoneID: CKRecordZone.ID) {
        zoneTokens[zoneID] = nil
        noteFetched(zoneID)
    }

    /// Stores the result of a page of the database's feed, which the delegate has handled.
    mutating func took(_ page: SyncDatabasePage) {
        for deletion in page.deletions { forgetZone(deletion.zoneID) }
        for modification in page.modifications { noteUnfetched(modification.zoneID) }
        if page.token != databaseToken || !page.isEmpty { revision += 1 }
        databaseToken = page.token
    }

    /// Stores the result of a page of a zone's feed, which the delegate has handled.
    mutating func took(_ page: SyncZonePage, of zoneID: CKRecordZone.ID) {
        zoneTokens[zoneID] = page.token
        if !page.moreComing { noteFetched(zoneID) }
        revision += 1
    }

    /// Returns the next zone to fetch: prioritized zones first, in their order, then zones in the order of the feed.
    func nextZone(_ options: CKSyncEngine.FetchChangesOptions, done: Set<CKRecordZone.ID>) -> CKRecordZone.ID? {
        let waiting = unfetched.filter { !done.contains($0) && options.scope.contains($0) }
        return options.prioritizedZoneIDs.first { waiting.contains($0) } ?? waiting.first
    }
}
