import CloudWire
import Testing

/// Whatever the bytes are, reading them ends in a message or in an error.
struct HostileBytesTests {
    /// Every message there is, as its reader sees it.
    private static func readers(_ json: [UInt8]) -> [Bool] {
        func reads(_ read: () throws -> some WireMessage) -> Bool { (try? read()) != nil }
        return [
            reads { try RecordsModifyRequest(json: json) }, reads { try RecordsLookupRequest(json: json) }, reads { try RecordsResponse(json: json) },
            reads { try ZonesLookupRequest(json: json) }, reads { try ZonesModifyRequest(json: json) }, reads { try ZonesResponse(json: json) },
            reads { try ChangesDatabaseRequest(json: json) }, reads { try ChangesDatabaseResponse(json: json) },
            reads { try ChangesZoneRequest(json: json) }, reads { try ChangesZoneResponse(json: json) }, reads { try UserIdentity(json: json) },
            reads { try ErrorResponse(json: json) },
        ]
    }

    private static func documents(_ seed: inout Seed) -> [[UInt8]] {
        let zone = seed.zoneID()
        return [
            RecordsModifyRequest(operations: (0..<3).map { _ in seed.operation() }, extension: seed.requestExtension()).json(),
            seed.lookupRequest().json(),
            RecordsResponse(records: (0..<4).map { _ in seed.result(in: zone, tombstonesShowType: true) })
                .json(AnswerForm(details: true, zoneID: zone)),
            ChangesZoneRequest(zones: [seed.feedItem()]).json(),
            ChangesZoneResponse(zones: [seed.page(), seed.page()]).json(AnswerForm(details: true)),
            ZonesResponse(zones: [seed.zoneResult(), seed.zoneResult()]).json(AnswerForm(details: true)),
            ErrorResponse(uuid: "u", error: seed.error()).json(AnswerForm(details: true)),
        ]
    }

    @Test(arguments: 0..<4)
    func `a document cut at any offset is refused by every message`(_: Int) {
        var seed = Seed()
        for document in Self.documents(&seed) {
            #expect(Self.readers(document).contains(true), "\(seed)")
            for end in 0..<document.count {
                let cut = Array(document.prefix(end))
                #expect(throws: JSONError.self, "cut at \(end); \(seed)") { try JSONTree(cut) }
                #expect(!Self.readers(cut).contains(true), "cut at \(end); \(seed)")
            }
        }
    }

    @Test(arguments: 0..<20)
    func `a document with bytes changed is read or refused, and what is read can be written`(_: Int) throws {
        var seed = Seed()
        for document in Self.documents(&seed) {
            for _ in 0..<40 {
                var changed = document
                for _ in 0..<Int.random(in: 1...4, using: &seed) { Self.change(&changed, &seed) }
                _ = Self.readers(changed)
                if let request = try? RecordsModifyRequest(json: changed) { _ = try JSONTree(request.json()) }
                if let answer = try? RecordsResponse(json: changed) { _ = try JSONTree(answer.json(AnswerForm(details: true))) }
            }
        }
    }

    private static func change(_ bytes: inout [UInt8], _ seed: inout Seed) {
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
        let names = (0..<60_000).reversed().map { #""f\#(String(1_000_000 + $0))":{"value":1},"f\#($0)":null"# }
        let json = #"{"operations":[{"operationType":"create","record":{"fields":{"# + names.joined(separator: ",") + "}}}]}"
        let request = try RecordsModifyRequest(json: Array(json.utf8))
        guard case .success(let operation)? = request.operations.first else {
            Issue.record("the operation is a fault")
            return
        }
        #expect(operation.change.set.count == 60_000)
        #expect(operation.change.cleared.count == 60_000)
    }

    @Test func `too many desired keys are refused`() {
        let keys = Array(repeating: #""k""#, count: 4097).joined(separator: ",")
        let error = #expect(throws: ServerError.self) { try RecordsLookupRequest(json: Array(#"{"desiredKeys":[\#(keys)],"records":[]}"#.utf8)) }
        #expect(error?.field == "desiredKeys[4096]")
    }
}
