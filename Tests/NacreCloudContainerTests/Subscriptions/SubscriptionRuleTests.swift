import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests of valid subscriptions and their databases: the rules as values.
@Suite struct SubscriptionRuleTests {
    private static var schema: Schema {
        var schema = Schema()
        var additions = SchemaAdditions()
        additions.add(["text": FieldShape(.string), "count": FieldShape(.int64), "picture": FieldShape(.asset)], to: "Note")
        schema.add(additions)
        return schema
    }

    private func fault(
        _ subscription: Subscription, in scope: DatabaseKey.Scope = .private, _ environment: DatabaseKey.Environment = .development,
        schema: Schema = Self.schema
    ) -> ServerError? {
        let key = DatabaseKey(container: "iCloud.a.b", environment: environment, scope: scope, owner: scope == .public ? "" : "_ann")
        return SubscriptionRule(database: key, schema: schema, caller: Caller(.user("_ann"))).fault(of: subscription)
    }

    /// The databases that take each kind.
    @Test(arguments: [
        (Subscription.query("s"), [DatabaseKey.Scope.public, .private]), (.query("s", zone: ZoneID.defaultZoneName), [.public, .private]),
        (.query("s", zone: "Work"), [.private]), (.zone("s", "Work"), [.private]), (.zone("s", "Work", type: "Note"), [.private]),
        (.zone("s", ZoneID.defaultZoneName), []), (.database("s"), [.private, .shared]), (.database("s", type: "Note"), [.private, .shared]),
    ])
    func `each kind of subscriptions has its databases`(_ subscription: Subscription, _ scopes: [DatabaseKey.Scope]) {
        for scope in [DatabaseKey.Scope.public, .private, .shared] {
            #expect(
                (fault(subscription, in: scope) == nil) == scopes.contains(scope), "\(scope): \(String(describing: fault(subscription, in: scope)))")
        }
    }

    @Test(arguments: [
        (Subscription.query(""), "missing required field", "subscriptionID"), (.query("é"), "invalid subscription ID", "subscriptionID"),
        (.query(String(repeating: "x", count: 256)), "invalid subscription ID", "subscriptionID"),
        (.query("s", on: []), "a query subscription fires on nothing", "firesOn"),
        (.query("s", type: "Unknown"), "Did not find record type: Unknown", "recordType"),
        (.query("s", type: "Users"), "Can't query system types", "recordType"),
        (.query("s", [.equals("nothing", .int64(1))]), "Unknown field 'nothing'", "nothing"),
        (.query("s", [.equals("picture", .int64(1))]), "Field 'picture' is not marked queryable", "picture"),
        (
            .query("s", [.equals("text", .int64(1))]),
            "Field 'text' has a value type of STRING and cannot be queried using filter value type INT64", "text"
        ),
        (.zone("s", ZoneID.defaultZoneName), "cannot get changes in default zone", "zoneID"),
        (.zone("s", "Work", type: "1"), "invalid record type", "recordType"),
    ])
    func `what is wrong with a subscription is said with its field`(_ subscription: Subscription, _ reason: String, _ field: String) {
        let error = fault(subscription)
        #expect(error?.reason == reason && error?.field == field && error?.code != nil)
    }

    @Test func `a predicate of nothing needs no index, and one of a field needs what queries need`() {
        var bare = Self.schema
        for name in bare.types["Note"]?.fields.keys.map(\.self) ?? [] { bare.types["Note"]?.fields[name]?.isQueryable = false }
        #expect(fault(.query("s"), schema: bare) == nil)
        #expect(fault(.query("s", [.equals("text", .string("a"))]), schema: bare)?.reason.contains("not marked") == true)
    }

    @Test func `a notification carries three fields, and no subscription is longer than its limit`() {
        var info = NotificationInfo()
        info.additionalFields = ["a", "b", "c"]
        #expect(fault(.query("s", info: info)) == nil)
        info.additionalFields?.append("d")
        #expect(fault(.query("s", info: info))?.field == "notificationInfo.additionalFields")
        info.additionalFields = ["___createdBy"]
        #expect(fault(.query("s", info: info))?.reason == "invalid field name")
        #expect(fault(.query("s", info: .alert(String(repeating: "x", count: Limits.subscriptionBytes))))?.nativeCode == 27)
        #expect(fault(.query("s", info: .alert(String(repeating: "x", count: Limits.subscriptionBytes - 300)))) == nil)
    }

    @Test func `a notification of a zone or a database carries no fields`() {
        var info = NotificationInfo()
        info.additionalFields = ["text"]
        for subscription in [Subscription.zone("s", "Work", info: info), .zone("s", "Work", type: "Note", info: info), .database("s", info: info)] {
            let error = fault(subscription)
            #expect(error?.reason == "cannot add additionalFields to this subscription type" && error?.field == "notificationInfo.additionalFields")
            #expect(error?.nativeCode == NativeErrorCode.invalidArguments.rawValue && error?.internalCode == 2006)
        }
        info.additionalFields = []
        #expect(fault(.zone("s", "Work", info: info)) == nil && fault(.database("s", info: info)) == nil)
    }

    @Test func `production takes the kinds that were deployed and no others`() throws {
        var development = Self.schema
        development.types["Note"]?.subscribed = ["create", "create,delete"]
        var production = Schema()
        let gains = try production.deploy(development)
        #expect(gains.filter { $0.kind == .subscription }.map(\.declaration) == ["create", "create,delete"])
        let allowed: [FiresOn] = [.create, [.create, .delete]]
        for raw in UInt(1)...7 {
            let firesOn = FiresOn(rawValue: raw)
            let error = fault(.query("s", on: firesOn), .production, production)
            #expect((error == nil) == allowed.contains(firesOn), "\(firesOn.kind)")
            if let error { #expect(error.reason == "attempting to create a subscription in a production container") }
        }
        #expect(fault(.database("s"), .production, production) == nil, "only query subscriptions are kinds")
        let again = try production.deploy(development)
        #expect(again.isEmpty)
    }

    private func fault(_ subscription: Subscription, _ environment: DatabaseKey.Environment, _ schema: Schema) -> ServerError? {
        fault(subscription, in: .private, environment, schema: schema)
    }

    @Test func `a subscription comes back from its row as it was, and lies under the value that it asks for`() throws {
        let rule = SubscriptionRule(
            database: DatabaseKey(container: "iCloud.a.b", environment: .development, scope: .public, owner: ""), schema: Self.schema,
            caller: Caller(.user("_ann")))
        let rows: [(Subscription, String?)] = [
            (.query("a b", [.equals("count", .double(3))], info: .alert("Hello")), "count"),
            (.query("c", [QueryFilter(.greaterThan, fieldName: "count", value: .int64(3)), .equals("text", .string("x"))], once: true), "text"),
            (.query("d"), nil),
        ]
        for (subscription, field) in rows {
            guard case .query(let subscribed) = subscription.kind else { continue }
            let stored = StoredSubscription(subscription, of: "_ann", shape: try rule.shape(of: subscribed.query), zone: nil)
            #expect(try StoredSubscription(stored.row(in: DatabaseID(rawValue: 1))) == stored)
            #expect(stored.term.field == field && stored.user == "_ann")
        }
        // A number of one kind matches a subscription with the other.
        let whole = SubscriptionTerm.value(type: "Note", field: "count", key: .integer(3))
        guard case .query(let subscribed) = rows[0].0.kind else { return }
        #expect(SubscriptionTerm(try rule.shape(of: subscribed.query)) == whole)
        #expect(SubscriptionTerm.type("Note").key != SubscriptionTerm.type("Notes").key)
    }
}
