import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests of the errors for tokens that do not fit.
@Suite struct TokenTests {
    @Test(arguments: Engine.ofRules) func `garbage and tokens of the other kind are unknown, those of other places have expired`(
        engine: Engine
    ) async throws {
        let test = try await TestCloud(engine)
        let (ann, bob) = (test.user("_ann"), test.user("_bob"))
        for user in [ann, bob] {
            try await user.makeZone("Z", "Y")
            try await user.modify([.create("r")], zone: "Z")
        }
        let zone = try await ann.changes("Z").syncToken
        let database = try await ann.databaseChanges().syncToken
        for garbage in ["t", "t00", "x" + zone, zone + "00", String(zone.dropLast(2)), database] {
            await #expect(throws: ServerError.unknownToken) { try await ann.changes("Z", after: garbage) }
        }
        for garbage in ["t", database + "00", zone] {
            await #expect(throws: ServerError.unknownToken) { try await ann.databaseChanges(after: garbage) }
        }
        #expect(try await ann.changes("Z", after: "").records.map(\.recordName) == ["r"], "an empty token is no token")
        #expect(try await ann.databaseChanges(after: "").zones.count == 2)
        await #expect(throws: ServerError.tokenOfAnotherZone) { try await ann.changes("Y", after: zone) }
        await #expect(throws: ServerError.tokenOfAnotherZone) { try await bob.changes("Z", after: zone) }
        await #expect(throws: ServerError.tokenExpired) { try await bob.databaseChanges(after: database) }
    }

    @Test func `a token of no views is none, and no marker of a query is a token`() throws {
        for count in [0, 1] as [UInt8] {
            let views = [2, 3] + [UInt8](repeating: 0, count: 16) + [1, 1, count] + [UInt8](repeating: 0, count: 8 * Int(count))
            #expect((ChangeToken(views) == nil) == (count == 0))
        }
        let seen = QueryCursor.Seen(zone: ChangeNumber(run: 0, seq: 0), database: ChangeNumber(run: 0, seq: 0))
        let marker = QueryCursor(digest: 0, order: .asked, position: QueryPosition(keys: [], spot: .behind), seen: seen)
        #expect(QueryCursor(marker.bytes) == marker && ChangeToken(marker.bytes) == nil)
    }

    @Test(arguments: Engine.ofRules) func `a token from a future that was lost has expired`(engine: Engine) async throws {
        let test = try await TestCloud(engine)
        let ann = test.user("_ann")
        try await ann.makeZone("Z")
        let tokens = PlainTokens()
        let bytes = try #require(tokens.open(try await ann.changes("Z").syncToken))
        guard case .zone(let zone)? = ChangeToken(bytes) else {
            Issue.record("no token of a zone")
            return
        }
        for change in [ChangeNumber(run: 0, seq: 1), ChangeNumber(run: 1, seq: 0), ChangeNumber(run: -1, seq: 0)] {
            var other = zone
            other.seen = ChangeNumber(run: zone.seen.run + change.run, seq: zone.seen.seq + change.seq)
            let token = tokens.seal(ChangeToken.zone(other).bytes)
            await #expect(throws: ServerError.tokenExpired, "\(change)") { try await ann.changes("Z", after: token) }
        }
        let future = ChangeNumber(run: zone.seen.run, seq: 99)
        let token = ChangeToken.OfDatabase(database: zone.zone.database, position: ZoneFeedPosition(99), baseline: 0, seen: future)
        await #expect(throws: ServerError.tokenExpired) { try await ann.databaseChanges(after: tokens.seal(ChangeToken.database(token).bytes)) }
    }

    @Test(arguments: Engine.ofRules) func `one state of a zone gives one token, however it was reached`(engine: Engine) async throws {
        let ann = try await TestCloud(engine).user("_ann")
        try await ann.makeZone("Z")
        let empty = try await ann.changes("Z").syncToken
        for index in 0..<5 { try await ann.modify([.create("r\(index)")], zone: "Z") }
        let whole = try await ann.changes("Z").syncToken
        #expect(try await ann.changes("Z", after: empty).syncToken == whole)
        var token: String?
        for _ in 0..<6 { token = try await ann.changes("Z", after: token, limit: 1).syncToken }
        #expect(token == whole)
        #expect(try await ann.makeZone("Z").first?.zone?.syncToken == whole)
    }

    @Test(arguments: Engine.ofRules) func `each zone of a request has its own answer or its own error`(engine: Engine) async throws {
        let test = try await TestCloud(engine)
        let ann = test.user("_ann")
        try await ann.makeZone("Z", "Y", "X")
        let asked: [ChangesZoneRequest.Item] = [
            .init(zoneID: ZoneID(zoneName: "Z")), .init(zoneID: ZoneID(zoneName: "nowhere")), .init(zoneID: .defaultZone),
            .init(zoneID: ZoneID(zoneName: "Y"), syncToken: "garbage"), .init(zoneID: ZoneID(zoneName: "Z", ownerRecordName: "_bob")),
            .init(zoneID: ZoneID(zoneName: "X"), reverse: true),
        ]
        let results = try await ann.cloud.zoneChanges(ChangesZoneRequest(zones: asked), in: ann.target, by: ann.caller).zones
        let errors = results.map { result -> String? in
            if case .failure(_, let error) = result { error.reason } else { nil }
        }
        #expect(
            errors == [
                nil, "Zone does not exist", "cannot get changes in default zone", "Unknown sync continuation type",
                "PrivateDB can't be used to access another user's zone", "reading changes in reverse is not supported by this version of the server",
            ])
        let many = (0..<201).map { ChangesZoneRequest.Item(zoneID: ZoneID(zoneName: "z\($0)")) }
        await #expect(throws: ServerError.tooManyItems(201, limit: 200, field: "zones")) {
            try await ann.cloud.zoneChanges(ChangesZoneRequest(zones: many), in: ann.target, by: ann.caller)
        }
        let publicly = test.user("_ann", in: .public)
        await #expect(throws: ServerError.notInPublicDatabase) { try await publicly.changes("Z") }
        await #expect(throws: ServerError.notInPublicDatabase) { try await publicly.databaseChanges() }
    }
}
