import NacreCloudServerWire
import NacreCloudTestSupport
import NacreCloudWire
import Testing

/// Tests that any bytes are read as a message or give an error.
struct HostileBytesTests {
    /// Reads the bytes as every kind of message, and returns which succeed.
    private static func readers(_ json: [UInt8]) -> [Bool] {
        func reads(_ read: () throws -> some ReadableMessage) -> Bool { (try? read()) != nil }
        return [
            reads { try RecordsModifyRequest(json: json) }, reads { try RecordsLookupRequest(json: json) }, reads { try RecordsResponse(json: json) },
            reads { try ZonesLookupRequest(json: json) }, reads { try ZonesModifyRequest(json: json) }, reads { try ZonesResponse(json: json) },
            reads { try ChangesDatabaseRequest(json: json) }, reads { try ChangesDatabaseResponse(json: json) },
            reads { try ChangesZoneRequest(json: json) }, reads { try ChangesZoneResponse(json: json) }, reads { try UserIdentity(json: json) },
            reads { try ErrorResponse(json: json) }, reads { try RecordsQueryRequest(json: json) }, reads { try RecordsQueryResponse(json: json) },
            reads { try RecordsChangesRequest(json: json) }, reads { try RecordsChangesResponse(json: json) },
            reads { try ZonesChangesRequest(json: json) }, reads { try ZonesChangesResponse(json: json) },
            reads { try UsersDiscoverRequest(json: json) }, reads { try UsersDiscoverResponse(json: json) },
            reads { try UsersLookupRequest(json: json) }, reads { try UsersLookupResponse(json: json) },
            reads { try UsersPermissionRequest(json: json) }, reads { try UsersPermissionResponse(json: json) },
            reads { try UsersContactKeyResponse(json: json) }, reads { try SubscriptionsLookupRequest(json: json) },
            reads { try SubscriptionsModifyRequest(json: json) }, reads { try SubscriptionsResponse(json: json) },
            reads { try TokensCreateRequest(json: json) }, reads { try TokensRegisterRequest(json: json) },
            reads { try WebPushRegisterRequest(json: json) }, reads { try WebPushKeyResponse(json: json) },
            reads { try TokensCreateResponse(json: json) }, reads { try TokensRegisterResponse(json: json) },
        ]
    }

    /// Returns short documents of each form: cutting them costs the square of their length.
    private static func documents(_ seed: inout SeededRandom) -> [[UInt8]] {
        let zone = seed.zoneID()
        let form = AnswerForm(details: true, zoneID: zone)
        return [
            short(&seed) { RecordsModifyRequest(operations: [$0.operation()], extension: $0.requestExtension()).json() },
            short(&seed) { $0.lookupRequest().json() },
            short(&seed) { RecordsResponse(records: [.record($0.record(in: zone)), $0.result(in: zone, tombstonesShowType: true)]).json(form) },
            short(&seed) { ChangesZoneRequest(zones: [$0.feedItem()]).json() },
            short(&seed) { ChangesZoneResponse(zones: [$0.page()]).json(form) },
            short(&seed) { ZonesResponse(zones: [$0.zoneResult(), $0.zoneResult()]).json(form) },
            short(&seed) { ErrorResponse(uuid: "u", error: $0.error()).json(form) },
            short(&seed) { RecordsQueryRequest(query: Query(recordType: "T", filters: [$0.filter()], sorts: [QuerySort("s")])).json() },
            short(&seed) { $0.queryRequest().json() },
            short(&seed) { RecordsQueryResponse(records: [$0.record(in: zone)], continuationMarker: "m").json(form) },
            short(&seed) { RecordsChangesRequest($0.feedItem()).json() }, short(&seed) { $0.recordsChanges(in: zone).json(form) },
            short(&seed) { $0.zonesChanges().json(form) },
            short(&seed) { UsersDiscoverRequest(lookupInfos: [$0.lookupInfo(), $0.lookupInfo()], extension: $0.requestExtension()).json() },
            short(&seed) { UsersDiscoverResponse(users: [$0.user(), $0.user()]).json(form) },
            short(&seed) { SubscriptionsModifyRequest(operations: [$0.subscriptionOperation()]).json() },
            short(&seed) { SubscriptionsResponse(subscriptions: [$0.subscriptionResult(), $0.subscriptionResult()]).json(form) },
            TokensRegisterRequest(apnsEnvironment: .production, apnsToken: "t", clientID: "c").json(),
            WebPushRegisterRequest(subscription: .init(endpoint: "e", p256dh: "p", auth: "a"), clientID: "c").json(),
        ]
    }

    private static func short(_ seed: inout SeededRandom, _ document: (inout SeededRandom) -> [UInt8]) -> [UInt8] {
        var shortest = document(&seed)
        for _ in 0..<20 where shortest.count > 900 {
            let other = document(&seed)
            if other.count < shortest.count { shortest = other }
        }
        return shortest
    }

    @Test func `a document cut at any offset is refused by every message`() {
        var seed = SeededRandom()
        for document in Self.documents(&seed) {
            #expect(Self.readers(document).contains(true), "\(seed)")
            for end in 0..<document.count {
                let cut = Array(document.prefix(end))
                #expect((try? JSONTree(cut)) == nil, "cut at \(end); \(seed)")
                #expect(!Self.readers(cut).contains(true), "cut at \(end); \(seed)")
            }
        }
    }

    @Test(arguments: 0..<10)
    func `a document with bytes changed is read or refused, and what is read can be written`(_: Int) throws {
        var seed = SeededRandom()
        for document in Self.documents(&seed) {
            for _ in 0..<30 {
                var changed = document
                for _ in 0..<Int.random(in: 1...4, using: &seed) { Self.change(&changed, &seed) }
                _ = Self.readers(changed)
                if let request = try? RecordsModifyRequest(json: changed) { _ = try JSONTree(request.json()) }
                if let query = try? RecordsQueryRequest(json: changed) { _ = try JSONTree(query.json()) }
                if let answer = try? RecordsResponse(json: changed) { _ = try JSONTree(answer.json(AnswerForm(details: true))) }
            }
        }
    }

    private static func change(_ bytes: inout [UInt8], _ seed: inout SeededRandom) {
        guard let place = bytes.indices.randomElement(using: &seed) else { return }
        let marks = Array("{}[]\",:\\u0e.-\u{0}".utf8)
        switch Int.random(in: 0..<4, using: &seed) {
        case 0: bytes[place] = .random(in: 0...255, using: &seed)
        case 1: bytes[place] = marks.randomElement(using: &seed) ?? 0
        case 2: bytes.remove(at: place)
        default: bytes.insert(marks.randomElement(using: &seed) ?? 0, at: place)
        }
    }

    @Test func `many fields in the worst order are no more than a sort`() throws {
        let names = (0..<30_000).reversed().map { #""f\#(String(1_000_000 + $0))":{"value":1},"f\#($0)":null"# }
        let json = #"{"operations":[{"operationType":"create","record":{"fields":{"# + names.joined(separator: ",") + "}}}]}"
        let request = try RecordsModifyRequest(json: Array(json.utf8))
        guard case .success(let operation)? = request.operations.first else {
            Issue.record("the operation is a fault")
            return
        }
        #expect(operation.change.set.count == 30_000)
        #expect(operation.change.cleared.count == 30_000)
    }

    @Test func `too many desired keys are refused`() {
        let keys = Array(repeating: #""k""#, count: 4097).joined(separator: ",")
        let error = #expect(throws: ServerError.self) { try RecordsLookupRequest(json: Array(#"{"desiredKeys":[\#(keys)],"records":[]}"#.utf8)) }
        #expect(error?.field == "desiredKeys[1024]")
    }
}
