import Foundation
import NacreCloudStorage
import NacreCloudTestSupport
import NacreCloudWire
import NacreRandom
import Testing

@testable import NacreCloudServer

/// Tests of the rows of the request log: what they hold, what they never hold, and how they are found.
struct RecordedRequestTests {
    @Test func `a save is a row with its place, client, user, times, bytes and items, and with stand-ins for private names`() async throws {
        try await RecordedServer.with { scene in
            _ = await scene.ask("private/zones/modify", Body.zones("create", "Diary"))
            let body = Body.modify("create", Body.note("one"), #""zoneID":{"zoneName":"Diary"},"nacre":{"operationID":"op-1"}"#)
            let answer = await scene.ask(
                "private/records/modify", body, as: "ada.device",
                headers: ["User-Agent": "CloudKit/9.8.7", "X-Nacre-Operation-Group": "id=7F&name=Up"])
            #expect(answer.status == 200, "\(answer.text)")
            let line = try await scene.line(of: answer)
            #expect(line.operation == "records/modify" && line.status == 200 && line.client == "framework 9.8.7")
            #expect(line.container == TestServer.container && line.environment == "development" && line.database == "private")
            #expect(line.user?.hasPrefix("u-") == true && line.zone?.hasPrefix("z-") == true)
            #expect(line.operationID == "op-1" && line.group == "7F" && line.groupName == "Up")
            #expect(line.asked == 1 && line.answered == 1 && line.refused == 0 && line.code == nil)
            #expect(line.bytesOut == answer.text.utf8.count && line.milliseconds > 0 && line.storeMilliseconds > 0 && line.encodeMilliseconds > 0)
            for query in [
                "zone=Diary", "zone=\(line.zone ?? "")", "user=\(scene.server.names["ada.name"] ?? "")&operation=records/modify", "client=framework",
                "status=2xx&database=private&operation=records/modify", "container=\(TestServer.container)&environment=development&limit=1",
            ] {
                #expect(try await scene.requests(query).first?.request == line.request, "\(query)")
            }
            for query in [
                "zone=Notes", "user=\(scene.server.names["bob.name"] ?? "")", "client=web&operation=records/modify", "code=CONFLICT", "status=404",
                "refused=true",
            ] {
                #expect(try await scene.requests(query).isEmpty, "\(query)")
            }
            for query in ["status=4x", "since=x", "limit=0", "limit=1001", "after=x", "slowerThan=-1", "refused=1"] {
                #expect(await scene.administered.administrate("GET", "/admin/1/requests?\(query)").status == 400, "\(query)")
            }
        }
    }

    @Test func `pages go on, and later requests follow a position`() async throws {
        try await RecordedServer.with { scene in
            for _ in 0..<5 { _ = await scene.ask("private/zones/list") }
            func page(_ query: String) async throws -> AdminMessages.Requests {
                let answer = await scene.administered.administrate("GET", "/admin/1/requests?\(query)")
                return try JSONDecoder().decode(AdminMessages.Requests.self, from: Data(answer.text.utf8))
            }
            let first = try await page("limit=3")
            let second = try await page("limit=3&after=\(first.next ?? "")")
            #expect(first.requests.count == 3 && second.requests.count == 2 && second.next == nil && first.last == "5")
            _ = await scene.ask("private/zones/list")
            #expect(try await page("following=\(first.last)").requests.count == 1)
        }
    }

    @Test func `clients are told apart`() async throws {
        try await RecordedServer.with { scene in
            let cases: [(String, [String: String], String)] = [
                ("ada", [:], "web"), ("ada.device", [:], "framework"), ("ada.device", ["User-Agent": "CloudKit/1.2"], "framework 1.2"),
                ("ada.device", ["User-Agent": "nacre/0.1.0"], "command 0.1.0"), ("ada", ["User-Agent": "CloudKit/a b"], "framework a"),
                ("ada", ["User-Agent": "CloudKit/\u{7f}"], "framework"),
            ]
            for (user, headers, kind) in cases {
                let answer = await scene.ask("private/zones/list", as: user, headers: headers)
                let line = try await scene.line(of: answer)
                #expect(line.client == kind, "\(headers)")
            }
        }
    }

    @Test func `no name or value of a private database, no address and no token is in the log's files`() async throws {
        try await RecordedServer.with { scene in
            let secret = "Hush"
            var random = SeededRandom(seed: HistorySeed.value)
            let names = [
                secret, "'\(secret)'", "\(secret)] \(secret)", "\"\(secret)\" \(secret)", "a' \(secret)", "[\(secret)", "\(secret)'s", "(\(secret))",
                "field '\(secret) of'", "it's \(secret)",
            ]
            func name() -> String { names.randomElement(using: &random) ?? secret }
            func text() -> String { name().replacing("\"", with: "\\\"") }
            _ = await scene.ask("private/records/modify", Body.modify("create", Body.note("n")))
            var paths: [(String, String)] = []
            for _ in 0..<150 {
                let (one, two, three) = (text(), text(), text())
                let reference = #"{"recordName":"\#(one)","action":"VALIDATE"}"#
                paths += [
                    (
                        "private/records/modify",
                        Body.modify(["create", "update", "delete", "forceReplace"].randomElement(using: &random) ?? "", Body.note(one, two))
                    ),
                    ("private/records/modify", Body.modify("create", Body.note(one, two), #""zoneID":{"zoneName":"\#(three)"}"#)),
                    (
                        "private/records/modify",
                        Body.modify(
                            "create",
                            #""recordName":"\#(two)","recordType":"Note","parent":{"recordName":"\#(one)"},"fields":{"r":{"value":\#(reference)}}"#)
                    ),
                    ("private/records/modify", Body.modify("delete", #""recordName":"\#(one)""#)),
                    ("private/records/lookup", Body.lookup(one, two)),
                    ("private/zones/modify", Body.zones("create", one)), ("private/zones/lookup", #"{"zones":[{"zoneName":"\#(one)"}]}"#),
                    (
                        "private/records/query",
                        Body.query("Note", filters: [#"{"fieldName":"title","comparator":"EQUALS","fieldValue":{"value":"\#(one)"}}"#])
                    ),
                    ("private/records/query", Body.query("Note", more: #""continuationMarker":"\#(one)""#)),
                    (
                        "private/subscriptions/modify",
                        #"{"operations":[{"operationType":"create","subscription":{"subscriptionID":"\#(one)","subscriptionType":"zone","zoneID":{"zoneName":"\#(two)"}}}]}"#
                    ),
                    (
                        "shared/records/modify",
                        Body.modify("create", Body.note(one, two), #""zoneID":{"zoneName":"\#(three)","ownerRecordName":"\#(one)"}"#)
                    ),
                    ("public/users/lookup/email", #"{"users":[{"emailAddress":"\#(secret)@example.com"}]}"#),
                    ("private/records/modify", #"{"operations":"\#(one)"}"#),
                ]
            }
            for (path, body) in paths { _ = await scene.ask(path, body) }
            _ = await scene.ask("private/\(secret)/\(secret)", "{}")
            _ = await scene.ask(
                "private/zones/list?x=\(secret)", headers: ["X-Nacre-Operation-Group": "id=7F", "User-Agent": "CloudKit/\(secret)-\(secret)"])
            let lines = try await scene.requests("limit=1000")
            #expect(lines.count == 1000 && Set(lines.compactMap(\.code)).count > 3)
            let bytes = try scene.bytes()
            for text in [secret] + scene.server.names.filter({ !$0.key.contains("id") }).map(\.value) + ["example.com", "127.0.0.1"] {
                let found = bytes.firstRange(of: Array(text.utf8))
                let around = found.map { String(decoding: bytes[max(0, $0.lowerBound - 100)..<min(bytes.count, $0.upperBound + 60)], as: UTF8.self) }
                #expect(found == nil, "\(text) is in \(around ?? "")")
            }
        }
    }

    @Test(arguments: [
        ("Did not find record type: Note", "Did not find record type: Note"),
        ("Did not find record type: my secret", "Did not find record type: …"),
        ("Cannot create new type a secret in production schema", "Cannot create new type … in production schema"),
        ("Field a secret not found in Note", "Field … not found in Note"), ("Field title not found in Note", "Field title not found in Note"),
        (
            "Record delete would violate validating reference ([secret]), rejecting update",
            "Record delete would violate validating reference ([…]), rejecting update"
        ),
        ("a ([x] secret]) b", "a ([…]) b"), ("subscription is duplicate of 'secret'", "subscription is duplicate of '…'"),
        ("of 'a' secret' more", "of '…' more"), ("field 'title' of type 'Note' is STRING", "field 'title' of type 'Note' is STRING"),
        ("field 'my secret' is", "field '…' is"), ("the client's zones' names", "the client's zones' names"),
        ("more than 400 (limit 400)", "more than 400 (limit 400)"), ("say \"secret\" now", "say \"…\" now"), ("'", "'"), ("", ""),
        ("open 'secret", "open 'secret"),
    ])
    func `a reason keeps names of the schema, and loses others`(text: String, kept: String) {
        #expect(RefusalText.withoutNames(text) == kept)
    }

    @Test func `stand-ins are stable, differ by kind, and are taken as they are`() {
        let one = Pseudonyms(key: [1, 2, 3])
        let name = one.of("Diary", .zone)
        #expect(name == Pseudonyms(key: [1, 2, 3]).of("Diary", .zone) && name != Pseudonyms(key: [1, 2, 4]).of("Diary", .zone))
        #expect(name.hasPrefix("z-") && name.dropFirst(2) != one.of("Diary", .user).dropFirst(2) && one.of("", .zone) == "")
        #expect(one.meant(by: name, .zone) == name && one.meant(by: "Diary", .zone) == name && one.meant(by: name, .user) != name)
    }
}
