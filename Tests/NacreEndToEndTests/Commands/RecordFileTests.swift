import CoreLocation
import Foundation
import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import CloudKit
@testable import NacreCloudCLI

/// Tests of `nacre record export` and `nacre record import`.
@Suite(.timeLimit(.minutes(5))) struct RecordFileTests {
    private static let zoneID = CKRecordZone.ID(zoneName: "Notes")
    private static let place = ["--filter", "stars > 0", "--sort", "stars ASC"]

    private static func record(_ name: String, stars: Int64) -> CKRecord {
        let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zoneID))
        record["stars"] = stars
        return record
    }

    /// Records with values of each type. The first refers to the last.
    private static func records(_ folder: TemporaryFolder) throws -> [CKRecord] {
        let (child, plain, target) = (record("child, \"1\"", stars: 1), record("plain", stars: 2), record("target", stars: 3))
        let file = URL(fileURLWithPath: folder.path + "/photo")
        try Data((0..<70_000).map { UInt8($0 % 251) }).write(to: file)
        child["title"] = "Olives, \"good\"\r\nand bread\u{301} 🫒"
        child["empty"] = ""
        child["price"] = 0.1
        child["exact"] = Date(timeIntervalSinceReferenceDate: 700_000_000.123_456_7)
        child["day"] = Date(timeIntervalSince1970: 1_700_000_000)
        child["days"] = [Date(timeIntervalSinceReferenceDate: 0.25), Date(timeIntervalSince1970: 1_700_000_000)]
        child["bytes"] = Data([0, 1, 255])
        child["place"] = CLLocation(latitude: 48.137, longitude: -11.575)
        child["tags"] = ["a,b", "\"", ""]
        child["numbers"] = [Int64.max, Int64.min]
        child["owner"] = CKRecord.Reference(recordID: target.recordID, action: .deleteSelf)
        child["others"] = [CKRecord.Reference(recordID: plain.recordID, action: .none)]
        child["photo"] = CKAsset(fileURL: file)
        child["photos"] = [CKAsset(fileURL: file), CKAsset(fileURL: file)]
        child.setParent(target.recordID)
        return [child, plain, target]
    }

    @Test(arguments: ["--csv", "--json"])
    func `what was exported and imported into another zone is equal, values of each type, references and files`(form: String) async throws {
        let folder = try TemporaryFolder()
        try await RecordCommandTests().with { run, database in
            for name in ["Notes", "Copy"] { try await database.save(CKRecordZone(zoneName: name)) }
            let saved = try await database.modifyRecords(saving: try Self.records(folder), deleting: [])
            for result in saved.saveResults.values { _ = try result.get() }
            let files = folder.path + "/first"
            let first = try await run(["record", "export", "Note", form, "--zone", "Notes", "--files", files] + Self.place)
            #expect(first.status == 0 && first.messages.contains("Exported 3 records."), "\(first.messages)")
            let file = folder.path + "/notes"
            try first.output.write(toFile: file, atomically: true, encoding: .utf8)
            let dry = try await run(["record", "import", file, form, "--zone", "Copy", "--files", files, "--dry-run"])
            #expect(dry.status == 0 && dry.messages.contains("3 records would be sent"), "\(dry.messages)")
            let imported = try await run(["record", "import", file, form, "--zone", "Copy", "--files", files])
            #expect(imported.status == 0 && imported.messages.contains("Saved 3 records."), "\(imported.messages)")
            let second = try await run(["record", "export", "Note", form, "--zone", "Copy", "--files", folder.path + "/second"] + Self.place)
            #expect(second.output == first.output, "\(second.messages)")
            for path in ["photo/1", "photos/1-0", "photos/1-1"] {
                let bytes = try Data(contentsOf: URL(fileURLWithPath: "\(folder.path)/second/\(path)"))
                #expect(try bytes == Data(contentsOf: URL(fileURLWithPath: folder.path + "/photo")), "\(path)")
            }
            let zone = CKRecordZone.ID(zoneName: "Copy")
            let copy = try await database.record(for: CKRecord.ID(recordName: "child, \"1\"", zoneID: zone))
            let exact = Date(timeIntervalSinceReferenceDate: 700_000_000.123_456_7)
            #expect(copy["exact"] as? Date == exact && copy["title"] as? String == "Olives, \"good\"\r\nand bread\u{301} 🫒")
            #expect(copy["empty"] as? String == "" && copy["numbers"] as? [Int64] == [.max, .min] && copy["price"] as? Double == 0.1)
            #expect((copy["owner"] as? CKRecord.Reference)?.recordID.zoneID.zoneName == "Copy" && copy.parent?.recordID.recordName == "target")
        }
    }

    @Test func `an export has all pages, and leaves files out by name where no folder is given`() async throws {
        let folder = try TemporaryFolder()
        try await RecordCommandTests().with { run, database in
            try await database.save(CKRecordZone(zoneName: "Notes"))
            let many = (1...430).map { Self.record("n\($0)", stars: Int64($0)) }
            for start in stride(from: 0, to: many.count, by: 215) {
                _ = try await database.modifyRecords(saving: Array(many[start..<(start + 215)]), deleting: [])
            }
            let all = try await run(["record", "export", "Note", "--json", "--zone", "Notes"] + Self.place)
            #expect(all.output.split(separator: "\n").count == 430 && all.messages.contains("Exported 430 records."), "\(all.messages)")
            for result in try await database.modifyRecords(saving: try Self.records(folder), deleting: []).saveResults.values { _ = try result.get() }
            let some = try await run(["record", "export", "Note", "--csv", "--zone", "Notes", "--filter", "stars < 4"])
            #expect(some.status == 0 && some.messages.contains("they are files: photo, photos"), "\(some.messages)")
            let neither = try await run(["record", "export", "Note", "--zone", "Notes"])
            #expect(neither.status == 64 && neither.messages.contains("--csv or --json"), "\(neither.messages)")
        }
    }

    @Test func `lines that are refused are told by number and reason, and the others are saved`() async throws {
        let folder = try TemporaryFolder()
        try await RecordCommandTests().with { run, database in
            try await database.save(CKRecordZone(zoneName: "Notes"))
            try await database.save(Self.record("there", stars: 1))
            func line(_ name: String, _ fields: String) -> String { #"{"recordName":"\#(name)","recordType":"Note","fields":{\#(fields)}}"# }
            let lines = [
                line("one", #""stars":{"value":1}"#), "{", line("two", #""stars":{"value":"many","type":"STRING"}"#),
                line("three", #""secret":{"value":"AQI=","type":"STRING","isEncrypted":true}"#),
                line("four", #""owner":{"value":{"recordName":"nowhere","action":"VALIDATE"},"type":"REFERENCE"}"#),
                #"{"recordName":"five","recordType":"Note","fields":{},"files":{"photo":"../photo"}}"#, "",
                line("there", #""title":{"value":"new"}"#),
            ]
            let file = folder.path + "/notes"
            try lines.joined(separator: "\n").write(toFile: file, atomically: true, encoding: .utf8)
            let dry = try await run(["record", "import", file, "--json", "--zone", "Notes", "--dry-run"])
            #expect(dry.status == 1 && dry.messages.contains("line 2: no record in JSON"), "\(dry.messages)")
            #expect(try await run(["record", "get", "one", "--zone", "Notes"]).status == 1, "nothing is saved")
            let imported = try await run(["record", "import", file, "--json", "--zone", "Notes"])
            #expect(imported.status == 1 && imported.messages.contains("Saved 2 records.") && imported.messages.contains("5 lines were refused"))
            for told in ["line 2: no record", "line 3: ", "line 4: secret is encrypted", "line 5: referenced record", "line 6: ../photo leads out"] {
                #expect(imported.messages.contains(told), "\(told): \(imported.messages)")
            }
            let there = try await database.record(for: CKRecord.ID(recordName: "there", zoneID: Self.zoneID))
            #expect(there["stars"] as? Int64 == 1 && there["title"] as? String == "new", "it keeps what the file does not name")
        }
    }

    @Test func `encrypted values and files stay where they are, and are named`() async throws {
        try await RunningServer.with { server in
            let cloud = try await NewCloud(server)
            try await cloud.addUser(Device.ada)
            let token = try await cloud.device(of: Device.ada)
            let app = try KeyProcess(cloud, token: token, keysIn: server.scratch + "/keys")
            let database = CKContainer(line: app.line).privateCloudDatabase
            try await database.save(CKRecordZone(zoneName: "Notes"))
            let record = Self.record("one", stars: 1)
            record.encryptedValues["secret"] = "measles"
            try Data([1, 2, 3]).write(to: URL(fileURLWithPath: server.scratch + "/photo"))
            record["photo"] = CKAsset(fileURL: URL(fileURLWithPath: server.scratch + "/photo"))
            try await database.save(record)
            let variables = [
                "CLOUDKIT_SERVER_URL": server.url, "CLOUDKIT_CONTAINER": cloud.container, "CLOUDKIT_ENVIRONMENT": "development",
                "CLOUDKIT_ACCOUNT_TOKEN": token,
            ]
            let arguments = ["record", "export", "Note", "--csv", "--zone", "Notes", "--files", "files"] + Self.place
            let run = try await Nacre.run(arguments, in: server.scratch, environment: variables)
            #expect(run.status == 0 && run.messages.contains("they are encrypted: photo, secret."), "\(run.messages)")
            #expect(run.output == "recordName,recordType,parent,stars:INT64\none,Note,,1\n")
        }
    }

    // MARK: CSV

    @Test func `cells of CSV tell absent fields from empty text, and keep quotes and line feeds`() throws {
        let columns = RecordColumns(["text": .string, "time": .timestamp])
        let fields: RecordFields = ["text": .string("a \"\u{301}b\",\n"), "time": .timestamp(Timestamp(millisecondsSince1970: 1_700_000_000_001))]
        let row = RecordRow(name: "n", type: "Note", fields: fields)
        #expect(columns.header == "recordName,recordType,parent,text:STRING,time:TIMESTAMP")
        #expect(columns.line(of: row) == "n,Note,,\"a \"\"\u{301}b\"\",\n\",2023-11-14T22:13:20.001Z")
        #expect(try RecordColumns(header: columns.header).row(columns.line(of: row)) == row)
        let absent = try columns.row("n,Note,,,")
        #expect(absent.fields.isEmpty && absent.cleared == ["text", "time"])
        #expect(try columns.row("n,Note,,\"\",").fields == ["text": .string("")])
    }

    @Test func `a field that was left out of some record has no column, so that its cells remove nothing`() throws {
        let columns = RecordColumns(["photo": .asset, "text": .string], without: ["photo"])
        let photo = RecordRow.Files(field: "photo", paths: ["photo/1"], isList: false)
        let row = RecordRow(name: "n", type: "Note", fields: ["text": .string("a")], files: [photo])
        #expect(columns.header == "recordName,recordType,parent,text:STRING" && columns.line(of: row) == "n,Note,,a")
        #expect(try columns.row(columns.line(of: row)).cleared.isEmpty)
    }

    @Test(arguments: [
        ("n,Note,,a", "cells"), ("n,Note,,\"a\"b,", "cells"), ("n,Note,,a\"b,", "cells"), ("n,Note,,\"a,", "cells"), (",Note,,a,", "recordName"),
        ("n,Note,,a,yesterday", "time is no TIMESTAMP"),
    ])
    func `a line that is no record of its columns is refused with the reason`(line: String, reason: String) throws {
        let columns = RecordColumns(["text": .string, "time": .timestamp])
        let fault = #expect(throws: RecordRow.Fault.self) { try columns.row(line) }
        #expect(fault?.text.contains(reason) == true, "\(String(describing: fault))")
    }

    @Test(arguments: [
        "recordName,recordType,text", "recordName,recordType,text:TEXT", "recordName,text:STRING", "recordName,recordType,a:STRING,a:INT64",
    ])
    func `a first line without names and types is refused`(header: String) {
        #expect(throws: RecordRow.Fault.self) { try RecordColumns(header: header) }
    }
}
