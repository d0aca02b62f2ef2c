import NacreCloudServerWire
import NacreCloudWire
import Testing

/// Tests of requests in JSON: required, tolerated and refused members.
struct RequestFragmentTests {
    private func modify(_ json: String) throws -> RecordsModifyRequest { try RecordsModifyRequest(json: Array(json.utf8)) }
    private func lookup(_ json: String) throws -> RecordsLookupRequest { try RecordsLookupRequest(json: Array(json.utf8)) }

    @Test func `an unknown operation type is refused with CloudKit's own sentence`() {
        let error = #expect(throws: ServerError.self) {
            try modify(#"{"operations":[{"operationType":"force_update","record":{"recordName":"a"}}]}"#)
        }
        #expect(error?.code == .badRequest)
        #expect(error?.reason == "badRequestException: unexpected input at [line: 1, column: 33]")
        #expect(error?.field == "operations[0].operationType")
    }

    @Test func `a modify as a client sends it`() throws {
        let request = try modify(
            """
            { "zoneID": {"zoneName": "Z", "ownerRecordName": "__defaultOwner__", "zoneType": "REGULAR_CUSTOM_ZONE"},
              "atomic": false, "numbersAsStrings": true, "desiredKeys": ["a", "a"], "remapEnums": true,
              "nacre": {"details": true, "operationID": "o", "waitSeconds": 12, "tokenOnly": true, "clientChangeToken": "AQI=", "later": {}},
              "operations": [
                {"operationType": "create", "record": {"recordType": "T", "fields": {"b": {"value": 1}, "a": {"value": "x"}, "c": null}}},
                {"operationType": "update", "desiredKeys": [], "record": {"recordName": "r", "recordChangeTag": "1e",
                  "parent": {"recordName": "p"}, "created": {"timestamp": 1}, "deleted": false, "pluginFields": {}, "zoneType": 3}},
                {"operationType": "forceDelete", "record": {"recordName": "gone", "parent": null, "recordType": null}}
              ] }
            """)
        let expected = RecordsModifyRequest(
            operations: [
                RecordOperation(
                    .create,
                    RecordChange(
                        recordName: nil, recordType: "T", set: ["a": .string("x"), "b": .int64(1)], cleared: ["c"], untyped: ["a", "b"])),
                RecordOperation(
                    .update, RecordChange(recordName: "r", recordChangeTag: "1e", parent: .set(Reference(recordName: "p", action: .none))),
                    desiredKeys: []),
                RecordOperation(.forceDelete, RecordChange(recordName: "gone")),
            ],
            zoneID: ZoneID(zoneName: "Z"), atomic: false, desiredKeys: ["a", "a"], numbersAsStrings: true,
            extension: RequestExtension(wantsDetails: true, operationID: "o", waitSeconds: 12, wantsTokenOnly: true, clientChangeToken: [1, 2]))
        #expect(request == expected)
    }

    @Test func `what null means: nothing but in fields`() throws {
        let request = try modify(
            #"{"zoneID":null,"atomic":null,"desiredKeys":null,"numbersAsStrings":null,"nacre":null,"operations":[{"operationType":"create","desiredKeys":null,"record":{"recordName":null,"recordType":"T","recordChangeTag":null,"fields":null,"parent":null,"zoneID":null,"nacre":null}}]}"#
        )
        #expect(request == RecordsModifyRequest(operations: [RecordOperation(.create, RecordChange(recordName: nil, recordType: "T"))]))
    }

    @Test func `of members with one name the last counts`() throws {
        let request = try modify(
            #"{"operations":[],"operations":[{"operationType":"create","operationType":"delete","record":{},"record":{"recordName":"a","fields":{"x":{"value":1}},"fields":{"a":{"value":1},"b":null,"c":{"value":1},"a":null,"b":{"value":2},"c":{"value":3}}}}]}"#
        )
        let change = RecordChange(recordName: "a", set: ["b": .int64(2), "c": .int64(3)], cleared: ["a"], untyped: ["b", "c"])
        #expect(request.operations == [.success(RecordOperation(.delete, change))])
    }

    @Test func `a value that does not say its type is remembered, the last of a name alone`() throws {
        let request = try modify(
            #"{"operations":[{"operationType":"create","record":{"fields":{"a":{"value":1},"b":{"value":1,"type":"INT64"},"c":{"value":1},"c":{"type":"DOUBLE","value":1},"d":{"value":1,"type":"INT64"},"d":{"value":[]},"e":{"value":1,"type":null}}}}]}"#
        )
        #expect(try request.operations.first?.get().change.untyped == ["a", "d", "e"])
    }

    @Test func `a fault keeps its place among the operations`() throws {
        let request = try modify(
            #"{"operations":[{"operationType":"create","record":{"recordName":"a","recordType":"T"}},{"operationType":"create","record":{"fields":{"d":{"value":1.5,"type":"TIMESTAMP"},"e":{"value":1,"type":"STRING"}},"recordName":"b"}},{"operationType":"delete","record":{"recordName":"c"}}]}"#
        )
        #expect(request.operations.count == 3)
        #expect(request.operations[0] == .success(RecordOperation(.create, RecordChange(recordName: "a", recordType: "T"))))
        let error = ServerError(.badRequest, "Invalid value, expected type TIMESTAMP.", field: "d")
        #expect(request.operations[1] == .failure(OperationFault(recordName: "b", error: error)))
        #expect(request.operations[2] == .success(RecordOperation(.delete, RecordChange(recordName: "c"))))
    }

    @Test(arguments: [
        "_a", "___recordID", "", "1a", "a-b", "a b", "a.b", "cloudkit.other", "é", "aé", "a\u{301}", "а", String(repeating: "a", count: 256),
    ])
    func `a name that no field may have fails its record`(_ name: String) throws {
        let request = try modify(#"{"operations":[{"operationType":"create","record":{"fields":{"\#(name)":{"value":1}}}}]}"#)
        guard case .failure(let fault)? = request.operations.first else {
            Issue.record("accepted")
            return
        }
        #expect(fault.error.code == .badRequest)
        #expect(fault.error.field == String(name.prefix(255)))
    }

    @Test(arguments: ["a", "Z", "aB_9", "a_", String(repeating: "a", count: 255), #"\u0061"#])
    func `a name that a field may have`(_ name: String) throws {
        let request = try modify(#"{"operations":[{"operationType":"create","record":{"fields":{"\#(name)":{"value":1}}}}]}"#)
        #expect((try? request.operations.first?.get())?.change.set.count == 1)
    }

    @Test(
        arguments: [
            ("[]", nil), ("{}", "operations"), (#"{"operations":{}}"#, "operations"), (#"{"operations":[1]}"#, "operations[0]"),
            (#"{"operations":null}"#, "operations"), (#"{"operations":[{"record":{}}]}"#, "operations[0].operationType"),
            (#"{"operations":[{"operationType":"create"}]}"#, "operations[0].record"),
            (#"{"operations":[{"operationType":"Create","record":{}}]}"#, "operations[0].operationType"),
            (#"{"operations":[{"operationType":"create","record":[]}]}"#, "operations[0].record"),
            (#"{"operations":[{"operationType":"create","record":{"recordName":5}}]}"#, "operations[0].record.recordName"),
            (#"{"operations":[{"operationType":"create","record":{"fields":[]}}]}"#, "operations[0].record.fields"),
            (#"{"operations":[{"operationType":"create","record":{"parent":{}}}]}"#, "operations[0].record.parent.recordName"),
            (#"{"operations":[],"atomic":"true"}"#, "atomic"), (#"{"operations":[],"zoneID":{}}"#, "zoneID.zoneName"),
            (#"{"operations":[],"zoneID":"Z"}"#, "zoneID"), (#"{"operations":[],"desiredKeys":"a"}"#, "desiredKeys"),
            (#"{"operations":[],"desiredKeys":["a",1]}"#, "desiredKeys[1]"), (#"{"operations":[],"nacre":{"details":1}}"#, "nacre.details"),
            (#"{"operations":[],"nacre":{"clientChangeToken":"?"}}"#, "nacre.clientChangeToken"),
        ] as [(String, String?)])
    func `a request that is none says where`(_ json: String, _ path: String?) {
        let error = #expect(throws: ServerError.self) { try modify(json) }
        #expect(error?.code == .badRequest)
        #expect(error?.field == path)
    }

    @Test func `a record may name the request's zone`() throws {
        func operation(_ zone: String) -> String { #"{"operationType":"delete","record":{"recordName":"a","zoneID":\#(zone)}}"# }
        let alone = try modify(#"{"operations":[\#(operation(#"{"zoneName":"Z"}"#))]}"#)
        #expect(alone.zoneID == ZoneID(zoneName: "Z"))
        let sent = try modify(#"{"operations":[\#(operation(#"{"zoneName":"Z","ownerRecordName":"_me"}"#))],"zoneID":{"zoneName":"Z"}}"#)
        #expect(sent.zoneID == ZoneID(zoneName: "Z"))
        #expect(sent.operations == [.success(RecordOperation(.delete, RecordChange(recordName: "a")))])
        let other = try modify(#"{"zoneID":{"zoneName":"Z"},"operations":[\#(operation(#"{"zoneName":"Y"}"#)),\#(operation("null"))]}"#)
        guard case .failure(let fault) = other.operations[0] else {
            Issue.record("accepted")
            return
        }
        #expect(fault.recordName == "a")
        #expect(fault.error.field == "zoneID")
        #expect(other.operations[1] == .success(RecordOperation(.delete, RecordChange(recordName: "a"))))
    }

    @Test func `a lookup may hold one record in place of an array`() throws {
        #expect(try lookup(#"{"records":{"recordName":"a"}}"#) == RecordsLookupRequest(records: [RecordsLookupRequest.Item(recordName: "a")]))
        let both = try lookup(
            #"{"records":[{"recordName":"a","desiredKeys":[]},{"recordName":"b","zoneID":{"zoneName":"Z"}}],"numberAsStrings":true}"#)
        #expect(both.records == [.init(recordName: "a", desiredKeys: []), .init(recordName: "b")])
        #expect(both.zoneID == ZoneID(zoneName: "Z"))
        #expect(both.numbersAsStrings)
        #expect(throws: ServerError.self) { try lookup(#"{"zoneID":{"zoneName":"Y"},"records":[{"recordName":"b","zoneID":{"zoneName":"Z"}}]}"#) }
        #expect(throws: ServerError.self) { try lookup(#"{"records":[{}]}"#) }
        #expect(throws: ServerError.self) { try lookup(#"{"records":"a"}"#) }
    }

    @Test func `zones are looked up bare or wrapped`() throws {
        let json = #"{"zones":[{"zoneName":"A"},{"zoneID":{"zoneName":"B","ownerName":"_o"}},{"zoneName":"C","ownerRecordName":"_defaultOwner"}]}"#
        let request = try ZonesLookupRequest(json: Array(json.utf8))
        #expect(request.zones == [ZoneID(zoneName: "A"), ZoneID(zoneName: "B", ownerRecordName: "_o"), ZoneID(zoneName: "C")])
    }

    @Test func `zones are modified`() throws {
        let json =
            #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"A"},"atomic":true}},{"operationType":"delete","zone":{"zoneID":{"zoneName":"B"}}}]}"#
        let request = try ZonesModifyRequest(json: Array(json.utf8))
        #expect(request.operations == [ZoneOperation(.create, ZoneID(zoneName: "A")), ZoneOperation(.delete, ZoneID(zoneName: "B"))])
        for bad in [
            #"{"operationType":"update","zone":{"zoneID":{"zoneName":"A"}}}"#, #"{"operationType":"create","zone":{"zoneName":"A"}}"#,
            #"{"operationType":"create"}"#,
        ] {
            #expect(throws: ServerError.self) { try ZonesModifyRequest(json: Array(#"{"operations":[\#(bad)]}"#.utf8)) }
        }
    }

    @Test func `a zone's feed says for itself what it says, and takes the rest from the request`() throws {
        let json = #"""
            {"zones":[{"zoneID":{"zoneName":"A"},"syncToken":"t","resultsLimit":5,"desiredKeys":[],"reverse":false,"numberAsStrings":false},
             {"zoneID":{"zoneName":"B"},"syncToken":null,"desiredKeys":null}],
             "resultsLimit":9,"desiredKeys":["k"],"desiredRecordTypes":["T"],"reverse":true,"numbersAsStrings":true,"syncToken":"not theirs"}
            """#
        let request = try ChangesZoneRequest(json: Array(json.utf8))
        #expect(
            request.zones == [
                .init(zoneID: ZoneID(zoneName: "A"), syncToken: "t", resultsLimit: 5, desiredKeys: [], desiredRecordTypes: ["T"]),
                .init(
                    zoneID: ZoneID(zoneName: "B"), resultsLimit: 9, desiredKeys: ["k"], desiredRecordTypes: ["T"], reverse: true,
                    numbersAsStrings: true),
            ])
        #expect(try ChangesDatabaseRequest(json: Array("{}".utf8)) == ChangesDatabaseRequest())
    }

    @Test func `the framework's requests are these bytes`() {
        let date = Timestamp(secondsSince2001: 0.5)
        let change = RecordChange(
            recordName: "r", recordType: "T", recordChangeTag: "1", set: ["a": .timestamp(date)], cleared: ["b"], parent: .clear)
        var request = RecordsModifyRequest(
            operations: [RecordOperation(.update, change)], atomic: true,
            extension: RequestExtension(wantsDetails: true, operationID: "o", clientChangeToken: [1]))
        let record = #""record":{"recordName":"r","recordType":"T","recordChangeTag":"1","fields":{"a":{"value":978307200500,"type":"TIMESTAMP""#
        let rest = #"},"b":{"value":null}},"nacre":{"clearsParent":true}}}]}"#
        #expect(
            String(decoding: request.json(), as: UTF8.self)
                == #"{"zoneID":{"zoneName":"_defaultZone"},"atomic":true,"nacre":{"details":true,"operationID":"o","clientChangeToken":"AQ=="},"#
                + #""operations":[{"operationType":"update",\#(record),"nacre":{"seconds":0.5}\#(rest)"#)
        request.extension = RequestExtension()
        #expect(
            String(decoding: request.json(), as: UTF8.self)
                == #"{"zoneID":{"zoneName":"_defaultZone"},"atomic":true,"operations":[{"operationType":"update",\#(record)\#(rest)"#)
    }
}
