import Foundation
import NacreCloudTestSupport
import Testing

@testable import CloudKit

/// Tests of `nacre keys`.
@Suite(.timeLimit(.minutes(5))) struct KeysCommandTests {
    @Test func `without the variables of an app each command says which is missing`() async throws {
        let folder = try TemporaryFolder()
        let commands = [
            ["status"], ["devices"], ["remove", "00"], ["plain"], ["fingerprint"], ["enrol"], ["approve"], ["recovery"], ["reset"], ["trust-tree"],
        ]
        for arguments in commands {
            let run = try await Nacre.run(["keys"] + arguments, in: folder.path, environment: ["XDG_CONFIG_HOME": folder.path])
            #expect(run.status == 69 && run.output.isEmpty && run.messages.contains("CLOUDKIT_SERVER_URL"), "\(run)")
        }
        let given = ["CLOUDKIT_SERVER_URL": "http://127.0.0.1:1", "CLOUDKIT_CONTAINER": "iCloud.a.b", "XDG_CONFIG_HOME": folder.path]
        let run = try await Nacre.run(["keys", "status"], in: folder.path, environment: given)
        #expect(run.status == 77 && run.messages.contains("CLOUDKIT_ACCOUNT_TOKEN"), "\(run)")
    }

    @Test func `the keys of an app are shown, recovered on another device, removed and reset`() async throws {
        try await RunningServer.with { server in
            let cloud = try await NewCloud(server)
            try await cloud.addUser(Device.ada)
            let token = try await cloud.device(of: Device.ada)
            let variables = [
                "CLOUDKIT_SERVER_URL": server.url, "CLOUDKIT_CONTAINER": cloud.container, "CLOUDKIT_ENVIRONMENT": "development",
                "CLOUDKIT_API_TOKEN": cloud.apiToken, "CLOUDKIT_ACCOUNT_TOKEN": token, "XDG_CONFIG_HOME": server.scratch,
            ]
            func run(_ arguments: [String], on device: String, input: String? = nil) async throws -> Nacre {
                let environment = variables.merging(["XDG_DATA_HOME": "\(server.scratch)/\(device)"]) { _, new in new }
                return try await Nacre.run(["keys"] + arguments, in: server.scratch, input: input, environment: environment)
            }
            #expect(try await run(["status", "--json"], on: "phone").object()["keys"] as? String == "none")
            #expect(try await run(["devices"], on: "phone").status == 1)
            let app = try KeyProcess(cloud, token: token, keysIn: "\(server.scratch)/phone/nacre/keys")
            _ = try await app.toSave(CKRecordZone.default().zoneID)
            let status = try await run(["status"], on: "phone")
            #expect(status.status == 0 && status.output.contains("this device has") && status.output.contains("not shown yet"), "\(status)")
            let waiting = try await run(["approve"], on: "phone")
            #expect(waiting.status == 1 && waiting.messages.contains("no device waits"), "\(waiting)")

            struct Note: Decodable { var words: [String], fingerprint: String }
            let shown = try await run(["recovery", "--json"], on: "phone")
            let note = try JSONDecoder().decode(Note.self, from: Data(shown.output.utf8))
            #expect(note.words.count == 24)
            let again = try await run(["recovery"], on: "phone")
            #expect(again.status == 1 && again.messages.contains("--replace"), "\(again)")
            let fingerprint = try await run(["fingerprint"], on: "phone")
            #expect(fingerprint.output.contains(note.fingerprint) && fingerprint.output.contains("head\t0: "), "\(fingerprint)")

            // Another user sees the same fingerprint, as the server shows it.
            let ada = try #require(try await run(["status", "--json"], on: "phone").object()["user"] as? String)
            try await cloud.addUser("ben@example.com")
            let bens = ["CLOUDKIT_ACCOUNT_TOKEN": try await cloud.device(of: "ben@example.com"), "XDG_DATA_HOME": server.scratch + "/ben"]
            let compared = try await Nacre.run(
                ["keys", "fingerprint", ada], in: server.scratch, environment: variables.merging(bens) { _, new in new })
            #expect(compared.output == fingerprint.output && compared.messages.contains("what the server shows"), "\(compared)")

            let words = note.words[..<12].joined(separator: " ") + "\n" + note.words[12...].joined(separator: " ") + "\n"
            let enrolled = try await run(["enrol", "--recovery"], on: "tablet", input: words)
            #expect(enrolled.status == 0, "\(enrolled)")
            let lines = try await run(["devices"], on: "tablet").output.split(separator: "\n")
            #expect(lines.count == 2 && lines[1].hasSuffix("\tthis device"))
            let phone = try #require(lines.first?.split(separator: "\t").first.map(String.init))
            #expect(try await run(["remove", phone], on: "tablet").status == 0)
            let removed = try await run(["status"], on: "phone")
            #expect(removed.status == 0 && removed.output.contains("was removed") && removed.output.contains("nacre keys enrol"), "\(removed)")

            let kept = try await run(["reset"], on: "tablet", input: "iCloud.other\n")
            #expect(kept.status == 1 && kept.messages.contains("nothing was reset"), "\(kept)")
            #expect(try await run(["fingerprint"], on: "tablet").output.contains(note.fingerprint))
            let trusted = try await run(["trust-tree"], on: "tablet", input: "no\n")
            #expect(trusted.status == 1 && trusted.messages.contains("nothing was forgotten"), "\(trusted)")
            #expect(try await run(["trust-tree"], on: "tablet", input: cloud.container + "\n").status == 0)
            #expect(try await run(["fingerprint"], on: "tablet").output.contains(note.fingerprint))
            #expect(try await run(["reset"], on: "tablet", input: cloud.container + "\n").status == 0)
            #expect(try await !run(["fingerprint"], on: "tablet").output.contains(note.fingerprint))
        }
    }

    @Test func `files from before the keys are listed as plain, until they are saved again`() async throws {
        try await RunningServer.with { server in
            let cloud = try await NewCloud(server)
            try await cloud.addUser(Device.ada)
            let token = try await cloud.device(of: Device.ada)
            let variables = [
                "CLOUDKIT_SERVER_URL": server.url, "CLOUDKIT_CONTAINER": cloud.container, "CLOUDKIT_ENVIRONMENT": "development",
                "CLOUDKIT_API_TOKEN": cloud.apiToken, "CLOUDKIT_ACCOUNT_TOKEN": token, "XDG_CONFIG_HOME": server.scratch,
                "XDG_DATA_HOME": "\(server.scratch)/phone",
            ]
            func run(_ arguments: String...) async throws -> Nacre {
                try await Nacre.run(["keys"] + arguments, in: server.scratch, environment: variables)
            }
            /// Starts another process of an app on the device.
            func database() throws -> CKDatabase {
                CKContainer(line: try KeyProcess(cloud, token: token, keysIn: "\(server.scratch)/phone/nacre/keys").line).privateCloudDatabase
            }
            func note(_ name: String, _ fields: [String: String]) throws -> CKRecord {
                let record = Device.note(name, "bread")
                for (field, text) in fields {
                    let url = URL(fileURLWithPath: "\(server.scratch)/\(name)-\(field)")
                    try Data(text.utf8).write(to: url)
                    record[field] = CKAsset(fileURL: url)
                }
                return record
            }
            let before = try database()
            try await before.save(CKRecordZone(zoneID: Device.zoneID))
            let first = try await before.save(note("first", ["photo": "12345", "scan": "123"]))
            let second = try note("second", [:])
            second.encryptedValues["diagnosis"] = "measles"
            let after = try database()
            try await after.save(second)
            try await after.save(note("third", ["photo": "sealed"]))

            let zone = Device.zoneID.zoneName
            let listed = try await run("plain")
            #expect(listed.status == 0 && listed.output == "\(zone)\tfirst\tphoto\t1\t5\n\(zone)\tfirst\tscan\t1\t3\n", "\(listed)")
            #expect(try await run("plain", zone).output == listed.output)
            let printed = try JSONSerialization.jsonObject(with: Data(try await run("plain", zone, "--json").output.utf8)) as? [String: Any]
            let json = printed?["plain"] as? [[String: Any]]
            #expect(json?.map { $0["field"] as? String } == ["photo", "scan"])
            #expect(try await run("status").output.contains("plain files\t2; nacre keys plain lists them\n"))

            first["photo"] = try note("again", ["photo": "12345"])["photo"] as? CKAsset
            first["scan"] = nil
            try await after.save(first)
            let none = try await run("plain")
            #expect(none.status == 0 && none.output.isEmpty && none.messages.contains("No file outside of the default zone is plain"), "\(none)")
            let status = try JSONSerialization.jsonObject(with: Data(try await run("status", "--json").output.utf8)) as? [String: Any]
            let count = status?["plainFiles"] as? [String: Any]
            #expect(count?["files"] as? Int == 0 && count?["isWhole"] as? Bool == true)
        }
    }
}
