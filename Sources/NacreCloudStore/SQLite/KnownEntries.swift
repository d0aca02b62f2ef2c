import NacreCloudContainer

/// Entries as the writer last read them: what every write asks for and hardly anybody changes is looked up once.
///
/// The writer's, as its connection is: nobody else changes entries of a folder that is open. What the open transaction changed is read from the file until the
/// transaction is over, so it makes no difference whether it is committed or undone.
struct KnownEntries {
    /// nil where there is no such entry.
    private var rows: [NamedKey: EntryRow?] = [:]
    private var changed: Set<NamedKey> = []
    /// On this server: so many are remembered, of so many bytes each, half a megabyte at most. Beyond it the memory starts afresh.
    private static let most = 1024
    private static let valueBytesMax = 256

    /// A transaction begins: what the one before it changed is in the file, or is undone.
    mutating func begin() {
        if !changed.isEmpty { changed = [] }
    }

    subscript(key: NamedKey) -> EntryRow?? { rows[key] }

    /// What was read in the open transaction.
    mutating func learn(_ row: EntryRow?, at key: NamedKey) {
        guard !changed.contains(key), row?.value.count ?? 0 <= Self.valueBytesMax else { return }
        if rows.count >= Self.most { rows = [:] }
        rows[key] = .some(row)
    }

    /// The open transaction changes an entry.
    mutating func forget(_ key: EntryKey) { forget(NamedKey(key)) }

    mutating func forget(_ key: NamedKey) {
        rows[key] = nil
        changed.insert(key)
    }
}

extension Connection {
    /// For the writer: an entry, from memory where it is known.
    func knownEntry(_ key: EntryKey) throws -> EntryRow? {
        let place = NamedKey(key)
        if let known = knownEntries[place] { return known }
        let row = try entry(key)
        knownEntries.learn(row, at: place)
        return row
    }
}
