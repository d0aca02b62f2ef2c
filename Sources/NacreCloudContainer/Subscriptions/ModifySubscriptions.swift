package import NacreCloudAccounts
package import NacreCloudStorage
package import NacreCloudWire

extension Cloud {
    /// `subscriptions/list`: all subscriptions of the caller in the database, in the order of their IDs.
    package func listSubscriptions(in target: DatabaseTarget, by caller: Caller) async throws -> SubscriptionsResponse {
        let (database, user) = try await subscriberDatabase(target, by: caller)
        let found = try await stored(of: database.key) { try await self.store.read { try $0.subscriptions(of: user, in: database.id) } }
        return SubscriptionsResponse(subscriptions: found.map { .subscription(database.key.shown($0.subscription)) })
    }

    /// `subscriptions/lookup`: the caller's subscriptions with these IDs, in the order asked; a missing one is an
    /// error.
    package func lookupSubscriptions(
        _ request: SubscriptionsLookupRequest, in target: DatabaseTarget, by caller: Caller
    ) async throws -> SubscriptionsResponse {
        let (database, user) = try await subscriberDatabase(target, by: caller)
        let ids = request.subscriptionIDs
        if let fault = RequestShape.fault(count: ids.count, field: "subscriptions", by: caller) { throw fault }
        if let fault = RequestShape.fault(ofNames: ids, field: "subscriptions") { throw fault }
        let found = try await stored(of: database.key) {
            try await self.store.read { try $0.subscriptions(ids, of: user, in: database.id) }
        }
        return SubscriptionsResponse(
            subscriptions: ids.map { id in
                found[id].map { .subscription(database.key.shown($0.subscription)) } ?? .failure(id, .subscriptionNotFound)
            })
    }

    /// `subscriptions/modify`: saves, replaces and deletes the caller's subscriptions one by one, in one transaction.
    ///
    /// - Parameters:
    ///   - digest: the digest of the request's bytes. Two requests with one operation ID must have one digest. nil: the
    ///     ID is ignored.
    ///   - age: seconds since a repeated request was sent for the first time; nil: it is not repeated.
    package func modifySubscriptions(
        _ request: SubscriptionsModifyRequest, in target: DatabaseTarget, by caller: Caller, digest: [UInt8]? = nil, age: Double? = nil
    ) async throws -> SubscriptionsResponse {
        let (database, user) = try await subscriberDatabase(target, by: caller)
        if let fault = RequestShape.fault(count: request.operations.count, field: "operations", by: caller) { throw fault }
        let ids = request.operations.map(\.subscriptionID)
        guard Set(ids).count == ids.count else { throw ServerError.repeatedItem(field: "operations") }
        if let fault = RequestShape.fault(of: request.extension) { throw fault }
        let change = SubscriptionModification(
            operations: request.operations, database: database.id, key: database.key, caller: caller, user: user, now: clock(),
            log: digest.flatMap { OperationLog(request.extension, by: caller, digest: $0, age: age) },
            trimsLog: Int64(bitPattern: random()) % TrimOperations.commitsPerTask == 0, meter: .current)
        let results = try await schemas.withSchema(of: target.container, target.environment) { schema in
            try await stored(of: database.key) { try await self.store.write { try change.run($0, with: schema) } }
        }
        return SubscriptionsResponse(
            subscriptions: results.map { result in
                guard case .subscription(let subscription) = result else { return result }
                return .subscription(database.key.shown(subscription))
            })
    }

    /// CloudKit: subscriptions belong to a user, or to a server-to-server key in the public database.
    private func subscriberDatabase(_ target: DatabaseTarget, by caller: Caller) async throws -> (database: CallerDatabase, user: String) {
        let database = try await database(target, for: .write, by: caller)
        guard let user = caller.userRecordName else { throw caller.noUser }
        return (database, user)
    }
}

/// One `subscriptions/modify` with everything drawn beforehand, so that its transaction may run more than once.
struct SubscriptionModification: Sendable {
    package var operations: [SubscriptionOperation]
    package var database: DatabaseID
    package var key: DatabaseKey
    package var caller: Caller
    package var user: String
    package var now: Timestamp
    package var log: OperationLog?
    /// Whether a task follows that trims the caller's operation log.
    var trimsLog: Bool
    /// The meter of the request; the writer is in no task of it.
    var meter: WorkMeter?

    package func run(_ transaction: any WriteTransaction, with schema: KnownSchema) throws -> Ending<[SubscriptionResult]> {
        let advance = try transaction.lock(
            zoneNamed: nil, in: database, operation: log?.id, entries: [schema.versionKey] + (log?.entries(in: database) ?? []))
        guard schema.isCurrent(by: advance.entries) else { throw SchemaInterruption.moved }
        if let row = advance.database, row.key != key { throw ServerError.internalError }
        let found = Dictionary(
            try transaction.subscriptions(of: user, in: database).map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        if let operation = advance.operation { return .rollback(try replay(operation, over: found)) }
        if let fault = log?.fault(horizon: try OperationHorizon.of(log, in: database, among: advance.entries), at: now) { throw fault }
        let zones = Dictionary(
            try transaction.zones(in: database, named: Set(operations.compactMap(\.zoneName)).sorted()).map { ($0.name, $0.address) },
            uniquingKeysWith: { first, _ in first })
        let missing = Set(operations.compactMap(\.zoneName).filter { zones[$0] == nil && $0 != ZoneID.defaultZoneName })
        let purged = try transaction.purgedZones(among: missing.sorted(), in: database)
        let rule = SubscriptionRule(database: key, schema: schema.schema, caller: caller)
        var (come, gone, results) = ([StoredSubscription](), [StoredSubscription](), [SubscriptionResult]())
        var open = found.values.count(where: \.term.isOpen)
        var contents = SubscriptionContents(found.values.map(\.subscription), without: operations, in: key.scope)
        defer { meter?.add(bytes: contents.bytes) }
        for operation in operations {
            switch operation {
            case .create(let subscription), .update(let subscription):
                let known = found[subscription.subscriptionID]
                let room = Limits.subscriptionsPerUser - found.count - come.count
                let content = contents.content(of: subscription)
                let duplicate = contents.fault(of: content, under: subscription.subscriptionID)
                switch verdict(on: subscription, over: known, by: rule, duplicate, zones, purged, room: room) {
                case .failure(let error): results.append(.failure(subscription.subscriptionID, error))
                case .success(let next):
                    let isOneMore = next.term.isOpen && known?.term.isOpen != true
                    if let fault = rule.fault(ofOneMoreOpen: isOneMore, beside: open) {
                        results.append(.failure(subscription.subscriptionID, fault))
                        continue
                    }
                    results.append(.subscription(subscription))
                    if next == known { continue }
                    if isOneMore { open += 1 }
                    contents.keep(content, of: subscription.subscriptionID)
                    come.append(next)
                    if let known { gone.append(known) }
                }
            case .delete(let id):
                guard let known = found[id] else {
                    results.append(.failure(id, .subscriptionNotFound))
                    continue
                }
                gone.append(known)
                results.append(.deleted(id))
            }
        }
        if come.isEmpty, gone.isEmpty { return .rollback(results) }
        if let additions = additions(for: come, to: schema.schema) { throw SchemaInterruption.lacks(additions) }
        var plan = try transaction.plan(subscribing: come, without: gone, in: database)
        if advance.database == nil { plan.databases.append(DatabaseRow(id: database, key: key, run: advance.run, lastSeq: 0)) }
        if let log {
            plan.operations.append(log.row(kept(results), in: database, at: now))
            if trimsLog { plan.tasks.append(TrimOperations.task(in: database, of: log.caller, due: now)) }
        }
        try transaction.apply(plan)
        return .commit(results)
    }

    private func verdict(
        on subscription: Subscription, over known: StoredSubscription?, by rule: SubscriptionRule, _ duplicate: ServerError?,
        _ zones: [String: ZoneAddress], _ purged: [String: ZoneRow.State], room: Int
    ) -> Result<StoredSubscription, ServerError> {
        if let fault = rule.fault(of: subscription) ?? duplicate { return .failure(fault) }
        if known == nil, room <= 0 { return .failure(.tooManySubscriptions) }
        if let zoneID = subscription.zoneID, !zoneID.isDefault, zones[zoneID.zoneName] == nil {
            return .failure(.zoneNotFound(zoneID, end: purged[zoneID.zoneName]))
        }
        switch subscription.kind {
        case .query(let subscribed):
            do throws(ServerError) {
                return .success(StoredSubscription(subscription, of: user, shape: try rule.shape(of: subscribed.query), zone: nil))
            } catch {
                return .failure(error)
            }
        case .zone(let zoneID, _): return .success(StoredSubscription(subscription, of: user, shape: nil, zone: zones[zoneID.zoneName]))
        case .database: return .success(StoredSubscription(subscription, of: user, shape: nil, zone: nil))
        }
    }

    /// CloudKit: a kind of subscriptions saved in development joins its schema, and reaches production by deployment.
    private func additions(for come: [StoredSubscription], to schema: Schema) -> SchemaAdditions? {
        var additions = SchemaAdditions()
        for subscription in come {
            guard case .query(let subscribed) = subscription.subscription.kind, let type = schema.types[subscribed.query.recordType],
                !type.subscribed.contains(subscribed.firesOn.kind)
            else { continue }
            additions.subscribed[type.name, default: []].insert(subscribed.firesOn.kind)
        }
        return additions.subscribed.isEmpty ? nil : additions
    }

    private func kept(_ results: [SubscriptionResult]) -> OperationResult {
        let failures = results.enumerated().compactMap { index, result -> OperationResult.Failure? in
            guard case .failure(_, let error) = result else { return nil }
            return OperationResult.Failure(index: index, error: error)
        }
        return OperationResult(number: .zero, madeNames: [], failures: failures)
    }

    /// Returns the answer to a repeated request: the failures as they were, and the subscriptions as they are now.
    private func replay(_ operation: OperationRow, over found: [String: StoredSubscription]) throws -> [SubscriptionResult] {
        let failures = try OperationResult(operation, of: log).errors
        return operations.enumerated().map { index, operation in
            let id = operation.subscriptionID
            if let error = failures[index] { return .failure(id, error) }
            if case .delete = operation { return .deleted(id) }
            return found[id].map { .subscription($0.subscription) } ?? .failure(id, .subscriptionNotFound)
        }
    }
}

extension SubscriptionOperation {
    /// The name of the zone that the subscription follows.
    fileprivate var zoneName: String? {
        switch self {
        case .create(let subscription), .update(let subscription): subscription.zoneID?.zoneName
        case .delete: nil
        }
    }
}

extension Subscription {
    /// The zone that the subscription follows; nil: more than one, or none is named.
    package var zoneID: ZoneID? {
        switch kind {
        case .query(let subscribed): subscribed.zoneID
        case .zone(let zoneID, _): zoneID
        case .database: nil
        }
    }
}

extension DatabaseKey {
    /// Returns the subscription with the owner of its zone, as answers name it.
    fileprivate func shown(_ subscription: Subscription) -> Subscription {
        var shownOne = subscription
        switch subscription.kind {
        case .query(var subscribed):
            subscribed.zoneID = subscribed.zoneID.map { zoneID($0.zoneName) }
            shownOne.kind = .query(subscribed)
        case .zone(let named, let recordType): shownOne.kind = .zone(zoneID(named.zoneName), recordType: recordType)
        case .database: break
        }
        return shownOne
    }
}

extension ReadTransaction {
    /// Returns the subscriptions of a user with these IDs, by ID.
    fileprivate func subscriptions(_ ids: [String], of user: String, in database: DatabaseID) throws -> [String: StoredSubscription] {
        let keys = ids.map { StoredSubscription.key(user, $0) }
        let found = try entries(in: database, .subscription, keys: keys).map { try StoredSubscription($0) }
        return Dictionary(found.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    }
}

extension WriteTransaction {
    /// Removes some of the subscriptions of a database, at most `Limits.resultsPerPage` for every user.
    /// - Parameter user: the user whose subscriptions go; nil: every user.
    /// - Returns: whether there were any.
    package func removeSubscriptions(of user: String?, from database: DatabaseID) throws -> Bool {
        guard try lock(in: database).database != nil else { return false }
        var gone: [StoredSubscription] = []
        if let user {
            gone = Array(try subscriptions(of: user, in: database).prefix(Limits.resultsPerPage))
        } else {
            gone = try entries(in: database, .subscription, after: nil, limit: Limits.resultsPerPage).map { try StoredSubscription($0) }
        }
        if gone.isEmpty { return false }
        try apply(try plan(subscribing: [], without: gone, in: database))
        return true
    }

    /// Returns a user's subscriptions to zones that go. Call it under the lock of the database, which is the user's.
    package func subscriptions(toZones names: Set<String>, of user: String, in database: DatabaseID) throws -> [StoredSubscription] {
        guard try !subscriptionCounts([SubscriptionCounts.all], in: database).isEmpty else { return [] }
        return try subscriptions(of: user, in: database).filter { subscription in
            subscription.subscription.zoneID.map { names.contains($0.zoneName) } ?? false
        }
    }
}
