import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudTasks
import NacreCloudWire
import NacreCrypto
import NacreHTTPClient
import NacreLocks
import NacreTelemetry

/// The push services that are sent to. Only tests name others than Apple's usual ones.
struct PushServices: Sendable {
    var hosts = PushHosts.browsers
    /// Contact of this server for push services of browsers: a `mailto:` or `https:` URL.
    var contact = "mailto:nacre@localhost"
    /// Decides whether a browser's endpoint is allowed; nil: `hosts` decides.
    var allows: (@Sendable (String) -> Bool)?
    var reachesPrivateAddresses = false
    var apple: @Sendable (APNsEnvironment) -> String = APNsSender.apple

    func sendsTo(_ endpoint: String) -> Bool { allows.map { $0(endpoint) } ?? hosts.allows(endpoint) }
}

extension ServerConfiguration {
    func senders(_ sealer: TokenSealer, _ registry: Registry, _ telemetry: Telemetry = Telemetry()) -> Senders {
        Senders(
            mail: postman(sealer), texts: textService(), pushes: pushes(sealer, registry, telemetry),
            webhooks: WebhookSender(sealer, clock: clock))
    }

    /// The sender to browsers, and to devices of Apple's if a container has a key.
    private func pushes(_ sealer: TokenSealer, _ registry: Registry, _ telemetry: Telemetry) -> PushDelivery {
        var services = pushServices
        // RFC 8292, section 2.1.
        if let publicURL, publicURL.hasPrefix("https://") { services.contact = publicURL }
        return PushDelivery(services, registry: registry, sealer: sealer, clock: clock, telemetry)
    }
}

extension MetricKey {
    static let pushes = MetricKey(
        "nacre_push_messages_total", help: "Messages to push services, by service and by what became of them.", labels: ["service", "outcome"])
}

/// Sends notifications to devices over the service of each. Its keys are in the registry, sealed.
final class PushDelivery: PushDelivering {
    private struct Apple: Sendable {
        var entry: PushKeyEntry
        var identity: APNsIdentity
    }

    private let services: PushServices
    private let registry: Registry
    private let sealer: TokenSealer
    private let clock: ServerClock
    private let appleClient = HTTPClient()
    /// The client for browsers, separate because it does not connect to private addresses.
    private let browserClient = HTTPClient()
    private let browserIdentity = Locked<WebPushIdentity?>(nil)
    /// counters[service, outcome]
    private let counters: [[String]: Counter]
    /// APNs identities by container and environment, kept so that Apple gets the same provider token again.
    private let appleIdentities = Locked<[String: Apple]>([:])

    init(_ services: PushServices, registry: Registry, sealer: TokenSealer, clock: ServerClock, _ telemetry: Telemetry = Telemetry()) {
        (self.services, self.registry, self.sealer, self.clock) = (services, registry, sealer, clock)
        let labels = ["apple", "browser"].flatMap { service in PushOutcome.names.map { [service, $0] } }
        counters = Dictionary(uniqueKeysWithValues: labels.map { ($0, telemetry.counter(.pushes, $0[0], $0[1])) })
    }

    func send(_ message: PushMessage, to address: PushAddress, of container: String) async -> PushReport {
        let report = await report(message, to: address, of: container)
        let service = if case .apple = address { "apple" } else { "browser" }
        counters[[service, report.outcome.name]]?.add()
        return report
    }

    private func report(_ message: PushMessage, to address: PushAddress, of container: String) async -> PushReport {
        do {
            switch address {
            case .browser(let browser):
                let sender = WebPushSender(
                    try await identity(), clock: clock, client: browserClient, allows: { [services] in services.sendsTo($0) },
                    reachesPrivateAddresses: services.reachesPrivateAddresses)
                return await sender.report(message, to: browser)
            case .apple(let token, let environment):
                guard let entry = try await registry.pushKey(of: container, environment) else {
                    return PushReport(.retry(afterSeconds: nil), said: "no key")
                }
                let sender = APNsSender(try identity(entry), clock: clock, client: appleClient, url: services.apple)
                return await sender.report(message, to: APNsAddress(token: token, environment: environment, topic: entry.topic))
            }
        } catch {
            return PushReport(.retry(afterSeconds: nil), said: "no key that can be used")
        }
    }

    // MARK: Browsers

    func applicationServerKey() async throws -> String { try await identity().applicationServerKey }

    func fault(of browser: WebPushAddress) -> ServerError? {
        guard services.sendsTo(browser.endpoint) else {
            return .badValue(
                "endpoint", "push service is not allowed",
                remedy: "The server sends to push services that it knows by their hosts, over HTTPS: "
                    + "\(services.hosts.names.joined(separator: ", ")). An administrator names others: nacre serve --web-push-host HOST.")
        }
        do {
            _ = try WebPushContent.Receiver(point: browser.point, authentication: browser.authentication)
            return nil
        } catch {
            return .badValue(
                "keys", "invalid keys of a push subscription", remedy: "Send keys.p256dh and keys.auth as PushSubscription.toJSON() gives them.")
        }
    }

    /// The server's identity for browsers' push services, made at the first use.
    private func identity() async throws -> WebPushIdentity {
        if let known = browserIdentity.withLock({ $0 }) { return known }
        let sealed = try await registry.pushIdentity { [sealer] in
            try sealer.seal(encoding: try P256.PrivateKey().pem(), for: .browserPushKey)
        }
        guard let pem = sealer.open(String.self, sealed, for: .browserPushKey) else { throw CryptoError(.malformedKey) }
        let identity = try WebPushIdentity(key: P256.PrivateKey(pem: pem), contact: services.contact)
        browserIdentity.withLock { $0 = identity }
        return identity
    }

    // MARK: Apple

    private func identity(_ entry: PushKeyEntry) throws -> APNsIdentity {
        let place = "\(entry.container) \(entry.environment)"
        if let known = appleIdentities.withLock({ $0[place] }), known.entry == entry { return known.identity }
        guard let pem = sealer.open(String.self, entry.sealed, for: .applePushKey, binding: place) else { throw CryptoError(.malformedKey) }
        let identity = try APNsIdentity(pem: pem, keyID: entry.keyID, teamID: entry.teamID)
        appleIdentities.withLock { $0[place] = Apple(entry: entry, identity: identity) }
        return identity
    }
}

extension PushOutcome {
    static let names = ["taken", "retry", "drop_address", "give_up"]

    /// The outcome without its values, for telemetry: one of `names`.
    var name: String {
        switch self {
        case .taken: "taken"
        case .retry: "retry"
        case .dropAddress: "drop_address"
        case .giveUp: "give_up"
        }
    }
}

extension PushKeyEntry {
    /// Seals a key that an administrator gives.
    /// - Parameters:
    ///   - key: the text of the `.p8` file.
    ///   - keyID: the key's ID, ten characters, from Apple's developer page.
    ///   - teamID: the team's ID, ten characters, from the same page.
    ///   - topic: the app's bundle ID.
    /// - Throws: a bad value, by its field.
    init(
        container: String, environment: APNsEnvironment, key: String, keyID: String, teamID: String, topic: String, sealer: TokenSealer,
        at now: Timestamp
    ) throws {
        for (field, text) in [("keyID", keyID), ("teamID", teamID)] where !Self.isID(text) {
            throw ServerError.badValue(field, "invalid ID of Apple's", remedy: "It has ten letters and digits, as the developer's page shows it.")
        }
        guard APNsAddress(token: "00", environment: environment, topic: topic).isWellFormed else {
            throw ServerError.badValue("topic", "invalid topic", remedy: "Give the app's bundle ID, such as com.example.notes.")
        }
        do {
            _ = try APNsIdentity(pem: key, keyID: keyID, teamID: teamID).authorization(at: now)
        } catch {
            throw ServerError.badValue("key", "invalid key", remedy: "Give the file AuthKey_….p8 as it was downloaded.")
        }
        let sealed = try sealer.seal(encoding: key, for: .applePushKey, binding: "\(container) \(environment.rawValue)")
        self.init(container: container, environment: environment, sealed: sealed, keyID: keyID, teamID: teamID, topic: topic, created: now)
    }

    private static func isID(_ text: String) -> Bool {
        text.utf8.count == 10 && text.utf8.allSatisfy { Names.isLetter($0) || Names.isDigit($0) }
    }
}
