import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire

/// Compares the rows of one database and table with the rows that they must agree with. It only reads: `CheckMending`
/// repairs what it finds.
///
/// A record is the truth. Its positions in feeds, its links and its index rows are derived from it. For a damaged
/// record these are unknown, so they are not checked until the record is known to be lost.
struct CheckReading {
    let rows: [KeptRow]
    let database: DatabaseRow?
    /// The database's row exists but is unreadable: nothing in the database can be checked.
    let isDatabaseUnreadable: Bool
    /// nil: the schema is unreadable, and index rows cannot be checked.
    let schema: Schema?
    let mode: CheckMode
    /// Zones whose bytes are counted again; nil: all.
    let counting: Set<ZoneAddress>?
    let now: Timestamp
    let transaction: any ReadTransaction
    private var zones: [ZoneAddress: KeptRow?] = [:]
    private(set) var problems: [CheckProblem] = []

    init(
        _ rows: [KeptRow], of database: DatabaseRow?, isUnreadable: Bool, schema: Schema?, mode: CheckMode, counting: Set<ZoneAddress>?,
        now: Timestamp, _ transaction: any ReadTransaction
    ) {
        self.rows = rows
        self.database = database
        isDatabaseUnreadable = isUnreadable
        self.schema = schema
        self.mode = mode
        self.counting = counting
        self.now = now
        self.transaction = transaction
    }

    mutating func read() throws {
        var records: [(ZoneAddress, RecordRow)] = []
        var derived: [DerivedRow] = []
        for row in rows {
            switch row.value {
            case .unreadable(let error, let mended): add(unreadable: row.key, error, mended)
            case .database(let row): try check(row)
            case .zone(let row): try check(row)
            case .record(let zone, let row): records.append((zone, row))
            case .derived(let row): derived.append(row)
            case .entry: break
            case .operation(let row): check(row)
            case .task(let row): try check(row)
            }
        }
        if isDatabaseUnreadable { return }
        for (zone, group) in Dictionary(grouping: records, by: \.0).sorted(by: { $0.key.zone < $1.key.zone }) {
            try check(group.map(\.1), in: zone)
        }
        for (zone, group) in Dictionary(grouping: derived, by: \.zone).sorted(by: { $0.key.zone < $1.key.zone }) {
            try check(group, in: zone)
        }
    }

    // MARK: Rows for themselves

    private mutating func add(unreadable place: RowKey, _ error: StoreError, _ mended: KeptRow.Value?) {
        var (zone, record) = ("", place.text)
        switch mended {
        case .zone(let row): (zone, record) = (row.name, "")
        case .database: record = ""
        default: break
        }
        let details = error.values.sorted { $0.key < $1.key }.map { ", \($0.key) \($0.value)" }.joined()
        problems.append(CheckProblem(error.text + details, zone: zone, record: record, mended.map { .rewrite($0) } ?? .none))
    }

    /// Salts that are tried to find a database's key. On this server: 16.
    static let salts: Range<UInt64> = 0..<16

    private mutating func check(_ row: DatabaseRow) throws {
        guard Self.salts.contains(where: { DatabaseID(row.key, salt: $0) == row.id }) else {
            problems.append(CheckProblem("A database stands under the number of another", .none))
            return
        }
        guard let bytes = try transaction.bytesOfZones(in: row.id), bytes != row.bytes else { return }
        problems.append(CheckProblem("A database counts \(row.bytes) bytes, and its zones \(bytes)", .recountDatabase(row)))
    }

    private mutating func check(_ row: ZoneRow) throws {
        if isDatabaseUnreadable { return }
        guard let database else {
            problems.append(CheckProblem("A zone of no database", zone: row.name, .none))
            return
        }
        if row.feedSeq > database.lastSeq {
            problems.append(
                CheckProblem("A zone's place is beyond its database's feed", zone: row.name, .raiseDatabase(database, to: row.feedSeq)))
        }
        guard row.state == .live, counting?.contains(row.address) ?? true else { return }
        let bytes = try transaction.countedBytes(of: row.address)
        guard bytes != row.bytes else { return }
        problems.append(CheckProblem("A zone counts \(row.bytes) bytes, and its records take \(bytes)", zone: row.name, .recount(row)))
    }

    private mutating func check(_ row: OperationRow) {
        if row.result == OperationResult.lostBytes { return }
        guard (try? OperationResult(row.result)) == nil else { return }
        var lost = row
        lost.result = OperationResult.lostBytes
        problems.append(CheckProblem("A logged operation's result cannot be read", .rewrite(.operation(lost))))
    }

    private mutating func check(_ row: TaskRow) throws {
        let handler = row.key.kind.handler
        guard (try? handler.init(row)) == nil else { return }
        let again = try handler.remade(row, at: now) { try zone($0) }
        let what = "A task cannot be read: \(row.key.kind)"
        problems.append(CheckProblem(what, record: row.key.name, again.map { .replace(row.key, $0) } ?? .none))
    }

    // MARK: Records

    private mutating func check(_ rows: [RecordRow], in address: ZoneAddress) throws {
        guard let zone = try living(address) else {
            if try self.zone(address) == nil, try !isUnreadable(address) { add(rows, ofNoZone: address) }
            return
        }
        guard let hasFeed = database?.key.hasFeed(inZoneNamed: zone.name) else { return }
        var expected: [DerivedRow] = []
        let records = rows.map { StoredRecord($0, in: address) }
        let creators = try creators(ofTargetsOf: records, in: address)
        for record in records {
            let row = record.row
            if record.isDamaged {
                add(damaged: record, of: zone)
            } else if record.row.number > zone.number {
                problems.append(
                    CheckProblem("A record's change is beyond its zone's", zone: zone.name, record: row.name, .raise(zone, to: row.number)))
            }
            expected += derived(from: record, hasFeed: hasFeed, links: links(expectedOf: record, creators), in: address)
            expected += usableIndexRows(of: record, in: address)
        }
        for missing in try transaction.missing(expected) where try !isKeptOtherwise(missing) {
            problems.append(CheckProblem(missing.absence, zone: zone.name, record: missing.name, .put(missing)))
        }
    }

    /// Reports records whose zone does not exist. A damaged one cannot be given to any zone. A sound one waits for its
    /// zone's row to come back.
    private mutating func add(_ rows: [RecordRow], ofNoZone zone: ZoneAddress) {
        for row in rows {
            let isDamaged = StoredRecord(row, in: zone).isDamaged
            let mending = isDamaged && mode == .removeLost ? CheckProblem.Mending.discard(zone, row) : .none
            problems.append(CheckProblem("A record of no zone", record: row.name, mending, outcome: isDamaged && mode != .removeLost ? .lost : nil))
        }
    }

    private mutating func add(damaged record: StoredRecord, of zone: ZoneRow) {
        let name = record.row.name
        var turned = record.row
        turned.isTombstone.toggle()
        if !StoredRecord(turned, in: zone.address).isDamaged {
            let what = "A record says falsely whether it is deleted"
            problems.append(CheckProblem(what, zone: zone.name, record: name, .restore(zone.address, turned)))
        } else if mode == .removeLost || (!record.isLost && record.row.isTombstone) {
            // A damaged tombstone has lost only its date.
            let what = record.row.isTombstone ? "A deleted record's row is damaged" : record.damage?.text ?? ""
            problems.append(CheckProblem(what, zone: zone.name, record: name, .bury(record, zone)))
        } else {
            let mending = record.isLost ? CheckProblem.Mending.none : .lose(record, zone)
            problems.append(CheckProblem(record.damage?.text ?? "", zone: zone.name, record: name, mending, outcome: .lost))
        }
    }

    private var isPublic: Bool { database?.key.scope == .public }

    /// Returns the creator and age of each record that records of a public database refer to: links depend on both. See
    /// `docs/decisions/records-references.md`.
    private func creators(ofTargetsOf records: [StoredRecord], in zone: ZoneAddress) throws -> [String: Target] {
        guard isPublic else { return [:] }
        let targets = Set(records.flatMap { links(possibleOf: $0).map(\.target) })
        guard !targets.isEmpty else { return [:] }
        let found = try transaction.records(in: zone, named: targets.sorted()).map { StoredRecord($0, in: zone) }.filter(\.isLive)
        return Dictionary(
            found.map { ($0.row.name, Target(creator: $0.creator, entered: $0.content.entered)) }, uniquingKeysWith: { first, _ in first })
    }

    /// Returns every form in which a link of the record may be kept.
    private func links(possibleOf record: StoredRecord) -> Set<ReferenceLink> {
        let links = record.content.fields.bindingReferences.links(parent: record.row.parent, inPublic: isPublic)
        return isPublic ? Set(links.flatMap(\.inPublic)) : links
    }

    private struct Target {
        var creator: String
        var entered: ChangeNumber
    }

    /// Returns the links that a record must have. A target younger than the record may have had another creator when
    /// the record was saved, so either form is accepted.
    private func links(expectedOf record: StoredRecord, _ targets: [String: Target]) -> Set<ReferenceLink> {
        let links = record.content.fields.bindingReferences.links(parent: record.row.parent, inPublic: isPublic)
        guard isPublic else { return links }
        return Set(
            links.compactMap { link in
                guard let target = targets[link.target], target.creator == record.creator, target.entered <= record.content.entered else {
                    return link.ofOthers
                }
                return link
            })
    }

    /// Whether a missing link is kept as the other kind. After a save, the creator of a target is not looked up again.
    private func isKeptOtherwise(_ row: DerivedRow) throws -> Bool {
        guard isPublic, case .link(let zone, let link, let name) = row else { return false }
        let others: [DerivedRow] = ReferenceLink(target: link.target, kind: .deleteSelf).inPublic.filter { $0 != link }.map {
            .link(zone, $0, name: name)
        }
        guard link.kind != .validate else { return false }
        return try transaction.missing(others).isEmpty
    }

    /// Returns a record's positions in feeds and its links; none for a damaged one that is not known to be lost.
    private func derived(from record: StoredRecord, hasFeed: Bool, links: Set<ReferenceLink>, in zone: ZoneAddress) -> [DerivedRow] {
        guard !record.isDamaged || record.isLost else { return [] }
        let name = record.row.name
        var rows: [DerivedRow] = []
        rows += RecordPlan.places(of: record, hasFeed: hasFeed).map { .feed(zone, $0, name: name) }
        if record.isLive { rows += links.map { .link(zone, $0, name: name) } }
        return rows
    }

    /// Returns the index rows that a live record must have, without those of indexes under construction.
    private func usableIndexRows(of record: StoredRecord, in zone: ZoneAddress) -> [DerivedRow] {
        guard record.isLive, let type = schema?.types[record.row.type] else { return [] }
        let name = record.row.name
        var rows: [DerivedRow] = []
        let building = Set(type.indexes.filter { $0.state == .building }.map(\.index))
        for keys in IndexRows(type).keys(of: record) where !building.contains(keys.index) {
            rows += keys.entries.map { .index(zone, $0, name: name) }
        }
        return rows
    }

    // MARK: Derived rows

    private mutating func check(_ rows: [DerivedRow], in address: ZoneAddress) throws {
        guard let zone = try living(address) else {
            if try self.zone(address) == nil, try !isUnreadable(address) {
                for row in rows { problems.append(CheckProblem("A row of no zone", record: row.name, .remove(row))) }
            }
            return
        }
        guard let hasFeed = database?.key.hasFeed(inZoneNamed: zone.name) else { return }
        let types = types(of: rows)
        let indexRows = types.mapValues(IndexRows.init)
        let records = try records(of: rows, in: address, types)
        var expected: [String: Set<DerivedRow>] = [:]
        for row in rows {
            let name = row.name
            let record = records[name]
            if record?.isDamaged == true, record?.isLost == false { continue }
            if case .index(_, let entry, _) = row {
                // Only this one row is tested: a record has as many as its texts have words, and each comes by itself.
                if let record, record.isLive, indexRows[record.row.type]?.has(entry, of: record) == true { continue }
                if isOfNoIndex(row) { continue }
            } else if let record {
                let known =
                    expected[name] ?? Set(derived(from: record, hasFeed: hasFeed, links: links(possibleOf: record), in: address))
                expected[name] = known
                if known.contains(row) { continue }
            }
            if record == nil, hasFeed, case .feed(_, let feed, let name) = row, feed.position.view == .owner, !feed.isDeparture {
                add(vanished: name, at: feed.position.number, in: zone)
                continue
            }
            problems.append(CheckProblem(row.presence, zone: zone.name, record: row.name, .remove(row)))
        }
    }

    /// Returns the types that own the indexes of these rows, with those indexes alone.
    private func types(of rows: [DerivedRow]) -> [String: RecordTypeDefinition] {
        let indexes: Set<IndexID> = rows.reduce(into: []) { if case .index(_, let entry, _) = $1 { $0.insert(entry.index) } }
        guard let schema, !indexes.isEmpty else { return [:] }
        return schema.types.compactMapValues { $0.only(indexes) }
    }

    /// Returns the records to which rows of one table belong. Each keeps only the fields that its rows are made of.
    private func records(of rows: [DerivedRow], in zone: ZoneAddress, _ types: [String: RecordTypeDefinition]) throws -> [String: StoredRecord] {
        let wanted: FieldNames? =
            switch rows.first {
            case .feed: FieldNames([])
            case .index: FieldNames(types.values.flatMap(\.fields.keys))
            case .link, .unknownLink, nil: nil
            }
        var names = Set(rows.map(\.name)).sorted { ByteOrder.compare($0, $1) < 0 }[...]
        var records: [String: StoredRecord] = [:]
        while !names.isEmpty {
            for row in try transaction.records(in: zone, next: &names, bytesMax: QueryReader.portionBytes) {
                records[row.name] = StoredRecord(row, in: zone, only: wanted)
            }
        }
        return records
    }

    /// Reports a record of which only its position in the feed is left. Clients that have the record must learn that it
    /// is lost, not that it never existed.
    private mutating func add(vanished name: String, at number: ChangeNumber, in zone: ZoneRow) {
        let row = RecordRow(name: name, type: "", number: number, isTombstone: false, parent: nil, body: [])
        let record = StoredRecord(row, in: zone.address)
        let mending = mode == .removeLost ? CheckProblem.Mending.bury(record, zone) : .lose(record, zone)
        problems.append(
            CheckProblem("A record is gone from its place", zone: zone.name, record: name, mending, outcome: mode == .removeLost ? nil : .lost))
    }

    /// Whether no query reads the row: its index was removed, or its field was once sortable and is no longer.
    private func isOfNoIndex(_ row: DerivedRow) -> Bool {
        guard case .index(_, let entry, _) = row else { return false }
        guard let schema else { return true }
        if schema.types.values.contains(where: { $0.pairs.contains { $0.definition.index == entry.index } }) { return false }
        let fields = schema.types.values.lazy.flatMap(\.fields.values)
        guard let field = fields.first(where: { $0.indexes.contains { $0.index == entry.index } }) else { return true }
        return entry.key == IndexKey.none && !field.isSortable
    }

    // MARK: Zones

    /// Returns the zone of some rows, if it is live. Rows of a removed zone are being reclaimed; rows of an unreadable
    /// zone cannot be checked.
    private mutating func living(_ address: ZoneAddress) throws -> ZoneRow? {
        try zone(address).flatMap { $0.state == .live ? $0 : nil }
    }

    private mutating func isUnreadable(_ address: ZoneAddress) throws -> Bool {
        if case .unreadable = try kept(address)?.value { true } else { false }
    }

    private mutating func zone(_ address: ZoneAddress) throws -> ZoneRow? {
        if case .zone(let row) = try kept(address)?.value { row } else { nil }
    }

    private mutating func kept(_ address: ZoneAddress) throws -> KeptRow? {
        if let known = zones[address] { return known }
        let before = RowKey.zone(ZoneAddress(database: address.database, zone: address.zone == .min ? .min : address.zone - 1))
        let found = try transaction.rows(of: .zones, after: before, limit: 1).first.flatMap { $0.key == .zone(address) ? $0 : nil }
        zones[address] = .some(found)
        return found
    }
}

extension ReadTransaction {
    /// Sums the counted bytes of a database's zones; nil if a zone is unreadable.
    func bytesOfZones(in database: DatabaseID) throws -> Int64? {
        var sum: Int64 = 0
        var last = RowKey.start(of: .zones, in: ZoneAddress(database: database, zone: .min))
        while true {
            let page = try rows(of: .zones, after: last, limit: Limits.checkRows).prefix { $0.key.database == database }
            for row in page {
                guard case .zone(let zone) = row.value else { return nil }
                sum &+= zone.bytes
            }
            guard let next = page.last?.key else { return sum }
            last = next
        }
    }
}

extension RowKey {
    /// Its last part, if that is a name.
    fileprivate var text: String {
        if case .text(let name)? = parts.last { name } else { "" }
    }
}

extension DerivedRow {
    fileprivate var absence: String {
        switch self {
        case .feed: "A record is not at its place in the feed"
        case .link, .unknownLink: "A record's link is missing"
        case .index: "A record's index row is missing"
        }
    }

    fileprivate var presence: String {
        switch self {
        case .feed: "A place in the feed is of no record"
        case .link, .unknownLink: "A link is of no record"
        case .index: "An index row is of no record"
        }
    }
}
