import Foundation
import NacreCloudServerWire
import NacreCloudTestSupport
import NacreCloudWire
import Testing

/// Tests that each message arrives as it was sent: exactly with details, and without them as web clients see it.
struct MessageRoundTripTests {
    static let rounds = 0..<100

    private func expectExact<Message: ReadableRequest>(_ message: Message, _ seed: SeededRandom) throws {
        let json = message.json()
        #expect(try JSONSerialization.jsonObject(with: Data(json)) is [String: Any])
        #expect(try Message(json: json) == message, "\(seed)")
    }

    private func expect<Message: WritableAnswer>(_ message: Message, as expected: Message, _ form: AnswerForm, _ seed: SeededRandom) throws {
        let json = message.json(form)
        #expect(try JSONSerialization.jsonObject(with: Data(json)) is [String: Any])
        #expect(try Message(json: json) == expected, "\(seed)")
        if !form.details { #expect(!String(decoding: json, as: UTF8.self).contains("\"nacre\":"), "\(seed)") }
    }

    @Test(arguments: rounds) func `records/modify asks`(_: Int) throws {
        var seed = SeededRandom()
        var request = seed.modifyRequest()
        request.extension.wantsDetails = true
        try expectExact(request, seed)
        request.extension.wantsDetails = false
        let plain = request.withoutSealed
        #expect(try RecordsModifyRequest(json: plain.json()) == plain.web, "\(seed)")
    }

    @Test(arguments: rounds) func `records/lookup asks`(_: Int) throws {
        var seed = SeededRandom()
        try expectExact(seed.lookupRequest(), seed)
    }

    @Test(arguments: rounds) func `records/query asks, exactly even where the answer needs no details`(_: Int) throws {
        var seed = SeededRandom()
        try expectExact(seed.queryRequest(), seed)
    }

    @Test(arguments: rounds) func `a query is answered`(_: Int) throws {
        var seed = SeededRandom()
        let answer = seed.queryResponse()
        var plain = answer
        plain.records = answer.records.map(\.withoutSealed)
        var web = plain
        web.records = plain.records.map(\.web)
        for numbersAsStrings in [false, true] {
            try expect(answer, as: answer, AnswerForm(details: true, numbersAsStrings: numbersAsStrings), seed)
            try expect(plain, as: web, AnswerForm(numbersAsStrings: numbersAsStrings), seed)
        }
    }

    @Test(arguments: rounds) func `the older feeds are asked for and answered`(_: Int) throws {
        var seed = SeededRandom()
        try expectExact(RecordsChangesRequest(seed.feedItem(), extension: seed.requestExtension()), seed)
        try expectExact(
            ZonesChangesRequest(
                ChangesDatabaseRequest(
                    syncToken: seed.maybe { $0.name() }, resultsLimit: seed.maybe { .random(in: 1...200, using: &$0) },
                    extension: seed.requestExtension())), seed)
        let zone = seed.zoneID()
        let records = seed.recordsChanges(in: zone)
        try expect(records, as: records, AnswerForm(details: true, zoneID: zone), seed)
        let zones = seed.zonesChanges()
        try expect(zones, as: zones, AnswerForm(details: true), seed)
        var web = zones
        web.zones = zones.zones.map(\.web)
        try expect(zones, as: web, AnswerForm(), seed)
    }

    @Test(arguments: rounds) func `zones and feeds are asked for`(_: Int) throws {
        var seed = SeededRandom()
        try expectExact(ZonesLookupRequest(zones: seed.list(upTo: 5) { $0.zoneID() }, extension: seed.requestExtension()), seed)
        let operations = seed.list(upTo: 5) { ZoneOperation($0.chance(2) ? .create : .delete, $0.zoneID()) }
        try expectExact(ZonesModifyRequest(operations: operations, extension: seed.requestExtension()), seed)
        try expectExact(
            ChangesDatabaseRequest(
                syncToken: seed.maybe { $0.name() }, resultsLimit: seed.maybe { .random(in: 1...200, using: &$0) },
                extension: seed.requestExtension()), seed)
        try expectExact(ChangesZoneRequest(zones: seed.list(upTo: 5) { $0.feedItem() }, extension: seed.requestExtension()), seed)
    }

    @Test(arguments: rounds) func `records are answered, with their zone`(_: Int) throws {
        var seed = SeededRandom()
        let zone = seed.zoneID()
        let answer = RecordsResponse(
            records: seed.list(upTo: 6) { $0.result(in: zone, tombstonesShowType: false) }, syncToken: seed.maybe { $0.name() })
        let plain = RecordsResponse(records: answer.records.map(\.withoutSealed), syncToken: answer.syncToken)
        let web = RecordsResponse(records: plain.records.map(\.web), syncToken: answer.syncToken)
        for numbersAsStrings in [false, true] {
            try expect(answer, as: answer, AnswerForm(details: true, numbersAsStrings: numbersAsStrings, zoneID: zone), seed)
            try expect(plain, as: web, AnswerForm(numbersAsStrings: numbersAsStrings, zoneID: zone), seed)
        }
    }

    @Test(arguments: rounds) func `records are answered, without their zone`(_: Int) throws {
        var seed = SeededRandom()
        let answer = RecordsResponse(records: seed.list(upTo: 6) { $0.result(in: nil, tombstonesShowType: false) })
        try expect(answer, as: answer, AnswerForm(details: true), seed)
    }

    @Test(arguments: rounds) func `zones are answered`(_: Int) throws {
        var seed = SeededRandom()
        let answer = ZonesResponse(zones: seed.list(upTo: 6) { $0.zoneResult() })
        try expect(answer, as: answer, AnswerForm(details: true), seed)
        try expect(answer, as: ZonesResponse(zones: answer.zones.map(\.web)), AnswerForm(), seed)
        let changes = seed.databaseChanges()
        try expect(changes, as: changes, AnswerForm(details: true), seed)
        try expect(changes, as: changes.web, AnswerForm(), seed)
    }

    @Test(arguments: rounds) func `feeds are answered`(_: Int) throws {
        var seed = SeededRandom()
        let answer = ChangesZoneResponse(zones: seed.list(upTo: 4) { $0.page() })
        let plain = ChangesZoneResponse(zones: answer.zones.map { $0.mapRecords(\.withoutSealed) })
        try expect(answer, as: answer, AnswerForm(details: true), seed)
        try expect(plain, as: ChangesZoneResponse(zones: plain.zones.map(\.web)), AnswerForm(), seed)
    }

    @Test(arguments: rounds) func `errors and users are answered`(_: Int) throws {
        var seed = SeededRandom()
        var error = ErrorResponse(uuid: seed.name(), error: seed.error())
        try expect(error, as: error, AnswerForm(details: true), seed)
        let web = ErrorResponse(uuid: error.uuid, error: error.error.web)
        try expect(error, as: web, AnswerForm(), seed)
        error.error.serverRecord = nil
        let user = UserIdentity(userRecordName: seed.text())
        try expect(user, as: user, AnswerForm(), seed)
    }

    @Test(arguments: rounds) func `users are looked up and answered`(_: Int) throws {
        var seed = SeededRandom()
        try expectExact(UsersDiscoverRequest(lookupInfos: seed.list(upTo: 5) { $0.lookupInfo() }, extension: seed.requestExtension()), seed)
        let items = seed.list(upTo: 5) { UsersLookupRequest.Item(emailAddress: $0.maybe { $0.text() }, userRecordName: $0.maybe { $0.text() }) }
        try expectExact(UsersLookupRequest(users: items, extension: seed.requestExtension()), seed)
        for status in Discoverability.allCases {
            try expectExact(UsersPermissionRequest(userDiscoverability: status, extension: seed.requestExtension()), seed)
            let answer = UsersPermissionResponse(userDiscoverability: status)
            try expect(answer, as: answer, AnswerForm(), seed)
        }
        let key = UsersContactKeyResponse(contactKey: seed.list(upTo: 40) { .random(in: 0...255, using: &$0) })
        try expect(key, as: key, AnswerForm(), seed)
        let found = UsersDiscoverResponse(users: seed.list(upTo: 5) { $0.user() })
        try expect(found, as: found, AnswerForm(details: true), seed)
        // A hash is our addition: web clients do not see it.
        let web = UsersDiscoverResponse(users: found.users.map(\.web))
        try expect(found, as: web, AnswerForm(), seed)
        let older = UsersLookupResponse(users: web.users.map(UserDictionary.init))
        try expect(older, as: older, AnswerForm(), seed)
        for user in older.users { try expect(user, as: user, AnswerForm(), seed) }
    }

    @Test(arguments: rounds) func `shares are resolved and answered`(_: Int) throws {
        var seed = SeededRandom()
        let items = seed.list(upTo: 4) { SharesRequest.Item(value: $0.text(), shouldFetchRootRecord: $0.chance(2), rootRecordDesiredKeys: $0.keys()) }
        try expectExact(SharesRequest(shortGUIDs: items, extension: seed.requestExtension()), seed)
        let results = seed.list(upTo: 3) { seed -> SharesResponse.Result in
            if seed.chance(3) { return .failure(shortGUID: seed.text(), seed.error()) }
            let zone = ZoneID(zoneName: seed.name(), ownerRecordName: "_" + seed.name())
            return .share(
                ShareMetadata(
                    shortGUID: seed.text(), containerIdentifier: seed.text(), databaseScope: "SHARED", environment: "development", zoneID: zone,
                    share: seed.record(in: zone), ownerIdentity: seed.user(), participantPermission: seed.permission(),
                    participantStatus: .invited, participantType: .privateUser,
                    rootRecordName: seed.chance(2) ? seed.name() : nil, rootRecord: seed.chance(2) ? seed.record(in: zone) : nil,
                    webpageURL: seed.chance(2) ? seed.text() : nil,
                    potentialMatches: seed.list(upTo: 2) { .init(participantID: $0.text(), contact: .emailAddress($0.text())) }))
        }
        let answer = SharesResponse(results: results)
        try expect(answer, as: answer, AnswerForm(details: true), seed)
        let requests = AccessRequestsResponse(
            results: seed.list(upTo: 3) { .init(shortGUID: $0.text(), error: $0.chance(2) ? $0.error() : nil) })
        try expect(requests, as: requests, AnswerForm(details: true), seed)
        let page = SharePageRequest(
            zoneID: ZoneID(zoneName: seed.name()), recordName: seed.maybe { $0.name() }, title: seed.maybe { $0.text() },
            type: seed.maybe { $0.text() }, access: seed.keys(), permissions: seed.keys(), extension: seed.requestExtension())
        try expectExact(page, seed)
        let url = SharePageResponse(url: seed.text())
        try expect(url, as: url, AnswerForm(), seed)
    }

    @Test(arguments: rounds) func `subscriptions and push tokens are asked for and answered`(_: Int) throws {
        var seed = SeededRandom()
        try expectExact(
            SubscriptionsModifyRequest(operations: seed.list(upTo: 4) { $0.subscriptionOperation() }, extension: seed.requestExtension()), seed)
        try expectExact(
            SubscriptionsLookupRequest(subscriptionIDs: seed.list(upTo: 4) { $0.text() }, extension: seed.requestExtension()), seed)
        let answer = SubscriptionsResponse(subscriptions: seed.list(upTo: 4) { $0.subscriptionResult() })
        for numbersAsStrings in [false, true] {
            try expect(answer, as: answer, AnswerForm(details: true, numbersAsStrings: numbersAsStrings), seed)
        }
        let plain = SubscriptionsResponse(subscriptions: answer.subscriptions.filter { !$0.holdsSealedValue })
        try expect(plain, as: SubscriptionsResponse(subscriptions: plain.subscriptions.map(\.web)), AnswerForm(), seed)
        for environment in APNsEnvironment.allCases {
            try expectExact(
                TokensCreateRequest(apnsEnvironment: environment, clientID: seed.maybe { $0.text() }, extension: seed.requestExtension()), seed)
            try expectExact(
                TokensRegisterRequest(
                    apnsEnvironment: environment, apnsToken: seed.text(), clientID: seed.maybe { $0.text() }, extension: seed.requestExtension()),
                seed)
            let token = TokensCreateResponse(apnsEnvironment: environment, apnsToken: seed.text(), webcourierURL: seed.text())
            try expect(token, as: token, AnswerForm(), seed)
        }
        try expect(TokensRegisterResponse(), as: TokensRegisterResponse(), AnswerForm(), seed)
        let browser = seed.maybe { WebPushRegisterRequest.Subscription(endpoint: $0.text(), p256dh: $0.text(), auth: $0.text()) }
        try expectExact(
            WebPushRegisterRequest(subscription: browser, clientID: seed.maybe { $0.text() }, extension: seed.requestExtension()), seed)
        let key = WebPushKeyResponse(applicationServerKey: seed.text())
        try expect(key, as: key, AnswerForm(), seed)
    }
}
