import NacreCloudAccounts
package import NacreCloudStorage
package import NacreCloudWire

/// The operations of one request on one zone, decided together. It is a value: it neither reads nor writes a store.
package struct ModifyBatch {
    /// An operation and the name of its record, which the client chose or the server made.
    package struct Item: Sendable {
        package let name: String
        package let operation: RecordOperation
        /// The manifest that the operation brings.
        var manifest: SentManifest?
    }

    package let items: [Item]
    /// The verdicts on the items, in their order. Settling the batch may change them.
    var verdicts: [RecordVerdict]
    /// Records found in the zone, by name: the batch's own, and those that its records name as parents and targets.
    package let stored: [String: StoredRecord]
    package let places: [String: Int]
    /// The indices of the saves that name a parent, or refer to a record with more than a pointer. Only they depend on
    /// other records.
    let linking: [Int]
    /// The schema before the batch.
    private let schema: Schema
    private let extendsSchema: Bool
    /// The database is public: it holds records of many users, and one user's references put no restriction on
    /// another's records.
    package let isPublic: Bool
    /// The user record name of the caller.
    package let caller: String
    /// Assets that the batch's saves put into records, in the form in which they are kept from now on.
    private(set) var usedAssets: [AssetID: StoredAsset] = [:]
    /// The assets of the request that no record had before.
    private(set) var firstUsedAssets: Set<AssetID> = []
    /// Stored records that the caller may not read. No rule about other records may reveal that they exist.
    private let hidden: Set<String>
    /// The reach of the batch's deletions. It is known before anything is settled.
    package private(set) var reach = CascadeReach()
    /// Names of the records that the batch deletes, and of those that go with them. Known once the batch is settled.
    package var going: Set<String> = []
    /// The caller's membership in the zone: owner, participant or guest.
    let membership: ZoneMembership
    /// The shares of records that the batch makes, by the names of their roots. Known once the batch is settled.
    var newShares: [String: ViewAssignment] = [:]
    /// The batch meets records that are shared, or shares some itself.
    var isSharing = false
    /// Records outside the batch that its shares change: shares deleted with their roots, and roots of deleted shares.
    var companions: [String: StoredRecord] = [:]
    /// The scopes for which its saves may be sealed.
    var scopes = SaveScopes()
    /// Names of shares of records and of their roots, from the zone's entries. Loaded only where a damaged record is
    /// deleted, whose body cannot name them.
    var sharesByEntries: [(share: String, root: String)] = []

    /// - Parameters:
    ///   - faults: errors of operations that were found before any look-up, by the operation's index.
    package init(_ items: [Item], faults: [Int: ServerError], stored: [String: StoredRecord], in setting: RecordSetting) {
        // Grows with the batch: if two records name a new field, the second must agree with the first.
        let schema = setting.schema
        var setting = setting
        var extendsSchema = false
        var verdicts: [RecordVerdict] = []
        verdicts.reserveCapacity(items.count)
        for index in items.indices {
            let verdict =
                faults[index].map(RecordVerdict.refuse)
                ?? RecordVerdict(items[index].operation, items[index].manifest, over: stored[items[index].name], in: setting)
            if case .save(let save) = verdict, save.extendsSchema, let additions = setting.schema.lacking(of: save.type, with: save.fields) {
                setting.schema.add(additions)
                extendsSchema = true
            }
            if case .save(let save) = verdict { setting.assets.use(save.fields, of: items[index].name, type: save.type) }
            verdicts.append(verdict)
        }
        self.init(
            items, verdicts, stored: stored, schema: schema, extendsSchema: extendsSchema, isPublic: setting.scope == .public,
            caller: setting.caller.userRecordName ?? "", hidden: setting.hidden(of: stored), membership: setting.membership)
        usedAssets = setting.assets.used
        firstUsedAssets = setting.assets.firstUsed
    }

    /// Makes a batch that deletes records on the server's behalf, without a check of versions or roles.
    package init(deleting records: [StoredRecord], inPublic isPublic: Bool) {
        let items = records.map { record in
            let name = record.row.name
            return Item(name: name, operation: RecordOperation(.forceDelete, RecordChange(recordName: name)))
        }
        let stored = Dictionary(records.map { ($0.row.name, $0) }, uniquingKeysWith: { first, _ in first })
        self.init(
            items, items.map { _ in .delete }, stored: stored, schema: Schema(), extendsSchema: false, isPublic: isPublic, caller: "", hidden: [],
            membership: .owner)
    }

    private init(
        _ items: [Item], _ verdicts: [RecordVerdict], stored: [String: StoredRecord], schema: Schema, extendsSchema: Bool, isPublic: Bool,
        caller: String, hidden: Set<String>, membership: ZoneMembership
    ) {
        self.items = items
        self.verdicts = verdicts
        self.stored = stored
        self.schema = schema
        self.extendsSchema = extendsSchema
        self.isPublic = isPublic
        self.caller = caller
        self.hidden = hidden
        self.membership = membership
        places = Dictionary(items.indices.lazy.map { (items[$0].name, $0) }, uniquingKeysWith: { first, _ in first })
        linking = verdicts.indices.filter { verdicts[$0].links }
    }

    /// Types and fields that the schema must gain before the batch is written; nil when it has all of them.
    var additions: SchemaAdditions? {
        guard extendsSchema else { return nil }
        var all: SchemaAdditions?
        for verdict in verdicts {
            guard case .save(let save) = verdict, let lacking = schema.lacking(of: save.type, with: save.fields) else { continue }
            all = all?.merging(lacking) ?? lacking
        }
        return all
    }

    /// Names of the records that the batch would delete.
    var deletedNames: [String] {
        verdicts.indices.lazy.filter { verdicts[$0].isDelete }.map { items[$0].name }
    }

    /// Records of the batch that are live before it, by name.
    var livingItems: [String: StoredRecord] {
        stored.filter { places[$0.key] != nil && $0.value.isLive }
    }

    /// Damaged records that the batch met: their rows are not as they were written.
    package var damaged: [StoredRecord] {
        stored.values.filter(\.isDamaged) + reach.followers.values.filter(\.isDamaged)
    }

    /// Whether the batch saves or deletes a damaged record, whose index rows and links are unknown.
    var writesOverDamage: Bool {
        guard !damaged.isEmpty else { return false }
        return damaged.contains { record in
            going.contains(record.row.name) || places[record.row.name].map { verdicts[$0].changesItsRecord } == true
        }
    }

    /// Names of stored records that a save newly refers to with `.deleteSelf`. The number of such references to one
    /// target is limited.
    var newOwners: [String] {
        linking.isEmpty ? [] : Set(linking.flatMap { verdicts[$0].addedOwners }).filter { stored[$0] != nil }.sorted()
    }

    /// Holds the batch against the rules of parents and references, until no further item is refused.
    ///
    /// One refusal can cause the next (a child whose parent is refused), and the rules are asked again until none does.
    /// Deletions come first: if a batch deletes a parent and gives it a child, the child stays, whatever their order.
    package mutating func settle(within reach: CascadeReach) {
        self.reach = reach
        refuseParentRings()
        repeat {
            settleDeletions()
        } while settleSaves()
    }

    /// Refuses all other items where one is refused. CloudKit: in an atomic zone, one item that fails takes all others
    /// with it.
    /// - Returns: whether the batch was refused.
    mutating func settleAtomically() -> Bool {
        guard verdicts.indices.contains(where: { verdicts[$0].isRefused }) else { return false }
        for index in verdicts.indices where !verdicts[index].isRefused {
            verdicts[index] = .refuse(.atomicFailure)
        }
        return true
    }

    /// Parents outside the batch whose children it saves. CloudKit gives them a new change tag. In a public database,
    /// only parents with the child's creator count.
    var touchedParents: [StoredRecord] {
        let names = linking.compactMap { index -> String? in
            guard case .save(let save) = verdicts[index], let parent = save.parent else { return nil }
            if places[parent].map({ verdicts[$0].changesItsRecord }) == true { return nil }
            return isPublic && stored[parent]?.creator != creator(of: save) ? nil : parent
        }
        return Set(names).sorted().compactMap { stored[$0] }.filter(\.isLive)
    }

    /// Whether a reference by a record of this user binds the target. In a public database only references by the
    /// target's own creator do.
    func binds(_ user: String, to target: String) -> Bool {
        guard isPublic else { return true }
        if let index = places[target], case .save(let save) = verdicts[index] { return user == creator(of: save) }
        return (reach.followers[target] ?? stored[target])?.creator == user
    }

    /// The links that a save removes, and those that it adds.
    package func links(of save: RecordVerdict.Save) -> (gone: [ReferenceLink], come: [ReferenceLink]) {
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

    /// The user record name of a saved record's creator. A role may let other users change the record, and it keeps its
    /// creator.
    package func creator(of save: RecordVerdict.Save) -> String {
        save.over.flatMap { $0.isLive ? $0.creator : nil } ?? caller
    }

    /// Refuses saves by which records of this batch would be above themselves. A member of the ring that keeps its
    /// parent is not at fault. `settleShares` finds rings that pass through other records.
    private mutating func refuseParentRings() {
        var seen: Set<String> = []
        for index in linking {
            var path: [(name: String, index: Int)] = []
            var next: String? = items[index].name
            while let name = next, seen.insert(name).inserted {
                guard let index = places[name], case .save(let save) = verdicts[index] else { break }
                path.append((name, index))
                next = save.parent
            }
            guard let start = path.firstIndex(where: { $0.name == next }) else { continue }
            for (_, index) in path[start...] {
                if case .save(let save) = verdicts[index], save.over?.isLive != true || save.over?.row.parent != save.parent {
                    verdicts[index] = .refuse(.parentRing)
                }
            }
        }
    }

    /// Refuses saves whose parent or target is missing. CloudKit: a parent must exist or be saved in the same batch, in
    /// any order. The same holds for the target of a reference that does more than point.
    /// - Returns: whether a save was refused, after which the deletions must be settled again.
    private mutating func settleSaves() -> Bool {
        var fell = false
        var moved = true
        while moved {
            moved = false
            for index in linking {
                guard case .save(let save) = verdicts[index],
                    let fault = parentFault(of: items[index], save) ?? referenceFault(of: items[index], save)
                else { continue }
                verdicts[index] = .refuse(fault)
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

    /// Returns the error of a save whose target is missing. A target that the save sets must be live after the batch. A
    /// kept one was checked when it was set, and only must not be deleted by this batch.
    ///
    /// In a public database the target of a reference may be gone already. A client that sends the reference back
    /// unchanged keeps it.
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

    /// Refuses saves beyond the most records that may go with one target. CloudKit limits their number. References that
    /// exist already come first, then the others in the order of their items.
    ///
    /// In a public database the records of a target's creator are counted apart from all others, which cannot use up
    /// that room.
    /// - Returns: whether a save was refused.
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
        for index in items.indices {
            for target in ownersAfter(at: index).subtracting(added[index]) where counted.contains(target) {
                counts[room(of: target, at: index), default: 0] += 1
            }
        }
        var fell = false
        for index in items.indices {
            let rooms = added[index].map { room(of: $0, at: index) }
            if rooms.allSatisfy({ counts[$0, default: 0] < Limits.owningReferences }) {
                for room in rooms { counts[room, default: 0] += 1 }
            } else {
                verdicts[index] = .refuse(.tooManyOwningReferences)
                fell = true
            }
        }
        return fell
    }

    /// A count of the records that go with a target. In a public database there are two: `isOwn` counts the records of
    /// the target's creator, the other those of all others. Elsewhere all count as own.
    private struct Room: Hashable {
        var target: String
        var isOwn: Bool
    }

    private func room(of target: String, at index: Int) -> Room {
        Room(target: target, isOwn: binds(creatorAfter(at: index), to: target))
    }

    private func creatorAfter(at index: Int) -> String {
        switch verdicts[index] {
        case .save(let save): creator(of: save)
        case .refuse: stored[items[index].name]?.creator ?? caller
        case .delete, .nothing: caller
        }
    }

    private func ownersAfter(at index: Int) -> Set<String> {
        let name = items[index].name
        return switch verdicts[index] {
        case .save(let save): save.owners
        case .delete, .nothing: []
        case .refuse: stored[name].flatMap { $0.isLive && !going.contains(name) ? $0.content.fields.owners : nil } ?? []
        }
    }

    func isLiveAfter(_ name: String) -> Bool {
        let isStored = (stored[name]?.isThere ?? false) && !going.contains(name) && !hidden.contains(name)
        guard let index = places[name] else { return isStored }
        switch verdicts[index] {
        case .save: return true
        case .delete, .nothing: return false
        case .refuse: return isStored
        }
    }
}

extension RecordVerdict {
    package var isRefused: Bool {
        if case .refuse = self { true } else { false }
    }

    package var isDelete: Bool {
        if case .delete = self { true } else { false }
    }

    var changesItsRecord: Bool {
        switch self {
        case .save, .delete: true
        case .nothing, .refuse: false
        }
    }

    /// Whether the verdict depends on other records.
    fileprivate var links: Bool {
        if case .save(let save) = self { save.parent != nil || !save.references.isEmpty } else { false }
    }

    /// Records with which the save makes its record go, and with which it did not go before.
    fileprivate var addedOwners: Set<String> {
        guard case .save(let save) = self, !save.references.isEmpty else { return [] }
        let owners = save.owners
        return owners.isEmpty ? owners : owners.subtracting(save.over?.content.fields.owners ?? [])
    }
}
