/// A change that waits to be sent, of one item.
protocol PendingChange: Hashable, Sendable {
    associatedtype ItemID: Hashable & Sendable
    var itemID: ItemID { get }
}

/// What is pending, in the order in which it was added, and of each item once. Pure.
///
/// CloudKit: no duplicates, and the order is kept; an entry that is added again stays in its place; of a save and a deletion of one item the later
/// one counts. On this server that one goes to the end.
struct PendingList<Change: PendingChange>: Sendable {
    private struct Entry {
        var change: Change
        var serial: Int
    }

    private var entries: [Entry?] = []
    private var places: [Change.ItemID: Int] = [:]
    /// Counts what was ever added. A batch notes it when it begins; what is added later is not what the batch sent.
    private(set) var serial = 0

    var isEmpty: Bool { places.isEmpty }
    var count: Int { places.count }
    var changes: [Change] {
        var changes: [Change] = []
        changes.reserveCapacity(places.count)
        for case let entry? in entries { changes.append(entry.change) }
        return changes
    }

    /// - Returns: whether the list is another one now.
    mutating func add(_ change: Change) -> Bool {
        serial += 1
        if let place = places[change.itemID], let entry = entries[place] {
            if entry.change == change {
                entries[place] = Entry(change: change, serial: serial)
                return false
            }
            entries[place] = nil
        }
        places[change.itemID] = entries.count
        entries.append(Entry(change: change, serial: serial))
        compact()
        return true
    }

    /// - Parameter last: what was added after so many additions stays.
    /// - Returns: whether the list is another one now.
    mutating func remove(_ change: Change, addedUpTo last: Int = .max) -> Bool {
        guard let place = places[change.itemID], let entry = entries[place], entry.change == change, entry.serial <= last else { return false }
        entries[place] = nil
        places[change.itemID] = nil
        compact()
        return true
    }

    /// Keeps the gaps fewer than the entries.
    private mutating func compact() {
        guard entries.count > 2 * places.count + 32 else { return }
        entries = entries.filter { $0 != nil }
        for (place, entry) in entries.enumerated() {
            if let entry { places[entry.change.itemID] = place }
        }
    }
}
