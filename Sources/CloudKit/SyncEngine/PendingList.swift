/// A change of one item that waits to be sent.
protocol PendingChange: Hashable, Sendable {
    associatedtype ItemID: Hashable & Sendable
    var itemID: ItemID { get }
}

/// The pending changes in the order in which they were added, at most one for each item. Pure.
///
/// CloudKit: there are no duplicates and the order is kept. A change that is added again keeps its place. Of a save and
/// a deletion of one item the later one wins; on this server it goes to the end.
struct PendingList<Change: PendingChange>: Sendable {
    private struct Entry {
        var change: Change
        var serial: Int
    }

    private var entries: [Entry?] = []
    private var places: [Change.ItemID: Int] = [:]
    /// The number of additions so far. A batch notes it at its start, and leaves later additions in the list.
    private(set) var serial = 0

    var isEmpty: Bool { places.isEmpty }
    var count: Int { places.count }
    var changes: [Change] {
        var changes: [Change] = []
        changes.reserveCapacity(places.count)
        for case let entry? in entries { changes.append(entry.change) }
        return changes
    }

    /// Returns the items whose last addition came after that of this serial.
    func itemIDs(addedAfter serial: Int) -> Set<Change.ItemID> {
        guard serial < self.serial else { return [] }
        return Set(entries.lazy.compactMap { $0 }.filter { $0.serial > serial }.map(\.change.itemID))
    }

    /// - Returns: whether the list changed.
    mutating func add(_ change: Change) -> Bool {
        serial += 1
        if let index = places[change.itemID], let entry = entries[index] {
            if entry.change == change {
                entries[index] = Entry(change: change, serial: serial)
                return false
            }
            entries[index] = nil
        }
        places[change.itemID] = entries.count
        entries.append(Entry(change: change, serial: serial))
        compact()
        return true
    }

    /// - Parameter last: an addition with a higher serial stays in the list.
    /// - Returns: whether the list changed.
    mutating func remove(_ change: Change, addedUpTo last: Int = .max) -> Bool {
        guard let index = places[change.itemID], let entry = entries[index], entry.change == change, entry.serial <= last else { return false }
        entries[index] = nil
        places[change.itemID] = nil
        compact()
        return true
    }

    /// Removes gaps once they outnumber the entries by more than 32.
    private mutating func compact() {
        guard entries.count > 2 * places.count + 32 else { return }
        entries = entries.filter { $0 != nil }
        for (index, entry) in entries.enumerated() {
            if let entry { places[entry.change.itemID] = index }
        }
    }
}
