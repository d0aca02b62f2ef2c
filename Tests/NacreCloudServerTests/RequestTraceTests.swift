import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudTasks
import NacreCloudTestSupport
import NacreCloudWire
import NacreCrypto
import Testing

@testable import NacreCloudServer

/// Tests of what `nacre why` says of a change's notifications: a row for each way in which one reaches a device, or
/// misses it.
struct RequestTraceTests {
    /// A server whose users subscribe and save, and the push service that it sends to.
    private struct Scene: Sendable {
        let recorded: RecordedServer
        let service: PushService

        func done(_ path: String, _ body: String, as user: String = "ada.device", root: String = "database") async {
            let answer = await recorded.ask(path, body, as: user, root: root)
            #expect(answer.status == 200 && !answer.text.contains("serverErrorCode"), "\(path) \(body): \(answer.text)")
        }

        func subscribe(_ subscription: String, as user: String = "ada.device", in database: String = "private") async {
            await done(
                "\(database)/subscriptions/modify", #"{"operations":[{"operationType":"create","subscription":{\#(subscription)}}]}"#, as: user)
        }

        /// Subscribes to new records of a type with a title.
        func subscribe(
            _ id: String, toNew type: String, titled title: String, _ more: String = "", as user: String = "ada.device",
            in database: String = "private"
        ) async {
            let query = #"{"recordType":"\#(type)","filterBy":[\#(Body.filter("title", "EQUALS", #"{"value":"\#(title)"}"#))]}"#
            await subscribe(
                #""subscriptionID":"\#(id)","subscriptionType":"query","firesOn":["create"],"query":\#(query)\#(more)"#, as: user, in: database)
        }

        /// Lets a sign-in be a device that is notified.
        func addDevice(_ user: String) async { await done("tokens/create", #"{"apnsEnvironment":"development"}"#, as: user, root: "device") }

        /// Has the device of Ada's web session pushed to.
        func registerBrowser() async throws {
            let point = Base64URL.encode(try P256.PrivateKey().publicKey().point())
            let secret = Base64URL.encode([UInt8](repeating: 7, count: 16))
            let subscription = #"{"endpoint":"\#(service.url)/push","expirationTime":null,"keys":{"p256dh":"\#(point)","auth":"\#(secret)"}}"#
            await done("tokens/web-push", #"{"subscription":\#(subscription)}"#, as: "ada", root: "device")
            await runTasks()
        }

        func save(_ name: String, _ title: String = "Hush", _ more: String = inDiary, as user: String = "ada.device") async {
            await done("private/records/modify", Body.modify("create", Body.note(name, title), more), as: user)
            await runTasks()
        }

        func runTasks() async {
            while let round = try? await recorded.server.cloud.runDueTasks(), round.taken > 0 {}
        }

        func story(of answer: Answer) async throws -> String {
            try #require(try await recorded.line(of: answer).story).joined(separator: "\n")
        }
    }

    /// A change, and words that its story must have and must not have.
    private struct Outcome: Sendable {
        var name: String
        var body: String
        var user = "ada.device"
        var database = "private"
        var words: [String]
        var lacking: [String] = []
        var prepare: @Sendable (Scene) async throws -> Void = { _ in }
        /// Runs when the change's tasks are done, before the story is told.
        var afterwards: @Sendable (Scene) async throws -> Void = { _ in }
    }

    private static let inDiary = #""zoneID":{"zoneName":"Diary"}"#

    private static func note(_ name: String, _ title: String = "Hush", _ more: String = inDiary) -> String {
        Body.modify("create", Body.note(name, title), more)
    }

    private static let schema = """
        DEFINE SCHEMA
        RECORD TYPE Users (roles LIST<INT64>);
        RECORD TYPE Note (title STRING QUERYABLE);
        RECORD TYPE Secret (title STRING QUERYABLE, GRANT READ, WRITE TO "_creator", GRANT CREATE TO "_icloud");
        """

    /// The rows in their order: each goes on from what those before it have left.
    private static let outcomes =
        searches + queues + pushes + [
            Outcome(
                name: "a device that was signed out", body: note("out"), user: "ada",
                words: [" fires.", "was signed out, and is told nothing any more"],
                prepare: { try await $0.recorded.server.revokeElsewhere("ada") })
        ]

    private static let searches = [
        Outcome(name: "no subscription", body: note("s1"), words: ["Nobody is notified: the zone's database has no subscription"]),
        Outcome(
            name: "no device", body: note("s2"), words: [" fires.", "has no device"],
            prepare: { await $0.subscribe(#""subscriptionID":"diary","subscriptionType":"zone",\#(inDiary)"#) }),
        Outcome(
            name: "another zone", body: note("s3", "Hush", #""zoneID":{"zoneName":"Other"}"#), words: ["no subscription fires", "another zone"]),
        Outcome(name: "the default zone", body: note("s4", "Hush", ""), words: ["Nobody is notified", "the default zone has no feed"]),
        Outcome(
            name: "a filter that does not match", body: note("s5", "Other", ""), words: ["no subscription fires", "other values"],
            prepare: { await $0.subscribe("wanted", toNew: "Note", titled: "Wanted") }),
        Outcome(
            name: "another event", body: Body.modify("forceUpdate", Body.note("s6", "Wanted")), words: ["no subscription fires", "another event"],
            prepare: { await $0.save("s6", "Wanted", "") }),
        Outcome(
            name: "the only time", body: note("s7", "Once", ""), words: [" fires."], lacking: ["no subscription fires"],
            prepare: { await $0.subscribe("once", toNew: "Note", titled: "Once", #","firesOnce":true"#) }),
        Outcome(name: "a subscription that fired once", body: note("s8", "Once", ""), words: ["no subscription fires"]),
        Outcome(
            name: "a user who may not read the record",
            body: Body.modify("create", #""recordName":"key","recordType":"Secret","fields":{"title":{"value":"Key"}}"#), database: "public",
            words: ["subscription keys of user u-", "does not fire: the user may not read the record"],
            lacking: ["no subscription fires", " fires.", "has no device"],
            prepare: { await $0.subscribe("keys", toNew: "Secret", titled: "Key", as: "bob", in: "public") }),
    ]

    private static let queues = [
        Outcome(
            name: "a device that waits, and the one that made the change", body: note("q1"), user: "ada",
            words: ["subscription s-", " of user u-", " fires.", " made the change, and is not told.", "the notification waits for device d-"],
            prepare: { scene in for device in ["ada", "ada.device"] { await scene.addDevice(device) } }),
        Outcome(
            name: "a later notification", body: note("q2"), user: "ada", words: ["a later notification took the place of this one for device d-"],
            afterwards: { await $0.save("q3", as: "ada") }),
        Outcome(
            name: "a device that has it", body: note("q4"), user: "ada", words: ["acknowledged the notification"],
            afterwards: { await $0.done("notifications", #"{"heard":4}"#, root: "device") }),
    ]

    private static let pushes = [
        Outcome(
            name: "a push service that takes it", body: note("p1"), words: ["the push service of device d-", "took the notification"],
            prepare: { try await $0.registerBrowser() }),
        Outcome(
            name: "a push service that asks to wait", body: note("p2"), words: ["did not take the notification yet; the server asks again"],
            prepare: { $0.service.answerNext(.init(status: 429, headers: ["Retry-After": "90"])) }),
        Outcome(
            name: "a push service that refuses", body: note("p3"), words: ["will never take the notification"],
            prepare: { scene in
                scene.recorded.server.clock.advance(90)
                await scene.runTasks()
                scene.service.answerNext(.init(status: 400))
            }),
        Outcome(
            name: "an address that is no more", body: note("p4"), words: ["the push service does not know device d-"],
            prepare: { $0.service.answerNext(.init(status: 410)) }),
    ]

    @Test(.timeLimit(.minutes(1)))
    func `nacre why tells of each notification that a change led to whether a device got it, and if not, why`() async throws {
        let service = try PushService()
        defer { service.close() }
        var services = PushServices()
        services.reachesPrivateAddresses = true
        services.allows = { $0.hasPrefix(service.url) }
        try await RecordedServer.with(pushServices: services) { recorded in
            let scene = Scene(recorded: recorded, service: service)
            _ = try await recorded.server.cloud.schemas.importSchema(Self.schema, to: TestServer.container, isDryRun: false)
            await scene.done("private/zones/modify", Body.zones("create", "Diary", "Other"))
            for outcome in Self.outcomes {
                try await outcome.prepare(scene)
                let answer = await recorded.ask("\(outcome.database)/records/modify", outcome.body, as: outcome.user)
                #expect(answer.status == 200 && !answer.text.contains("serverErrorCode"), "\(outcome.name): \(answer.text)")
                let before = try await scene.story(of: answer)
                #expect(before.contains("whether any fires is not known yet") != before.contains("Nobody is notified"), "\(outcome.name): \(before)")
                await scene.runTasks()
                try await outcome.afterwards(scene)
                let story = try await scene.story(of: answer)
                for words in outcome.words { #expect(story.contains(words), "\(outcome.name): no \(words) in \(story)") }
                for words in outcome.lacking + ["Hush", "Diary", "subscription diary"] {
                    #expect(!story.contains(words), "\(outcome.name): \(words) in \(story)")
                }
            }
            let read = try await scene.story(of: await recorded.ask("private/zones/list"))
            #expect(!read.contains("subscription") && !read.contains("notified"))
        }
    }
}
