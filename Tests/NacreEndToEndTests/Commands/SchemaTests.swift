import CloudKit
import Foundation
import NacreCloudTestSupport
import Testing

/// Tests of `nacre schema`: from an app's first save in development to its first save in production.
@Suite(.timeLimit(.minutes(5))) struct SchemaTests {
    private static let container = ["--container", Administrator.container]

    private func with(_ body: (Administrator) async throws -> Void) async throws {
        try await RunningServer.with { server in try await body(Administrator(server: server)) }
    }

    /// Returns a device of the user in one of the environments.
    private func database(_ administrator: Administrator, _ environment: CloudKitServer.Environment) async throws -> CKDatabase {
        func replaced(_ arguments: [String]) -> [String] { arguments.map { $0 == "development" ? environment.rawValue : $0 } }
        let token = try await administrator.run(replaced(Administrator.tokenCreate))
        let account = try await administrator.run(replaced(Administrator.signIn(token.line)) + ["--account"], input: Administrator.password)
        try #require(token.status == 0 && account.status == 0)
        let server = CloudKitServer(
            url: try WebServicesClient.url(administrator.server.url), environment: environment, apiToken: token.line, accountToken: account.line)
        return CKContainer(identifier: Administrator.container, server: server).privateCloudDatabase
    }

    private func note() -> CKRecord {
        let note = CKRecord(recordType: "Note")
        note["text"] = "bread, olives"
        note["count"] = 2
        return note
    }

    @Test func `what was saved in development is shown, deployed, and then saved in production`() async throws {
        try await with { administrator in
            _ = try await administrator.preparedWithUser()
            let development = try await database(administrator, .development)
            let production = try await database(administrator, .production)
            let refused = await #expect(throws: CKError.self) { try await production.save(note()) }
            #expect(refused?.code == .invalidArguments)
            #expect(refused.map { "\($0)" }?.contains("Cannot create new type Note in production schema") == true)
            _ = try await development.save(note())

            let shown = try await administrator.run(["schema", "export", "--environment", "development"] + Self.container)
            #expect(shown.status == 0 && shown.messages.isEmpty)
            #expect(shown.output.hasPrefix("DEFINE SCHEMA\n\n    RECORD TYPE Note (\n"))
            #expect(shown.output.contains("        text            STRING QUERYABLE SEARCHABLE SORTABLE,\n"))
            #expect(shown.output.contains("        count           INT64 QUERYABLE SORTABLE,\n"))

            let gains = "+ Note\n+ Note.count INT64 QUERYABLE SORTABLE\n+ Note.text STRING QUERYABLE SEARCHABLE SORTABLE\n"
            let dry = try await administrator.run(["schema", "deploy", "--dry-run"] + Self.container)
            #expect(dry.status == 0 && dry.output == gains && dry.messages.contains("dry run"))
            let untouched = try await administrator.run(["schema", "export", "--environment", "production"] + Self.container)
            #expect(!untouched.output.contains("Note"))
            let deployed = try await administrator.run(["schema", "deploy"] + Self.container)
            #expect(deployed.status == 0 && deployed.output == gains)
            let live = try await administrator.run(["schema", "export", "--environment", "production"] + Self.container)
            #expect(live.output == shown.output)
            let again = try await administrator.run(["schema", "deploy"] + Self.container)
            #expect(again.status == 0 && again.output.isEmpty)
            #expect(try await production.save(note())["text"] as? String == "bread, olives")
        }
    }

    @Test func `a field's indexes are those that were named last, and are built for the records that are there`() async throws {
        try await with { administrator in
            _ = try await administrator.preparedWithUser()
            _ = try await database(administrator, .development).save(note())
            let index = ["schema", "index"] + Self.container
            let set = try await administrator.run(index + ["Note", "recordName", "--queryable"])
            #expect(set.status == 0 && set.output == "Note.___recordID REFERENCE: no index → QUERYABLE\n")
            // Without a flag the command only shows the options.
            let all = "QUERYABLE SEARCHABLE SORTABLE"
            for _ in 0..<2 {
                let asked = try await administrator.run(index + ["Note", "text"])
                #expect(asked.status == 0 && asked.output == "Note.text STRING: \(all)\n")
            }
            let cut = try await administrator.run(index + ["Note", "text", "--none"])
            #expect(cut.status == 0 && cut.output == "Note.text STRING: \(all) → no index\n")
            let none = try await administrator.run(index + ["Note", "text", "--json"])
            #expect(none.status == 0 && none.output.contains(#""before":[],"field":"text","fieldType":"STRING","made":[],"options":[]"#))
            let deployed = try await administrator.run(["schema", "deploy", "--json"] + Self.container)
            #expect(deployed.output.contains(#""declaration":"STRING""#) && deployed.output.contains(#""kind":"index""#))

            let show = ["schema", "export", "--environment", "development", "--json"] + Self.container
            var building = "Note.___recordID"
            while building.contains("___recordID") {
                let shown = try await administrator.run(show)
                try #require(shown.status == 0)
                let object = try JSONSerialization.jsonObject(with: Data(shown.output.utf8)) as? [String: Any]
                building = try #require(object?["building"] as? [String]).joined()
                #expect((object?["text"] as? String)?.contains(#""___recordID"   REFERENCE QUERYABLE"#) == true)
            }
        }
    }

    @Test func `indexes that are made are listed with what they cost and why, pinned, refused, and named before a deployment`() async throws {
        try await with { administrator in
            _ = try await administrator.preparedWithUser()
            _ = try await database(administrator, .development).save(note())
            let (index, list) = (["schema", "index"] + Self.container, ["schema", "indexes", "--environment", "development"] + Self.container)
            let none = try await administrator.run(list)
            #expect(none.status == 0 && none.output.isEmpty && none.messages == "No query has needed an index.\n")
            let early = try await administrator.run(index + ["Note", "count", "--pin"])
            #expect(
                early.status == 1 && early.messages.contains("No index of 'count' is made") && early.messages.contains("--now"), "\(early.messages)")
            let made = try await administrator.run(index + ["Note", "text", "--now"])
            #expect(made.output.contains("Note.text: index of words, a row a word, "))
            let pair = try await administrator.run(index + ["Note", "text+count", "--now", "--pin"])
            #expect(pair.status == 0 && pair.output.hasPrefix("Note.text+count: index of two fields, a row a record, pinned, "), "\(pair.messages)")
            let lines = try await administrator.run(list).output.split(separator: "\n")
            #expect(lines.count == 3 && lines.allSatisfy { $0.contains(", made 20") && $0.hasSuffix("not used within a month") }, "\(lines)")
            #expect(lines.filter { $0.contains("pinned") }.count == 1)

            let dry = try await administrator.run(["schema", "deploy", "--dry-run"] + Self.container)
            #expect(dry.output.contains("+ Note.text+count index of pair, a row a record\n"), "\(dry.output)")
            #expect(dry.output.contains("+ Note.text index of words, a row a word\n"))
            #expect(!dry.output.contains("count index of values"))

            let free = try await administrator.run(index + ["Note", "text+count", "--unpin"])
            #expect(free.status == 0 && !free.output.contains("pinned"))
            let refused = try await administrator.run(index + ["Note", "text+count", "--none"])
            #expect(refused.status == 0 && refused.output.isEmpty && refused.messages.contains("No query gets an index of Note.text+count made"))
            #expect(try await administrator.run(list).output.contains("Note.text+count: refused, no query gets it made\n"))
            for (field, says) in [
                ("text+nothing", "Unknown field 'nothing'"), ("text+", "cannot have an index of two fields"), ("count+count", "cannot have"),
            ] {
                let wrong = try await administrator.run(index + ["Note", field, "--now"])
                #expect(wrong.status == 1 && wrong.messages.contains(says), "\(wrong.messages)")
            }
            for flags in [["count+count", "--none"], ["text+count", "--none", "--now"], ["text", "--none", "--now"]] {
                #expect(try await administrator.run(index + ["Note"] + flags).status == 1, "\(flags)")
            }
            #expect(try await administrator.run(list).output.contains("count+count") == false)
            let options = try await administrator.run(index + ["Note", "text+count", "--queryable"])
            #expect(options.status == 1 && options.messages.contains("--now makes it"), "\(options.messages)")
        }
    }

    @Test func `a field is prepared before there is a record of it`() async throws {
        try await with { administrator in
            _ = try await administrator.preparedWithUser()
            let index = ["schema", "index"] + Self.container
            let made = try await administrator.run(index + ["Note", "at", "--type", "TIMESTAMP", "--sortable"])
            #expect(made.status == 0 && made.output == "+ Note.at TIMESTAMP: SORTABLE\n")
            let list = try await administrator.run(index + ["Note", "tags", "--type", "LIST<STRING>"])
            #expect(list.status == 0 && list.output == "+ Note.tags LIST<STRING>: no index\n")
            let again = try await administrator.run(index + ["Note", "at", "--type", "TIMESTAMP", "--queryable"])
            #expect(again.status == 0 && again.output == "Note.at TIMESTAMP: SORTABLE → QUERYABLE\n")
            for (type, says) in [("DOUBLE", "field 'at' of type 'Note' is TIMESTAMP"), ("DATE", "unknown field type")] {
                let wrong = try await administrator.run(index + ["Note", "at", "--type", type])
                #expect(wrong.status == 1 && wrong.output.isEmpty && wrong.messages.contains(says), "\(wrong.messages)")
            }
            let database = try await database(administrator, .development)
            let note = note()
            note["at"] = 1.5
            await #expect(throws: CKError.self) { try await database.save(note) }
            note["at"] = Date(timeIntervalSince1970: 1)
            _ = try await database.save(note)
        }
    }

    @Test func `a schema is imported from a file, compared with it, and refused with the place of what is wrong`() async throws {
        try await with { administrator in
            _ = try await administrator.preparedWithUser()
            let file = administrator.server.scratch + "/notes.ckdb"
            func write(_ items: String) throws {
                try Data("DEFINE SCHEMA\nRECORD TYPE Note (\n\(items)\n);\nRECORD TYPE Users (roles LIST<INT64>);\n".utf8).write(
                    to: URL(filePath: file))
            }
            try write("text STRING QUERYABLE,\ncount INT64,\n\"___recordID\" REFERENCE QUERYABLE")
            let changes = "+ Note\n+ Note.___recordID REFERENCE QUERYABLE\n+ Note.count INT64\n+ Note.text STRING QUERYABLE\n"
            let (bring, compare) = (
                ["schema", "import", file] + Self.container, ["schema", "diff", file, "--environment", "development"] + Self.container
            )
            let dry = try await administrator.run(bring + ["--dry-run"])
            #expect(dry.status == 0 && dry.output == changes && dry.messages.contains("dry run"))
            let drift = try await administrator.run(compare)
            #expect(drift.status == 2 && drift.output == changes)
            let imported = try await administrator.run(bring)
            #expect(imported.status == 0 && imported.output == changes)
            let same = try await administrator.run(compare)
            #expect(same.status == 0 && same.output.isEmpty)
            let shown = try await administrator.run(["schema", "export", "--environment", "development"] + Self.container)
            let again = try await administrator.run(["schema", "import", "-"] + Self.container, input: shown.output)
            #expect(again.status == 0 && again.output.isEmpty && again.messages.contains("is what the file says"))

            _ = try await database(administrator, .development).save(note())
            try write("text STRING QUERYABLE SORTABLE")
            let used = try await administrator.run(bring)
            #expect(used.status == 1 && used.messages.contains("Note.count") && used.messages.contains("nacre schema reset"))
            try write("text STRING QUERYABLE SORTABLE,\ncount INT64")
            let changed = try await administrator.run(bring)
            #expect(
                changed.output == "- Note.___recordID REFERENCE QUERYABLE\n~ Note.text STRING QUERYABLE → STRING QUERYABLE SORTABLE\n")
            try write("text TEXT")
            let wrong = try await administrator.run(bring)
            #expect(wrong.status == 1 && wrong.messages.contains("Encountered \"TEXT\" at line 3, column 6."), "\(wrong.messages)")
            let missing = try await administrator.run(["schema", "import", file + ".not"] + Self.container)
            #expect(missing.status == 1 && missing.messages.contains("cannot be read"))
        }
    }

    @Test func `the types of a file are those of the container that it was imported into`() async throws {
        try await with { administrator in
            _ = try await administrator.prepared()
            let (folder, file) = (administrator.server.scratch, administrator.server.scratch + "/notes.ckdb")
            try "DEFINE SCHEMA RECORD TYPE Note (text STRING); RECORD TYPE Users (roles LIST<INT64>);"
                .write(toFile: file, atomically: true, encoding: .utf8)
            let types = ["schema", "types", "--typescript"]
            let ofFile = try await Nacre.run(types + [file], in: folder)
            #expect(ofFile.status == 0 && ofFile.output.contains("        text?: CloudKit.TypedField<\"STRING\">;\n"), "\(ofFile)")
            #expect(ofFile.output.contains(" from \"cloudkit\";\n"))
            try #require(try await administrator.run(["schema", "import", file] + Self.container).status == 0)
            let ofContainer = try await administrator.run(types + Self.container)
            #expect(ofContainer.status == 0 && ofContainer.output == ofFile.output, "\(ofContainer)")
            let json = try await Nacre.run(types + [file, "--module", "./cloudkit.mjs", "--json"], in: folder).object()
            #expect(json["text"] as? String == ofFile.output.replacing("\"cloudkit\";", with: "\"./cloudkit.mjs\";"))
            try "DEFINE SCHEMA RECORD TYPE Note (text TEXT);".write(toFile: file, atomically: true, encoding: .utf8)
            let wrong = try await Nacre.run(types + [file], in: folder)
            #expect(wrong.status == 2 && wrong.output.isEmpty && wrong.messages.contains("notes.ckdb: "), "\(wrong)")
        }
    }

    @Test func `a file is validated without a server, and with one against what an import refuses`() async throws {
        try await with { administrator in
            _ = try await administrator.preparedWithUser()
            let folder = administrator.server.scratch
            func validate(_ text: String, _ options: [String] = []) async throws -> Nacre {
                try Data(text.utf8).write(to: URL(filePath: folder + "/a.ckdb"))
                let server = options.contains("--container") ? ["--data", administrator.server.data] : []
                return try await Nacre.run(["schema", "validate", "a.ckdb"] + options + server, in: folder)
            }
            let users = "RECORD TYPE Users (roles LIST<INT64>);"
            let good = try await validate("DEFINE SCHEMA RECORD TYPE Note (text STRING); \(users)")
            #expect(good.status == 0 && good.output.isEmpty && good.messages == "The schema is valid.\n")
            let faults = [
                ("DEFINE SCHEMA\nRECORD TYPE Note (\n  text TEXT);", "a.ckdb: Encountered \"TEXT\" at line 3, column 8."),
                ("DEFINE SCHEMA RECORD TYPE Note (text STRING);", "invalid attempt to delete cloudkit managed record type (Users)"),
                ("DEFINE SCHEMA RECORD TYPE Note (GRANT DELETE TO Team); \(users)", "GRANT READ, WRITE TO Editor"),
            ]
            for (text, says) in faults {
                let bad = try await validate(text)
                #expect(bad.status == 2 && bad.output.isEmpty && bad.messages.contains(says), "\(bad.messages)")
                let json = try await validate(text, ["--json"])
                #expect(json.status == 2 && json.output.contains(#""isValid":false"#) && json.output.contains(#""reason":""#))
            }
            #expect(try await validate("DEFINE SCHEMA \(users)", ["--json"]).output == "{\"isValid\":true}\n")

            _ = try await database(administrator, .development).save(note())
            let used = try await validate("DEFINE SCHEMA RECORD TYPE Note (text STRING); \(users)", Self.container)
            #expect(used.status == 2 && used.messages.contains("what records may use (Note.count)"), "\(used.messages)")
            let fits = try await validate("DEFINE SCHEMA RECORD TYPE Note (text STRING, count INT64); \(users)", Self.container)
            #expect(fits.status == 0, "\(fits.messages)")
            let nowhere = try await validate("DEFINE SCHEMA \(users)", ["--container", "iCloud.com.example.Nowhere"])
            #expect(nowhere.status == 1 && nowhere.messages.contains("container does not exist"))

            let file = folder + "/out.ckdb"
            let export = ["schema", "export", "--environment", "development"] + Self.container
            let exported = try await administrator.run(export + ["--output-file", file])
            #expect(exported.status == 0 && exported.output.isEmpty && exported.messages.contains(file))
            #expect(try String(contentsOfFile: file, encoding: .utf8) == (try await administrator.run(export)).output)
            let unwritable = try await administrator.run(export + ["--output-file", folder + "/none/out.ckdb"])
            #expect(unwritable.status == 1 && unwritable.messages.contains("cannot be written"))
        }
    }

    @Test func `changes are listed and undone, and a deployment that cannot be is told beforehand with all that stands against it`() async throws {
        try await with { administrator in
            _ = try await administrator.preparedWithUser()
            let index = ["schema", "index"] + Self.container
            for (field, type) in [("text", "STRING"), ("at", "TIMESTAMP")] {
                #expect(try await administrator.run(index + ["Note", field, "--type", type, "--queryable"]).status == 0)
            }
            let history = ["schema", "history", "--environment", "development"] + Self.container
            let listed = try await administrator.run(history)
            #expect(listed.status == 0)
            let lines = listed.output.split(separator: "\n").map(String.init)
            #expect(lines.count == 5 && lines.last == "  + Note.text STRING QUERYABLE", "\(listed.output)")
            #expect(lines.first?.hasPrefix("2 20") == true && lines.first?.hasSuffix("Z index by administrator") == true)
            #expect(lines[1] == "  + Note.at TIMESTAMP QUERYABLE")

            #expect(try await administrator.run(["schema", "deploy"] + Self.container).status == 0)
            let undo = ["schema", "undo"] + Self.container
            let refused = try await administrator.run(undo)
            #expect(refused.status == 1 && refused.messages.contains("active in a production container (Note.at)"), "\(refused.messages)")
            #expect(try await administrator.run(index + ["Note", "more", "--type", "STRING"]).status == 0)
            let dry = try await administrator.run(undo + ["--dry-run"])
            #expect(dry.status == 0 && dry.output == "- Note.more STRING\n" && dry.messages.contains("change 3 (index) still holds"))
            let undone = try await administrator.run(undo)
            #expect(undone.status == 0 && undone.output == dry.output)
            let json = try await administrator.run(history + ["--json"])
            #expect(json.status == 0 && json.output.contains(#""isUndone":true,"kind":"index","number":3"#), "\(json.output)")
            let live = try await administrator.run(["schema", "history", "--environment", "production"] + Self.container)
            #expect(live.output.contains("Z deploy by administrator\n  + Note\n"))
        }
    }

    @Test func `a reset takes development back to production, and asks before`() async throws {
        try await with { administrator in
            _ = try await administrator.preparedWithUser()
            let database = try await database(administrator, .development)
            let zone = try await database.save(CKRecordZone(zoneName: "Notes"))
            let old = note()
            _ = try await database.save(old)
            #expect(try await administrator.run(["schema", "deploy"] + Self.container).status == 0)
            let other = CKRecord(recordType: "Other")
            other["mistake"] = 1
            let late = note()
            late["mistake"] = "yes"
            _ = try await database.save(other)
            let saved = try await database.save(late)
            let userID = try #require(saved.creatorUserRecordID)
            let going = "- Other\n- Note.mistake\n- Other.mistake\n- all records of 2 databases\n"

            let reset = ["schema", "reset"] + Self.container
            let dry = try await administrator.run(reset + ["--dry-run"])
            #expect(dry.status == 0 && dry.output == going && dry.messages.contains("dry run"))
            let unasked = try await administrator.run(reset)
            #expect(unasked.status == 64 && unasked.output.isEmpty)
            #expect(unasked.messages.contains("- Other\n") && unasked.messages.contains("--yes"))
            #expect(try await database.record(for: old.recordID)["count"] as? Int == 2)

            let done = try await administrator.run(reset + ["--yes"])
            #expect(done.status == 0 && done.output == going)
            let shown = try await administrator.run(["schema", "export", "--environment", "development"] + Self.container)
            let live = try await administrator.run(["schema", "export", "--environment", "production"] + Self.container)
            #expect(shown.output == live.output && !shown.output.contains("mistake"))
            for recordID in [old.recordID, late.recordID] {
                await #expect(throws: CKError.self) { try await database.record(for: recordID) }
            }
            #expect(try await database.allRecordZones().map(\.zoneID.zoneName) == ["_defaultZone"])
            let zoneGone = await #expect(throws: CKError.self) { try await database.recordZone(for: zone.zoneID) }
            #expect(zoneGone?.code == .zoneNotFound)
            // The user still exists, with a fresh record, and the mistaken field may have another type now.
            #expect(try await database.record(for: userID).allKeys().isEmpty)
            let right = note()
            right["mistake"] = 2
            _ = try await database.save(right)
            let again = try await administrator.run(reset + ["--yes", "--json"])
            #expect(again.status == 0 && again.output.contains(#""fields":["Note.mistake"]"#))
        }
    }

    @Test func `web clients make types where the container says so`() async throws {
        try await with { administrator in
            let name = ["container", "create", Administrator.container]
            let made = try await administrator.run(name + ["--just-in-time", "all", "--json"])
            #expect(made.status == 0 && made.output.contains(#""justInTime":"all""#))
            let again = try await administrator.run(name + ["--just-in-time", "native"])
            #expect(again.status == 0 && again.messages.contains("nacre container change"))
            let change = ["container", "change", Administrator.container, "--just-in-time", "native"]
            for line in ["all → native", "native → native"] {
                let changed = try await administrator.run(change)
                #expect(changed.status == 0 && changed.output == "\(Administrator.container) just-in-time \(line)\n")
            }
            let missing = try await administrator.run(["container", "change", "iCloud.com.example.Nowhere", "--just-in-time", "all"])
            #expect(missing.status == 1 && missing.messages.contains("container does not exist"))
        }
    }

    @Test func `what cannot be is refused with its remedy`() async throws {
        try await with { administrator in
            _ = try await administrator.preparedWithUser()
            _ = try await database(administrator, .development).save(note())
            for (arguments, says) in [
                (["index", "Note", "count", "--searchable"] + Self.container, "cannot be searchable"),
                (["index", "Note", "nothing", "--queryable"] + Self.container, "Unknown field 'nothing'"),
                (["index", "None", "text", "--queryable"] + Self.container, "Did not find record type: None"),
                (["deploy", "--container", "iCloud.com.example.Nowhere"], "container does not exist"),
                (["export", "--environment", "production", "--container", "iCloud.com.example.Nowhere"], "container does not exist"),
            ] {
                let run = try await administrator.run(["schema"] + arguments)
                #expect(run.status == 1 && run.output.isEmpty, "\(arguments)")
                #expect(run.messages.hasPrefix("Error: ") && run.messages.contains(says), "\(run.messages)")
            }
        }
    }
}
