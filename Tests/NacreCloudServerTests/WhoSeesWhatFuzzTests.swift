import Foundation
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudTestSupport
import Testing

@testable import NacreCloudServer

/// Tests with random requests of two users, an API token alone and a server-to-server key, which also send each
/// other's tokens, markers and names. `WhoSeesWhat` tells the allowed contents of each answer.
@Suite(.timeLimit(.minutes(30))) struct WhoSeesWhatFuzzTests {
    /// Requests of one run. `NACRE_OPERATIONS` sets ten times the number, since each answer is searched.
    private static let requests = ProcessInfo.processInfo.environment["NACRE_OPERATIONS"].flatMap { Int($0) }.map { max($0 / 10, 100) } ?? 600

    @Test func `no answer holds what its caller may not see, and every list is whole`() async throws {
        var run = try await FuzzRun()
        for _ in 0..<Self.requests {
            try await run.step()
            if !run.faults.isEmpty { break }
        }
        #expect(run.faults == [], "NACRE_SEED=\(HistorySeed.value)")
        // A run in which nothing is saved or shown finds nothing.
        #expect(run.model.shown > Self.requests / 20, "NACRE_SEED=\(HistorySeed.value)")
    }

    @Test func `what leaks is found`() {
        var model = WhoSeesWhat()
        model.zones[.ada] = ["_defaultZone", "Work"]
        model.keep(WhoSeesWhat.Kept(type: "Own", creator: .ada, mark: "m-ada-1"), "r1", in: .public)
        model.keep(WhoSeesWhat.Kept(type: "Open", creator: .ada, mark: "m-ada-2"), "r2", in: .private(.ada, "Work"))
        #expect(model.leaks(to: .bob, in: #"{"a":"m-ada-1"}"#, asked: "").count == 1)
        #expect(model.leaks(to: .bob, in: "m-ada-2", asked: "") == ["m-ada-2"])
        #expect(model.leaks(to: .bob, in: "m-ada-2", asked: "m-ada-2") == [])
        #expect(model.leaks(to: .ada, in: "m-ada-1 m-ada-2", asked: "") == [])
        #expect(model.names(of: "Own", in: .public, for: .bob) == [])
        #expect(model.names(of: "Own", in: .public, for: .ada) == ["r1"])
    }
}

/// Draws requests, sends them, and checks the answers against the model.
private struct FuzzRun {
    private static let types = ["Open", "Own", "Secret"]

    let server: TestServer
    let key: Signer
    var random = SeededRandom()
    var model = WhoSeesWhat()
    var faults: [String] = []
    private var count = 0
    /// Answered values that can be sent again: sync tokens, markers.
    private var tokens: [(asker: WhoSeesWhat.Asker, text: String)] = []

    init() async throws {
        server = try await TestServer(requestRate: nil)
        key = try await Signer(server)
        let grants = [
            "Open": #"GRANT READ TO "_world", GRANT CREATE TO "_icloud", GRANT WRITE TO "_creator""#,
            "Own": #"GRANT READ, WRITE TO "_creator", GRANT CREATE TO "_icloud""#,
            "Secret": #"GRANT READ TO Team, GRANT CREATE TO "_icloud", GRANT WRITE TO "_creator""#,
        ]
        let types = Self.types.map { #"RECORD TYPE \#($0) ("___recordID" REFERENCE QUERYABLE, text STRING QUERYABLE, \#(grants[$0] ?? ""));"# }
        _ = try await server.cloud.schemas.importSchema(
            "DEFINE SCHEMA CREATE ROLE Team; RECORD TYPE Users (roles LIST<INT64>); \(types.joined(separator: " "))", to: TestServer.container,
            isDryRun: false)
        _ = try await server.cloud.schemas.assign("Team", to: server.names["bob.name"] ?? "", in: TestServer.container, .development)
        for user in WhoSeesWhat.Asker.users { model.zones[user] = ["_defaultZone"] }
    }

    mutating func step() async throws {
        let asker = WhoSeesWhat.Asker.allCases.randomElement(using: &random) ?? .ada
        switch Int.random(in: 0..<12, using: &random) {
        case 0: try await changeZones(asker)
        case 1...4: try await modify(asker)
        case 5, 6: try await lookup(asker)
        case 7, 8: try await query(asker)
        case 9: try await listZones(asker)
        case 10: try await followZone(asker)
        default: try await followDatabase(asker)
        }
    }

    // MARK: Requests

    private mutating func place(_ asker: WhoSeesWhat.Asker) -> WhoSeesWhat.Place {
        guard asker.isUser, !random.chance(2) else { return .public }
        let zone = (model.zones[asker] ?? []).sorted().randomElement(using: &random) ?? "_defaultZone"
        return .private(asker, random.chance(6) ? "Elsewhere" : zone)
    }

    /// Returns the zone of a request, sometimes with another user's name as owner.
    private mutating func zone(_ place: WhoSeesWhat.Place) -> String {
        guard case .private(_, let zone) = place else { return "" }
        let owner = random.chance(8) ? #","ownerRecordName":"\#(server.names["ada.name"] ?? "")""# : ""
        return #","zoneID":{"zoneName":"\#(zone)"\#(owner)}"#
    }

    private mutating func name() -> String { "r\(Int.random(in: 0..<12, using: &random))" }

    private mutating func modify(_ asker: WhoSeesWhat.Asker) async throws {
        let (place, name) = (place(asker), name())
        let type = Self.types.randomElement(using: &random) ?? "Open"
        let operation = ["create", "forceUpdate", "forceReplace", "forceDelete"].randomElement(using: &random) ?? "create"
        count += 1
        let mark = "m-\(asker)-\(count)-x"
        let record = operation == "forceDelete" ? "" : #","recordType":"\#(type)","fields":{"text":{"value":"\#(mark)"}}"#
        let zone = zone(place)
        let body = #"{"operations":[{"operationType":"\#(operation)","record":{"recordName":"\#(name)"\#(record)}}]\#(zone)}"#
        let answer = try await ask(asker, place, "records/modify", body)
        let before = model.kept(name, in: place)
        guard answer.status == 200, let item = answer.json?.at("records[0]"), item["serverErrorCode"] == nil else { return }
        if let before, !model.mayWrite(before, asker, in: place) {
            faults.append("\(asker) changed \(name) of \(before.creator) in \(place): \(body)")
        }
        if !asker.isSignedIn { faults.append("\(asker) saved: \(body)") }
        if operation == "forceDelete" {
            model.forget(name, in: place)
        } else {
            model.keep(WhoSeesWhat.Kept(type: before?.type ?? type, creator: before?.creator ?? asker, mark: mark), name, in: place)
        }
    }

    private mutating func lookup(_ asker: WhoSeesWhat.Asker) async throws {
        let (place, name) = (place(asker), name())
        let zone = zone(place)
        let answer = try await ask(asker, place, "records/lookup", #"{"records":[{"recordName":"\#(name)"}]\#(zone)}"#)
        guard answer.status == 200, !zone.contains("ownerRecordName") else { return }
        let expected = model.kept(name, in: place).flatMap { model.mayRead($0, asker, in: place) ? $0.mark : nil }
        let found = answer.json?.at("records[0].fields.text.value")?.text
        if found != expected { faults.append("\(asker) reads \(found ?? "nothing") at \(name) in \(place), not \(expected ?? "nothing")") }
    }

    private mutating func query(_ asker: WhoSeesWhat.Asker) async throws {
        let place = place(asker)
        let type = Self.types.randomElement(using: &random) ?? "Open"
        let zone = zone(place)
        var marker = random.chance(6) ? tokens.randomElement(using: &random)?.text : nil
        let isForeign = marker != nil
        var found: [String] = []
        repeat {
            let more = (marker.map { #","continuationMarker":"\#($0)""# } ?? "") + zone
            let filter = Body.filter("text", "GREATER_THAN", #"{"value":"a"}"#)
            let body = #"{"query":{"recordType":"\#(type)","filterBy":[\#(filter)]},"resultsLimit":3\#(more)}"#
            let answer = try await ask(asker, place, "records/query", body)
            guard answer.status == 200, case .array(let records)? = answer.json?["records"] else { return }
            found += records.compactMap { $0["recordName"]?.text }
            marker = answer.json?["continuationMarker"]?.text
        } while marker != nil
        guard !isForeign, !zone.contains("ownerRecordName") else { return }
        let expected = model.names(of: type, in: place, for: asker)
        model.shown += expected.count
        if found.sorted() != expected { faults.append("\(asker) finds \(found.sorted()) of \(type) in \(place), not \(expected)") }
    }

    private mutating func changeZones(_ asker: WhoSeesWhat.Asker) async throws {
        let zone = "Z\(Int.random(in: 0..<4, using: &random))-\(asker)"
        let operation = random.chance(3) ? "delete" : "create"
        let answer = try await ask(asker, .private(asker, zone), "zones/modify", Body.zones(operation, zone))
        guard answer.status == 200, answer.json?.at("zones[0].serverErrorCode") == nil else { return }
        if operation == "create" { model.zones[asker, default: []].insert(zone) } else { model.forgetZone(zone, of: asker) }
    }

    private mutating func listZones(_ asker: WhoSeesWhat.Asker) async throws {
        let answer = try await ask(asker, .private(asker, ""), "zones/list", "{}")
        expectZones(asker, answer)
    }

    private mutating func followDatabase(_ asker: WhoSeesWhat.Asker) async throws {
        let stolen = random.chance(3) ? tokens.randomElement(using: &random)?.text : nil
        _ = try await ask(asker, .private(asker, ""), "changes/database", stolen.map { #"{"syncToken":"\#($0)"}"# } ?? "{}")
    }

    private mutating func expectZones(_ asker: WhoSeesWhat.Asker, _ answer: Answer) {
        guard case .array(let zones)? = answer.json?["zones"] else { return }
        let found = Set(zones.compactMap { $0.at("zoneID.zoneName")?.text })
        if found != model.zones[asker] { faults.append("\(asker) has the zones \(found), not \(model.zones[asker] ?? [])") }
    }

    private mutating func followZone(_ asker: WhoSeesWhat.Asker) async throws {
        let zone = (model.zones[asker] ?? []).filter { $0 != "_defaultZone" }.sorted().randomElement(using: &random) ?? "Work"
        let stolen = random.chance(3) ? tokens.randomElement(using: &random)?.text : nil
        let answer = try await ask(asker, .private(asker, zone), "changes/zone", Body.feed(zone, token: stolen))
        guard stolen == nil, case .array(let records)? = answer.json?.at("zones[0].records"), answer.json?.at("zones[0].moreComing") == .bool(false)
        else { return }
        let found = records.filter { $0["recordType"] != nil }.compactMap { $0["recordName"]?.text }.sorted()
        let expected = Self.types.flatMap { model.names(of: $0, in: .private(asker, zone), for: asker) }.sorted()
        if found != expected { faults.append("\(asker) follows \(found) in \(zone), not \(expected)") }
    }

    // MARK: Answers

    private mutating func ask(_ asker: WhoSeesWhat.Asker, _ place: WhoSeesWhat.Place, _ path: String, _ body: String) async throws -> Answer {
        let database = place == .public ? "public" : "private"
        let target = "/database/1/\(TestServer.container)/development/\(database)/\(path)"
        var question = Question(method: "POST", target: target, body: Array(body.utf8))
        switch asker {
        case .ada:
            question.target += "?ckAPIToken=\(server.names["api"] ?? "")&ckWebAuthToken=\(server.names["ada.escaped"] ?? "")"
        case .bob: question.headers["Authorization"] = "Bearer \(server.names["bob.device"] ?? "")"
        case .world: question.target += "?ckAPIToken=\(server.names["api"] ?? "")"
        case .key:
            // A signature covers its second: the same request again would be a repetition.
            server.clock.advance(1)
            question = try key.signed(question)
        }
        let answer = await server.respond(question)
        if let fault = DescribedEndpoints.publicOnes.fault("POST", target, answer) { faults.append("\(path) \(body): \(fault) in \(answer.text)") }
        if database == "private", !asker.isUser, answer.status == 200 { faults.append("\(asker) is answered in a private database: \(answer.text)") }
        for leak in model.leaks(to: asker, in: answer.text, asked: body) {
            faults.append("\(asker) is told \(leak) by \(path) \(body): \(answer.text)")
        }
        for token in tokens where token.asker != asker && !body.contains(token.text) && answer.text.contains(token.text) {
            faults.append("\(asker) is told a token of \(token.asker) by \(path) \(body)")
        }
        // Values of the public database are the same for all with the same read permissions.
        if database == "private" {
            for text in answer.json?.texts(named: ["syncToken", "continuationMarker"]) ?? [] { tokens.append((asker, text)) }
            if tokens.count > 200 { tokens.removeFirst(tokens.count - 200) }
        }
        return answer
    }
}
