import NacreCloudServerWire
import NacreCloudWire
import Testing

/// Tests of subscriptions and push tokens in requests, and of the exact bytes of answers.
struct SubscriptionFragmentTests {
    private func modify(_ json: String) throws -> [SubscriptionOperation] {
        try SubscriptionsModifyRequest(json: Array(json.utf8)).operations
    }

    /// Returns the one subscription that a request creates.
    private func created(_ members: String) throws -> Subscription? {
        let json = #"{"operations":[{"operationType":"create","subscription":{"subscriptionID":"s",\#(members)}}]}"#
        guard case .create(let subscription)? = try modify(json).first else { return nil }
        return subscription
    }

    private func text(_ answer: some WritableAnswer, _ form: AnswerForm = AnswerForm()) -> String {
        String(decoding: answer.json(form), as: UTF8.self)
    }

    @Test func `a query subscription as a web client sends it`() throws {
        let subscription = try created(
            #"""
            "subscriptionType":"query","query":{"recordType":"Items","filterBy":{"fieldName":"a","comparator":"EQUALS","fieldValue":{"value":5}}},
            "zoneID":{"zoneName":"Z"},"firesOn":["delete","create","create"],"firesOnce":true,"later":{},
            "notificationInfo":{"alertBody":"b","shouldBadge":true,"additionalFields":["x"],"category":null,"later":1}
            """#)
        var info = NotificationInfo()
        info.alertBody = "b"
        info.shouldBadge = true
        info.additionalFields = ["x"]
        let query = Query(recordType: "Items", filters: [QueryFilter(.equals, fieldName: "a", value: .int64(5))])
        #expect(
            subscription
                == Subscription(
                    subscriptionID: "s",
                    kind: .query(
                        SubscribedQuery(query: query, zoneID: ZoneID(zoneName: "Z"), firesOn: [.create, .delete], firesOnce: true)),
                    notificationInfo: info))
    }

    @Test(
        arguments: [
            ("", nil), (#""zoneWide":true,"#, nil), (#""zoneWide":false,"#, .defaultZone), (#""zoneID":{"zoneName":"Z"},"#, ZoneID(zoneName: "Z")),
            (#""zoneWide":true,"zoneID":{"zoneName":"Z"},"#, ZoneID(zoneName: "Z")), (#""zoneWide":null,"zoneID":null,"#, nil),
        ] as [(String, ZoneID?)])
    func `where a query subscription looks: a zone that it names, else every zone unless zoneWide is false`(_ members: String, _ zone: ZoneID?) throws
    {
        let subscription = try created(#"\#(members)"subscriptionType":"query","query":{"recordType":"T"}"#)
        let kind = Subscription.Kind.query(SubscribedQuery(query: Query(recordType: "T"), zoneID: zone, firesOn: []))
        #expect(subscription?.kind == kind)
    }

    @Test func `zoneWide makes a zone subscription one of the database, and CloudKit JS has a name for it`() throws {
        let zone = #""zoneID":{"zoneName":"Z","ownerRecordName":"_o"}"#
        let owned = ZoneID(zoneName: "Z", ownerRecordName: "_o")
        #expect(try created(#""subscriptionType":"zone",\#(zone)"#)?.kind == .zone(owned, recordType: nil))
        #expect(try created(#""recordType":"T","zoneWide":false,"subscriptionType":"zone",\#(zone)"#)?.kind == .zone(owned, recordType: "T"))
        #expect(try created(#""subscriptionType":"zone","zoneWide":true"#)?.kind == .database(recordType: nil))
        #expect(try created(#""subscriptionType":"zone","zoneWide":true,\#(zone)"#)?.kind == .database(recordType: nil))
        #expect(try created(#""subscriptionType":"database","recordType":"T""#)?.kind == .database(recordType: "T"))
    }

    @Test func `a deletion needs no more than an ID, before its operation's type or behind it`() throws {
        let json =
            #"{"operations":[{"subscription":{"subscriptionID":"a"},"operationType":"delete"},{"operationType":"delete","subscription":{"subscriptionID":"b","subscriptionType":"zone"}}]}"#
        #expect(try modify(json) == [.delete("a"), .delete("b")])
    }

    @Test(
        arguments: [
            ("{}", "operations"), (#"{"operations":[{"subscription":{}}]}"#, "operations[0].operationType"),
            (#"{"operations":[{"operationType":"replace","subscription":{}}]}"#, "operations[0].operationType"),
            (#"{"operations":[{"operationType":"create"}]}"#, "operations[0].subscription"),
            (#"{"operations":[{"operationType":"delete","subscription":{}}]}"#, "operations[0].subscription.subscriptionID"),
            (#"{"operations":[{"operationType":"create","subscription":{"subscriptionType":"zone"}}]}"#, "operations[0].subscription.subscriptionID"),
            (#"{"operations":[{"operationType":"create","subscription":{"subscriptionID":"s"}}]}"#, "operations[0].subscription.subscriptionType"),
            (
                #"{"operations":[{"operationType":"update","subscription":{"subscriptionID":"s","subscriptionType":"QUERY"}}]}"#,
                "operations[0].subscription.subscriptionType"
            ),
            (
                #"{"operations":[{"operationType":"create","subscription":{"subscriptionID":"s","subscriptionType":"query"}}]}"#,
                "operations[0].subscription.query"
            ),
            (
                #"{"operations":[{"operationType":"create","subscription":{"subscriptionID":"s","subscriptionType":"zone"}}]}"#,
                "operations[0].subscription.zoneID"
            ),
            (
                #"{"operations":[{"operationType":"create","subscription":{"subscriptionID":"s","firesOn":["CREATE"]}}]}"#,
                "operations[0].subscription.firesOn[0]"
            ),
            (
                #"{"operations":[{"operationType":"create","subscription":{"subscriptionID":"s","notificationInfo":{"shouldBadge":1}}}]}"#,
                "operations[0].subscription.notificationInfo.shouldBadge"
            ),
            (
                #"{"operations":[{"operationType":"create","subscription":{"subscriptionID":"s","notificationInfo":{"alertLocalizationArgs":"a"}}}]}"#,
                "operations[0].subscription.notificationInfo.alertLocalizationArgs"
            ),
        ])
    func `a request that is none says where`(_ json: String, _ path: String) {
        let error = #expect(throws: ServerError.self) { try modify(json) }
        #expect(error?.code == .badRequest)
        #expect(error?.field == path)
    }

    @Test func `a lookup takes what was answered`() throws {
        let json = #"{"subscriptions":[{"subscriptionID":"a"},{"subscriptionID":"b","subscriptionType":"zone","zoneWide":true}]}"#
        #expect(try SubscriptionsLookupRequest(json: Array(json.utf8)).subscriptionIDs == ["a", "b"])
        let error = #expect(throws: ServerError.self) { try SubscriptionsLookupRequest(json: Array(#"{"subscriptions":[{}]}"#.utf8)) }
        #expect(error?.field == "subscriptions[0].subscriptionID")
    }

    @Test func `subscriptions are answered`() {
        var info = NotificationInfo()
        info.title = "t"
        info.shouldSendContentAvailable = true
        let moment = Timestamp(secondsSince2001: 0.12345)
        let query = Query(recordType: "T", filters: [QueryFilter(.greaterThan, fieldName: "d", value: .timestamp(moment))])
        let answer = SubscriptionsResponse(subscriptions: [
            .subscription(Subscription(subscriptionID: "q", kind: .query(SubscribedQuery(query: query, firesOn: .all)), notificationInfo: info)),
            .subscription(Subscription(subscriptionID: "z", kind: .zone(ZoneID(zoneName: "Z"), recordType: "T"))),
            .subscription(Subscription(subscriptionID: "d", kind: .database(recordType: nil))), .deleted("x"),
            .failure("y", ServerError(.notFound, "no such subscription")),
        ])
        let filter = #"{"fieldName":"d","comparator":"GREATER_THAN","fieldValue":{"value":978307200123,"type":"TIMESTAMP""#
        let head = #"{"subscriptions":[{"subscriptionID":"q","subscriptionType":"query","query":{"recordType":"T","filterBy":[\#(filter)"#
        let zone = #"{"zoneName":"Z","ownerRecordName":"_defaultOwner","zoneType":"REGULAR_CUSTOM_ZONE"}"#
        let tail =
            #"}}]},"zoneWide":true,"firesOn":["create","update","delete"],"notificationInfo":{"title":"t","shouldSendContentAvailable":true}},"#
            + #"{"subscriptionID":"z","subscriptionType":"zone","zoneID":\#(zone),"recordType":"T"},"#
            + #"{"subscriptionID":"d","subscriptionType":"zone","zoneWide":true},{"subscriptionID":"x","deleted":true},"#
            + #"{"subscriptionID":"y","serverErrorCode":"NOT_FOUND","reason":"no such subscription""#
        #expect(text(answer) == head + tail + "}]}")
        #expect(
            text(answer, AnswerForm(details: true)) == head + #","nacre":{"seconds":\#(moment.secondsSince2001)}"# + tail
                + #","nacre":{"code":11}}]}"#)
    }

    @Test func `push tokens: the environment is one of two, and a client may have no name`() throws {
        let create = try TokensCreateRequest(json: Array(#"{"apnsEnvironment":"development"}"#.utf8))
        #expect(create == TokensCreateRequest(apnsEnvironment: .development))
        let register = try TokensRegisterRequest(json: Array(#"{"clientId":"c","apnsToken":"t","apnsEnvironment":"production"}"#.utf8))
        #expect(register == TokensRegisterRequest(apnsEnvironment: .production, apnsToken: "t", clientID: "c"))
        for (json, path) in [
            (#"{"apnsToken":"t"}"#, "apnsEnvironment"), (#"{"apnsEnvironment":"production"}"#, "apnsToken"),
            (#"{"apnsEnvironment":"sandbox","apnsToken":"t"}"#, "apnsEnvironment"),
        ] {
            let error = #expect(throws: ServerError.self) { try TokensRegisterRequest(json: Array(json.utf8)) }
            #expect(error?.field == path)
        }
        let answer = TokensCreateResponse(apnsEnvironment: .production, apnsToken: "t", webcourierURL: "https://x/?a=b&c")
        #expect(text(answer) == #"{"apnsEnvironment":"production","apnsToken":"t","webcourierURL":"https://x/?a=b&c"}"#)
        #expect(text(TokensRegisterResponse()) == "{}")
    }
}
