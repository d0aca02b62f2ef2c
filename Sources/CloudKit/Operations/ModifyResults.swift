/// The results of an operation that saves and deletes items, in the order in which they were reported.
struct ModifyResults<ItemID: Hashable & Sendable, Item: Sendable>: Sendable {
    private(set) var saves: [ItemID: Result<Item, any Error>] = [:]
    private(set) var deletions: [ItemID: Result<Void, any Error>] = [:]
    private(set) var saved: [Item] = []
    private(set) var deleted: [ItemID] = []
    private(set) var failures: [ItemID: any Error] = [:]

    var saveErrors: [any Error] { saves.values.compactMap(\.error) }
    var deleteErrors: [any Error] { deletions.values.compactMap(\.error) }

    mutating func add(_ id: ItemID, saved result: Result<Item, any Error>) {
        saves[id] = result
        switch result {
        case .success(let item): saved.append(item)
        case .failure(let error): failures[id] = error
        }
    }

    mutating func add(_ id: ItemID, deleted result: Result<Void, any Error>) {
        deletions[id] = result
        switch result {
        case .success: deleted.append(id)
        case .failure(let error): failures[id] = error
        }
    }
}
