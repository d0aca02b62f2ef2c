import NacreCloudTasks
import NacreCloudTestSupport
import Testing

@testable import NacreCloudServer

/// Tests of what `nacre why` says of a save's notifications: each way in which one reaches a device, or misses it.
struct RequestTraceTests {
    private static let database = #""subscriptionID":"all","subscriptionType":"database""#
    private static let zone = #""zoneID":{"zoneName":"Diary"}"#

    /// Makes a zone and a record type, and lets Ada's web session and app be devices that are notified.
    private func prepare(_ scene: RecordedServer, subscription: String, devices: [String]) async throws {
        #expect(await scene.ask("private/zones/modify", Body.zones("create", "Diary")).status == 200)
        let first = await scene.ask("private/records/modify", Body.modify("create", Body.note("first"), Self.zone))
        #expect(first.status == 200 && first.json?.at("records[0].serverErrorCode") == nil, "\(first.text)")
        for device in devices {
            let answer = await scene.ask("tokens/create", #"{"apnsEnvironment":"development"}"#, as: device, root: "device")
            #expect(answer.status == 200, "\(answer.text)")
        }
        let body = #"{"operations":[{"operationType":"create","subscription":{\#(subscription)}}]}"#
        let answer = await scene.ask("private/subscriptions/modify", body)
        #expect(answer.status == 200 && answer.json?.at("subscriptions[0].serverErrorCode") == nil, "\(answer.text)")
        await runTasks(scene)
    }

    private func runTasks(_ scene: RecordedServer) async {
        while let round = try? await scene.server.cloud.runDueTasks(), round.taken > 0 {}
    }

    private func story(of answer: Answer, _ scene: RecordedServer) async throws -> String {
        RequestStory.lines(of: try await scene.line(of: answer)).joined(separator: "\n")
    }

    @Test func `a save tells which subscription fired, which device waits for it, acknowledged it, or made the change`() async throws {
        try await RecordedServer.with { scene in
            try await prepare(scene, subscription: Self.database, devices: ["ada", "ada.device"])
            let answer = await scene.ask("private/records/modify", Body.modify("create", Body.note("Hush"), Self.zone))
            #expect(try await story(of: answer, scene).contains("whether any fires is not known yet"))
            await runTasks(scene)
            let told = try await story(of: answer, scene)
            for words in ["subscription s-", " of user u-", " fires.", " made the change, and is not told.", "the notification waits for device d-"] {
                #expect(told.contains(words), "no \(words) in \(told)")
            }
            let heard = await scene.ask("notifications", #"{"heard":1}"#, as: "ada.device", root: "device")
            #expect(heard.status == 200, "\(heard.text)")
            let later = try await story(of: answer, scene)
            #expect(later.contains("acknowledged the notification"), "\(later)")
            #expect(!later.contains("Hush") && !later.contains("Diary") && !later.contains("subscription all"))
        }
    }

    @Test func `a save tells that a user has no device, and that no predicate passed`() async throws {
        let filter = #"{"fieldName":"title","comparator":"EQUALS","fieldValue":{"value":"Wanted"}}"#
        let query = #""subscriptionID":"some","subscriptionType":"query","firesOn":["create"],"query":{"recordType":"Note","filterBy":[\#(filter)]}"#
        try await RecordedServer.with { scene in
            try await prepare(scene, subscription: query, devices: [])
            let fitting = await scene.ask("private/records/modify", Body.modify("create", Body.note("one", "Wanted")))
            await runTasks(scene)
            let alone = try await story(of: fitting, scene)
            #expect(alone.contains(" fires.") && alone.contains("has no device"), "\(alone)")
            let other = await scene.ask("private/records/modify", Body.modify("create", Body.note("two", "Other")))
            await runTasks(scene)
            let none = try await story(of: other, scene)
            #expect(none.contains("no subscription fires"), "\(none)")
            let read = try await story(of: await scene.ask("private/zones/list"), scene)
            #expect(!read.contains("subscription"))
        }
    }
}
