import Foundation
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudStore
import NacreCloudTestSupport
import NacreCloudWire
import NacreLocks
import NacreRandom
import NacreTelemetry
import Testing

@testable import NacreCloudServer

/// A random test of all that a server tells of its work: none of it holds what users keep.
@Suite(.timeLimit(.minutes(1))) struct ToldSecretsTests {
    /// Texts that stand for what users keep. All have one stem, by which they are found.
    private struct Secrets {
        var random: SeededRandom
        let stem: String

        init(_ random: SeededRandom) {
            self.random = random
            stem = "s" + String(self.random.next() | 1 << 63, radix: 36) + "s"
        }

        /// The text that values have and names do not.
        var ofValues: String { stem + "value" }
        var value: String { mutating get { form(ofValues) } }
        var name: String { mutating get { form(stem + "name") } }
        var address: String { stem + "@mail.example" }

        /// Returns a text in one of the forms that a reader of quotes could take for the end of a quote.
        private mutating func form(_ text: String) -> String {
            ["", "'", "it's ", "[", "field '", "a] "][Int.random(in: 0..<6, using: &random)] + text
                + ["", "'", "] b", " of", "'s"][Int.random(in: 0..<5, using: &random)]
        }

        /// Draws a request that names secrets.
        mutating func request() -> (path: String, body: String) {
            let kind = ["create", "update", "delete", "forceReplace"][Int.random(in: 0..<4, using: &random)]
            let filter = Body.filter("title", "EQUALS", #"{"value":"\#(value)"}"#)
            switch Int.random(in: 0..<15, using: &random) {
            case 0: return ("private/records/modify", Body.modify(kind, Body.note(name, value)))
            case 1: return ("private/records/modify", Body.modify(kind, Body.note(name, value), #""zoneID":{"zoneName":"\#(name)"}"#))
            case 2:
                let parent = #""parent":{"recordName":"\#(name)"},"recordName":"\#(name)","recordType":"Note","#
                let field = #""fields":{"r":{"value":{"recordName":"\#(name)","action":"VALIDATE"}}}"#
                return ("private/records/modify", Body.modify("create", parent + field))
            case 3: return ("private/records/lookup", Body.lookup(name, name))
            case 4: return ("private/records/query", Body.query("Note", filters: [filter], more: #""zoneID":{"zoneName":"\#(name)"}"#))
            case 5: return ("private/records/query", Body.query("Note", more: #""continuationMarker":"\#(value)""#))
            case 6: return ("private/zones/modify", Body.zones(kind == "delete" ? kind : "create", name))
            case 7: return ("private/zones/lookup", #"{"zones":[{"zoneName":"\#(name)"}]}"#)
            case 8:
                let zone = #""subscriptionType":"zone","zoneID":{"zoneName":"\#(name)"}"#
                return (
                    "private/subscriptions/modify",
                    #"{"operations":[{"operationType":"create","subscription":{"subscriptionID":"\#(name)",\#(zone)}}]}"#
                )
            case 9:
                let zone = #""zoneID":{"zoneName":"\#(name)","ownerRecordName":"\#(name)"}"#
                return ("shared/records/modify", Body.modify(kind, Body.note(name, value), zone))
            case 10: return ("public/users/lookup/email", #"{"users":[{"emailAddress":"\#(address)"}]}"#)
            // Names of public records are told with reasons; their values are not.
            case 11: return ("public/records/modify", Body.modify(kind, Body.note("n\(Int.random(in: 0..<9, using: &random))", value)))
            case 12: return ("public/records/query", Body.query("Note", filters: [filter]))
            case 13: return ("private/records/modify", #"{"operations":"\#(value)"#)
            default: return ("private/\(stem)name/\(stem)name?x=\(stem)value", "{}")
            }
        }
    }

    private final class SeenRequests: RequestObserver {
        let all = Locked<[FinishedRequest]>([])
        func observe(_ request: FinishedRequest) { all.withLock { $0.append(request) } }
    }

    /// Returns the messages to a collector of OpenTelemetry, and the text for Prometheus.
    private static func exported(_ requests: [FinishedRequest], _ telemetry: Telemetry) -> [(place: String, bytes: [UInt8])] {
        let resource = OTLPResource(attributes: [], version: "1")
        let spans = requests.flatMap { request in
            request.trace.map { RequestSpans(request, $0, scheme: "https", newID: { 7 }).all } ?? []
        }
        let (traces, metrics) = (resource.traces(spans), resource.metrics(telemetry.snapshot, started: 1, now: 2))
        return [
            ("spans", traces.protobuf), ("spans as JSON", traces.json), ("metrics", metrics.protobuf), ("metrics as JSON", metrics.json),
            ("Prometheus", Array(telemetry.prometheusText().utf8)),
        ]
    }

    private static func questions(_ scene: RecordedServer, _ secrets: Secrets) -> [String] {
        let telemetry = [
            "last=hour", "last=day&compare=previous", "last=month&database=private", "last=year&by=database", "by=operation", "by=container",
            "by=code&compare=previous", "by=client", "by=index", "container=\(TestServer.container)&environment=development",
        ]
        let log = [
            "limit=1000", "limit=1000&database=private", "status=4xx&limit=1000", "user=\(scene.server.names["ada.name"] ?? "")",
            "zone=\(secrets.stem)name", "code=NOT_FOUND", "slowerThan=0", "client=web", "operation=records/modify", "following=0",
        ]
        return telemetry.map { "telemetry?" + $0 } + log.map { "requests?" + $0 }
            + ["alerts", "webhooks?container=\(TestServer.container)&environment=development"]
    }

    @Test func `nothing that the server tells of its work has a private name, a value, an address, a token or a user's name`() async throws {
        var secrets = Secrets(SeededRandom())
        let (seen, files) = (SeenRequests(), try TemporaryFolder())
        let recorder = Locked<TelemetryRecorder?>(nil)
        func observers(_ clock: TestClock) -> [any RequestObserver] {
            let onDisk = TelemetryRecorder(TelemetryFile(folder: files.path), clock: clock.serverClock, logger: LogLines().logger) {
                .random(in: .min ... .max)
            }
            recorder.withLock { $0 = onDisk }
            return [seen, onDisk]
        }
        try await RecordedServer.with(observing: observers) { scene in
            let server = scene.server
            let webhook = try await server.cloud.createWebhook(
                NewWebhook(url: "https://hooks.example/"), in: TestServer.container, .development)
            _ = await scene.ask("private/records/modify", Body.modify("create", Body.note(secrets.stem + "name", secrets.ofValues)))
            for _ in 0..<300 {
                let (path, body) = secrets.request()
                _ = await scene.ask(
                    path, body, as: ["ada", "bob", "ada.device", nil].randomElement(using: &secrets.random) ?? nil,
                    environment: secrets.random.chance(6) ? "production" : "development",
                    headers: ["User-Agent": "CloudKit/\(secrets.stem).\(secrets.value)"])
                if secrets.random.chance(20) { server.clock.advance(.random(in: 1...400)) }
            }
            server.clock.advance(86_400)
            await recorder.withLock { $0 }?.close()
            var told = Self.exported(seen.all.withLock { $0 }, server.observation.telemetry)
            for question in Self.questions(scene, secrets) {
                let answer = await scene.administered.administrate("GET", "/admin/1/" + question)
                #expect(answer.status == 200, "\(question)")
                told.append((question, Array(answer.text.utf8)))
            }
            let pulled = Question(
                method: "GET", target: "/webhooks/1/\(TestServer.container)/development/\(webhook.webhook.id)",
                headers: ["Authorization": "Bearer \(webhook.secret)"])
            told.append(("the webhook", Array(await server.respond(pulled).text.utf8)))
            told.append(("the log's files", try scene.bytes()))
            told.append(("telemetry's file", [UInt8](try Data(contentsOf: URL(fileURLWithPath: "\(files.path)/\(TelemetryFile.name)")))))
            #expect(seen.all.withLock { $0 }.count > 300 && told.allSatisfy { $0.bytes.count > 20 })
            let names = server.names.filter { !$0.key.contains("id") }.map(\.value)
            for (place, bytes) in told {
                for text in [secrets.stem, "ada@example.com", "127.0.0.1"] + names { Self.expect(bytes, in: place, hasNo: text) }
            }
            // The server's own lines are for its operator. They name users and private records, and have no value.
            let lines = Array(server.log.texts.joined(separator: "\n").utf8)
            let tokens = server.names.filter { name, _ in !["id", "name", "account"].contains { name.contains($0) } }.map(\.value)
            for text in [secrets.ofValues, secrets.address] + tokens { Self.expect(lines, in: "the server's lines", hasNo: text) }
        }
    }

    private static func expect(_ bytes: [UInt8], in place: String, hasNo text: String) {
        let found = bytes.firstRange(of: Array(text.utf8))
        let around = found.map { String(decoding: bytes[max(0, $0.lowerBound - 100)..<min(bytes.count, $0.upperBound + 60)], as: UTF8.self) }
        #expect(found == nil, "\(place) has \(text): \(around ?? ""), seed \(HistorySeed.value)")
    }
}
