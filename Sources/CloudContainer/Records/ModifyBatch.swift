import CloudWire

/// The operations of one request on one zone, decided together. A value: it reads no store and writes none.
struct ModifyBatch {
    struct Item {
        var name: String
        var operation: RecordOperation
        var verdict: RecordVerdict
    }

    private(set) var items: [Item]
    /// Found records by name: those of the batch, and the parents that its records name.
    private let stored: [String: StoredRecord]
    private let places: [String: Int]
    /// As it was before the batch.
    private let schema: Schema
    private let extendsSchema: Bool

    /// - Parameters:
    ///   - faults: what was wrong with an operation before anything was looked up, by its place.
    init(
        _ operations: [(name: String, operation: RecordOperation)], faults: [Int: ServerError], stored: [String: StoredRecord],
        in setting: RecordSetting
    ) {
        self.stored = stored
        schema = setting.schema
        // Grows with the batch: of two records that name a new field, the second must agree with the first.
        var setting = setting
        var extendsSchema = false
        items = operations.enumerated().map { place, entry in
            let verdict =
                faults[place].map(RecordVerdict.refuse) ?? RecordVerdict(entry.operation, over: stored[entry.name], in: setting)
            if case .save(let save) = verdict, save.extendsSchema, let additions = setting.schema.lacking(of: save.type, with: save.fields) {
                setting.schema.add(additions)
                extendsSchema = true
            }
            return Item(name: entry.name, operation: entry.operation, verdict: verdict)
        }
        self.extendsSchema = extendsSchema
        places = Dictionary(items.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// What the schema must have before the batch is written; nil when it has all of it.
    var additions: SchemaAdditions? {
        guard extendsSchema else { return nil }
        var all: SchemaAdditions?
        for item in items {
            guard case .save(let save) = item.verdict, let lacking = schema.lacking(of: save.type, with: save.fields) else { continue }
            all = all?.merging(lacking) ?? lacking
        }
        return all
    }

    /// Records that the batch would delete: whoever decides must say which of them have children outside it.
    var deletedNames: [String] {
        items.compactMap { $0.verdict == .delete ? $0.name : nil }
    }

    /// Holds the batch against the rule of parents, until nothing more falls.
    ///
    /// CloudKit: a parent must exist or be saved in the same batch, in any order; a record that others name as their parent is not deleted
    /// unless they go with it. One refusal can cause the next (a child whose parent is refused), so it goes round until none does.
    /// Deletions are asked first: where a batch deletes a parent and gives it a child, the child stays, in whatever order they stand.
    ///
    /// - Parameter parentsOutside: those of `deletedNames` that records outside the batch name as their parent.
    mutating func settleParents(parentsOutside: Set<String>) {
        var moved = true
        while moved {
            moved = false
            let deletions = items.indices.filter { items[$0].verdict == .delete }
            let parentsKept = deletions.isEmpty ? [] : Set(items.compactMap { parentAfter($0) })
            for place in deletions + items.indices {
                guard let fault = parentFault(of: items[place], parentsKept: parentsKept, parentsOutside: parentsOutside) else { continue }
                items[place].verdict = .refuse(fault)
                moved = true
            }
        }
    }

    /// CloudKit: in an atomic zone, one item that fails takes all others with it.
    /// - Returns: whether the batch fell.
    mutating func settleAtomically() -> Bool {
        guard items.contains(where: { $0.isRefused }) else { return false }
        for place in items.indices where !items[place].isRefused {
            items[place].verdict = .refuse(.atomicFailure)
        }
        return true
    }

    /// Parents outside the batch whose children it saves: CloudKit gives them a new change tag.
    var touchedParents: [StoredRecord] {
        let names = items.compactMap { item -> String? in
            guard case .save(let save) = item.verdict, let parent = save.parent else { return nil }
            return places[parent].map { items[$0].changesItsRecord } == true ? nil : parent
        }
        return Set(names).sorted().compactMap { stored[$0] }.filter(\.isLive)
    }

    private func parentFault(of item: Item, parentsKept: Set<String>, parentsOutside: Set<String>) -> ServerError? {
        switch item.verdict {
        case .delete:
            return parentsOutside.contains(item.name) || parentsKept.contains(item.name) ? .hasChildren : nil
        case .save(let save):
            guard case .set(let reference) = item.operation.change.parent, save.parent == reference.recordName else { return nil }
            return isLiveAfter(reference.recordName) ? nil : .parentNotFound(reference.recordName)
        case .nothing, .refuse:
            return nil
        }
    }

    /// The parent that the item's record names once the batch is done; nil when there is none, or no record.
    private func parentAfter(_ item: Item) -> String? {
        switch item.verdict {
        case .save(let save): save.parent
        case .delete, .nothing: nil
        case .refuse: stored[item.name].flatMap { $0.isLive ? $0.row.parent : nil }
        }
    }

    private func isLiveAfter(_ name: String) -> Bool {
        let isStored = stored[name]?.isLive ?? false
        guard let place = places[name] else { return isStored }
        switch items[place].verdict {
        case .save: return true
        case .delete, .nothing: return false
        case .refuse: return isStored
        }
    }
}

extension ModifyBatch.Item {
    var isRefused: Bool {
        if case .refuse = verdict { true } else { false }
    }

    var changesItsRecord: Bool {
        switch verdict {
        case .save, .delete: true
        case .nothing, .refuse: false
        }
    }
}
