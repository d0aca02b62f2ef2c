package import NacreCloudAccounts
package import NacreCloudStorage
package import NacreCloudWire

/// The rules for a subscription that a caller wants to save, whatever else is saved.
package struct SubscriptionRule {
    package let database: DatabaseKey
    package let schema: Schema
    package let caller: Caller

    package init(database: DatabaseKey, schema: Schema, caller: Caller) {
        self.database = database
        self.schema = schema
        self.caller = caller
    }

    /// Returns what is wrong with a subscription; nil: nothing.
    package func fault(of subscription: Subscription) -> ServerError? {
        do throws(ServerError) {
            try check(subscription)
            return nil
        } catch {
            return error
        }
    }

    private func check(_ subscription: Subscription) throws(ServerError) {
        if let fault = Self.fault(ofID: subscription.subscriptionID) { throw fault }
        switch subscription.kind {
        case .query(let subscribed): try check(subscribed)
        case .zone(let zoneID, let recordType):
            // CloudKit: `CKRecordZoneSubscription` is for zones that have a feed of changes.
            guard database.scope == .private else { throw .subscriptionElsewhere("zone", database.scope) }
            if let fault = ownerVerdict(zoneID, in: database, by: caller) { throw fault }
            if zoneID.isDefault { throw .noFeedInDefaultZone }
            if let recordType, let fault = Names.recordTypeFault(recordType) { throw fault }
        case .database(let recordType):
            guard database.scope != .public else { throw .subscriptionElsewhere("database", database.scope) }
            if let recordType, let fault = Names.recordTypeFault(recordType) { throw fault }
        }
        if let info = subscription.notificationInfo { try check(info, of: subscription.kind) }
        if subscription.keptBytes.count > Limits.subscriptionBytes { throw .subscriptionTooLarge }
    }

    /// Bounds a user's open subscriptions in the public database, which every change of their type is checked against.
    /// In a database of the user's own there is no bound, since the author of the changes pays.
    package func fault(ofOneMoreOpen isOneMore: Bool, beside open: Int) -> ServerError? {
        isOneMore && database.scope == .public && open >= Limits.openSubscriptionsPerUser ? .tooManyOpenSubscriptions : nil
    }

    package static func fault(ofID id: String) -> ServerError? {
        guard !id.isEmpty else { return .missing("subscriptionID") }
        return Names.isName(id)
            ? nil
            : .badValue(
                "subscriptionID", "invalid subscription ID", remedy: "It has 1 to \(Limits.nameCharacters) printable ASCII characters.")
    }

    private func check(_ subscribed: SubscribedQuery) throws(ServerError) {
        // CloudKit: `CKQuerySubscription` is not for the shared database.
        guard database.scope != .shared else { throw .subscriptionElsewhere("query", database.scope) }
        if subscribed.firesOn.isEmpty { throw .firesOnNothing }
        if let zoneID = subscribed.zoneID {
            if let fault = ownerVerdict(zoneID, in: database, by: caller) { throw fault }
            if database.scope == .public, !zoneID.isDefault { throw .zoneNotFound(zoneID) }
        }
        let shape = try shape(of: subscribed.query)
        if database.environment == .production, !shape.type.subscribed.contains(subscribed.firesOn.kind) {
            throw .newSubscriptionInProduction(shape.type.name, subscribed.firesOn)
        }
    }

    /// Returns the query's filters as its type allows them. A predicate is refused as in a query.
    package func shape(of query: Query, for purpose: QueryShape.Purpose = .subscription) throws(ServerError) -> QueryShape {
        try QueryShape(Query(recordType: query.recordType, filters: query.filters), for: purpose, in: schema, of: database.container, by: caller)
    }

    private func check(_ info: NotificationInfo, of kind: Subscription.Kind) throws(ServerError) {
        let additional = info.additionalFields?.count ?? 0
        if additional > 0 {
            // CloudKit: the notification of a zone or a database names no record whose fields it could carry.
            guard case .query = kind else { throw .onlyQueriesHaveFields }
        }
        if additional > Limits.fieldsPerNotification {
            throw .badValue(
                "notificationInfo.additionalFields", "too many fields in a notification",
                remedy: "A notification carries \(Limits.fieldsPerNotification) fields at most.")
        }
        for name in info.fieldNames {
            if let fault = Names.fieldNameFault(name) { throw fault }
        }
    }
}

extension FiresOn {
    private static let words: [(FiresOn, String)] = [(.create, "create"), (.update, "update"), (.delete, "delete")]

    /// The name of this kind of subscriptions in a schema: `create,update,delete`, or a part of it in that order.
    package var kind: String { Self.words.filter { contains($0.0) }.map(\.1).joined(separator: ",") }
}

extension NotificationInfo {
    /// The fields whose values the notifications show or carry.
    var fieldNames: Set<String> {
        let lists = [alertLocalizationArgs, titleLocalizationArgs, subtitleLocalizationArgs, additionalFields]
        return Set(lists.flatMap { $0 ?? [] } + [collapseIDKey].compactMap(\.self))
    }
}

extension ServerError {
    fileprivate static func subscriptionElsewhere(_ kind: String, _ scope: DatabaseKey.Scope) -> ServerError {
        ServerError(
            .badRequest, "\(kind) subscriptions are not supported in the \(scope.rawValue) database", field: "subscriptionType",
            remedy: "Query subscriptions are for the public and the private database, zone subscriptions for the private one, database subscriptions "
                + "for the private and the shared one.")
    }

    fileprivate static let firesOnNothing = ServerError(
        .badRequest, "a query subscription fires on nothing", field: "firesOn",
        remedy: "Give at least one of create, update and delete; firesOnce stands beside them.")

    /// The reason and the codes are CloudKit's (12/2006).
    fileprivate static let onlyQueriesHaveFields = ServerError(
        .badRequest, "cannot add additionalFields to this subscription type", internalCode: 2006, field: "notificationInfo.additionalFields",
        remedy: "Leave them out (desiredKeys in the framework), or subscribe to a query.")

    /// The reason is CloudKit's text.
    fileprivate static func newSubscriptionInProduction(_ type: String, _ firesOn: FiresOn) -> ServerError {
        ServerError(
            .badRequest, "attempting to create a subscription in a production container", internalCode: 2006, field: "subscription",
            remedy: "Save a query subscription to \(type) that fires on \(firesOn.kind) in development, and deploy: nacre schema deploy.")
    }

    fileprivate static let subscriptionTooLarge = ServerError(
        .badRequest, "subscription is too large", native: .limitExceeded, internalCode: 2023, field: "subscription",
        remedy: "It may take \(Limits.subscriptionBytes) bytes with its predicate and its texts.")

    static let tooManySubscriptions = ServerError(
        .badRequest, "the user has as many subscriptions in the database as there may be (\(Limits.subscriptionsPerUser))", native: .limitExceeded,
        internalCode: 2023, field: "operations", remedy: "Delete those that are not needed any more: subscriptions/list tells them.")

    fileprivate static let tooManyOpenSubscriptions = ServerError(
        .badRequest, "the user has as many subscriptions in the public database as each change is held against (\(Limits.openSubscriptionsPerUser))",
        native: .limitExceeded, internalCode: 2023, field: "operations",
        remedy: "Give the query a filter that compares a field with a value by ==, <, <=, > or >=; or delete those that have none.")

    static let subscriptionNotFound = ServerError(
        .notFound, "Subscription not found", internalCode: 2003, field: "subscriptionID",
        remedy: "subscriptions/list tells which there are.")
}
