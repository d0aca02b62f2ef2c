import NacreCloudTestSupport
import NacreCloudWire
import NacreRandom
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests of schemas as developers write them.
@Suite struct SchemaReadingTests {
    private static func schema(_ items: String) -> String { "DEFINE SCHEMA RECORD TYPE Note (\(items)); RECORD TYPE Users (roles LIST<INT64>);" }

    private func field(_ declaration: String) throws -> FieldDefinition {
        try #require(try SchemaText.schema(from: Self.schema("f \(declaration)")).types["Note"]?.fields["f"])
    }

    private func fault(_ text: String) -> ServerError? {
        do {
            _ = try SchemaText.schema(from: text)
            return nil
        } catch {
            return error
        }
    }

    @Test func `every type of a field is read, in lists, encrypted, and in any case`() throws {
        let types: [(String, FieldShape)] = [
            ("STRING", FieldShape(.string)), ("int64", FieldShape(.int64)), ("Double", FieldShape(.double)), ("TIMESTAMP", FieldShape(.timestamp)),
            ("BYTES", FieldShape(.bytes)), ("LOCATION", FieldShape(.location)), ("REFERENCE", FieldShape(.reference)), ("ASSET", FieldShape(.asset)),
            ("LIST<STRING>", FieldShape(.stringList)), ("LIST < INT64 >", FieldShape(.int64List)), ("LIST<DOUBLE>", FieldShape(.doubleList)),
            ("LIST<TIMESTAMP>", FieldShape(.timestampList)), ("LIST<BYTES>", FieldShape(.bytesList)), ("LIST<LOCATION>", FieldShape(.locationList)),
            ("LIST<REFERENCE>", FieldShape(.referenceList)), ("LIST<ASSET>", FieldShape(.assetList)),
            ("ENCRYPTED STRING", FieldShape(.string, isEncrypted: true)), ("LIST<ENCRYPTED STRING>", FieldShape(.stringList, isEncrypted: true)),
            ("ENCRYPTED LIST<STRING>", FieldShape(.stringList, isEncrypted: true)), ("NUMBER PREFERRED AS INT64", FieldShape(.int64)),
            ("NUMBER PREFERRED AS DOUBLE", FieldShape(.double)), ("LIST<NUMBER PREFERRED AS INT64>", FieldShape(.int64List)),
        ]
        for (text, shape) in types { #expect(try field(text).shape == shape, "\(text)") }
    }

    @Test func `options come in any order`() throws {
        #expect(try field("STRING SORTABLE QUERYABLE").options == [.queryable, .sortable])
        #expect(try field("STRING searchable").options == [.searchable])
        #expect(try field("STRING").options == [])
    }

    @Test func `comments, tabs, one line, quotes and words of the language as names are read`() throws {
        let text = """
            \u{FEFF}-- by hand
            DEFINE SCHEMA // all of it
            /* two
               types */ RECORD TYPE "Note"("title"\tSTRING,grant STRING, type INT64,"queryable" STRING QUERYABLE,
            \t"___recordID" REFERENCE QUERYABLE, GRANT WRITE TO "_creator", GRANT CREATE TO _ICLOUD_PLACEHOLDER);
            """.replacing("_ICLOUD_PLACEHOLDER", with: "\"_icloud\", grant read to \"_world\"")
        let note = try #require(try SchemaText.schema(from: text).types["Note"])
        #expect(Set(note.fields.keys) == ["title", "grant", "type", "queryable", "___recordID"])
        #expect(note.fields["___recordID"]?.options == .queryable)
    }

    @Test func `a system field without options is as if nobody had named it`() throws {
        let schema = try SchemaText.schema(from: Self.schema(#""___etag" STRING, "___createTime" TIMESTAMP, a STRING"#))
        #expect(schema.types["Note"]?.fields.keys.map(\.self) == ["a"])
    }

    @Test func `the type of shares is read with what is CloudKit's own of it, written or not, and printed whole`() throws {
        let bare = try SchemaText.schema(from: "DEFINE SCHEMA RECORD TYPE \"cloudkit.share\" (\"___createTime\" TIMESTAMP);")
        #expect(bare.types["cloudkit.share"]?.fields.keys.sorted() == ["cloudkit.thumbnailImageData", "cloudkit.title", "cloudkit.type"])
        let text = SchemaText(bare).text
        let printed = """
                RECORD TYPE "cloudkit.share" (
                    "___createTime"               TIMESTAMP,
                    "___createdBy"                REFERENCE,
                    "___etag"                     STRING,
                    "___modTime"                  TIMESTAMP,
                    "___modifiedBy"               REFERENCE,
                    "___recordID"                 REFERENCE,
                    "cloudkit.thumbnailImageData" BYTES,
                    "cloudkit.title"              STRING,
                    "cloudkit.type"               STRING,
                    GRANT WRITE TO "_creator",
                    GRANT CREATE TO "_icloud",
                    GRANT READ TO "_world"
                );

            """
        #expect(text.contains(printed), "\(text)")
        let (users, share) = (text.firstRange(of: "RECORD TYPE Users"), text.firstRange(of: "RECORD TYPE \"cloudkit"))
        #expect(try #require(users).lowerBound < #require(share).lowerBound)
        #expect(try SchemaText.schema(from: text).types["cloudkit.share"] == bare.types["cloudkit.share"])
        let own = try SchemaText.schema(from: "DEFINE SCHEMA RECORD TYPE \"cloudkit.share\" (color STRING QUERYABLE);")
        #expect(own.types["cloudkit.share"]?.fields.count == 4)
    }

    @Test func `what is wrong is told with its line and column`() {
        let faults: [(text: String, reason: String)] = [
            ("", #"Encountered <EOF> at line 1, column 1."#),
            ("DEFINE SCHEMA\nRECORD TYPE Note (\n    a BADTYPE\n);", #"Encountered "BADTYPE" at line 3, column 7."#),
            ("DEFINE SCHEMA RECORD TYPE cloudkit.share (", #"Encountered "." at line 1, column 35."#),
            ("DEFINE SCHEMA RECORD TYPE Note (a STRING)", #"Encountered <EOF> at line 1, column 42."#),
            ("DEFINE SCHEMA RECORD TYPE Note ();", #"Encountered ")" at line 1, column 33."#),
            ("DEFINE SCHEMA RECORD TYPE Note (a STRING b STRING);", #"Encountered "b" at line 1, column 42."#),
            ("DEFINE SCHEMA RECORD TYPE \"Note\n(a STRING);", "A quoted name does not end at line 1, column 27."),
            ("DEFINE SCHEMA /* RECORD", "A comment does not end at line 1, column 15."),
            ("/* é */ é", #"Encountered "é" at line 1, column 9."#),
            (Self.schema("a STRING, a INT64"), "Field 'a' is defined twice at line 1, column 43."),
            (Self.schema("a STRING QUERYABLE QUERYABLE"), "Field 'a' is QUERYABLE twice at line 1, column 52."),
            (Self.schema("a ASSET QUERYABLE"), "Field 'a' has a value type of ASSETID and cannot be queryable at line 1, column 41."),
            (Self.schema("a NUMBER"), "NUMBER does not say of which kind at line 1, column 35."),
            (Self.schema("a ENCRYPTED ASSET"), "ASSET cannot be encrypted at line 1, column 35."),
            (Self.schema("\"a b\" STRING"), "invalid field name at line 1, column 33."),
            (Self.schema("\"___etag\" INT64"), "Field '___etag' has the type STRING at line 1, column 43."),
            (Self.schema("\"___etag\" STRING QUERYABLE"), "Field '___etag' cannot be indexed at line 1, column 43."),
            ("DEFINE SCHEMA CREATE ROLE \"_world\";", "Role '_world' is CloudKit's own at line 1, column 27."),
            ("DEFINE SCHEMA CREATE ROLE \"_own\";", "invalid role name at line 1, column 27."),
            ("DEFINE SCHEMA CREATE ROLE Team; CREATE ROLE Team;", "Role 'Team' is created twice at line 1, column 45."),
            ("DEFINE SCHEMA RECORD TYPE \"cloudkit.zone\" (a STRING);", "Record type 'cloudkit.zone' is CloudKit's own at line 1, column 27."),
            (
                "DEFINE SCHEMA RECORD TYPE \"cloudkit.share\" (\"cloudkit.title\" INT64);",
                "Field 'cloudkit.title' has the type STRING at line 1, column 62."
            ),
            ("DEFINE SCHEMA RECORD TYPE \"cloudkit.share\" (\"cloudkit.other\" STRING);", "invalid field name at line 1, column 45."),
            (Self.schema("\"cloudkit.title\" STRING"), "invalid field name at line 1, column 33."),
            (Self.schema("a STRING, GRANT READ TO Team"), "Role 'Team' is not declared at line 1, column 57."),
            (Self.schema("a STRING, GRANT READ TO \"_friends\""), "Role '_friends' is not declared at line 1, column 57."),
            (Self.schema("a STRING, GRANT READ, DELETE TO \"_world\""), #"Encountered "DELETE" at line 1, column 55."#),
            ("DEFINE SCHEMA RECORD TYPE Users (a STRING, GRANT CREATE TO \"_icloud\");", "CREATE cannot be granted of Users at line 1, column 50."),
            ("DEFINE SCHEMA RECORD TYPE A (a STRING); RECORD TYPE A (a STRING);", "Record type 'A' is defined twice at line 1, column 41."),
            ("DEFINE SCHEMA RECORD TYPE Users (a STRING QUERYABLE);", "Fields of Users cannot be indexed at line 1, column 36."),
        ]
        for (text, reason) in faults {
            let fault = fault(text)
            #expect(fault?.reason.prefix { $0 != "\n" } == reason[...], "\(text)")
            #expect(fault?.code == .badRequest && fault?.remedy != nil, "\(text)")
        }
        #expect(fault("DEFINE SCHEMA RECORD TYPE Note (a BADTYPE);")?.reason.contains("\nWas expecting one of:\n    \"LIST\"") == true)
    }

    @Test func `a grant that is wrong is told as a grant, and never as a field`() {
        let faults: [(items: String, reason: String, remedy: String)] = [
            (#"GRANT DELETE TO "_world""#, #"Encountered "DELETE" at line 1, column 39."#, "GRANT READ, WRITE TO Editor"),
            (#"GRANT TO "_world""#, #"Encountered "TO" at line 1, column 39."#, "some of READ, CREATE and WRITE"),
            (#"GRANT "READ" TO "_world""#, #"Encountered "READ" at line 1, column 39."#, "GRANT READ, WRITE TO Editor"),
            (#"GRANT READ WRITE TO "_world""#, #"Encountered "WRITE" at line 1, column 44."#, "with commas between"),
            (#"GRANT READ "_world""#, #"Encountered "_world" at line 1, column 44."#, "TO, and one role"),
            ("GRANT READ TO", #"Encountered ")" at line 1, column 46."#, "one role"),
            ("GRANT READ TO _world", #"Encountered "_" at line 1, column 47."#, "double quotes"),
            (#"GRANT READ TO "_world", "_icloud""#, "A grant names one role at line 1, column 55.", "for each role"),
            (#"a STRING, GRANT READ TO "_world", Team, b STRING"#, "A grant names one role at line 1, column 65.", "for each role"),
            ("GRANT", #"Encountered ")" at line 1, column 38."#, "GRANT READ, WRITE TO Editor"),
        ]
        for (items, reason, remedy) in faults {
            let fault = fault(Self.schema(items))
            #expect(fault?.reason.prefix { $0 != "\n" } == reason[...], "\(items)")
            #expect(fault?.remedy?.contains(remedy) == true, "\(items): \(fault?.remedy ?? "")")
            #expect(fault?.reason.contains("LIST") == false, "\(items)")
        }
        let outside = fault(#"DEFINE SCHEMA GRANT READ TO "_world";"#)
        #expect(outside?.remedy?.contains("record type") == true)
        // A name with a type is a field, whatever the name is.
        for type in ["STRING", "LIST<INT64>", "ENCRYPTED STRING", "NUMBER PREFERRED AS DOUBLE"] {
            #expect(throws: Never.self) { try SchemaText.schema(from: Self.schema("grant \(type), GRANT READ TO \"_world\"")) }
        }
    }

    @Test func `files as people write them read as the schema that they mean`() throws {
        let wanted = try SchemaText.schema(
            from: """
                DEFINE SCHEMA
                CREATE ROLE Editor;
                RECORD TYPE Note (
                    "___recordID" REFERENCE QUERYABLE,
                    place LOCATION QUERYABLE SORTABLE,
                    secret ENCRYPTED STRING,
                    tags LIST<STRING> QUERYABLE,
                    GRANT READ, CREATE, WRITE TO Editor,
                    GRANT READ TO "_world"
                );
                RECORD TYPE Users (roles LIST<INT64>);
                """)
        let styles = [
            // One line, no last line feed, an order of its own.
            #"DEFINE SCHEMA RECORD TYPE Users(roles LIST<INT64>);RECORD TYPE Note(GRANT WRITE,READ,CREATE TO Editor,tags LIST<STRING> QUERYABLE,"#
                + #"secret ENCRYPTED STRING,GRANT READ TO "_world",place LOCATION SORTABLE QUERYABLE,"___recordID" REFERENCE QUERYABLE);"#
                + "CREATE ROLE Editor;",
            // Windows, tabs, all names in quotes, a grant for each permission.
            "DEFINE SCHEMA\r\n\r\n\tCREATE ROLE \"Editor\";\r\n\tRECORD TYPE \"Note\" (\r\n\t\t\"place\"\tLOCATION QUERYABLE SORTABLE,\r\n"
                + "\t\t\"___recordID\" REFERENCE QUERYABLE,\r\n\t\t\"___etag\" STRING,\r\n\t\t\"secret\" ENCRYPTED STRING,\r\n"
                + "\t\t\"tags\" LIST<STRING> QUERYABLE,\r\n\t\tGRANT READ TO \"Editor\",\r\n\t\tGRANT CREATE TO Editor,\r\n"
                + "\t\tGRANT WRITE TO Editor,\r\n\t\tGRANT READ TO \"_world\"\r\n\t);\r\n\tRECORD TYPE \"Users\" (\"roles\" LIST<INT64>);\r\n",
            // Comments of each kind wherever there may be space; small letters.
            """
            /* notes */ define schema -- of ours
            create /* who edits */ role Editor; // "quoted" in a comment
            record type Note ( -- a note
              tags list < string > queryable, "___recordID" reference queryable,
              place location sortable queryable, /* ;),( */ secret encrypted string,
              grant read , write , create to Editor, grant read to "_world" ) ;
            record type Users ( roles list<int64>, GRANT READ TO "_world", GRANT WRITE TO "_creator" );
            """,
        ]
        for (number, style) in styles.enumerated() {
            let read = try SchemaText.schema(from: style)
            #expect(wanted.differences(to: read).isEmpty && read.differences(to: wanted).isEmpty, "style \(number)")
            #expect(SchemaText(read).text == SchemaText(wanted).text, "style \(number)")
        }
    }

    @Test func `a schema that is printed reads as itself, whatever it holds`() throws {
        for seed in 1...300 as ClosedRange<UInt64> {
            let schema = Self.random(seed)
            let text = SchemaText(schema).text
            let read = try SchemaText.schema(from: text)
            #expect(schema.differences(to: read).isEmpty, "seed \(seed)")
            #expect(SchemaText(read).text == text, "seed \(seed)")
            // Also without a last line feed.
            #expect(try SchemaText.schema(from: String(text.dropLast())) == read, "seed \(seed)")
        }
    }

    static func random(_ seed: UInt64) -> Schema {
        var random = SeededRandom(seed: seed)
        let shapes = FieldType.allCases.filter { $0 != .unknownList }
        let names = ["a", "URL", "grant", "type", "aVeryLongNameOfAField", "record", "z9", "b_c", "List"]
        var schema = Schema()
        for role in ["Team", "grant", "Admin"].shuffled(using: &random).prefix(Int(random.next() % 4)) { schema.declare(role: role) }
        for type in ["Note", "Album", "role", "Users"].shuffled(using: &random).prefix(Int(random.next() % 4)) {
            for name in names.shuffled(using: &random).prefix(Int(random.next() % 6)) {
                let type = (name: type, field: shapes.randomElement(using: &random) ?? .string)
                let canBeSealed = ![.asset, .assetList, .reference, .referenceList].contains(type.field)
                let shape = FieldShape(type.field, isEncrypted: canBeSealed && random.next() % 4 == 0)
                var field = FieldDefinition(type: shape.type, isEncrypted: shape.isEncrypted)
                let options = IndexOptions(rawValue: UInt8(random.next() % 8)).intersection(.possible(for: shape))
                field.setOptions(type.name == UserRecord.type ? [] : options, nextIndex: &schema.nextIndex)
                let known = schema.definition(of: type.name) ?? RecordTypeDefinition(name: type.name)
                schema.types[type.name, default: known].fields[name] = field
            }
            if schema.types[type] != nil, random.next() % 2 == 0 {
                var grants = Grants()
                for role in Grants.builtInRoles.sorted() + schema.roles.keys.sorted() {
                    grants[role] = Permissions(rawValue: UInt8(random.next() % 8)).subtracting(type == UserRecord.type ? .create : [])
                }
                if !grants.isEmpty { schema.types[type]?.grants = grants }
            }
            if type != UserRecord.type, random.next() % 2 == 0 { _ = try? schema.setIndexes(.queryable, of: type, field: "___recordID") }
        }
        return schema
    }
}

/// Tests of a development schema that a text replaces.
@Suite struct SchemaImportTests {
    private func schema(_ text: String) throws -> Schema {
        try SchemaText.schema(from: "DEFINE SCHEMA RECORD TYPE Users (roles LIST<INT64>);" + text)
    }

    private func imported(_ text: String, over before: Schema, production: Schema = Schema(), hasRecords: Bool = false) throws -> Schema {
        var after = before
        try after.become(try schema(text), production: production, hasRecords: hasRecords)
        return after
    }

    @Test func `any schema becomes any other where nothing holds it, and then they do not differ`() throws {
        for seed in 1...200 as ClosedRange<UInt64> {
            let (from, to) = (SchemaReadingTests.random(seed), SchemaReadingTests.random(seed + 1000))
            var wanted = to
            wanted.types[UserRecord.type] = to.definition(of: UserRecord.type)
            var after = from
            try after.become(wanted, production: Schema(), hasRecords: false)
            #expect(after.differences(to: to).isEmpty, "seed \(seed)")
            #expect(to.differences(to: after).isEmpty, "seed \(seed)")
            #expect(after.nextIndex >= from.nextIndex, "seed \(seed)")
            let again = after
            try after.become(wanted, production: Schema(), hasRecords: true)
            #expect(after == again, "seed \(seed): an import of what is there changes nothing")
        }
    }

    @Test func `an import of what is exported changes nothing, not even the number of an index`() throws {
        for seed in 1...200 as ClosedRange<UInt64> {
            var schema = SchemaReadingTests.random(seed)
            let before = schema
            try schema.become(try SchemaText.schema(from: SchemaText(schema).text), production: schema, hasRecords: true)
            #expect(schema == before, "seed \(seed)")
        }
    }

    @Test func `an index that stays keeps its number, and one that comes has a new one and is built`() throws {
        var before = try imported("RECORD TYPE Note (a STRING QUERYABLE, b STRING QUERYABLE);", over: Schema())
        before.makeAll()
        var after = try imported("RECORD TYPE Note (a STRING QUERYABLE, b STRING SEARCHABLE);", over: before, hasRecords: true)
        after.makeAll()
        let (old, new) = (try #require(before.types["Note"]), try #require(after.types["Note"]))
        #expect(old.fields["a"]?.values != nil && old.fields["a"] == new.fields["a"])
        #expect(new.fields["b"]?.values == nil && new.fields["b"]?.tokens?.state == .building)
        #expect(try #require(new.fields["b"]?.tokens?.id) >= before.nextIndex)
    }

    @Test func `an import keeps what no text says: indexes of two fields, those that are refused, and kinds of subscriptions`() throws {
        let text = "RECORD TYPE Note (a STRING QUERYABLE, b INT64 SORTABLE, c INT64 SORTABLE);"
        var before = try imported(text, over: Schema())
        before.make(try #require(FieldPair(type: "Note", named: "a+c")))
        before.types["Note"]?.refusedPairs = ["a+b"]
        before.types["Note"]?.subscribed = ["create"]
        let after = try #require(try imported("\(text) RECORD TYPE Album (c STRING);", over: before, hasRecords: true).types["Note"])
        #expect(after.pairs.map(\.name) == ["a+c"] && after.refusedPairs == ["a+b"] && after.subscribed == ["create"])
        #expect(!after.allowsPair("a", "b"))
    }

    @Test func `users without records of an app hold no schema, however many they are`() async throws {
        let test = try await TestCloud(.memory)
        let schemas = test.cloud.schemas
        _ = try await test.cloud.registry.createContainer(TestCloud.container)
        for number in 0...Limits.resultsPerPage { try await test.cloud.admit("_u\(number)", to: TestCloud.container, .development) }
        let users = "DEFINE SCHEMA RECORD TYPE Users (roles LIST<INT64>);"
        _ = try await schemas.importSchema("\(users) RECORD TYPE Note (a STRING);", to: TestCloud.container, isDryRun: false)
        let done = try await schemas.importSchema(users, to: TestCloud.container, isDryRun: false)
        #expect(done.differences.contains { $0.recordType == "Note" && $0.after == nil })
        #expect(try await schemas.schema(of: TestCloud.container, .development).types["Note"] == nil)
        _ = try await schemas.undoSchemaChange(of: TestCloud.container, isDryRun: false)
        _ = try await schemas.undoSchemaChange(of: TestCloud.container, isDryRun: false)
        #expect(try await schemas.schema(of: TestCloud.container, .development).types["Note"] == nil, "taken back twice")
    }

    @Test func `what production has is not taken away, and what records may use neither`() throws {
        let before = try schema("RECORD TYPE Note (a STRING, b STRING); RECORD TYPE Album (c STRING);")
        let production = try schema("RECORD TYPE Note (a STRING);")
        let refused: [(text: String, hasRecords: Bool, reason: String, field: String)] = [
            ("RECORD TYPE Album (c STRING);", false, "invalid attempt to delete a record type which is active in a production container", "Note"),
            (
                "RECORD TYPE Note (b STRING);", false, "invalid attempt to delete or retype a field which is active in a production container",
                "Note.a"
            ),
            (
                "RECORD TYPE Note (a INT64);", false, "invalid attempt to delete or retype a field which is active in a production container",
                "Note.a"
            ),
            ("RECORD TYPE Note (a STRING, b STRING);", true, "invalid attempt to delete or retype what records may use", "Album"),
            (
                "RECORD TYPE Note (a STRING); RECORD TYPE Album (c STRING);", true, "invalid attempt to delete or retype what records may use",
                "Note.b"
            ),
            (
                "RECORD TYPE Note (a STRING, b ENCRYPTED STRING); RECORD TYPE Album (c STRING);", true,
                "invalid attempt to delete or retype what records may use", "Note.b"
            ),
        ]
        for (text, hasRecords, reason, field) in refused {
            let error = #expect(throws: ServerError.self) { try imported(text, over: before, production: production, hasRecords: hasRecords) }
            #expect(error?.reason == reason && error?.field == field, "\(text)")
        }
        #expect(try imported("RECORD TYPE Note (a STRING);", over: before, production: production).types["Album"] == nil)
    }

    @Test func `the type of shares comes with a text, and a text without it is refused from then on`() throws {
        let share = "RECORD TYPE \"cloudkit.share\" (\"___recordID\" REFERENCE);"
        let with = try imported(share, over: Schema())
        #expect(with.types["cloudkit.share"]?.fields.count == 3)
        #expect(try imported(share, over: with, hasRecords: true) == with)
        let error = #expect(throws: ServerError.self) { try imported("", over: with) }
        #expect(error?.reason == "invalid attempt to delete cloudkit managed record type" && error?.field == "cloudkit.share")
        #expect(with.differences(to: try schema("")).map(\.recordType).contains("cloudkit.share"))
    }

    @Test func `a text without users is refused in CloudKit's words`() throws {
        let text = try SchemaText.schema(from: "DEFINE SCHEMA RECORD TYPE Note (a STRING);")
        var schema = Schema()
        let error = #expect(throws: ServerError.self) { try schema.become(text, production: Schema(), hasRecords: false) }
        #expect(error?.reason == "invalid attempt to delete cloudkit managed record type")
        #expect(schema == Schema())
    }
}
