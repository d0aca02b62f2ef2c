import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire

extension FireSubscriptions: TaskHandler {
    /// A notification for a user.
    private struct Firing: Sendable {
        var user: String
        /// nil: the user is told to fetch everything, because there is more than a queue holds.
        var subscription: StoredSubscription?
        /// nil: zones came or went.
        var transition: RecordTransition?
        /// Whether the user may read the record. Otherwise nobody is notified.
        var isReadable = true
    }

    /// Subscriptions that a change may fire, as far as one portion looked at them.
    private struct Found: Sendable {
        var firings: [Firing] = []
        /// The first subscriptions that would fire if their users might read the record.
        var unreadable: [Firing] = []
        /// The number of subscriptions that were looked at, by user.
        var held: [String: Int] = [:]
        /// In the unit of `WorkMeter`.
        var cost = 0
        /// The position where the next portion goes on; nil: nothing is left.
        var next: Progress?

        /// On this server: entries of `unreadable`. The request log keeps them, and a change may have any number.
        private static let unreadableMax = 20

        mutating func keep(unreadable firing: Firing) {
            // A firing without a subscription is a guess, which needs no reason.
            if firing.subscription != nil, unreadable.count < Self.unreadableMax { unreadable.append(firing) }
        }
    }

    /// Does one portion. If a power cut takes back what it writes, the task comes back, too.
    mutating func chunk(_ leased: LeasedTask) async throws -> Bool {
        var work = self
        let isMore = try await Turn.doneAgain { try await work.fire(leased) }
        self = work
        return isMore
    }

    private mutating func fire(_ leased: LeasedTask) async throws -> Bool {
        let cloud = leased.cloud
        guard let key = try await cloud.store.read({ try $0.databases([leased.key.database]).first?.key }) else { throw leased.task.malformed }
        let work = self
        let now = cloud.clock()
        let isSpent: @Sendable (String) -> Bool = { cloud.notificationRates.isSpent(by: Self.appUser(of: $0, in: key), at: now) }
        // An author who saves in public has no say in who subscribes there.
        let authorPays = key.scope == .private && key.owner == author.user
        let portion = try await cloud.schemas.withSchema(of: key.container, key.environment) { known in
            try await cloud.store.read { transaction in
                guard try transaction.isCurrent(known.schema, in: known.database) else { throw SchemaInterruption.moved }
                return try work.firings(by: known, of: key, cloud.bounds.readRule, isOwing: authorPays ? { _ in false } : isSpent, transaction)
            }
        }
        let (found, next) = (portion.firings, portion.next)
        cloud.handed.charge(HandedTasks.LineKey(of: leased.key), portion.cost)
        leased.together?.count(portion.cost)
        if authorPays {
            await cloud.process.charge(Self.appUser(of: author.user, in: key), portion.cost)
        } else {
            for (user, count) in portion.held { cloud.notificationRates.take(count, from: Self.appUser(of: user, in: key), at: now) }
        }
        let isFirst = notified.isEmpty
        let items = items(of: bounded(found, isSpent: isSpent), in: key, leased)
        cloud.note(events(of: items, portion.unreadable, isAll: isFirst && next == nil, in: key, leased))
        // This includes subscriptions of users who are told to fetch everything.
        let spent = found.compactMap(\.subscription).filter(\.firesOnce)
        if next == nil, spent.isEmpty, leased.leave(items) { return false }
        // The items of the tasks before this one come first.
        await leased.together?.enqueue(cloud)
        try await cloud.enqueue(items)
        if let next {
            if !spent.isEmpty {
                _ = try await cloud.store.write { transaction in
                    _ = try transaction.lock(in: leased.key.database)
                    return try Self.end(spent, WritePlan(), in: leased.key.database, transaction)
                }
            }
            progress = next
            return true
        }
        return try await cloud.store.write { transaction in
            _ = try transaction.lock(in: leased.key.database)
            try leased.requireLease(transaction)
            return try Self.end(spent, WritePlan(finishing: leased.key), in: leased.key.database, transaction)
        }
    }

    /// Returns the events of a portion for the request log.
    /// - Parameter isAll: whether no earlier portion has notified, and none comes after this one.
    private func events(
        of items: [NotificationBatch.Item], _ unreadable: [Firing], isAll: Bool, in key: DatabaseKey, _ leased: LeasedTask
    ) -> [NotificationEvent] {
        if isAll, items.isEmpty, unreadable.isEmpty { return [NotificationEvent(.firesNone, task: leased.key)] }
        return [(NotificationEvent.Kind.fires, items), (.mayNotRead, self.items(of: unreadable, in: key, leased))].flatMap { kind, items in
            items.map { NotificationEvent(kind, $0.payload, task: leased.key, user: $0.appUser.userRecordName) }
        }
    }

    /// On this server: users whose notifications of a commit are counted; those who have fewest are forgotten first.
    private static let usersCounted = 256

    /// Returns as many firings of each user as a queue holds, then one to fetch everything. Counts them.
    /// - Parameter isSpent: whether a user's devices were notified as often as they may be. They are to fetch
    ///   everything.
    private mutating func bounded(_ firings: [Firing], isSpent: (String) -> Bool) -> [Firing] {
        var bounded: [Firing] = []
        for firing in firings {
            if isFull(firing.user) { continue }
            let isEverything = firing.subscription == nil || isSpent(firing.user)
            notified[firing.user] = isEverything ? Limits.notificationsPerDevice + 1 : notified[firing.user, default: 0] + 1
            bounded.append(isFull(firing.user) ? Firing(user: firing.user) : firing)
        }
        if notified.count > Self.usersCounted {
            let most = notified.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.prefix(Self.usersCounted)
            notified = Dictionary(uniqueKeysWithValues: most.map { ($0.key, $0.value) })
        }
        return bounded
    }

    /// Whether a user has been told to fetch everything.
    private func isFull(_ user: some StringProtocol) -> Bool { notified[String(user), default: 0] > Limits.notificationsPerDevice }

    /// Removes subscriptions that fire once and have fired. Call it under the lock of the database.
    private static func end(
        _ spent: [StoredSubscription], _ plan: WritePlan, in database: DatabaseID, _ transaction: any WriteTransaction
    ) throws -> Ending<Bool> {
        let there = try transaction.entries(in: database, .subscription, keys: spent.map(\.name)).map { try StoredSubscription($0) }
        // A subscription that was saved anew meanwhile is another one, and stays.
        let changes = try transaction.plan(subscribing: [], without: there.filter(spent.contains), in: database)
        var plan = plan
        plan.entries = changes.entries
        plan.entriesRemoved = changes.entriesRemoved
        try transaction.apply(plan)
        return .commit(false)
    }

    /// On this server: the cost of a check of a change against a subscription, in the unit of `WorkMeter`.
    private static let costOfCandidate = 2

    /// Returns the next subscriptions that fire, of `Limits.firingChunk` that may.
    /// - Parameter isOwing: whether a user's subscriptions have taken as much as they may. None is looked at: the user
    ///   is told to fetch everything.
    private func firings(
        by known: KnownSchema, of key: DatabaseKey, _ readRule: ReadRule, isOwing: (String) -> Bool, _ transaction: any ReadTransaction
    ) throws -> Found {
        var (portion, once, here, ready) = (Found(), Set<String>(), progress, [String: Candidate]())
        var owing: [String: Bool] = [:]
        var room = Limits.firingChunk
        func end(_ next: Progress?) -> Found {
            (portion.cost, portion.next) = ((Limits.firingChunk - room) * Self.costOfCandidate, next)
            return portion
        }
        // The types that the portion may reach: each change takes some of the room.
        let types = Set(transitions.dropFirst(progress.change).prefix(room).map(\.record.row.type)).sorted()
        let subscriptionCounts = try transaction.subscriptionCounts(types.map(SubscriptionCounts.type), in: database)
        while here.change < max(transitions.count, 1) {
            let transition = transitions.indices.contains(here.change) ? transitions[here.change] : nil
            let terms = try terms(for: transition, isFirst: here.change == 0, of: key, subscriptionCounts, transaction)
            for term in terms where term.key >= here.term {
                if term.key > here.term { (here.term, here.candidate) = (term.key, "") }
                var most = term.atFirst
                while true {
                    let (found, isLast) = try candidates(of: term, after: here.candidate, limit: min(room, most), transaction)
                    most = 4 * min(most, Limits.firingChunk)
                    var (names, owers) = ([String](), Set<String>())
                    for (_, user, name) in found {
                        let owes = owing[user] ?? isOwing(user)
                        owing[user] = owes
                        if owes {
                            owers.insert(user)
                        } else {
                            names.append(name)
                            portion.held[user, default: 0] += 1
                        }
                    }
                    try makeReady(names, by: known, of: key, &ready, transaction)
                    let candidates = names.compactMap { ready[$0] }
                    for firing in try self.firings(of: candidates, owers, for: transition, by: known, of: key, readRule, transaction) {
                        guard firing.isReadable else {
                            portion.keep(unreadable: firing)
                            continue
                        }
                        if let subscription = firing.subscription, subscription.firesOnce, !once.insert(subscription.name).inserted { continue }
                        portion.firings.append(firing)
                    }
                    room -= found.count
                    if isLast { break }
                    here.candidate = found.last?.entry ?? here.candidate
                    if room <= 0 { return end(here) }
                }
                // Go on with the next term.
                (here.term, here.candidate) = (term.key + "~", "")
                if room <= 0 { return end(here) }
            }
            here = Progress(change: here.change + 1)
            // The search for terms takes room too.
            room -= 1
            if room <= 0, here.change < transitions.count { return end(here) }
        }
        return end(nil)
    }

    /// Returns the terms by which a change finds subscriptions, as far as any stand there, in the order of their keys.
    /// - Parameters:
    ///   - isFirst: whether the change is its commit's first. With it subscriptions to feeds are found, which fire
    ///     once.
    ///   - subscriptionCounts: the counts of types of records, by their names.
    private func terms(
        for transition: RecordTransition?, isFirst: Bool, of key: DatabaseKey, _ subscriptionCounts: [String: SubscriptionCounts],
        _ transaction: any ReadTransaction
    ) throws -> [Term] {
        var terms: Set<SubscriptionTerm> = []
        if isFirst, zoneName.isEmpty || key.hasFeed(inZoneNamed: zoneName) { terms = zoneName.isEmpty ? [.database] : [.database, .zone(zone)] }
        if let record = transition?.record {
            let type = record.row.type
            terms.insert(.type(type))
            for field in (subscriptionCounts[SubscriptionCounts.type(type)]?.termFields ?? [:]).keys {
                guard let value = record.value(of: field).flatMap(ValueKey.init) else { continue }
                terms.insert(.value(type: type, field: field, key: value))
                for side in SubscriptionTerm.Side.allCases { terms.insert(.range(type: type, field: field, side: side, bound: value)) }
            }
        }
        let counts = try transaction.subscriptionCounts(terms.map(SubscriptionCounts.term), in: database)
        return terms.compactMap { term in counts[SubscriptionCounts.term(term)].map { Term(term, count: Int(clamping: $0.count)) } }
            .sorted { $0.key < $1.key }
    }

    /// A term under which some subscriptions stand.
    private struct Term {
        let key: String
        let count: Int
        let scan: (after: String, before: String)
        let isRange: Bool

        init(_ term: SubscriptionTerm, count: Int) {
            (key, self.count, scan) = (term.key, count, term.scan)
            if case .range = term { isRange = true } else { isRange = false }
        }

        /// On this server: entries read first. A range often has no entry, and entries beyond it are read in vain.
        var atFirst: Int { isRange ? 4 : Limits.firingChunk }
    }

    /// Returns the next subscriptions under a term, and whether they end it. Reads no other term's row where all fit.
    private func candidates(
        of term: Term, after last: String, limit: Int, _ transaction: any ReadTransaction
    ) throws -> (found: [(entry: String, user: String, name: String)], isLast: Bool) {
        let limit = min(limit, term.count)
        let rows = try transaction.entries(in: database, .subscriptionTerm, after: last.isEmpty ? term.scan.after : last, limit: limit)
        let own = rows.prefix { ByteOrder.compare($0.key.key, term.scan.before) < 0 }
        let found = own.map { row in
            // The key and, for a range, the value stand before the name, and neither has a space.
            let name = row.key.key.split(separator: " ", maxSplits: term.isRange ? 2 : 1).last ?? ""
            return (entry: row.key.key, user: String(name.prefix { $0 != " " }), name: String(name))
        }
        return (found, own.count < rows.count || rows.count < limit || term.count <= limit && last.isEmpty)
    }

    /// A subscription that may fire.
    private struct Candidate {
        var subscription: StoredSubscription
        var rule: FiringRule
    }

    /// Reads the candidates that are not ready yet. Another change of the same portion may have read them.
    private func makeReady(
        _ names: [String], by known: KnownSchema, of key: DatabaseKey, _ ready: inout [String: Candidate], _ transaction: any ReadTransaction
    ) throws {
        let unread = names.filter { ready[$0] == nil }
        if unread.isEmpty { return }
        for row in try transaction.entries(in: database, .subscription, keys: unread) {
            let subscription = try StoredSubscription(row)
            let rule = SubscriptionRule(database: key, schema: known.schema, caller: Caller(.user(subscription.user)))
            ready[subscription.name] = Candidate(
                subscription: subscription, rule: FiringRule(subscription.subscription, by: rule, once: transitions.count < 2))
        }
    }

    /// Returns subscriptions that fire, and users who are to fetch everything, each with whether its user may read the
    /// change.
    /// - Parameter owers: users whose subscriptions were not looked at. Some of these may fire.
    private func firings(
        of candidates: [Candidate], _ owers: Set<String>, for transition: RecordTransition?, by known: KnownSchema, of key: DatabaseKey,
        _ readRule: ReadRule, _ transaction: any ReadTransaction
    ) throws -> [Firing] {
        let everything = transition?.hasChanged == false ? [] : owers.sorted().map { Firing(user: $0, transition: transition) }
        func firings(_ candidates: [Candidate]) -> [Firing] {
            everything + candidates.map { Firing(user: $0.subscription.user, subscription: $0.subscription, transition: transition) }
        }
        guard let transition else { return firings(candidates.filter(\.rule.firesForZones)) }
        var tested = transition.tested
        let matching = firings(
            candidates.filter { candidate in
                if candidate.subscription.isQuery { return candidate.rule.fires(for: transition, &tested, inZoneNamed: zoneName, of: key) }
                return transitions.contains { candidate.rule.fires(for: $0, inZoneNamed: zoneName, of: key) }
            })
        if key.scope != .public || matching.isEmpty { return matching }
        let users = Set(matching.map(\.user)).sorted()
        let assigned = known.schema.roles.isEmpty ? [] : try transaction.entries(in: known.database, .roleAssignment, keys: users)
        let readers = Set(
            try users.filter { user in try readRule.verdict(on: transition.record, of: key, by: Caller(.user(user)), known, assigned) == .whole })
        return matching.map { firing in
            var firing = firing
            firing.isReadable = readers.contains(firing.user)
            return firing
        }
    }

    // MARK: Telling

    private func items(of firings: [Firing], in key: DatabaseKey, _ leased: LeasedTask) -> [NotificationBatch.Item] {
        var ids: [String?: String] = [:]
        return firings.map { firing in
            let record = record(of: firing)
            let id = ids[record] ?? notificationID(of: record, leased.cloud)
            ids[record] = id
            return NotificationBatch.Item(
                appUser: Self.appUser(of: firing.user, in: key), task: leased.key, author: author.deviceID,
                payload: payload(of: firing, id: id, in: key),
                isNew: leased.isNew
            )
        }
    }

    private static func appUser(of user: String, in key: DatabaseKey) -> AppUser {
        AppUser(container: key.container, environment: key.environment, userRecordName: user)
    }

    /// The record that the notification is about; nil: it is about the commit.
    private func record(of firing: Firing) -> String? {
        firing.subscription?.isQuery == true ? firing.transition?.record.row.name : nil
    }

    private func payload(of firing: Firing, id: String, in key: DatabaseKey) -> Payload {
        guard let subscription = firing.subscription else { return .fetchEverything(of: key.scope, user: firing.user, in: key.container, id: id) }
        return Payload(subscription.subscription, for: firing.transition, id: id, user: firing.user, in: zoneName, of: key)
    }

    /// Returns the ID of a change, the same for all subscriptions that it fires (CloudKit), and whenever it is
    /// notified.
    /// - Parameter record: the name of the record; nil: the change is the commit.
    private func notificationID(of record: String?, _ cloud: Cloud) -> String {
        var writer = ByteWriter()
        writer.string(record ?? "")
        writer.signed(database.rawValue)
        writer.signed(zone)
        writer.write(number)
        var reader = ByteReader(cloud.tokens.code(for: writer.bytes, key: []))
        return UUIDText.version4((try? reader.fixed()) ?? 0, (try? reader.fixed()) ?? 0).lowercased()
    }

    /// Returns nil: nothing but the payload tells what changed.
    static func remade(_ row: TaskRow, at now: Timestamp, zone: (ZoneAddress) throws -> ZoneRow?) throws -> TaskRow? { nil }
}

extension StoredSubscription {
    fileprivate var isQuery: Bool { if case .query = subscription.kind { true } else { false } }

    fileprivate var firesOnce: Bool { if case .query(let subscribed) = subscription.kind { subscribed.firesOnce } else { false } }
}

extension ReadRule {
    /// Returns the part of a record that a subscriber may read.
    /// - Parameter assigned: the roles of subscribers, where the schema has any.
    func verdict(
        on record: StoredRecord, of key: DatabaseKey, by caller: Caller, _ known: KnownSchema, _ assigned: [EntryRow]
    ) throws -> ReadVerdict {
        var rule = or(ruleOf: key, for: caller)
        if rule.wantsSchema { rule = ReadRule(known.schema, try known.roles(of: caller, by: assigned)) }
        return rule.verdict(on: record, of: key, by: caller)
    }
}
