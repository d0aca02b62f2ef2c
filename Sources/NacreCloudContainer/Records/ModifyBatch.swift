import NacreCloudWire

/// The operations of one request on one zone, decided together. A value: it reads no store and writes none.
struct ModifyBatch {
    /// An operation, and the record that it is about: one that the client named, or that was named for it.
    struct Item: Sendable {
        let name: String
        let operation: RecordOperation
    }

    let items: [Item]
    /// What the rules say of each item, so far.
    var verdicts: [RecordVerdict]
    /// Found records by name: those of the batch, and those that its records name as parents and targets.
    let stored: [String: StoredRecord]
    let places: [String: Int]
    /// The saves that name a parent, or refer to a record and do more than point. No other is asked for anybody but itself.
    let linking: [Int]
    /// As it was before the batch.
    private let schema: Schema
    private let extendsSchema: Bool
    /// Where records of many users stand together, and a stranger's reference costs nobody anything.
    let isPublic: Bool
    /// The user record name of the caller.
    let caller: String
    /// Assets that its saves put into records, as they are kept from now on.
    private(set) var usedAssets: [AssetID: StoredAsset] = [:]
    /// The assets of the request that no record had before.
    private(set) var firstUsedAssets: Set<AssetID> = []
    /// Stored records that the caller may not read: nothing that depends on other records tells that they are there.
    private let hidden: Set<String>
    /// How far its deletions may reach: known before anything is decided.
    private(set) var reach = CascadeReach()
    /// Records that go with those that the batch deletes, these too. Known once the batch is settled.
    var going: Set<String> = []
    /// As whom its caller uses the zone.
    let seat: ZoneSeat
    /// The shares of records that it makes, by their roots. Known once the batch is settled.
    var newShares: [String: SharedPosition] = [:]
    /// It meets what is shared, or will be.
    var isSharing = false
    /// Records outside the batch that its shares change: shares that go with their roots, and roots of shares that go.
    var companions: [String: StoredRecord] = [:]
    /// Shares of records and their roots, as the zone's entries tell them; known where something damaged goes, which does not say it itself.
    var sharesByEntries: [(share: String, root: String)] = []

    /// - Parameters:
    ///   - faults: what was wrong with an operation before anything was looked up, by its place.
    init(_ items: [Item], faults: [Int: ServerError], stored: [String: StoredRecord], in setting: RecordSetting) {
        // Grows with the batch: of two records that name a new field, the second must agree with the first.
        let schema = setting.schema
        var setting = setting
        var extendsSchema = false
        var verdicts: [RecordVerdict] = []
        verdicts.reserveCapacity(items.count)
        for place in items.indices {
            let verdict =
                faults[place].map(RecordVerdict.refuse) ?? RecordVerdict(items[place].operation, over: stored[items[place].name], in: setting)
            if case .save(let save) = verdict, save.extendsSchema, let additions = setting.schema.lacking(of: save.type, with: save.fields) {
                setting.schema.add(additions)
                extendsSchema = true
            }
            if case .save(let save) = verdict { setting.assets.use(save.fields, of: items[place].name, type: save.type) }
            verdicts.append(verdict)
        }
        self.init(
            items, verdicts, stored: stored, schema: schema, extendsSchema: extendsSchema, isPublic: setting.scope == .public,
            caller: setting.caller.userRecordName ?? "", hidden: setting.hidden(of: stored), seat: setting.seat)
        usedAssets = setting.assets.used
        firstUsedAssets = setting.assets.firstUsed
    }

    /// A batch that deletes records as the server does it: nobody's version or role is asked for.
    init(deleting records: [StoredRecord], inPublic isPublic: Bool) {
        let items = records.map { record in
            let name = record.row.name
            return Item(name: name, operation: RecordOperation(.forceDelete, RecordChange(recordName: name)))
        }
        let stored = Dictionary(records.map { ($0.row.name, $0) }, uniquingKeysWith: { first, _ in first })
        self.init(
            items, items.map { _ in .delete }, stored: stored, schema: Schema(), extendsSchema: false, isPublic: isPublic, caller: "", hidden: [],
            seat: .owner)
    }

    private init(
        _ items: [Item], _ verdicts: [RecordVerdict], stored: [String: StoredRecord], schema: Schema, extendsSchema: Bool, isPublic: Bool,
        caller: String, hidden: Set<String>, seat: ZoneSeat
    ) {
        self.items = items
        self.verdicts = verdicts
        self.stored = stored
        self.schema = schema
        self.extendsSchema = extendsSchema
        self.isPublic = isPublic
        self.caller = caller
        self.hidden = hidden
        self.seat = seat
        places = Dictionary(items.indices.lazy.map { (items[$0].name, $0) }, uniquingKeysWith: { first, _ in first })
        linking = verdicts.indices.filter { verdicts[$0].links }
    }

    /// What the schema must have before the batch is written; nil when it has all of it.
    var additions: SchemaAdditions? {
        guard extendsSchema else { return nil }
        var all: SchemaAdditions?
        for verdict in verdicts {
            guard case .save(let save) = verdict, let lacking = schema.lacking(of: save.type, with: save.fields) else { continue }
            all = all?.merging(lacking) ?? lacking
        }
        return all
    }

    /// Records that the batch would delete.
    var deletedNames: [String] {
        verdicts.indices.lazy.filter { verdicts[$0].isDelete }.map { items[$0].name }
    }

    /// Records of the batch that are there before it.
    var livingItems: [String: StoredRecord] {
        stored.filter { places[$0.key] != nil && $0.value.isLive }
    }

    /// Records that it met, and that are not what was written.
    var damaged: [StoredRecord] {
        stored.values.filter(\.isDamaged) + reach.followers.values.filter(\.isDamaged)
    }

    /// It saves or deletes a record whose index rows and links it does not know.
    var writesOverDamage: Bool {
        guard !damaged.isEmpty else { return false }
        return damaged.contains { record in
            going.contains(record.row.name) || places[record.row.name].map { verdicts[$0].changesItsRecord } == true
        }
    }

    /// Records that its saves refer to with `.deleteSelf`, and did not before: a target may have so many.
    var newOwners: [String] {
        linking.isEmpty ? [] : Set(linking.flatMap { verdicts[$0].addedOwners }).filter { stored[$0] != nil }.sorted()
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
        guard verdicts.indices.contains(where: { verdicts[$0].isRefused }) else { return false }
        for place in verdicts.indices where !verdicts[place].isRefused {
            verdicts[place] = .refuse(.atomicFailure)
        }
        return true
    }

    /// Parents outside the batch whose children it saves: CloudKit gives them a new change tag. In a public database, those that have
    /// the child's creator.
    var touchedParents: [StoredRecord] {
        let names = linking.compactMap { place -> String? in
            guard case .save(let save) = verdicts[place], let parent = save.parent else { return nil }
            if places[parent].map({ verdicts[$0].changesItsRecord }) == true { return nil }
            return isPublic && stored[parent]?.creator != creator(of: save) ? nil : parent
        }
        return Set(names).sorted().compactMap { stored[$0] }.filter(\.isLive)
    }

    /// Whether a reference by a record of this user to a record is one that its target feels: in a public database only its creator's own do.
    func binds(_ user: String, to target: String) -> Bool {
        guard isPublic else { return true }
        if let place = places[target], case .save(let save) = verdicts[place] { return user == creator(of: save) }
        return (reach.followers[target] ?? stored[target])?.creator == user
    }

    /// The links that go and come with a save.
    func links(of save: RecordVerdict.Save) -> (gone: [ReferenceLink], come: [ReferenceLink]) {
        let live = save.over.flatMap { $0.isLive ? $0 : nil }
        let before = (live?.content.fields.bindingReferences ?? []).links(parent: live?.row.parent, inPublic: isPublic)
        let after = save.references.links(parent: save.parent, inPublic: isPublic)
        if before.isEmpty && after.isEmpty { return ([], []) }
        let gone = before.subtracting(after)
        let come = after.subtracting(before)
        guard isPublic else { return (Array(gone), Array(come)) }
        let creator = creator(of: save)
        return (gone.flatMap(\.inPublic), come.compactMap { binds(creator, to: $0.target) ? $0 : $0.ofOthers })
    }

    /// Whose a saved record is: a role may let others change it, and it stays its creator's.
    func creator(of save: RecordVerdict.Save) -> String {
        save.over.flatMap { $0.isLive ? $0.creator : nil } ?? caller
    }

    /// CloudKit: a parent must exist or be saved in the same batch, in any order; so must the target of a reference that does more than point.
    /// - Returns: whether a save fell, and so the deletions must be asked again.
    private mutating func settleSaves() -> Bool {
        var fell = false
        var moved = true
        while moved {
            moved = false
            for place in linking {
                guard case .save(let save) = verdicts[place],
                    let fault = parentFault(of: items[place], save) ?? referenceFault(of: items[place], save)
                else { continue }
                verdicts[place] = .refuse(fault)
                moved = true
                fell = true
            }
        }
        return fell ? true : settleOwners()
    }

    private func parentFault(of item: Item, _ save: RecordVerdict.Save) -> ServerError? {
        guard case .set(let reference) = item.operation.change.parent, save.parent == reference.recordName else { return nil }
        if isPublic, let live = save.over, live.isLive, live.row.parent == reference.recordName { return nil }
        if isShare(reference.recordName) { return .nothingHangsOnShare("parent") }
        return isLiveAfter(reference.recordName) ? nil : .parentNotFound(reference.recordName)
    }

    /// What a save sets must be there. What it keeps was there when it was set: it need only not go with this batch.
    ///
    /// In a public database a target may have gone from under a reference; who sends back what was answered keeps it.
    private func referenceFault(of item: Item, _ save: RecordVerdict.Save) -> ServerError? {
        let kept = isPublic ? save.over?.content.fields.bindingReferences.links ?? [] : []
        for reference in save.references {
            let isSet = item.operation.change.set[reference.field] != nil && !kept.contains(reference.link)
            if going.contains(reference.link.target) || (isSet && !isLiveAfter(reference.link.target)) {
                return .targetNotFound(reference.field)
            }
            if isSet, isShare(reference.link.target) { return .nothingHangsOnShare(reference.field) }
        }
        return nil
    }

    /// CloudKit: so many records at most may go with one. Those that hang on it already come first, then the others in their order.
    /// In a public database the records of a target's creator are counted apart from all others, which cannot use up that room.
    /// - Returns: whether a save fell.
    private mutating func settleOwners() -> Bool {
        guard !linking.isEmpty else { return false }
        let added = verdicts.map(\.addedOwners)
        let counted = Set(added.joined())
        guard !counted.isEmpty else { return false }
        var counts: [Room: Int] = [:]
        for target in counted {
            let others = reach.othersHolders[target] ?? []
            for isOwn in isPublic ? [true, false] : [true] {
                counts[Room(target: target, isOwn: isOwn)] = (reach.holders[target] ?? []).count {
                    places[$0] == nil && !going.contains($0) && (!isPublic || others.contains($0) != isOwn)
                }
            }
        }
        for place in items.indices {
            for target in ownersAfter(at: place).subtracting(added[place]) where counted.contains(target) {
                counts[room(of: target, at: place), default: 0] += 1
            }
        }
        var fell = false
        for place in items.indices {
            let rooms = added[place].map { room(of: $0, at: place) }
            if rooms.allSatisfy({ counts[$0, default: 0] < Limits.owningReferences }) {
                for room in rooms { counts[room, default: 0] += 1 }
            } else {
                verdicts[place] = .refuse(.tooManyOwningReferences)
                fell = true
            }
        }
        return fell
    }

    /// What holds so many records at most: those of a target's creator, or in a public database those of all others.
    private struct Room: Hashable {
        var target: String
        var isOwn: Bool
    }

    private func room(of target: String, at place: Int) -> Room {
        Room(target: target, isOwn: binds(creatorAfter(at: place), to: target))
    }

    private func creatorAfter(at place: Int) -> String {
        switch verdicts[place] {
        case .save(let save): creator(of: save)
        case .refuse: stored[items[place].name]?.creator ?? caller
        case .delete, .nothing: caller
        }
    }

    private func ownersAfter(at place: Int) -> Set<String> {
        let name = items[place].name
        return switch verdicts[place] {
        case .save(let save): save.owners
        case .delete, .nothing: []
        case .refuse: stored[name].flatMap { $0.isLive && !going.contains(name) ? $0.content.fields.owners : nil } ?? []
        }
    }

    func isLiveAfter(_ name: String) -> Bool {
        let isStored = (stored[name]?.isThere ?? false) && !going.contains(name) && !hidden.contains(name)
        guard let place = places[name] else { return isStored }
        switch verdicts[place] {
        case .save: return true
        case .delete, .nothing: return false
        case .refuse: return isStored
        }
    }
}

extension RecordVerdict {
    var isRefused: Bool {
        if case .refuse = self { true } else { false }
    }

    var isDelete: Bool {
        if case .delete = self { true } else { false }
    }

    var changesItsRecord: Bool {
        switch self {
        case .save, .delete: true
        case .nothing, .refuse: false
        }
    }

    /// It depends on other records.
    fileprivate var links: Bool {
        if case .save(let save) = self { save.parent != nil || !save.references.isEmpty } else { false }
    }

    /// Records with which a save makes its record go, and did not before.
    fileprivate var addedOwners: Set<String> {
        guard case .save(let save) = self, !save.references.isEmpty else { return [] }
        let owners = save.owners
        return owners.isEmpty ? owners : owners.subtracting(save.over?.content.fields.owners ?? [])
    }
}
