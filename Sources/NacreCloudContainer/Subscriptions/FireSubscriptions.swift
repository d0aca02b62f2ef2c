package import NacreCloudAccounts
package import NacreCloudStorage
package import NacreCloudWire

/// The task that notifies devices of what a commit changed. It finds the subscriptions that fire, and puts their
/// notifications into the devices' queues.
///
/// A commit leaves it only where a subscription may be concerned. The task has all that the rules ask, and reads no
/// records. Done twice it notifies twice, with the same IDs of notifications, of which a queue takes each once.
///
/// A commit sends a user at most as many notifications as a queue holds. A user with more is told to fetch everything,
/// and the rest of the commit is passed over for this user.
package struct FireSubscriptions: Sendable {
    /// The user and the device that made the change. That device is not notified.
    package struct Author: Equatable, Sendable {
        package var user: String
        package var deviceID: String?

        package init(user: String, deviceID: String?) {
            self.user = user
            self.deviceID = deviceID
        }

        package init(_ caller: Caller) {
            self.init(user: caller.userRecordName ?? "", deviceID: caller.deviceID)
        }

        package init(_ reader: inout ByteReader) throws {
            user = try reader.string()
            deviceID = try reader.byte() == 1 ? try reader.string() : nil
        }

        package func write(to writer: inout ByteWriter) {
            writer.string(user)
            writer.byte(deviceID == nil ? 0 : 1)
            if let deviceID { writer.string(deviceID) }
        }
    }

    /// The progress of a worker: the next candidate's entry stands behind this one.
    package struct Progress: Equatable, Sendable {
        package var change = 0
        package var term = ""
        package var candidate = ""

        package init(change: Int = 0, term: String = "", candidate: String = "") {
            self.change = change
            self.term = term
            self.candidate = candidate
        }
    }

    package var database: DatabaseID
    package var zone: Int64
    /// The name of the zone; empty where zones came or went, or all are fetched anew.
    package var zoneName: String
    package var number: ChangeNumber
    package var author: Author
    package var transitions: [RecordTransition]
    package var progress = Progress()
    /// The number of notifications that the commit has so far for each of the users who have most.
    package var notified: [String: Int] = [:]

    private static let version: UInt8 = 3

    /// Returns the tasks that a commit leaves which changed records: at most one.
    ///
    /// Costs a call of the store. Call it only where the database has subscriptions.
    package static func tasks(
        of transitions: [RecordTransition], in zone: ZoneRow, hasFeed: Bool, by author: Author, due: Timestamp, _ transaction: any ReadTransaction
    ) throws -> [TaskRow] {
        let types = Set(transitions.map(\.record.row.type)).sorted()
        let feeds = hasFeed ? [SubscriptionCounts.feeds] : []
        let subscriptionCounts = try transaction.subscriptionCounts(types.map(SubscriptionCounts.type) + feeds, in: zone.address.database)
        let watched = transitions.compactMap { transition -> RecordTransition? in
            let counts = subscriptionCounts[SubscriptionCounts.type(transition.record.row.type)]
            guard counts != nil || subscriptionCounts[SubscriptionCounts.feeds] != nil else { return nil }
            return transition.only(counts?.wantedFields ?? [], in: zone.address)
        }
        guard !watched.isEmpty else { return [] }
        let work = FireSubscriptions(
            database: zone.address.database, zone: zone.address.zone, zoneName: zone.name, number: zone.number, author: author, transitions: watched)
        let name = "\(author.user) \(zone.address.zone):\(ChangeTag.text(zone.number))"
        return [TaskRow(handingOver: TaskKey(work.database, .fireSubscriptions, name), payload: work.payload, at: due)]
    }

    /// Returns the task that a commit leaves which made or deleted zones.
    package static func task(ofZonesIn database: DatabaseID, at number: ChangeNumber, by caller: Caller, due: Timestamp) -> TaskRow {
        let work = FireSubscriptions(database: database, zone: 0, zoneName: "", number: number, author: Author(caller), transitions: [])
        let name = "\(work.author.user) zones:\(ChangeTag.text(number))"
        return TaskRow(handingOver: TaskKey(database, .fireSubscriptions, name), payload: work.payload, at: due)
    }

    /// Returns the task that a resync of a zone leaves: subscriptions to the zone and the database fire, and none to
    /// records.
    package static func task(ofResyncOf zone: ZoneRow, by caller: Caller, due: Timestamp) -> TaskRow {
        let work = FireSubscriptions(
            database: zone.address.database, zone: zone.address.zone, zoneName: zone.name, number: zone.number, author: Author(caller),
            transitions: [])
        let name = "\(work.author.user) \(zone.address.zone):\(ChangeTag.text(zone.number))"
        return TaskRow(handingOver: TaskKey(work.database, .fireSubscriptions, name), payload: work.payload, at: due)
    }

    /// On this server: bytes of a change that keeps little for filters to compare.
    private static let smallBytes = 4_000

    /// Checks that an author's commits have not left too many notifications. Call it before a request's commit leaves
    /// more. A task keeps what filters compare, which no quota counts. An author who saves faster than devices are
    /// notified waits, and no other user does. Costs a call of the store where as many tasks wait in memory, or some
    /// found no room there.
    /// - Parameters:
    ///   - isOwn: whether the database is the author's. In others the subscriptions of other users take time, and any
    ///     number of small changes waits.
    ///   - tasks: the tasks that the commit leaves. Without any, nothing is checked.
    /// - Throws: `ServerError.tooMuchToTell` where the author has left as much as may wait of one.
    package static func requireRoom(
        for author: Author, isOwn: Bool, leaving tasks: [TaskRow], within handed: HandedTasks, _ transaction: any ReadTransaction
    ) throws {
        guard let task = tasks.first, case let line = HandedTasks.LineKey(of: task.key),
            handed.isBacklog(at: line, tasks: Limits.changesWaitingToBeTold, bytes: Limits.bytesWaitingToBeTold)
        else { return }
        let waiting = try transaction.tasks(
            of: .fireSubscriptions, in: line.database, namesFrom: author.user + " ", limit: Limits.changesWaitingToBeTold)
        let isLarge = tasks.contains { $0.payload.count > smallBytes }
        let isFull = waiting.count >= Limits.changesWaitingToBeTold && (isOwn || isLarge)
        if isFull || waiting.bytes >= Limits.bytesWaitingToBeTold { throw ServerError.tooMuchToTell }
    }

    private init(
        database: DatabaseID, zone: Int64, zoneName: String, number: ChangeNumber, author: Author, transitions: [RecordTransition]
    ) {
        self.database = database
        self.zone = zone
        self.zoneName = zoneName
        self.number = number
        self.author = author
        self.transitions = transitions
    }

    package init(_ task: TaskRow) throws {
        do {
            var reader = ByteReader(task.payload)
            guard try reader.byte() == Self.version else { throw MalformedBytes() }
            database = task.key.database
            zone = try reader.signed()
            zoneName = try reader.string()
            number = try reader.changeNumber()
            author = try Author(&reader)
            let change = Int(clamping: try reader.number())
            progress = Progress(change: change, term: try reader.string(), candidate: try reader.string())
            transitions = []
            let address = ZoneAddress(database: database, zone: zone)
            for _ in 0..<(try reader.count()) { transitions.append(try RecordTransition(&reader, in: address)) }
            for _ in 0..<(try reader.count()) { notified[try reader.string()] = Int(clamping: try reader.number()) }
        } catch {
            throw task.malformed
        }
    }

    package var payload: [UInt8] {
        var writer = ByteWriter()
        writer.byte(Self.version)
        writer.signed(zone)
        writer.string(zoneName)
        writer.write(number)
        author.write(to: &writer)
        writer.number(UInt64(progress.change))
        writer.string(progress.term)
        writer.string(progress.candidate)
        writer.number(UInt64(transitions.count))
        for transition in transitions { transition.write(to: &writer) }
        writer.number(UInt64(notified.count))
        for (user, count) in notified.sorted(by: { $0.key < $1.key }) {
            writer.string(user)
            writer.number(UInt64(count))
        }
        return writer.bytes
    }
}

extension ServerError {
    static let tooMuchToTell = ServerError(
        .throttled, "too many of this user's changes wait to be told to devices",
        remedy: "Wait for as many seconds as retryAfter says; save more records at a time, or have fewer subscriptions that each change fires.",
        retryAfter: 1)
}
