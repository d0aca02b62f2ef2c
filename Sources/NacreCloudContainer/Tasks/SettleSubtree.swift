package import NacreCloudAccounts
package import NacreCloudStorage
package import NacreCloudWire

/// A walk down from records that came into a view or left it, which takes along the records below them. A child in its
/// parent's view is passed with all below it: where those are elsewhere, another walk that begins there is due.
package struct SubtreeWalk: Sendable {
    /// Parents whose children are to be looked at, with the last child that was; the last parent is next.
    package private(set) var open: [(parent: String, after: String?)]

    package init(from names: [String]) {
        open = names.map { ($0, nil) }
    }

    /// Goes on with the walk.
    /// - Parameters:
    ///   - room: the bound of records that are looked at, and of calls of the store.
    ///   - bytes: the bound of their bodies.
    /// - Returns: the records that move.
    package mutating func run(room: Int, bytes: Int, as rows: inout RecordPlan, _ transaction: any ReadTransaction) throws -> [RecordPut] {
        var (room, bytes) = (room, bytes)
        var puts: [RecordPut] = []
        var moved: [String: FeedView?] = [:]
        while room > 0, bytes > 0, let (parent, after) = open.last {
            let known: FeedView??
            if let view = moved[parent] {
                known = .some(view)
            } else {
                let record = try transaction.records(in: rows.zone, named: [parent]).first.map { StoredRecord($0, in: rows.zone) }
                bytes -= record?.row.body.count ?? 0
                known = record.flatMap { $0.isLive ? .some($0.content.shared.view) : nil }
            }
            // A deleted parent has no children. A damaged one is saved whole one day, and a walk goes on from there.
            guard let view = known else {
                open.removeLast()
                room -= 1
                continue
            }
            let found = try transaction.children(in: rows.zone, of: parent, after: after, limit: room, bytesMax: bytes)
            let read = found.reduce(0) { $0 + $1.body.count }
            if let last = found.last, found.count == room || read >= bytes { open[open.count - 1].after = last.name } else { open.removeLast() }
            room -= found.count + 1
            bytes -= read
            for row in found {
                let child = StoredRecord(row, in: rows.zone)
                guard child.isLive, child.content.shared.share == nil, child.content.shared.view != view, moved[row.name] == nil else { continue }
                puts.append(rows.put(moving: child, to: view))
                moved[row.name] = .some(view)
                open.append((row.name, nil))
            }
        }
        return puts
    }
}

extension WriteTransaction {
    /// Takes along the records below those that moved in this transaction, once these are put. A task does the rest.
    func settleSubtrees(below names: [String], of zone: ZoneRow, as rows: inout RecordPlan, by caller: Caller, at now: Timestamp) throws {
        guard !names.isEmpty else { return }
        var walk = SubtreeWalk(from: names)
        var plan = WritePlan()
        plan.records = try walk.run(room: Limits.subtreePerTransaction, bytes: Limits.cascadeBytes, as: &rows, self)
        plan.addSharedViews(of: plan.records, in: zone, by: caller, at: now)
        if !walk.open.isEmpty { plan.tasks.append(SettleSubtree(walk, in: zone, by: caller).task(due: now)) }
        if rows.forgets > .zero { plan.zoneChanges.append(ZoneChange(zone.address, forgotten: rows.forgets)) }
        try apply(plan)
    }
}

/// The task that goes on with a walk for which a transaction had no room.
package struct SettleSubtree: TaskHandler {
    private let zone: ZoneAddress
    private let zoneName: String
    /// The number of the commit that began the walk.
    private let number: ChangeNumber
    private let author: FireSubscriptions.Author
    private var walk: SubtreeWalk

    private static let version: UInt8 = 1

    package init(_ walk: SubtreeWalk, in zone: ZoneRow, by caller: Caller) {
        (self.zone, zoneName, number, author, self.walk) = (zone.address, zone.name, zone.number, FireSubscriptions.Author(caller), walk)
    }

    package init(_ task: TaskRow) throws {
        do {
            var reader = ByteReader(task.payload)
            guard try reader.byte() == Self.version else { throw MalformedBytes() }
            zone = ZoneAddress(database: task.key.database, zone: try reader.signed())
            zoneName = try reader.string()
            number = try reader.changeNumber()
            author = try FireSubscriptions.Author(&reader)
            walk = try SubtreeWalk(&reader)
        } catch {
            throw task.malformed
        }
    }

    package var payload: [UInt8] {
        var writer = ByteWriter()
        writer.byte(Self.version)
        writer.signed(zone.zone)
        writer.string(zoneName)
        writer.write(number)
        author.write(to: &writer)
        walk.write(to: &writer)
        return writer.bytes
    }

    /// Returns the task of this walk. Each commit leaves a walk of its own, and none ends another's.
    package func task(due: Timestamp) -> TaskRow {
        TaskRow(key: TaskKey(zone.database, .settleSubtree, "\(zone.zone):\(ChangeTag.text(number))"), payload: payload, due: due)
    }

    package mutating func chunk(_ leased: LeasedTask) async throws -> Bool {
        let (settling, now) = (self, leased.cloud.clock())
        let (rest, hasMoved) = try await leased.cloud.store.write { try settling.run(leased, at: now, $0) }
        if hasMoved { leased.cloud.committed(zone.database) }
        guard let rest else { return false }
        walk = rest
        return true
    }

    private func run(
        _ leased: LeasedTask, at now: Timestamp, _ transaction: any WriteTransaction
    ) throws -> Ending<(rest: SubtreeWalk?, hasMoved: Bool)> {
        let advance = try transaction.advance(zoneNamed: zoneName, in: zone.database)
        try leased.requireLease(transaction)
        var plan = WritePlan(finishing: leased.key)
        guard let row = advance.zone, row.address == zone else {
            try transaction.apply(plan)
            return .commit((nil, false))
        }
        var rows = RecordPlan(
            zone: zone, number: row.number, now: now, stamp: Record.Stamp(timestamp: now, userRecordName: author.user), hasFeed: true,
            isPublic: false,
            schema: Schema())
        rows.forgotten = row.forgotten
        var walk = walk
        plan.records = try walk.run(room: Limits.subtreePerTransaction, bytes: Limits.cascadeBytes, as: &rows, transaction)
        let hasMoved = !plan.records.isEmpty
        if hasMoved {
            var caller = Caller(.user(author.user))
            caller.deviceID = author.deviceID
            plan.addSharedViews(of: plan.records, in: row, by: caller, at: now)
        }
        if rows.forgets > .zero { plan.zoneChanges.append(ZoneChange(zone, forgotten: rows.forgets)) }
        if !walk.open.isEmpty {
            var rest = self
            rest.walk = walk
            plan.tasks.append(leased.rest(rest.payload))
            plan.tasksFinished = []
        }
        try transaction.apply(plan)
        return .commit((walk.open.isEmpty ? nil : walk, hasMoved))
    }

    /// Returns nil: the key does not say how far the walk was.
    package static func remade(_ row: TaskRow, at now: Timestamp, zone: (ZoneAddress) throws -> ZoneRow?) throws -> TaskRow? { nil }
}

extension SubtreeWalk {
    fileprivate func write(to writer: inout ByteWriter) {
        writer.number(UInt64(open.count))
        for (parent, after) in open {
            writer.string(parent)
            writer.string(after ?? "")
        }
    }

    fileprivate init(_ reader: inout ByteReader) throws(MalformedBytes) {
        open = []
        for _ in 0..<(try reader.count()) {
            let parent = try reader.string()
            let after = try reader.string()
            open.append((parent, after.isEmpty ? nil : after))
        }
    }
}
