import NacreCloudTestSupport
import NacreCloudWire

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage
@testable import NacreCloudTasks

/// Users with accounts and devices, and the notifications of their devices.
struct SubscriptionScene {
    static let container = TestCloud.container
    static let environment = DatabaseKey.Environment.development

    /// A schema of notes that their creators and the team can read.
    static let readByTeam = """
        DEFINE SCHEMA
        CREATE ROLE Team;
        RECORD TYPE Users (roles LIST<INT64>);
        RECORD TYPE Note ("___createdBy" REFERENCE QUERYABLE, "___recordID" REFERENCE QUERYABLE, text STRING QUERYABLE SORTABLE SEARCHABLE,
            count INT64 QUERYABLE SORTABLE, open STRING QUERYABLE SORTABLE SEARCHABLE, tags LIST<STRING> QUERYABLE SEARCHABLE, owner REFERENCE QUERYABLE,
            GRANT READ TO Team, GRANT READ, WRITE TO "_creator", GRANT CREATE TO "_icloud");
        """

    let test: TestCloud
    private(set) var accounts: [String: AccountEntry] = [:]
    private(set) var names: [String: String] = [:]

    var cloud: Cloud { test.cloud }

    /// Makes the scene.
    /// - Parameter people: Users, each with an account token, which is a device of the same name.
    init(_ store: any Store, people: [String] = ["ada", "bob"], pushes: (any PushDelivering)? = nil) async throws {
        test = TestCloud(store, pushes: pushes)
        _ = try await test.cloud.registry.createContainer(Self.container)
        for person in people {
            let account = try await test.cloud.registry.createAccount(email: "\(person)@example.com", passwordHash: "h")
            accounts[person] = account
            names[person] = try await test.cloud.admit(account: account.id, to: Self.container, Self.environment)
        }
        try await test.user("_schema").define(["text": .string, "count": .int64, "open": .string, "tags": .stringList, "owner": .reference])
        try await test.cloud.schemas.changeSchema(of: Self.container, Self.environment) { schema in
            for name in ["createdUserRecordName", "recordName"].compactMap({ name in SystemField.allCases.first { $0.webName == name }?.rawValue }) {
                var field = FieldDefinition(type: .reference)
                field.isQueryable = true
                schema.types["Note"]?.fields[name] = field
            }
        }
    }

    /// A sign-in of a user, with its device.
    struct Device {
        var person: String
        var caller: Caller
        /// nil until it is registered.
        var address: DeviceAddress?
    }

    func signIn(_ person: String, clientID: String? = nil, isRegistered: Bool = true) async throws -> Device {
        guard let account = accounts[person], let name = names[person] else { throw ServerError.internalError }
        let token = try await cloud.registry.createAccountToken(
            for: account, containers: [Self.container], environment: Self.environment, device: person)
        var caller = Caller(.user(name), client: .framework, deviceID: "device \(token.id)", account: account.id)
        caller.credential = .device(id: token.id, account: account.id)
        let address = isRegistered ? try await cloud.registerDevice(clientID, in: Self.container, Self.environment, by: caller) : nil
        return Device(person: person, caller: caller, address: address)
    }

    /// Signs a browser in, with a session that was got with an API token.
    func signInByWeb(_ person: String) async throws -> Device {
        guard let account = accounts[person], let name = names[person] else { throw ServerError.internalError }
        let registry = cloud.registry
        let apiToken = try await registry.createAPIToken(container: Self.container, environment: Self.environment, name: "web")
        guard let entry = try await registry.apiToken(apiToken) else { throw ServerError.internalError }
        let session = try await registry.startSession(of: account, as: name, apiToken: apiToken, entry: entry, isKept: true)
        var caller = Caller(.user(name), deviceID: "device \(session.id)", account: account.id)
        caller.credential = .session(id: session.id, account: account.id, apiToken: apiToken)
        let address = try await cloud.registerDevice(nil, in: Self.container, Self.environment, by: caller)
        return Device(person: person, caller: caller, address: address)
    }

    func user(_ device: Device, in scope: DatabaseKey.Scope = .private) -> TestCloudUser {
        var user = test.user("", in: scope)
        user.caller = device.caller
        return user
    }

    @discardableResult
    func subscribe(_ device: Device, _ subscriptions: Subscription..., in scope: DatabaseKey.Scope = .private) async throws -> [SubscriptionResult] {
        let request = SubscriptionsModifyRequest(operations: subscriptions.map { .create($0) })
        return try await cloud.modifySubscriptions(request, in: target(scope), by: device.caller).subscriptions
    }

    func target(_ scope: DatabaseKey.Scope, _ environment: DatabaseKey.Environment = Self.environment) -> DatabaseTarget {
        DatabaseTarget(container: Self.container, environment: environment, scope: scope)
    }

    /// Returns a device's notifications since the last call, after all tasks are done.
    func told(_ device: Device) async throws -> [Told] {
        try await test.runAllTasks()
        guard let address = device.address else { return [] }
        var found: [Told] = []
        while let next = try await cloud.takeNotification(for: address) { found.append(Told(next)) }
        return found
    }

    func identifiers(_ device: Device) async throws -> [String] { try await told(device).map(\.summary) }
}

extension Cloud {
    /// Returns and acknowledges the oldest of a device's notifications; nil: none waits.
    func takeNotification(for address: DeviceAddress) async throws -> QueuedNotification? {
        guard let next = try await notifications(for: address, after: 0, limit: 1).first else { return nil }
        try await acknowledge(through: next.number, for: address)
        return next
    }
}

/// A notification as a device reads it.
struct Told: Equatable, CustomStringConvertible {
    let text: String

    init(_ notification: QueuedNotification) {
        text = String(decoding: notification.json, as: UTF8.self)
    }

    /// Returns the text of a member, or its digits; the first of that name.
    func member(_ name: String) -> String? {
        guard let place = text.firstRange(of: "\"\(name)\":") else { return nil }
        let rest = text[place.upperBound...]
        if rest.first == "\"" { return String(rest.dropFirst().prefix { $0 != "\"" }) }
        return String(rest.prefix { $0 != "," && $0 != "}" })
    }

    /// The subscription, the record and its change.
    var summary: String { [member("sid") ?? "everything", member("rid"), member("fo")].compactMap(\.self).joined(separator: " ") }
    var description: String { text }
}

extension Subscription {
    static func query(
        _ id: String, type: String = "Note", _ filters: [QueryFilter] = [], on firesOn: FiresOn = .all, zone: String? = nil, once: Bool = false,
        info: NotificationInfo? = nil
    ) -> Subscription {
        Subscription(
            subscriptionID: id,
            kind: .query(
                SubscribedQuery(
                    query: Query(recordType: type, filters: filters), zoneID: zone.map { ZoneID(zoneName: $0) }, firesOn: firesOn, firesOnce: once)),
            notificationInfo: info)
    }

    static func zone(_ id: String, _ zone: String, type: String? = nil, info: NotificationInfo? = .silent) -> Subscription {
        Subscription(subscriptionID: id, kind: .zone(ZoneID(zoneName: zone), recordType: type), notificationInfo: info)
    }

    static func database(_ id: String, type: String? = nil, info: NotificationInfo? = .silent) -> Subscription {
        Subscription(subscriptionID: id, kind: .database(recordType: type), notificationInfo: info)
    }
}

extension NotificationInfo {
    static let silent = {
        var info = NotificationInfo()
        info.shouldSendContentAvailable = true
        return info
    }()

    static func alert(_ body: String) -> NotificationInfo {
        var info = NotificationInfo()
        info.alertBody = body
        return info
    }
}

extension QueryFilter {
    static func equals(_ field: String, _ value: FieldValue) -> QueryFilter { QueryFilter(.equals, fieldName: field, value: value) }
}

extension SubscriptionResult {
    var error: ServerError? { if case .failure(_, let error) = self { error } else { nil } }
    var subscription: Subscription? { if case .subscription(let subscription) = self { subscription } else { nil } }
}
