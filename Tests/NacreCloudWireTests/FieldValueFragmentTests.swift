import NacreCloudServerWire
import NacreCloudWire
import Testing

/// Tests of values in documents: their decoding, and their exact bytes when written.
struct FieldValueFragmentTests {
    /// Reads the field `f` of a request that has only it: a value, nil where it is cleared, or the record's error.
    private func read(_ fragment: String) throws -> Result<FieldValue?, ServerError> {
        let json = #"{"operations":[{"operationType":"update","record":{"recordName":"r","fields":{"f":\#(fragment)}}}]}"#
        let request = try RecordsModifyRequest(json: Array(json.utf8))
        guard let operation = request.operations.first, request.operations.count == 1 else { throw ServerError(.internalError, "no operation") }
        return operation.map { operation in
            #expect(operation.change.set.isEmpty == (operation.change.cleared == ["f"]))
            return operation.change.set["f"]
        }.mapError { fault in
            #expect(fault.recordName == "r")
            return fault.error
        }
    }

    private func fragment(_ value: FieldValue, _ form: AnswerForm) -> String {
        let stamp = Record.Stamp(timestamp: Timestamp(millisecondsSince1970: 0), userRecordName: "_u")
        let record = Record(
            recordName: "r", recordType: "T", recordChangeTag: "t", created: stamp, modified: stamp, fields: ["f": value])
        let json = String(decoding: RecordsResponse(records: [.record(record)]).json(form), as: UTF8.self)
        let before = #"{"records":[{"recordName":"r","recordType":"T","fields":{"f":"#
        #expect(json.hasPrefix(before))
        guard let end = json.firstRange(of: #"},"pluginFields""#) else { return json }
        return String(json[..<end.lowerBound].dropFirst(before.count))
    }

    static let date = Timestamp(secondsSince2001: 700_000_000.123456)
    static let place = Location(latitude: 48.5, longitude: -2, altitude: 0.1, timestamp: date)
    static let link = Reference(recordName: "x", action: .deleteSelf, zoneID: ZoneID(zoneName: "Z", ownerRecordName: "_o"))
    static let file = Asset(fileChecksum: "AQ==", size: 7, receipt: "r/s")

    /// The value, its JSON without details, with numbers as strings, and with details.
    static let written: [(FieldValue, String, String, String)] = [
        all(.string("a\"b"), #"{"value":"a\"b","type":"STRING"}"#),
        plain(.int64(-5), #"{"value":-5,"type":"INT64"}"#, #"{"value":"-5","type":"INT64"}"#),
        plain(.double(2), #"{"value":2.0,"type":"DOUBLE"}"#, #"{"value":"2.0","type":"DOUBLE"}"#),
        all(.double(.nan), #"{"value":"NaN","type":"DOUBLE"}"#),
        all(.double(-.infinity), #"{"value":"-Infinity","type":"DOUBLE"}"#),
        (
            .timestamp(date), #"{"value":1678307200123,"type":"TIMESTAMP"}"#, #"{"value":"1678307200123","type":"TIMESTAMP"}"#,
            #"{"value":1678307200123,"type":"TIMESTAMP","nacre":{"seconds":700000000.123456}}"#
        ),
        all(.bytes([0xFB, 0xFF]), #"{"value":"+/8=","type":"BYTES"}"#),
        (
            .location(place), #"{"value":{"latitude":48.5,"longitude":-2.0,"altitude":0.1,"timestamp":1678307200123},"type":"LOCATION"}"#,
            #"{"value":{"latitude":48.5,"longitude":-2.0,"altitude":0.1,"timestamp":1678307200123},"type":"LOCATION"}"#,
            #"{"value":{"latitude":48.5,"longitude":-2.0,"altitude":0.1,"timestamp":1678307200123},"type":"LOCATION","nacre":{"seconds":700000000.123456}}"#
        ),
        all(
            .reference(link),
            #"{"value":{"recordName":"x","action":"DELETE_SELF","zoneID":{"zoneName":"Z","ownerRecordName":"_o","zoneType":"REGULAR_CUSTOM_ZONE"}},"#
                + #""type":"REFERENCE"}"#),
        all(.reference(Reference(recordName: "y", action: .validate)), #"{"value":{"recordName":"y","action":"VALIDATE"},"type":"REFERENCE"}"#),
        all(.asset(file), #"{"value":{"fileChecksum":"AQ==","size":7,"receipt":"r/s"},"type":"ASSETID"}"#),
        all(.stringList(["a", ""]), #"{"value":["a",""],"type":"STRING_LIST"}"#),
        plain(.int64List([1, 2]), #"{"value":[1,2],"type":"INT64_LIST"}"#, #"{"value":["1","2"],"type":"INT64_LIST"}"#),
        plain(.doubleList([1, 0.5]), #"{"value":[1.0,0.5],"type":"DOUBLE_LIST"}"#, #"{"value":["1.0","0.5"],"type":"DOUBLE_LIST"}"#),
        (
            .timestampList([date]), #"{"value":[1678307200123],"type":"TIMESTAMP_LIST"}"#, #"{"value":["1678307200123"],"type":"TIMESTAMP_LIST"}"#,
            #"{"value":[1678307200123],"type":"TIMESTAMP_LIST","nacre":{"seconds":[700000000.123456]}}"#
        ),
        all(.bytesList([[], [1]]), #"{"value":["","AQ=="],"type":"BYTES_LIST"}"#),
        all(.locationList([Location(latitude: 1, longitude: 2)]), #"{"value":[{"latitude":1.0,"longitude":2.0}],"type":"LOCATION_LIST"}"#),
        all(.referenceList([Reference(recordName: "y", action: .none)]), #"{"value":[{"recordName":"y","action":"NONE"}],"type":"REFERENCE_LIST"}"#),
        all(.assetList([file]), #"{"value":[{"fileChecksum":"AQ==","size":7,"receipt":"r/s"}],"type":"ASSETID_LIST"}"#),
        all(.stringList([]), #"{"value":[],"type":"STRING_LIST"}"#),
        all(.timestampList([]), #"{"value":[],"type":"TIMESTAMP_LIST"}"#),
        all(.emptyList, #"{"value":[],"type":"UNKNOWN_LIST"}"#),
        (
            .sealed(SealedValue(type: .string, keyID: "k1", bytes: [1, 2])), #"{"value":"AQI=","type":"STRING","isEncrypted":true}"#,
            #"{"value":"AQI=","type":"STRING","isEncrypted":true}"#,
            #"{"value":"AQI=","type":"STRING","isEncrypted":true,"nacre":{"keyID":"k1"}}"#
        ),
    ]

    private static func all(_ value: FieldValue, _ json: String) -> (FieldValue, String, String, String) { (value, json, json, json) }
    private static func plain(_ value: FieldValue, _ json: String, _ strings: String) -> (FieldValue, String, String, String) {
        (value, json, strings, json)
    }

    @Test(arguments: written)
    func `a value is written to the byte`(_ value: FieldValue, _ web: String, _ strings: String, _ details: String) {
        #expect(fragment(value, AnswerForm()) == web)
        #expect(fragment(value, AnswerForm(numbersAsStrings: true)) == strings)
        #expect(fragment(value, AnswerForm(details: true)) == details)
    }

    static let understood: [(String, FieldValue?)] = [
        // Cleared.
        ("null", nil), (#"{"value":null}"#, nil), (#"{"value":null,"type":"STRING"}"#, nil), (#"{"type":"STRING"}"#, nil), ("{}", nil),
        (#"{"value":null,"isEncrypted":true}"#, nil),
        // Tagged, in any order, with unknown keys in between.
        (#"{"type":"STRING","value":"s"}"#, .string("s")), (#"{"x":[{}],"value":"s","y":1,"type":"STRING"}"#, .string("s")),
        (#"{"value":"s","type":null}"#, .string("s")), (#"{"value":1,"value":2}"#, .int64(2)),
        (#"{"type":"STRING","value":1,"type":"INT64"}"#, .int64(1)),
        (#"{"value":"s","isEncrypted":false}"#, .string("s")), (#"{"value":"s","isEncrypted":null}"#, .string("s")),
        (#"{"\u0076alue":"\u0073","t\u0079pe":"STRING"}"#, .string("s")),
        (#"{"value":5,"type":"INT64"}"#, .int64(5)), (#"{"value":-9223372036854775808}"#, .int64(.min)),
        (#"{"value":5,"type":"DOUBLE"}"#, .double(5)), (#"{"value":-0,"type":"DOUBLE"}"#, .double(0)),
        (#"{"value":99999999999999999999,"type":"DOUBLE"}"#, .double(1e20)),
        (#"{"value":"NaN","type":"STRING"}"#, .string("NaN")), (#"{"value":"Infinity","type":"DOUBLE"}"#, .double(.infinity)),
        (#"{"value":1000,"type":"TIMESTAMP"}"#, .timestamp(Timestamp(secondsSince2001: -978_307_199))),
        (#"{"value":-62135769600000,"type":"TIMESTAMP"}"#, .timestamp(Timestamp(millisecondsSince1970: -62_135_769_600_000))),
        (#"{"value":1000,"type":"TIMESTAMP","nacre":{"seconds":0.1}}"#, .timestamp(Timestamp(secondsSince2001: 0.1))),
        (
            #"{"nacre":{"seconds":[0.1,null]},"value":[1,0],"type":"TIMESTAMP_LIST"}"#,
            .timestampList([Timestamp(secondsSince2001: 0.1), Timestamp(millisecondsSince1970: 0)])
        ),
        (#"{"value":"AQI=","type":"BYTES"}"#, .bytes([1, 2])), (#"{"value":"","type":"BYTES"}"#, .bytes([])),
        (#"{"value":"\/\/\/\/","type":"BYTES"}"#, .bytes([255, 255, 255])),
        (#"{"value":{"fileChecksum":"c","size":1},"type":"ASSET"}"#, .asset(Asset(fileChecksum: "c", size: 1))),
        (#"{"value":[{"fileChecksum":"c","size":1}],"type":"ASSET_LIST"}"#, .assetList([Asset(fileChecksum: "c", size: 1)])),
        (#"{"value":{"recordName":"x","action":"NONE","zoneID":null}}"#, .reference(Reference(recordName: "x", action: .none))),
        (
            #"{"value":{"latitude":1,"longitude":2,"course":null,"timestamp":0},"type":"LOCATION"}"#,
            .location(Location(latitude: 1, longitude: 2, timestamp: Timestamp(millisecondsSince1970: 0)))
        ),
        (#"{"value":[],"type":"BYTES_LIST"}"#, .bytesList([])), (#"{"value":[],"type":"UNKNOWN_LIST"}"#, .emptyList),
        (#"{"value":["a"],"type":"UNKNOWN_LIST"}"#, .stringList(["a"])),
        (#"{"value":"AQ==","type":"STRING","isEncrypted":true}"#, .sealed(SealedValue(type: .string, keyID: nil, bytes: [1]))),
        (#"{"value":"AQ==","type":"INT64","isEncrypted":true,"nacre":{"keyID":"k"}}"#, .sealed(SealedValue(type: .int64, keyID: "k", bytes: [1]))),
        // Numbers in strings, where they are tagged as numbers.
        (#"{"value":"-5","type":"INT64"}"#, .int64(-5)), (#"{"value":"1e3","type":"DOUBLE"}"#, .double(1000)),
        (#"{"value":"0","type":"TIMESTAMP"}"#, .timestamp(Timestamp(millisecondsSince1970: 0))),
        (#"{"value":["1",2],"type":"INT64_LIST"}"#, .int64List([1, 2])),
        // Booleans, which no schema has.
        (#"{"value":true}"#, .int64(1)), (#"{"value":false}"#, .int64(0)), (#"{"value":true,"type":"INT64"}"#, .int64(1)),
        (#"{"value":false,"type":"BOOLEAN"}"#, .int64(0)), (#"{"value":1,"type":"BOOLEAN"}"#, .int64(1)),
        (#"{"value":[true,false,2]}"#, .int64List([1, 0, 2])),
        // Untagged.
        (#"{"value":"AQI="}"#, .string("AQI=")), (#"{"value":5}"#, .int64(5)), (#"{"value":5.0}"#, .double(5)), (#"{"value":5e0}"#, .double(5)),
        (#"{"value":{"longitude":2,"latitude":1}}"#, .location(Location(latitude: 1, longitude: 2))),
        (#"{"value":{"recordName":"x"}}"#, .reference(Reference(recordName: "x", action: .none))),
        (#"{"value":{"recordName":"x","action":null}}"#, .reference(Reference(recordName: "x", action: .none))),
        (#"{"value":{"action":"VALIDATE","recordName":"x"}}"#, .reference(Reference(recordName: "x", action: .validate))),
        (#"{"value":{"size":1,"fileChecksum":"c"}}"#, .asset(Asset(fileChecksum: "c", size: 1))),
        (#"{"value":{"receipt":"r","size":1,"fileChecksum":"c"}}"#, .asset(Asset(fileChecksum: "c", size: 1, receipt: "r"))),
        (#"{"value":[]}"#, .emptyList), (#"{"value":["a","b"]}"#, .stringList(["a", "b"])), (#"{"value":[1,2]}"#, .int64List([1, 2])),
        (#"{"value":[1.5,2]}"#, .doubleList([1.5, 2])),
        (#"{"value":[{"latitude":1,"longitude":2}]}"#, .locationList([Location(latitude: 1, longitude: 2)])),
    ]

    @Test(arguments: understood)
    func `a value is understood`(_ json: String, _ value: FieldValue?) throws {
        #expect(try read(json) == .success(value))
    }

    private static let tagged: [(String, FieldType)] = [
        ("1", .string), ("true", .string), ("false", .double), ("true", .timestamp),
        ("[]", .string), (#""x""#, .int64), ("1.5", .int64), ("1.0", .int64), ("1e2", .int64),
        ("9223372036854775808", .int64), (#""""#, .int64), (#"" 1""#, .int64), (#""1 ""#, .int64), (#""+1""#, .int64), (#""0x1""#, .int64),
        (#""1.5""#, .int64), (#""x""#, .double), ("1e999", .double), (#""1e999""#, .double), (#""nan""#, .double), (#""""#, .double),
        ("1.5", .timestamp),
        (#""2020-01-01T00:00:00Z""#, .timestamp), ("8640000000000001", .timestamp), ("1", .bytes), (#""A""#, .bytes), (#""_w==""#, .bytes),
        (#""x""#, .location), (#"{"latitude":1}"#, .location), (#"{"latitude":null,"longitude":1}"#, .location), (#""x""#, .reference),
        (#"{"action":"NONE"}"#, .reference), (#"{"recordName":null}"#, .reference),
        (#"{"size":1}"#, .asset), (#"{"fileChecksum":"c"}"#, .asset), (#"{"fileChecksum":"c","size":-1}"#, .asset), (#""x""#, .stringList),
        (#""x""#, .unknownList), (#"{}"#, .int64List),
    ]

    private static let elements: [(String, FieldType)] = [
        (#"["a",1]"#, .string), ("[1,\"a\"]", .int64), ("[1,2.5]", .int64), ("[1,null]", .int64), (#"[{"latitude":1,"longitude":2},1]"#, .location),
        (#"[{"recordName":"x"},{"action":"NONE"}]"#, .reference),
    ]

    static let faults: [(String, String)] =
        tagged.map { (#"{"value":\#($0),"type":"\#($1.rawValue)"}"#, "Invalid value, expected type \($1.rawValue).") }
        + elements.map { (#"{"value":\#($0)}"#, "Invalid value, expected type \($1.rawValue).") }
        + [
            (#"{"value":{"latitude":1,"longitude":2,"timestamp":1.5}}"#, "Invalid value, expected type TIMESTAMP."),
            (#"{"value":{}}"#, "Invalid value, its type is neither given nor plain."),
            (#"{"value":[[1]]}"#, "Invalid value, its type is neither given nor plain."),
            (#"{"value":[null]}"#, "Invalid value, its type is neither given nor plain."),
            (#"{"value":[{"value":1}]}"#, "Invalid value, its type is neither given nor plain."),
            (#"{"value":"plain","type":"STRING","isEncrypted":true}"#, "encrypted fields need a key: this server keeps sealed values only"),
            (#"{"value":"AQI=","isEncrypted":true,"nacre":{}}"#, "encrypted fields need a key: this server keeps sealed values only"),
            (#"{"value":"AQI=","isEncrypted":true,"nacre":{"keyID":"k"}}"#, "encrypted fields need a type"),
            (#"{"value":"plain","type":"STRING","isEncrypted":true,"nacre":{"keyID":"k"}}"#, "Invalid value, expected type BYTES."),
        ]

    @Test(arguments: faults)
    func `a value that does not fit fails its record alone`(_ json: String, _ reason: String) throws {
        guard case .failure(let error) = try read(json) else {
            Issue.record("accepted")
            return
        }
        #expect(error == ServerError(.badRequest, reason, field: "f"))
    }

    @Test(arguments: [
        ("5", "operations[0].record.fields.f"), (#"{"value":1,"type":"NUMBER"}"#, "operations[0].record.fields.f.type"),
        (#"{"value":1,"type":"string"}"#, "operations[0].record.fields.f.type"), (#"{"value":1,"type":3}"#, "operations[0].record.fields.f.type"),
        (#"{"value":{"recordName":"x","action":"CASCADE"}}"#, "operations[0].record.fields.f.value.action"),
        (#"{"value":01}"#, "operations[0].record.fields.f.value"), (#"{"value":"\uD800"}"#, "operations[0].record.fields.f.value"),
        (#"{"value":1,"isEncrypted":1}"#, "operations[0].record.fields.f.isEncrypted"),
        (#"{"value":1,"type":"TIMESTAMP","nacre":{"seconds":[1]}}"#, "operations[0].record.fields.f.nacre.seconds"),
        (#"{"value":[1,2],"type":"TIMESTAMP_LIST","nacre":{"seconds":[1]}}"#, "operations[0].record.fields.f.nacre.seconds"),
    ])
    func `what is no value at all fails the request and says where`(_ json: String, _ path: String) {
        let error = #expect(throws: ServerError.self) { try read(json) }
        #expect(error?.code == .badRequest)
        #expect(error?.field == path)
        #expect(error?.reason.hasPrefix("badRequestException: unexpected input at [line: 1, column: ") == true)
    }
}
