import CloudWire

/// The operations of one request on one zone, decided together. A value: it reads no store and writes none.
struct ModifyBatch {
    struct Item {
        var name: String
        var operation: RecordOperation
        var verdict: RecordVerdict
    }

    var items: [Item]
    /// Found records by name: those of the batch, and those that its records name as parents and targets.
    let stored: [String: StoredRecord]
    let places: [String: Int]
    /// As it was before the batch.
    private let schema: Schema
    private let extendsSchema: Bool
    /// How far its deletions may reach: whoever decides must have found out.
    private(set) var reach = CascadeReach()
    /// Records that go with those that the batch deletes, these too. Known once the batch is settled.
    var going: Set<String> = []

    /// - Parameters:
    ///   - faults: what was wrong with an operation before anything was looked up, by its place.
    init(
        _ operations: [(name: String, operation: RecordOperation)], faults: [Int: ServerError], stored: [String: StoredRecord],
        in setting: RecordSetting
    ) {
        // Grows with the batch: of two records that name a new field, the second must agree with the first.
        let schema = setting.schema
        var setting = setting
        var extendsSchema = false
        let items = operations.enumerated().map { place, entry in
            let verdict =
                faults[place].map(RecordVerdict.refuse) ?? RecordVerdict(entry.operation, over: stored[entry.name], in: setting)
            if case .save(let save) = verdict, save.extendsSchema, let additions = setting.schema.lacking(of: save.type, with: save.fields) {
                setting.schema.add(additions)
                extendsSchema = true
            }
            return Item(name: entry.name, operation: entry.operation, verdict: verdict)
        }
        self.init(items, stored: stored, schema: schema, extendsSchema: extendsSchema)
    }

    /// A batch that deletes records as the server does it: nobody's version or role is asked for.
    init(deleting records: [StoredRecord]) {
        let items = records.map { record in
            let name = record.row.name
            return Item(name: name, operation: RecordOperation(.forceDelete, RecordChange(recordName: name)), verdict: .delete)
        }
        self.init(items, stored: Dictionary(records.map { ($0.row.name, $0) }, uniquingKeysWith: { first, _ in first }))
    }

    private init(_ items: [Item], stored: [String: StoredRecord], schema: Schema = Schema(), extendsSchema: Bool = false) {
        self.items = items
        self.stored = stored
        self.schema = schema
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

    /// Records that the batch would delete.
    var deletedNames: [String] {
        items.compactMap { $0.verdict == .delete ? $0.name : nil }
    }

    /// Records of the batch that are there before it.
    var livingItems: [String: StoredRecord] {
        stored.filter { places[$0.key] != nil && $0.value.isLive }
    }

    /// Records that its saves refer to with `.deleteSelf`, and did not before: a target may have so many.
    var newOwners: [String] {
        Set(items.flatMap { $0.addedOwners }).filter { stored[$0] != nil }.sorted()
    }

    /// Holds the batch against the rules of parents and references, until nothing more falls.
    ///
    /// One refusal can cause the next (a child whose parent is refused), so it goes round until none does. Deletions are asked first: where
    /// a batch deletes a parent and gives it a child, the child stays, in whatever order they stand.
    mutating func settle(within reach: CascadeReach) {
        self.reach = reach
        repeat {
            settleDeletions()
        } while settleSaves()
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

    /// CloudKit: a parent must exist or be saved in the same batch, in any order; so must the target of a reference that does more than point.
    /// - Returns: whether a save fell, and so the deletions must be asked again.
    private mutating func settleSaves() -> Bool {
        var fell = false
        var moved = true
        while moved {
            moved = false
            for place in items.indices {
                guard case .save(let save) = items[place].verdict,
                    let fault = parentFault(of: items[place], save) ?? referenceFault(of: items[place], save)
                else { continue }
                items[place].verdict = .refuse(fault)
                moved = true
                fell = true
            }
        }
        return fell ? true : settleOwners()
    }

    private func parentFault(of item: Item, _ save: RecordVerdict.Save) -> ServerError? {
        guard case .set(let reference) = item.operation.change.parent, save.parent == reference.recordName else { return nil }
        return isLiveAfter(reference.recordName) ? nil : .parentNotFound(reference.recordName)
    }

    /// What a save sets must be there. What it keeps was there when it was set: it need only not go with this batch.
    private func referenceFault(of item: Item, _ save: RecordVerdict.Save) -> ServerError? {
        for reference in save.fields.bindingReferences {
            let isSet = item.operation.change.set[reference.field] != nil
            if going.contains(reference.link.target) || (isSet && !isLiveAfter(reference.link.target)) {
                return .targetNotFound(reference.field)
            }
        }
        return nil
    }

    /// CloudKit: so many records at most may go with one. Those that hang on it already come first, then the others in their order.
    /// - Returns: whether a save fell.
    private mutating func settleOwners() -> Bool {
        let added = items.map(\.addedOwners)
        let counted = Set(added.joined())
        guard !counted.isEmpty else { return false }
        var counts: [String: Int] = [:]
        for target in counted {
            counts[target] = (reach.holders[target] ?? []).count { places[$0] == nil && !going.contains($0) }
        }
        for place in items.indices {
            for target in ownersAfter(items[place]).subtracting(added[place]) where counted.contains(target) { counts[target, default: 0] += 1 }
        }
        var fell = false
        for place in items.indices {
            let full = added[place].filter { counts[$0, default: 0] >= Limits.owningReferences }
            if full.isEmpty {
                for target in added[place] { counts[target, default: 0] += 1 }
            } else {
                items[place].verdict = .refuse(.tooManyOwningReferences)
                fell = true
            }
        }
        return fell
    }

    private func ownersAfter(_ item: Item) -> Set<String> {
        switch item.verdict {
        case .save(let save): save.fields.owners
        case .delete, .nothing: []
        case .refuse: stored[item.name].flatMap { $0.isLive && !going.contains(item.name) ? $0.content.fields.owners : nil } ?? []
        }
    }

    private func isLiveAfter(_ name: String) -> Bool {
        let isStored = (stored[name]?.isLive ?? false) && !going.contains(name)
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

    /// Records with which a save makes its record go, and did not before.
    var addedOwners: Set<String> {
        guard case .save(let save) = verdict else { return [] }
        let owners = save.fields.owners
        return owners.isEmpty ? owners : owners.subtracting(save.over?.content.fields.owners ?? [])
    }
}
