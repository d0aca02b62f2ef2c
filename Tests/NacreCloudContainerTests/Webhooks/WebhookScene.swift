import Foundation
import NacreCloudAccounts
import NacreCloudTestSupport
import NacreCloudWire
import NacreLocks

@testable import NacreCloudContainer
@testable import NacreCloudStorage
@testable import NacreCloudTasks

/// A receiver that keeps the deliveries that it gets, and gives scripted answers.
final class WebhookReceiver: WebhookSending {
    /// A delivery, as a receiver reads it.
    struct Delivery: Decodable, Equatable, Sendable {
        struct Zone: Decodable, Equatable, Sendable {
            var zoneName: String
            var ownerRecordName: String?
        }

        struct Value: Decodable, Equatable, Sendable {
            var value: String
        }

        struct Change: Decodable, Equatable, Sendable {
            var reason: String
            var recordName: String
            var recordType: String
            var recordChangeTag: String?
            var fields: [String: Value]?
        }

        var webhook: String
        var database: String
        var zoneID: Zone
        var cursor: String
        var reset: Bool?
        var lost: Int64?
        var zoneDeleted: String?
        var test: Bool?
        var moreComing: Bool
        var changes: [Change]

        /// The changes in short, such as `created a`.
        var told: [String] { changes.map { "\($0.reason) \($0.recordName)" } }
    }

    private struct State {
        var bodies: [[UInt8]] = []
        var everything: [UInt8] = []
        var isDeaf = false
        var answers: [WebhookReport] = []
        var during: (@Sendable () async throws -> Void)?
    }

    private let state = Locked(State())

    /// The text of everything that it got.
    var text: String { state.withLock { String(decoding: $0.everything, as: UTF8.self) } }

    func beDeaf(_ isDeaf: Bool) { state.withLock { $0.isDeaf = isDeaf } }
    func answerNext(_ answers: WebhookReport...) { state.withLock { $0.answers += answers } }
    func whileReceiving(_ body: @escaping @Sendable () async throws -> Void) { state.withLock { $0.during = body } }

    /// Returns the deliveries since the last call, those too that were not acknowledged.
    func take() throws -> [Delivery] {
        let bodies = state.withLock { state in
            defer { state.bodies = [] }
            return state.bodies
        }
        return try bodies.map { try JSONDecoder().decode(Delivery.self, from: Data($0)) }
    }

    func fault(ofURL url: String) -> ServerError? { url.isEmpty ? .badValue("url", "no URL", remedy: "Give one.") : nil }
    func newSecret(of id: String) throws -> (secret: String, sealed: String) { ("secret", "sealed") }
    func isSecret(_ text: String, of webhook: Webhook) -> Bool { text == "secret" }

    func send(_ body: [UInt8], to webhook: Webhook) async -> WebhookReport {
        let (report, during) = state.withLock { state in
            state.bodies.append(body)
            state.everything += body
            defer { state.during = nil }
            let report = state.answers.isEmpty ? WebhookReport(status: state.isDeaf ? 503 : 200) : state.answers.removeFirst()
            return (report, state.during)
        }
        try? await during?()
        return report
    }
}

/// A cloud whose development has webhooks, with a user and a receiver.
struct WebhookScene: Sendable {
    let test: TestCloud
    let receiver = WebhookReceiver()

    static let container = TestCloud.container

    init(_ store: any Store, keeping most: WebhookExtent = .mostKept) async throws {
        test = TestCloud(store, webhooks: receiver, webhooksKeep: most)
        _ = try await test.cloud.registry.createContainer(Self.container)
        try await test.user("_ann").define(["title": .string, "secret": .string, "owner": .reference])
    }

    var cloud: Cloud { test.cloud }
    var everybody: TestCloudUser { test.user("_ann", in: .public) }

    func make(zone: String? = nil, query: String? = nil, fields: [String] = [], isPrivate: Bool = false) async throws -> Webhook {
        let asked = NewWebhook(url: "https://example.com/", zone: zone, query: query, fields: fields, isPrivate: isPrivate)
        return try await cloud.createWebhook(asked, in: Self.container, .development).webhook
    }

    func listed() async throws -> ListedWebhook? { try await cloud.listWebhooks(in: Self.container, .development).first }

    /// Runs due tasks, and returns what the receiver got meanwhile.
    func delivered() async throws -> [WebhookReceiver.Delivery] {
        try await test.runAllTasks()
        return try receiver.take()
    }

    /// Lets the receiver be asked until its webhook is parked.
    func park() async throws {
        receiver.beDeaf(true)
        for _ in 0..<2 * Limits.taskAttempts {
            try await test.runAllTasks()
            test.clock.move(bySeconds: Limits.taskPauseSeconds)
        }
        receiver.beDeaf(false)
    }

    func pull(_ webhook: Webhook, after cursor: String? = nil) async throws -> WebhookReceiver.Delivery {
        let answer = try await cloud.pullWebhook(webhook, in: Self.container, .development, after: cursor)
        return try JSONDecoder().decode(WebhookReceiver.Delivery.self, from: Data(answer.json))
    }
}
