import NacreCloudStorage

/// A cache of entries, as the writer last read them. Every write asks for some entries that hardly ever change. Only
/// the writer uses it, and only the writer changes entries of an open folder. Entries that the open transaction changed
/// are read from the file until it is over. A commit or a rollback therefore makes no difference.
struct KnownEntries {
    /// The known rows. A nil value means that there is no entry of this key.
    private var rows: [NamedKey: EntryRow?] = [:]
    private var changed: Set<NamedKey> = []
    /// The most entries, of `valueBytesMax` bytes each. On this server: half a megabyte at most. When it is full the
    /// cache starts afresh.
    private static let most = 1024
    private static let valueBytesMax = 256

    /// Begins a transaction: the changes of the one before are in the file, or undone.
    mutating func begin() {
        if !changed.isEmpty { changed = [] }
    }

    subscript(key: NamedKey) -> EntryRow?? { rows[key] }

    /// Stores an entry that was read in the open transaction.
    mutating func learn(_ row: EntryRow?, at key: NamedKey) {
        guard !changed.contains(key), row?.value.count ?? 0 <= Self.valueBytesMax else { return }
        if rows.count >= Self.most { rows = [:] }
        rows[key] = .some(row)
    }

    /// Removes an entry that the open transaction changes.
    mutating func forget(_ key: EntryKey) { forget(NamedKey(key)) }

    mutating func forget(_ key: NamedKey) {
        rows[key] = nil
        changed.insert(key)
    }
}

extension Connection {
    /// Returns an entry for the writer, from the cache if it is known.
    func knownEntry(_ key: EntryKey) throws -> EntryRow? {
        let place = NamedKey(key)
        if let known = knownEntries[place] { return known }
        let row = try entry(key)
        knownEntries.learn(row, at: place)
        return row
    }
}
