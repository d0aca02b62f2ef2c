import NacreCloudWire
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests of a schema's verdict on a save, for every kind of value in every kind of field.
@Suite struct SchemaVerdictTests {
    static let samples: [FieldValue] = [
        .string("text"), .int64(7), .double(2.5), .timestamp(Timestamp(secondsSince2001: 1)), .bytes([1]),
        .location(Location(latitude: 1, longitude: 2)), .reference(Reference(recordName: "r", action: .none)),
        .asset(Asset(fileChecksum: "c", size: 1)), .stringList(["a"]), .int64List([1]), .doubleList([1.5]),
        .timestampList([Timestamp(secondsSince2001: 1)]), .bytesList([[1]]), .locationList([Location(latitude: 1, longitude: 2)]),
        .referenceList([Reference(recordName: "r", action: .none)]), .assetList([Asset(fileChecksum: "c", size: 1)]),
        .sealed(SealedValue(type: .string, keyID: "k", bytes: [1])), .sealed(SealedValue(type: .int64, keyID: "k", bytes: [1])),
    ]

    private func schema(_ fields: [String: FieldShape]) -> Schema {
        var schema = Schema()
        var additions = SchemaAdditions()
        additions.add(fields, to: "Note")
        schema.add(additions)
        return schema
    }

    private func verdict(
        _ value: FieldValue, into shape: FieldShape, _ environment: DatabaseKey.Environment = .development
    ) -> SchemaVerdict {
        schema(["f": shape]).verdict(on: ["f": value], of: "Note", in: environment)
    }

    @Test func `only the framework's saves bring types and fields, and all clients' where that is allowed`() {
        struct Row {
            var client: Caller.Client
            var choice: JustInTime
            var isTyped: Bool
            var onNewType: String?
            var onNewField: String?
        }
        let noType = "Did not find record type: Other"
        let noField = "Field g not found in Note"
        let rows = [
            Row(client: .framework, choice: .native, isTyped: true), Row(client: .framework, choice: .native, isTyped: false),
            Row(client: .framework, choice: .all, isTyped: true), Row(client: .framework, choice: .all, isTyped: false),
            Row(client: .web, choice: .native, isTyped: true, onNewType: noType, onNewField: noField),
            Row(client: .web, choice: .native, isTyped: false, onNewType: noType, onNewField: noField),
            Row(client: .web, choice: .all, isTyped: true),
            Row(client: .web, choice: .all, isTyped: false),
        ]
        for row in rows {
            var schema = schema(["f": FieldShape(.int64)])
            schema.justInTime = row.choice
            let new = RecordChange(recordName: nil, set: ["g": .int64(1)], untyped: row.isTyped ? [] : ["g"])
            let known = RecordChange(recordName: nil, set: ["f": .int64(1)], untyped: row.isTyped ? [] : ["f"])
            #expect(reason(schema.verdict(on: new, of: "Other", in: .development, by: row.client)) == row.onNewType, "\(row)")
            #expect(reason(schema.verdict(on: new, of: "Note", in: .development, by: row.client)) == row.onNewField, "\(row)")
            #expect(schema.verdict(on: known, of: "Note", in: .development, by: row.client) == .fits(["f": .int64(1)]), "\(row)")
            // In production no client may add any, and the texts are the same for all.
            let production = reason(schema.verdict(on: new, of: "Note", in: .production, by: row.client))
            #expect(production == "Cannot create or modify field 'g' in record 'Note' in production schema", "\(row)")
        }
        let refused = schema([:]).verdict(on: RecordChange(recordName: nil), of: "Other", in: .development, by: .web)
        #expect(refused == .refuse(.typeNotFound("Other")) && ServerError.typeNotFound("Other").code == .notFound)
    }

    @Test func `a type that no schema could have is unknown to clients that make no types, and badly named to those that do`() {
        let long = String(repeating: "é", count: 200)
        for name in ["1x", "cloudKit.share", "No te", "", long] {
            for (client, choice, environment, expected) in [
                (.web, .native, .development, "Did not find record type: "), (.web, .all, .development, "invalid record type"),
                (.framework, .native, .development, "invalid record type"), (.web, .native, .production, "Cannot create new type "),
            ] as [(Caller.Client, JustInTime, DatabaseKey.Environment, String)] {
                var schema = Schema()
                schema.justInTime = choice
                let reason = reason(schema.verdict(on: RecordChange(recordName: nil), of: name, in: environment, by: client))
                #expect(reason?.hasPrefix(expected) == true && (reason?.utf8.count ?? 0) < 310, "\(name), \(client), \(choice), \(environment)")
            }
        }
    }

    @Test func `any client's share makes its type in development, and production has no type of shares and no field of Users by itself`() {
        for client in [Caller.Client.framework, .web] {
            let share = RecordChange(recordName: nil, set: ["cloudkit.title": .string("Trip")])
            var schema = Schema()
            #expect(schema.verdict(on: share, of: "cloudkit.share", in: .development, by: client) == .adds(share.set))
            let production = schema.verdict(on: share, of: "cloudkit.share", in: .production, by: client)
            #expect(reason(production) == "Cannot create new type cloudkit.share in production schema")
            if let lacking = schema.lacking(of: "cloudkit.share", with: share.set) { schema.add(lacking) }
            #expect(schema.types["cloudkit.share"] == ShareType.definition)
            for environment in DatabaseKey.Environment.allCases {
                #expect(schema.verdict(on: share, of: "cloudkit.share", in: environment, by: client) == .fits(share.set))
            }
            let nick = RecordChange(recordName: nil, set: ["nick": .string("a")])
            #expect(schema.verdict(on: RecordChange(recordName: nil), of: "Users", in: .production, by: client) == .fits([:]))
            let field = schema.verdict(on: nick, of: "Users", in: .production, by: client)
            #expect(reason(field) == "Cannot create or modify field 'nick' in record 'Users' in production schema")
        }
    }

    private func reason(_ verdict: SchemaVerdict) -> String? {
        if case .refuse(let error) = verdict { error.reason } else { nil }
    }

    @Test(arguments: samples, samples) func `a value fits the field that its like defined, and no other`(value: FieldValue, first: FieldValue) throws
    {
        let shape = try #require(FieldShape(of: first))
        let own = try #require(FieldShape(of: value))
        for environment in DatabaseKey.Environment.allCases {
            let verdict = verdict(value, into: shape, environment)
            switch (value, shape.isEncrypted, shape.type) {
            case _ where own == shape: #expect(verdict == .fits(["f": value]))
            case (.int64(let number), false, .double): #expect(verdict == .fits(["f": .double(Double(number))]))
            case (.int64List(let numbers), false, .doubleList): #expect(verdict == .fits(["f": .doubleList(numbers.map(Double.init))]))
            case (.sealed, false, _): #expect(reason(verdict) == "Attempt to save encrypted data in non encrypted field type")
            default:
                let text = "invalid attempt to set value type \(own.name) for field 'f' for type 'Note', defined to be: \(shape.name)"
                guard case .refuse(let error) = verdict else {
                    Issue.record("\(verdict)")
                    return
                }
                #expect(error.reason == text && error.code == .badRequest && error.field == "f")
                #expect(error.nativeCode == NativeErrorCode.invalidArguments.rawValue && error.internalCode == 2006)
            }
        }
    }

    @Test func `a value whose type was inferred does not fit another type, and the remedy names the type to send`() {
        let schema = schema(["at": FieldShape(.timestamp), "sealed": FieldShape(.string, isEncrypted: true)])
        func remedy(_ field: String, _ value: FieldValue, untyped: [String]) -> String? {
            let change = RecordChange(recordName: nil, set: RecordFields([.init(field, value)]), untyped: untyped)
            return if case .refuse(let error) = schema.verdict(on: change, of: "Note", in: .production, by: .web) { error.remedy } else { nil }
        }
        #expect(remedy("at", .int64(1000), untyped: ["at"])?.contains(#"{"value": …, "type": "TIMESTAMP"}"#) == true)
        #expect(remedy("at", .int64(1000), untyped: ["other"])?.contains("another name") == true)
        #expect(remedy("sealed", .string("x"), untyped: ["sealed"])?.contains("another name") == true, "no type makes a plain value fit")
    }

    @Test func `numbers become what the field takes where nothing is lost that the field could hold`() {
        for (value, type, expected) in [
            (.double(3), .int64, .int64(3)), (.double(-0.0), .int64, .int64(0)), (.double(0x1p62), .int64, .int64(1 << 62)),
            (.double(0x1p63), .int64, nil), (.double(2.5), .int64, nil), (.int64(.max), .double, .double(0x1p63)),
            (.doubleList([1, 2]), .int64List, .int64List([1, 2])), (.doubleList([1, 2.5]), .int64List, nil), (.int64(1), .timestamp, nil),
            (.int64(1), .string, nil), (.doubleList([]), .int64List, .int64List([])),
        ] as [(FieldValue, FieldType, FieldValue?)] {
            #expect(value.fitted(to: FieldShape(type)) == expected, "\(value) as \(type)")
        }
    }

    @Test(arguments: FieldType.allCases) func `an empty list takes the field's list type, and is a value of no other field`(type: FieldType) {
        let fitted = FieldValue.emptyList.fitted(to: FieldShape(type))
        switch type {
        case .string, .int64, .double, .timestamp, .bytes, .location, .reference, .asset: #expect(fitted == nil)
        default: #expect(fitted?.type == type && fitted?.isEmptyList == true)
        }
        #expect(FieldValue.emptyList.fitted(to: FieldShape(type, isEncrypted: true)) == nil)
    }

    @Test(arguments: FieldType.allCases.filter(\.isList)) func `an empty list defines no field, whether or not it tells its type`(type: FieldType)
        throws
    {
        let empty = type == .unknownList ? FieldValue.emptyList : try #require(FieldValue.emptyList.fitted(to: FieldShape(type)))
        for schema in [Schema(), schema([:])] {
            guard case .refuse(let error) = schema.verdict(on: ["f": empty], of: "Note", in: .development) else {
                Issue.record("\(empty) defined a field")
                continue
            }
            #expect(
                error.reason == "cannot use an empty list to initialize a new field (field 'f' in record type 'Note' should be more precise)")
            #expect(error.nativeCode == NativeErrorCode.invalidArguments.rawValue && error.internalCode == 2006 && error.field == "f")
        }
        #expect(verdict(empty, into: FieldShape(type)) == .fits(["f": empty]))
    }

    @Test func `an encrypted list whose type is not told defines no field`() {
        let sealed = FieldValue.sealed(SealedValue(type: .unknownList, keyID: "k", bytes: []))
        #expect(reason(schema([:]).verdict(on: ["f": sealed], of: "Note", in: .development)) != nil)
    }

    @Test func `development takes new types and fields, production neither`() {
        let known = schema(["f": FieldShape(.string)])
        let new: RecordFields = ["f": .string("a"), "g": .int64(1)]
        #expect(known.verdict(on: new, of: "Note", in: .development) == .adds(new))
        #expect(known.verdict(on: [:], of: "Other", in: .development) == .adds([:]))
        #expect(known.verdict(on: ["f": .string("a")], of: "Note", in: .production) == .fits(["f": .string("a")]))
        let field = known.verdict(on: new, of: "Note", in: .production)
        #expect(reason(field) == "Cannot create or modify field 'g' in record 'Note' in production schema")
        let type = known.verdict(on: [:], of: "Other", in: .production)
        #expect(reason(type) == "Cannot create new type Other in production schema")
        for case .refuse(let error) in [field, type] {
            #expect(error.code == .badRequest && error.internalCode == 2006)
            #expect(error.nativeCode == NativeErrorCode.invalidArguments.rawValue)
        }
        #expect(reason(known.verdict(on: ["g": .emptyList], of: "Note", in: .production))?.hasPrefix("Cannot create or modify") == true)
    }

    @Test func `a type has so many fields, and a schema so many types`() {
        let many = Dictionary(uniqueKeysWithValues: (0..<Limits.fieldsPerRecordType - 1).map { ("f\($0)", FieldShape(.int64)) })
        var schema = schema(many)
        #expect(schema.verdict(on: ["a": .int64(1)], of: "Note", in: .development) == .adds(["a": .int64(1)]))
        #expect(reason(schema.verdict(on: ["a": .int64(1), "b": .int64(1)], of: "Note", in: .development)) == "number of fields exceeds the limit")
        // Two concurrent first saves: the schema takes as many fields as it has room for, and the rest are not
        // missing.
        var additions = SchemaAdditions()
        additions.add(["a": FieldShape(.int64), "b": FieldShape(.int64)], to: "Note")
        schema.add(additions)
        #expect(schema.types["Note"]?.fields.count == Limits.fieldsPerRecordType)
        #expect(schema.lacking(of: "Note", with: ["b": .int64(1)]) == nil)
        for index in 1..<Limits.recordTypesPerSchema { schema.types["T\(index)"] = RecordTypeDefinition(name: "T\(index)") }
        #expect(reason(schema.verdict(on: [:], of: "More", in: .development)) == "number of record types exceeds the limit")
        let before = schema
        var type = SchemaAdditions()
        type.add([:], to: "More")
        schema.add(type)
        #expect(schema == before)
    }

    @Test func `saves bring so many fields to all types together`() {
        var schema = Schema()
        let full = Dictionary(uniqueKeysWithValues: (0..<Limits.fieldsPerRecordType).map { ("f\($0)", FieldDefinition(type: .int64)) })
        for index in 0..<Limits.fieldsJustInTime / Limits.fieldsPerRecordType - 1 {
            schema.types["T\(index)"] = RecordTypeDefinition(name: "T\(index)", fields: full)
        }
        schema.types["Note"] = RecordTypeDefinition(name: "Note", fields: full.filter { $0.key != "f0" })
        #expect(schema.verdict(on: ["a": .int64(1)], of: "Note", in: .development) == .adds(["a": .int64(1)]))
        #expect(schema.verdict(on: ["a": .int64(1), "b": .int64(1)], of: "Other", in: .development) == .refuse(.tooManyFieldsInAll))
        #expect(schema.verdict(on: [:], of: "Other", in: .development) == .adds([:]), "a type without fields has room")
    }

    @Test func `what a schema lacks comes in portions, and all of it comes`() {
        var additions = SchemaAdditions()
        for (type, count) in [("A", 3), ("B", 1), ("C", 9), ("D", 0), ("E", 2)] {
            additions.add(Dictionary(uniqueKeysWithValues: (0..<count).map { ("f\($0)", FieldShape(.int64)) }), to: type)
        }
        additions.subscribed = ["A": ["create"]]
        let portions = additions.portions(of: 6)
        #expect(portions.map { $0.types.keys.sorted() } == [["A", "B"], ["C"], ["D", "E"]])
        #expect(portions.map(\.count) == [6, 10, 4] && additions.count == 20)
        var all = portions.reduce(SchemaAdditions()) { $0.merging($1) }
        all.subscribed = portions.reduce(into: [:]) { $0.merge($1.subscribed) { $0.union($1) } }
        #expect(all == additions)
        #expect(SchemaAdditions().portions(of: 6) == [SchemaAdditions()])
    }
}

extension Schema {
    /// Returns the verdict on a save of the framework.
    fileprivate func verdict(on fields: RecordFields, of type: String, in environment: DatabaseKey.Environment) -> SchemaVerdict {
        verdict(on: RecordChange(recordName: nil, set: fields), of: type, in: environment, by: .framework)
    }
}
