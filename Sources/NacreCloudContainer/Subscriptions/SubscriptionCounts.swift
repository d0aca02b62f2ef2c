package import NacreCloudStorage
import NacreCloudWire

/// Counts of subscriptions, with which a change looks for none where there are none. Each is an entry under a name.
package struct SubscriptionCounts: Equatable, Sendable {
    /// The count of all subscriptions of a database, which every save reads.
    package static let all = "all"
    /// The count of subscriptions to zones or to the database.
    package static let feeds = "feeds"
    /// The count of subscriptions to records of a type.
    package static func type(_ type: String) -> String { "type \(type)" }
    /// The count of subscriptions under a term.
    package static func term(_ term: SubscriptionTerm) -> String { "term \(term.key)" }

    package static func key(_ name: String, in database: DatabaseID) -> EntryKey { EntryKey(database, .subscribed, name) }

    package var count: Int64 = 0
    /// The fields that the subscriptions look at, each with the number of subscriptions.
    package var fields: [String: Int64] = [:]
    /// The fields by whose values the subscriptions are found, each with the number of subscriptions.
    package var termFields: [String: Int64] = [:]

    package init() {}

    package mutating func add(_ subscription: StoredSubscription, _ sign: Int64) {
        count += sign
        for field in subscription.fields { Self.change(&fields, field, sign) }
        if let field = subscription.term.field { Self.change(&termFields, field, sign) }
    }

    private static func change(_ counts: inout [String: Int64], _ name: String, _ sign: Int64) {
        let count = counts[name, default: 0] + sign
        counts[name] = count > 0 ? count : nil
    }

    /// The fields of a record that must be kept of a change.
    var wantedFields: Set<String> { Set(fields.keys).union(termFields.keys.filter { SystemField(schemaName: $0) == nil }) }

    package func row(_ name: String, in database: DatabaseID) -> EntryRow {
        var writer = ByteWriter()
        writer.signed(count)
        for counts in [fields, termFields] {
            writer.number(UInt64(counts.count))
            for (field, count) in counts.sorted(by: { $0.key < $1.key }) {
                writer.string(field)
                writer.signed(count)
            }
        }
        return EntryRow(key: Self.key(name, in: database), value: writer.bytes)
    }

    package init(_ row: EntryRow) throws(StoreError) {
        do {
            var reader = ByteReader(row.value)
            count = try reader.signed()
            fields = try Self.counts(&reader)
            termFields = try Self.counts(&reader)
        } catch {
            throw StoreError(.corrupt, "A count of subscriptions is malformed")
        }
    }

    private static func counts(_ reader: inout ByteReader) throws(MalformedBytes) -> [String: Int64] {
        var counts: [String: Int64] = [:]
        for _ in 0..<(try reader.count()) { counts[try reader.string()] = try reader.signed() }
        return counts
    }
}

extension ReadTransaction {
    /// Returns the counts that are there, by name.
    package func subscriptionCounts(_ names: [String], in database: DatabaseID) throws -> [String: SubscriptionCounts] {
        var found: [String: SubscriptionCounts] = [:]
        for row in try entries(in: database, .subscribed, keys: names) { found[row.key.key] = try SubscriptionCounts(row) }
        return found
    }

    /// Returns all subscriptions of a user, in the order of their IDs' bytes.
    package func subscriptions(of user: String, in database: DatabaseID) throws -> [StoredSubscription] {
        let prefix = StoredSubscription.key(user, "")
        var found: [StoredSubscription] = []
        var last = prefix
        while true {
            let rows = try entries(in: database, .subscription, after: last, limit: Limits.resultsPerPage)
            for row in rows {
                guard row.key.key.utf8.starts(with: prefix.utf8) else { return found }
                found.append(try StoredSubscription(row))
            }
            guard rows.count == Limits.resultsPerPage, let end = rows.last?.key.key else { return found }
            last = end
        }
    }
}

extension WriteTransaction {
    /// Returns the plan that stores `come` and removes `gone`, also replaced ones. Call it under the database's lock.
    package func plan(subscribing come: [StoredSubscription], without gone: [StoredSubscription], in database: DatabaseID) throws -> WritePlan {
        var plan = WritePlan()
        let changes = gone.map { ($0, Int64(-1)) } + come.map { ($0, Int64(1)) }
        if changes.isEmpty { return plan }
        func names(_ subscription: StoredSubscription) -> [String] {
            [SubscriptionCounts.all, subscription.countName, SubscriptionCounts.term(subscription.term)]
        }
        let touched = Set(changes.flatMap { names($0.0) }).sorted()
        var subscriptionCounts = try subscriptionCounts(touched, in: database)
        for (subscription, sign) in changes {
            let counted = names(subscription)
            // The count of the type or of the feeds alone counts fields: a commit reads there which of them are wanted.
            subscriptionCounts[counted[1], default: SubscriptionCounts()].add(subscription, sign)
            subscriptionCounts[counted[0], default: SubscriptionCounts()].count += sign
            subscriptionCounts[counted[2], default: SubscriptionCounts()].count += sign
        }
        for name in touched {
            guard let counts = subscriptionCounts[name], counts.count > 0 else {
                plan.entriesRemoved.append(SubscriptionCounts.key(name, in: database))
                continue
            }
            plan.entries.append(counts.row(name, in: database))
        }
        let kept = Set(come.flatMap { [$0.key(in: database), $0.termKey(in: database)] })
        plan.entriesRemoved += gone.flatMap { [$0.key(in: database), $0.termKey(in: database)] }.filter { !kept.contains($0) }
        for subscription in come {
            plan.entries.append(subscription.row(in: database))
            plan.entries.append(EntryRow(key: subscription.termKey(in: database), value: []))
        }
        return plan
    }
}
