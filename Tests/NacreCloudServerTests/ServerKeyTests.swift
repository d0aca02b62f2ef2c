import Foundation
import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudTasks
import NacreCloudWire
import NacreCrypto
import Testing

@testable import NacreCloudServer

/// Tests of requests that a server-to-server key has signed.
@Suite(.timeLimit(.minutes(5))) struct ServerKeyTests {
    private static let creation =
        #"{"operations":[{"operationType":"create","record":{"recordType":"Note","fields":{"text":{"value":"hello","type":"STRING"}}}}]}"#

    private func with(_ body: (Signer) async throws -> Void) async throws {
        let server = try await TestServer()
        try await server.prepareTypes(for: Self.creation, in: TestServer.container)
        try await body(try await Signer(server))
        await server.server.shutdown(grace: .zero)
    }

    private func expectRefused(_ answer: Answer, _ label: String = "") {
        #expect(answer.status == 401, "\(label): \(answer.text)")
        #expect(
            answer.json?["serverErrorCode"]?.text == "AUTHENTICATION_FAILED" && answer.json?["reason"]?.text == "Authentication failed", "\(label)")
    }

    @Test func `a key saves as a user of its own, and reads what it saved`() async throws {
        try await with { signer in
            let saved = await signer.ask(try signer.question("records/modify", Self.creation))
            #expect(saved.status == 200, "\(saved.text)")
            let name = try #require(saved.json?.at("records[0].recordName")?.text)
            let author = try #require(saved.json?.at("records[0].created.userRecordName")?.text)
            #expect(author.hasPrefix("_") && !signer.server.names.values.contains(author))
            let found = await signer.ask(try signer.question("records/lookup", #"{"records":[{"recordName":"\#(name)"}]}"#))
            #expect(found.json?.at("records[0].fields.text.value")?.text == "hello")
            let again = await signer.ask(try signer.question("records/modify", Self.creation, late: 1))
            #expect(again.json?.at("records[0].created.userRecordName")?.text == author)
        }
    }

    @Test func `a signed request that names its operation is done once, whatever date it is signed with anew`() async throws {
        try await with { signer in
            let named = Self.creation.dropLast() + #","nacre":{"operationID":"once"}}"#
            var names: Set<String> = []
            for late in [0.0, 1, 500] {
                let answer = await signer.ask(try signer.question("records/modify", String(named), late: late))
                names.insert(try #require(answer.json?.at("records[0].recordName")?.text))
            }
            #expect(names.count == 1)
        }
    }

    @Test func `a key has the roles that it is given, and no grant holds an administrator's`() async throws {
        try await with { signer in
            let registry = signer.server.cloud.registry
            let schemas = signer.server.cloud.schemas
            let text = """
                DEFINE SCHEMA CREATE ROLE Team; RECORD TYPE Users (roles LIST<INT64>);
                RECORD TYPE Note (text STRING, GRANT CREATE TO "_icloud", GRANT READ TO "_creator", GRANT READ, WRITE TO Team);
                """
            _ = try await schemas.importSchema(text, to: TestServer.container, isDryRun: false)
            let ada = DatabaseTarget(container: TestServer.container, environment: .development, scope: .public)
            let note = RecordOperation(.create, RecordChange(recordName: "n", recordType: "Note", set: ["text": .string("hush")]))
            _ = try await signer.server.cloud.modifyRecords(
                RecordsModifyRequest(operations: [note]), in: ada, by: Caller(.user("_ada"), client: .framework), digest: [])
            let lookup = #"{"records":[{"recordName":"n"}]}"#
            let change = #"{"operations":[{"operationType":"forceUpdate","record":{"recordName":"n","fields":{"text":{"value":"loud"}}}}]}"#
            let administrator = try await Signer(signer.server, isAdministrator: true)
            func asks(_ signer: Signer, late: Double) async throws -> [String?] {
                let (found, changed) = (
                    await signer.ask(try signer.question("records/lookup", lookup, late: late)),
                    await signer.ask(try signer.question("records/modify", change, late: late))
                )
                return [found, changed].map { $0.json?.at("records[0].reason")?.text ?? $0.json?.at("records[0].fields.text.value")?.text }
            }
            #expect(try await asks(signer, late: 0) == ["READ operation not permitted", "WRITE operation not permitted"])
            let entry = try #require(try await registry.serverKey(signer.id))
            let user = try await signer.server.cloud.admit(account: entry.account, to: TestServer.container, .development)
            _ = try await schemas.assign("Team", to: user, in: TestServer.container, .development)
            #expect(try await asks(signer, late: 1) == ["hush", "loud"])
            _ = try await schemas.revoke("Team", from: user, in: TestServer.container, .development)
            #expect(try await asks(signer, late: 2) == ["READ operation not permitted", "WRITE operation not permitted"])
            #expect(try await asks(administrator, late: 3) == ["loud", "loud"])
            let listed = try await registry.appCredentials(of: nil, after: .init(kind: .server, id: nil)).page
            #expect(Set(listed.filter(\.isAdministrator).map(\.id)) == [administrator.id] && listed.count == 2)
        }
    }

    @Test func `the path is signed with its query or without, and an empty body as its digest or as nothing`() async throws {
        try await with { signer in
            for hashesNothing in [true, false] {
                for (query, signsQuery) in [("", true), ("a=b%20c", true), ("a=b%20c", false)] {
                    let answer = await signer.ask(
                        try signer.question("zones/list", query: query, hashesNothing: hashesNothing, signsQuery: signsQuery))
                    #expect(answer.status == 200, "\(hashesNothing) \(query) \(signsQuery): \(answer.text)")
                }
            }
            expectRefused(await signer.ask(try signer.question("records/modify", Self.creation, hashesNothing: true)))
        }
    }

    @Test func `a date is good for ten minutes before and after`() async throws {
        try await with { signer in
            for (seconds, isGood) in [(-600.0, true), (600, true), (-602, false), (602, false), (-86_400 * 365, false)] {
                let answer = await signer.ask(try signer.question("zones/list", late: seconds))
                if isGood { #expect(answer.status == 200, "\(seconds)") } else { expectRefused(answer, "\(seconds)") }
            }
        }
    }

    @Test func `no byte of what is signed, and none of the signature, can be another`() async throws {
        try await with { signer in
            func refuse(_ label: String, _ change: (inout Question, [UInt8]) -> Void) async throws {
                expectRefused(await signer.ask(try signer.question("records/modify", Self.creation, change: change)), label)
            }
            for index in 0..<Self.creation.utf8.count {
                try await refuse("body \(index)") { question, _ in question.body[index] ^= 1 }
            }
            let signatureHeader = "X-Apple-CloudKit-Request-SignatureV1"
            let bytes = try signer.key.sign([1]).count - 4
            for index in 0..<bytes {
                try await refuse("signature \(index)") { question, signature in
                    var other = signature
                    other[index] ^= 1
                    question.headers[signatureHeader] = Data(other).base64EncodedString()
                }
            }
            try await refuse("date") { question, _ in
                let now = Date(timeIntervalSinceReferenceDate: signer.server.clock.now.secondsSince2001 + 1)
                question.headers["X-Apple-CloudKit-Request-ISO8601Date"] = now.formatted(.iso8601)
            }
            try await refuse("path") { question, _ in question.target = question.target.replacing("modify", with: "lookup") }
            for value in ["", "AAAA", "not base64", String(repeating: "A", count: 5000)] {
                try await refuse("signature \(value.prefix(10))") { question, _ in question.headers[signatureHeader] = value }
            }
            for header in ["X-Apple-CloudKit-Request-ISO8601Date", signatureHeader] {
                try await refuse("no \(header)") { question, _ in question.headers[header] = nil }
            }
            for id in ["", "wrong", String(repeating: "0", count: 64)] {
                try await refuse("key \(id)") { question, _ in question.headers["X-Apple-CloudKit-Request-KeyID"] = id }
            }
        }
    }

    @Test func `a key is for the public database of its container and environment, and its users are none`() async throws {
        try await with { signer in
            for database in ["private", "shared"] { expectRefused(await signer.ask(try signer.question("zones/list", database: database)), database) }
            expectRefused(await signer.ask(try signer.question("users/caller")))
            let production = try await Signer(signer.server, .production)
            expectRefused(await production.ask(try production.question("zones/list")))
            let other = try await Signer(signer.server, container: TestServer.otherContainer)
            expectRefused(await other.ask(try other.question("zones/list")))
        }
    }

    @Test func `a signed write that is sent again is done once, also by who has only seen it`() async throws {
        try await with { signer in
            let question = try signer.question("records/modify", Self.creation)
            let first = await signer.ask(question)
            // With ECDSA anybody can make a second valid signature of the same text; the key itself made this one.
            var resigned = question
            let date = question.headers["X-Apple-CloudKit-Request-ISO8601Date"] ?? ""
            let text = "\(date):\(Data(SHA256.digest(question.body)).base64EncodedString()):\(question.target)"
            resigned.headers["X-Apple-CloudKit-Request-SignatureV1"] = Data(try signer.key.sign(Array(text.utf8))).base64EncodedString()
            for repetition in [question, resigned] {
                let again = await signer.ask(repetition)
                #expect(again.status == 200 && again.json?.at("records[0].recordName") == first.json?.at("records[0].recordName"), "\(again.text)")
            }
            let found = try await signer.server.cloud.registry.serverKey(signer.id)
            #expect(found != nil)
            let update = try signer.question(
                "records/modify", Self.creation.replacing("hello", with: "other"), late: 1)
            #expect(await signer.ask(update).json?.at("records[0].recordName") != first.json?.at("records[0].recordName"))
        }
    }

    @Test func `several keys are good at the same time, and one that is revoked is refused five seconds later at most`() async throws {
        try await with { signer in
            let other = try await Signer(signer.server)
            for each in [signer, other] { #expect(await each.ask(try each.question("zones/list")).status == 200) }
            let registry = signer.server.cloud.registry
            #expect(try await registry.revokeAppCredential(signer.id).kind == .server)
            signer.server.clock.advance(5)
            expectRefused(await signer.ask(try signer.question("zones/list")))
            #expect(await other.ask(try other.question("zones/list")).status == 200)
            let listed = try await registry.appCredentials(of: TestServer.container, after: .init(kind: .server, id: nil)).page
            #expect(listed.map(\.id) == [other.id] && listed.first?.name == "nightly")
            await #expect(throws: (any Error).self) { try await registry.revokeAppCredential(signer.id) }
        }
    }

    @Test func `an API token that is revoked is dead five seconds later at most, and the web auth tokens with it`() async throws {
        try await with { signer in
            let server = signer.server
            let token = try #require(server.names["api"])
            let path =
                "/database/1/\(TestServer.container)/development/public/users/caller?ckAPIToken=\(token)&ckWebAuthToken=\(server.names["ada"] ?? "")"
            #expect(await server.respond(Question(method: "GET", target: path)).status == 200)
            _ = try await server.cloud.registry.revokeAppCredential(token)
            server.clock.advance(5)
            expectRefused(await server.respond(Question(method: "GET", target: path)))
        }
    }
}
