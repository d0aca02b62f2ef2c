import NacreCloudServerWire
import NacreCloudWire
import Testing

/// Tests of the exact bytes of answers: with details, and without, where none of our additions may show.
struct AnswerBytesTests {
    static let created = Record.Stamp(timestamp: Timestamp(millisecondsSince1970: 1_661_306_678_709), userRecordName: "_d8e2", deviceID: "2")
    static let modified = Record.Stamp(timestamp: Timestamp(millisecondsSince1970: 1_662_388_216_238), userRecordName: "_d8e2", deviceID: "2")
    static let record = Record(
        recordName: "13C3", recordType: "Items", zoneID: ZoneID(zoneName: "Z", ownerRecordName: "_o"), recordChangeTag: "l76z3p93", created: created,
        modified: modified, fields: ["price": .int64(200), "name": .string("Strawberry")])
    static let head =
        #"{"recordName":"13C3","recordType":"Items","fields":{"name":{"value":"Strawberry","type":"STRING"},"price":{"value":200,"type":"INT64"}},"#
        + #""pluginFields":{},"recordChangeTag":"l76z3p93","created":{"timestamp":1661306678709,"userRecordName":"_d8e2","deviceID":"2"},"#
        + #""modified":{"timestamp":1662388216238,"userRecordName":"_d8e2","deviceID":"2"},"deleted":false"#
    static let zone = #""zoneID":{"zoneName":"Z","ownerRecordName":"_o","zoneType":"REGULAR_CUSTOM_ZONE"}"#
    static let conflict = ServerError(
        .conflict, "client oplock error updating record", internalCode: 2004, field: "f", remedy: "fetch it again", serverRecord: record)

    private func text(_ answer: some WritableAnswer, _ form: AnswerForm = AnswerForm()) -> String {
        String(decoding: answer.json(form), as: UTF8.self)
    }

    @Test func `a record`() {
        let answer = RecordsResponse(records: [.record(Self.record)])
        #expect(text(answer) == #"{"records":[\#(Self.head)}]}"#)
        #expect(text(answer, AnswerForm(zoneID: .defaultZone)) == #"{"records":[\#(Self.head),\#(Self.zone)}]}"#)
        var bare = Self.record
        bare.zoneID = nil
        bare.parent = Reference(recordName: "p", action: .none)
        bare.share = Reference(recordName: "s", action: .none, zoneID: ZoneID(zoneName: "Z"))
        #expect(
            text(RecordsResponse(records: [.record(bare)], syncToken: "t"), AnswerForm(zoneID: .defaultZone))
                == #"{"records":[\#(Self.head),"zoneID":{"zoneName":"_defaultZone","ownerRecordName":"_defaultOwner","zoneType":"DEFAULT_ZONE"},"#
                + #""parent":{"recordName":"p"},"share":{"recordName":"s","zoneID":{"zoneName":"Z","ownerRecordName":"_defaultOwner","#
                + #""zoneType":"REGULAR_CUSTOM_ZONE"}}}],"syncToken":"t"}"#)
    }

    @Test func `a record with details tells its times exactly`() {
        #expect(
            text(RecordsResponse(records: [.record(Self.record)]), AnswerForm(details: true))
                == #"{"records":[\#(Self.head),"nacre":{"created":\#(Self.created.timestamp.secondsSince2001),"modified":\#(Self.modified.timestamp.secondsSince2001)}}]}"#
        )
    }

    @Test func `a deletion is a name`() {
        let answer = RecordsResponse(records: [.deleted(Tombstone(recordName: "a", recordType: "T", zoneID: ZoneID(zoneName: "Z")))])
        for form in [AnswerForm(), AnswerForm(details: true, zoneID: .defaultZone)] {
            #expect(text(answer, form) == #"{"records":[{"recordName":"a","deleted":true}]}"#)
        }
    }

    @Test func `an error of a record`() {
        let answer = RecordsResponse(records: [
            .failure(recordName: "13C3", Self.conflict), .failure(recordName: nil, ServerError(.notFound, "Record not found")),
        ])
        let first = #"{"recordName":"13C3","serverErrorCode":"CONFLICT","reason":"client oplock error updating record""#
        let second = #"{"serverErrorCode":"NOT_FOUND","reason":"Record not found""#
        #expect(text(answer) == #"{"records":[\#(first)},\#(second)}]}"#)
        let times = #""nacre":{"created":\#(Self.created.timestamp.secondsSince2001),"modified":\#(Self.modified.timestamp.secondsSince2001)}"#
        #expect(
            text(answer, AnswerForm(details: true))
                == #"{"records":[\#(first),"nacre":{"code":14,"internalCode":2004,"field":"f","remedy":"fetch it again","serverRecord":\#(Self.head),\#(Self.zone),\#(times)}}},"#
                + #"\#(second),"nacre":{"code":11}}]}"#)
    }

    @Test func `an error as a whole`() {
        let error = ServerError(
            .authenticationRequired, "request needs authorization", retryAfter: 30, redirectURL: "https://cloud.example/sign-in")
        let web =
            #"{"uuid":"u","serverErrorCode":"AUTHENTICATION_REQUIRED","reason":"request needs authorization","retryAfter":30,"redirectURL":"https://cloud.example/sign-in""#
        #expect(text(ErrorResponse(uuid: "u", error: error)) == web + "}")
        #expect(text(ErrorResponse(uuid: "u", error: error), AnswerForm(details: true)) == web + #","nacre":{"code":9}}"#)
    }

    @Test func `zones`() {
        let answer = ZonesResponse(zones: [
            .zone(Zone(zoneID: .defaultZone, syncToken: nil, atomic: false)),
            .zone(Zone(zoneID: ZoneID(zoneName: "Z", ownerRecordName: "_o"), syncToken: "t", atomic: true)), .deleted(ZoneID(zoneName: "Y")),
            .failure(ZoneID(zoneName: "X"), ServerError(.zoneNotFound, "no such zone")),
        ])
        let error = #""serverErrorCode":"ZONE_NOT_FOUND","reason":"no such zone""#
        let mine = #""ownerRecordName":"_defaultOwner","zoneType":"REGULAR_CUSTOM_ZONE""#
        let web =
            #"{"zones":[{"zoneID":{"zoneName":"_defaultZone","ownerRecordName":"_defaultOwner","zoneType":"DEFAULT_ZONE"},"atomic":false},"#
            + #"{\#(Self.zone),"syncToken":"t","atomic":true},{"zoneID":{"zoneName":"Y",\#(mine)},"deleted":true},"#
            + #"{"zoneID":{"zoneName":"X",\#(mine)},\#(error)"#
        #expect(text(answer) == web + "}]}")
        #expect(text(answer, AnswerForm(details: true)) == web + #","nacre":{"code":26}}]}"#)
    }

    @Test func `changes of a database`() {
        let answer = ChangesDatabaseResponse(
            zones: [
                .init(zoneID: ZoneID(zoneName: "Z", ownerRecordName: "_o")),
                .init(zoneID: ZoneID(zoneName: "Y", ownerRecordName: "_o"), deletion: .purged),
            ],
            syncToken: "t", moreComing: false)
        let deleted = #"{"zoneID":{"zoneName":"Y","ownerRecordName":"_o","zoneType":"REGULAR_CUSTOM_ZONE"},"deleted":true"#
        let tail = #"],"syncToken":"t","moreComing":false}"#
        #expect(text(answer) == #"{"zones":[{\#(Self.zone)},\#(deleted)}\#(tail)"#)
        #expect(text(answer, AnswerForm(details: true)) == #"{"zones":[{\#(Self.zone)},\#(deleted),"nacre":{"reason":"PURGED"}}\#(tail)"#)
    }

    @Test func `changes of a zone`() {
        var bare = Self.record
        bare.zoneID = nil
        let zoneID = ZoneID(zoneName: "Z", ownerRecordName: "_o")
        let page = ChangesZoneResponse.Page(
            zoneID: zoneID, records: [.record(bare), .deleted(Tombstone(recordName: "a", recordType: "T"))], syncToken: "t", moreComing: true,
            isMidCommit: true, clientChangeToken: [1])
        let answer = ChangesZoneResponse(zones: [.page(page), .failure(zoneID, ServerError(.badRequest, "Unknown sync continuation type"))])
        let error = #"{\#(Self.zone),"serverErrorCode":"BAD_REQUEST","reason":"Unknown sync continuation type"}"#
        #expect(
            text(answer)
                == #"{"zones":[{\#(Self.zone),"records":[\#(Self.head),\#(Self.zone)},{"recordName":"a","deleted":true}],"#
                + #""syncToken":"t","moreComing":true},\#(error)]}"#)
        let exact = text(ChangesZoneResponse(zones: [.page(page)]), AnswerForm(details: true))
        #expect(exact.hasSuffix(#""syncToken":"t","moreComing":true,"nacre":{"midCommit":true,"clientChangeToken":"AQ=="}}]}"#))
    }

    @Test func `a query's records`() {
        var bare = Self.record
        bare.zoneID = nil
        let answer = RecordsQueryResponse(records: [Self.record, bare], continuationMarker: "m", syncToken: "t")
        #expect(text(answer) == #"{"records":[\#(Self.head),\#(Self.zone)},\#(Self.head)}],"continuationMarker":"m","syncToken":"t"}"#)
        #expect(text(RecordsQueryResponse(records: [])) == #"{"records":[]}"#)
    }

    @Test func `a page of the older feeds`() {
        let records = RecordsChangesResponse(
            records: [.record(Self.record), .deleted(Tombstone(recordName: "a", recordType: "T"))], syncToken: "t", moreComing: true)
        let page = #""syncToken":"t","moreComing":true,"reverse":false}"#
        #expect(
            text(records, AnswerForm(zoneID: ZoneID(zoneName: "X")))
                == #"{"records":[\#(Self.head),\#(Self.zone)},{"recordName":"a","deleted":true}],\#(page)"#)
        let zones = ZonesChangesResponse(
            zones: [
                .zone(Zone(zoneID: ZoneID(zoneName: "Z", ownerRecordName: "_o"), syncToken: "z", atomic: true)), .deleted(ZoneID(zoneName: "Y")),
            ],
            metaSyncToken: "t", moreComing: false)
        #expect(
            text(zones)
                == #"{"zones":[{\#(Self.zone),"syncToken":"z","atomic":true},{"zoneID":{"zoneName":"Y","#
                + #""ownerRecordName":"_defaultOwner","zoneType":"REGULAR_CUSTOM_ZONE"},"deleted":true}],"metaSyncToken":"t","moreComing":false}"#)
    }

    @Test func `each zone of a feed may have its numbers as strings`() {
        func page(_ name: String) -> ChangesZoneResponse.Result {
            .page(.init(zoneID: ZoneID(zoneName: name), records: [.record(Self.record)], syncToken: "t", moreComing: false))
        }
        var writer = JSONWriter()
        ChangesZoneResponse(zones: [page("A"), page("B")]).write(to: &writer, details: false) { $0 == 1 }
        let json = String(decoding: writer.finish(), as: UTF8.self)
        #expect(json.ranges(of: #""value":200,"#).count == 1)
        #expect(json.ranges(of: #""value":"200","#).count == 1)
    }

    @Test func `a user`() throws {
        #expect(text(UserIdentity(userRecordName: "_u"), AnswerForm(details: true)) == #"{"userRecordName":"_u"}"#)
        #expect(try UserIdentity(json: Array(#"{"users":[{"userRecordName":"_u","nameComponents":{"givenName":"A"}}]}"#.utf8)).userRecordName == "_u")
        #expect(throws: ServerError.self) { try UserIdentity(json: Array(#"{"users":[]}"#.utf8)) }
        let ada = UserIdentity(
            userRecordName: "_u", nameComponents: NameComponents(givenName: "A", familyName: "B"), lookupInfo: .emailAddress("a@b"))
        let names = #""nameComponents":{"givenName":"A","familyName":"B"},"lookupInfo":{"emailAddress":"a@b"}"#
        #expect(text(ada, AnswerForm()) == #"{"userRecordName":"_u",\#(names)}"#)
        #expect(
            text(UsersLookupResponse(users: [UserDictionary(ada)]), AnswerForm())
                == #"{"users":[{"userRecordName":"_u",\#(names),"firstName":"A","lastName":"B","emailAddress":"a@b"}]}"#)
        let hashed = UsersDiscoverResponse(users: [UserIdentity(userRecordName: "_u", lookupInfo: .contactHash("00"))])
        #expect(text(hashed, AnswerForm()) == #"{"users":[{"userRecordName":"_u"}]}"#)
        #expect(text(hashed, AnswerForm(details: true)) == #"{"users":[{"userRecordName":"_u","lookupInfo":{"nacre":{"contactHash":"00"}}}]}"#)
    }

    @Test func `what other servers answer is understood`() throws {
        let json = #"""
            {"records":[{"recordName":"a","recordType":"T","fields":{"n":null,"m":{"value":null},"d":{"value":[],"type":"STRING_LIST"}},"recordChangeTag":"1",
             "created":{"timestamp":1,"userRecordName":"_u"},"modified":{"timestamp":1,"userRecordName":"_u","deviceID":null},"stableUrl":{"routingKey":"x"}},
             {"recordName":"b","serverErrorCode":"UNIQUE_FIELD_ERROR","reason":"r","retryAfter":1.5},{"recordName":"c","deleted":true,"recordType":null}]}
            """#
        let answer = try RecordsResponse(json: Array(json.utf8))
        guard case .record(let record) = answer.records[0], case .failure("b"?, let error) = answer.records[1] else {
            Issue.record("\(answer)")
            return
        }
        #expect(record.fields == ["d": .stringList([])])
        #expect(error == ServerError(.internalError, "r", retryAfter: 2))
        #expect(answer.records[2] == .deleted(Tombstone(recordName: "c", recordType: nil)))
    }

    @Test func `an answer that cannot be read is the server's error, not the caller's`() {
        let error = #expect(throws: ServerError.self) { try RecordsResponse(json: Array("<html>".utf8)) }
        #expect(error?.code == .internalError)
        #expect(error?.reason == "the server's answer cannot be read at [line: 1, column: 1]")
    }
}
