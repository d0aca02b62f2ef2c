import FoundationEssentials
import NacreCloudAccounts
package import NacreCloudContainer
import NacreCloudStorage
package import NacreCloudWire

/// The reasons why a user's devices are notified of a record as it is now, or not: rules and push log, step by step.
package struct NotificationExplanation: Hashable, Sendable {
    package struct Step: Hashable, Sendable {
        /// The question of this step, in a word or two.
        package var name: String
        /// false: this step keeps the notification from the devices.
        package var isPassed: Bool
        package var text: String
    }

    package struct Device: Hashable, Sendable {
        /// The first eight characters of its key on this server, and its client's name for itself.
        package var name: String
        /// Whether the device made the change and is therefore not notified.
        package var isAuthor: Bool
        /// The way by which it is notified: it asks, by a browser's push service, or by Apple's.
        package var way: String
        /// The lines of its push log, oldest first.
        package var lines: [PushLogLine]
        /// The time before which lines may be missing, because the log is full. nil: no line of the last
        /// `Limits.pushLogSeconds` is missing.
        package var logBegins: Timestamp?
    }

    package var steps: [Step] = []
    package var devices: [Device] = []

    /// Whether every step is passed.
    package var fires: Bool { steps.allSatisfy(\.isPassed) }

    fileprivate mutating func add(_ name: String, _ isPassed: Bool, _ text: String) {
        steps.append(Step(name: name, isPassed: isPassed, text: text))
    }
}

/// A subscription and a record to explain.
package struct NotificationQuestion: Sendable {
    package var subscriptionID: String
    package var recordName: String
    package var zoneName: String
    /// The user record name of the zone's owner, for a shared database; nil for others.
    package var owner: String?
    /// The user to whom the subscription belongs.
    package var user: String

    package init(subscriptionID: String, recordName: String, zoneName: String, owner: String? = nil, user: String) {
        (self.subscriptionID, self.recordName, self.zoneName, self.owner, self.user) = (subscriptionID, recordName, zoneName, owner, user)
    }
}

extension Cloud {
    /// `nacre subscription why`: explains a notification. Values of encrypted fields are not shown.
    package func explainNotification(_ question: NotificationQuestion, in target: DatabaseTarget) async throws -> NotificationExplanation {
        let caller = Caller(.user(question.user))
        let key = try databaseVerdict(target, for: .read, by: caller).get()
        let database = try await databaseID(key)
        // The records of a shared database are in private ones.
        var place = key
        if key.scope == .shared {
            guard let owner = question.owner else { throw ServerError.sharedZoneWithoutOwner }
            place = DatabaseKey(container: key.container, environment: key.environment, scope: .private, owner: owner)
        }
        let holding = try await databaseID(place)
        let devices = try await registry.databaseID(Registry.Part.devices(of: subscriber(of: question, in: target)).key)
        let now = clock()
        return try await schemas.withSchema(of: key.container, key.environment) { known in
            try await self.store.read { transaction in
                guard try transaction.isCurrent(known.schema, in: known.database) else { throw SchemaInterruption.moved }
                var explaining = Explaining(
                    question: question, key: key, database: database, holding: holding, known: known, readRule: self.bounds.readRule)
                try explaining.run(transaction)
                try explaining.notifyDevices(in: devices, at: now, transaction)
                return explaining.found
            }
        }
    }

    private func subscriber(of question: NotificationQuestion, in target: DatabaseTarget) -> AppUser {
        AppUser(container: target.container, environment: target.environment, userRecordName: question.user)
    }
}

/// The check of one question, rule by rule.
private struct Explaining {
    let question: NotificationQuestion
    let key: DatabaseKey
    /// The database of the subscription.
    let database: DatabaseID
    /// The database that holds the record: that of a zone's owner, for a shared database.
    let holding: DatabaseID
    let known: KnownSchema
    let readRule: ReadRule
    var found = NotificationExplanation()
    /// The ID of the device that changed the record last.
    private var author: String?

    private static let valueCharacters = 200

    init(
        question: NotificationQuestion, key: DatabaseKey, database: DatabaseID, holding: DatabaseID, known: KnownSchema, readRule: ReadRule
    ) {
        (self.question, self.key, self.database, self.holding, self.known, self.readRule) = (question, key, database, holding, known, readRule)
    }

    mutating func run(_ transaction: any ReadTransaction) throws {
        let name = StoredSubscription.key(question.user, question.subscriptionID)
        guard let row = try transaction.entries(in: database, .subscription, keys: [name]).first else {
            return found.add("subscription", false, "the user has none with this ID in the \(key.scope.rawValue) database")
        }
        let stored = try StoredSubscription(row)
        found.add("subscription", true, "is there, \(Self.kind(stored.subscription))")
        guard let zone = try transaction.zones(in: holding, named: [question.zoneName]).first else {
            return found.add("saved", false, "there is no zone \(question.zoneName) in the \(key.scope.rawValue) database")
        }
        guard let record = try transaction.records(in: zone.address, named: [question.recordName]).first.map({ StoredRecord($0, in: zone.address) })
        else { return found.add("saved", false, "no record of this name is or was in the zone \(question.zoneName) of this database") }
        if record.isDamaged { return found.add("saved", false, "the record is damaged: nacre check") }
        author = record.content.modified.deviceID
        let reason: RecordTransition.Reason =
            record.row.isTombstone ? .deleted : record.content.created.timestamp == record.content.modified.timestamp ? .created : .updated
        let time = Date(timeIntervalSinceReferenceDate: record.content.modified.timestamp.secondsSince2001).formatted(.iso8601)
        found.add("saved", true, "\(reason) at \(time), of the type \(record.row.type)")
        explain(stored.subscription, record, reason)
        try explainReading(record, transaction)
        try explainSharing(record, in: zone.address, transaction)
    }

    private static func kind(_ subscription: Subscription) -> String {
        switch subscription.kind {
        case .query(let subscribed): "to a query for \(subscribed.query.recordType), on \(subscribed.firesOn.kind)"
        case .zone(let zoneID, let type): "to the zone \(zoneID.zoneName)\(type.map { ", for \($0)" } ?? "")"
        case .database(let type): "to the database\(type.map { ", for \($0)" } ?? "")"
        }
    }

    private mutating func explain(_ subscription: Subscription, _ record: StoredRecord, _ reason: RecordTransition.Reason) {
        if let wanted = subscription.zoneID {
            let isWanted = wanted.zoneName == question.zoneName && (key.scope != .shared || wanted.ownerRecordName == question.owner)
            found.add("zone", isWanted, "the subscription is to \(wanted.zoneName)")
        }
        let type: String?
        switch subscription.kind {
        case .query(let subscribed): type = subscribed.query.recordType
        case .zone(_, let wanted), .database(let wanted):
            type = wanted
            found.add("feed", key.hasFeed(inZoneNamed: question.zoneName), "the default zone has no feed of changes; others have")
        }
        if let type { found.add("type", type == record.row.type, "\(type) is asked for, the record is a \(record.row.type)") }
        guard case .query(let subscribed) = subscription.kind else { return }
        found.add("event", subscribed.firesOn.contains(reason.firesOn), "fires on \(subscribed.firesOn.kind), the record was last \(reason)")
        if reason == .updated { found.add("change", true, "a save that changed nothing of a record fires nothing: whether this one did is not kept") }
        guard type == record.row.type else { return }
        if !record.row.isTombstone { return explain(subscribed, record) }
        if subscribed.query.filters.isEmpty { return }
        found.add("filter", true, "the values went with the record: whether it passed until then is not kept")
    }

    private mutating func explain(_ subscribed: SubscribedQuery, _ record: StoredRecord) {
        let shape: QueryShape
        do {
            shape = try SubscriptionRule(database: key, schema: known.schema, caller: Caller(.user(question.user))).shape(of: subscribed.query)
        } catch {
            return found.add("predicate", false, "the schema does not allow it any more: \(error.reason)")
        }
        var tested = TestedRecord { record.value(of: $0) }
        for filter in shape.filters {
            let names = filter.fields.map(\.name)
            let passes = (try? FilterTest(filter.filter, fields: names).passes(&tested)) ?? false
            let values = names.map { "\($0) is \(record.value(of: $0).map(Self.text) ?? "not set")" }.joined(separator: ", ")
            found.add(
                "filter", passes,
                "\(filter.filter.fieldName ?? "any field") \(filter.filter.comparator.rawValue) \(Self.text(filter.filter.value)); \(values)")
        }
    }

    /// Returns a value as the wire has it, and the word `encrypted` for an encrypted one.
    private static func text(_ value: FieldValue) -> String {
        if case .sealed = value { return "encrypted" }
        var writer = JSONWriter()
        value.write(to: &writer, form: ValueForm(details: false, numbersAsStrings: false))
        return String(String(decoding: writer.finish(), as: UTF8.self).prefix(valueCharacters))
    }

    private mutating func explainReading(_ record: StoredRecord, _ transaction: any ReadTransaction) throws {
        guard key.scope == .public else { return }
        let caller = Caller(.user(question.user))
        let assigned = known.schema.roles.isEmpty ? [] : try transaction.entries(in: known.database, .roleAssignment, keys: [question.user])
        let verdict = try readRule.verdict(on: record, of: key, by: caller, known, assigned)
        found.add("permission", verdict == .whole, "the user may\(verdict == .whole ? "" : " not") read the record: nacre role why")
    }

    private mutating func explainSharing(_ record: StoredRecord, in zone: ZoneAddress, _ transaction: any ReadTransaction) throws {
        guard key.scope == .shared, let owner = question.owner else { return }
        guard record.isLive else { return found.add("shared", true, "the share went with the record: whether the user took part is not kept") }
        let people = try transaction.explanation(of: record, in: zone, owner: owner).people
        guard let person = people.first(where: { $0.userRecordName == question.user && $0.role != .owner }) else {
            return found.add("shared", false, "the user takes part in no share of the record: nacre share who")
        }
        found.add("shared", person.mayRead, person.because)
    }

    mutating func notifyDevices(in devices: DatabaseID, at now: Timestamp, _ transaction: any ReadTransaction) throws {
        for row in try transaction.allEntries(.notifiedDevice, in: devices).living(at: now) {
            let device = try NotifiedDevice(row)
            let rows = try transaction.pushLogRows(of: row.key.key, in: devices).living(at: now)
            let kept = try rows.flatMap { try PushLog.lines(of: $0) }
            let waiting = try transaction.queueRows(of: row.key.key, in: devices).living(at: now).map { try QueuedNotification($0) }
            let all = kept + waiting.map { $0.line(.queued, at: $0.queued) }
            let own = all.filter {
                $0.subscriptionID == question.subscriptionID && ($0.recordName.isEmpty || $0.recordName == question.recordName)
            }
            let numbers = Set(own.map(\.number))
            let lines = all.filter { numbers.contains($0.number) || $0.subscriptionID.isEmpty }
            let way =
                switch device.address {
                case nil: "it asks"
                case .browser: "by a browser's push service"
                case .apple: "by Apple's push service"
                }
            found.devices.append(
                NotificationExplanation.Device(
                    name: "\(row.key.key.prefix(8))\(device.clientID.isEmpty ? "" : " \(device.clientID)")",
                    isAuthor: author != nil && device.deviceID == author, way: way,
                    lines: lines.sorted { ($0.time, $0.number, $0.event.rawValue) < ($1.time, $1.number, $1.event.rawValue) }
                        .suffix(Limits.pushLogLinesTold),
                    logBegins: rows.count < Limits.pushLogRowsPerDevice ? nil : rows.compactMap(PushLog.time).min()))
        }
    }
}

extension ServerError {
    fileprivate static let sharedZoneWithoutOwner = ServerError(
        .badRequest, "missing required field", field: "owner", remedy: "Say whose the shared zone is: --owner.")
}
