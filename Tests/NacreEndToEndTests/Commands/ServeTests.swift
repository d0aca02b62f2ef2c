import CloudKit
import Foundation
import Glibc
import NacreCloudTestSupport
import Testing

@testable import NacreCloudCLI
@testable import NacreCloudServer

/// Tests of `nacre serve` from its first screen to its last line.
struct ServeTests {
    @Test func `the first screen says where the data and the server are, and how to go on`() throws {
        let folder = try TemporaryFolder()
        let configuration = try #require(ServerConfiguration(dataFolder: folder.path, logFormat: .json, logLevel: "notice"))
        let addresses = Server.Addresses(publicURL: "http://192.0.2.1:8787", localURL: "http://127.0.0.1:8787", adminURL: "http://127.0.0.1:9")
        let text = FirstScreen(addresses, configuration).text
        for part in [
            folder.path, "export CLOUDKIT_SERVER_URL=http://192.0.2.1:8787", "here      http://127.0.0.1:8787",
            "nacre up iCloud.com.example.Notes --data \(folder.path)", #"eval "$(nacre env)""#, "nacre demo",
        ] { #expect(text.contains(part), "\(part)") }
        #expect(!text.contains("nacre token create"))
    }

    @Test func `without a terminal a line of the log says that it serves, and its end says where the data are`() async throws {
        try await RunningServer.with { server in
            #expect(try await server.stop() == 0)
            let messages = try server.process.errorText
            #expect(messages.contains("\"msg\":\"Serving\"") && messages.contains("\"url\":\"\(server.url)\"") && !messages.contains("export "))
            #expect(messages.hasSuffix("saved to \(server.data)\n"))
            #expect(try server.process.outputText.isEmpty)
            // The admin file goes, by which administrators find the server.
            #expect(!FileManager.default.fileExists(atPath: server.data + "/admin.json"))
        }
    }

    @Test func `with --json the addresses are one object, and in memory the end says that nothing is kept`() async throws {
        try await RunningServer.with(["--memory", "--json"]) { server in
            let cloud = try await NewCloud(server)
            try await cloud.addUser(Device.ada)
            #expect(try await Device(of: Device.ada, cloud).container.accountStatus() == .available)
            #expect(try await server.stop() == 0)
            let process = try server.process
            let object = try Nacre(status: 0, output: process.outputText, messages: "").object()
            #expect(object["url"] as? String == server.url)
            #expect(object["data"] as? String == server.data)
            #expect(object["pid"] as? Double == Double(process.pid))
            #expect(process.errorText.contains("in memory: discarded"))
            #expect(!FileManager.default.fileExists(atPath: server.data + "/nacre.sqlite"))
        }
    }

    @Test func `an interrupt ends it as a termination does`() async throws {
        try await RunningServer.with { server in
            try server.process.signal(SIGINT)
            #expect(try await server.process.ended() == 0)
            #expect(try server.process.errorText.hasSuffix("saved to \(server.data)\n"))
        }
    }

    @Test func `a second server on the folder is told who has it, and the first goes on`() async throws {
        try await RunningServer.with { server in
            let holder = "process \(try server.process.pid)"
            let second = try await Nacre.run(["serve", "--data", server.data, "--listen", "127.0.0.1:0"], in: server.scratch)
            #expect(second.status == 1)
            #expect(second.messages.contains(holder) && second.messages.contains(server.data))
            #expect(second.messages.contains("--data"))
            let memory = try await Nacre.run(["serve", "--memory", "--data", server.data, "--listen", "127.0.0.1:0"], in: server.scratch)
            #expect(memory.status == 1 && memory.messages.contains(holder))
            _ = try await NewCloud(server)
        }
    }

    @Test func `a command on the server's machine reaches it by its own listener, though its public name leads nowhere`() async throws {
        try await RunningServer.with(["--public-url", "https://cloud.invalid", "--host", "lan.invalid"]) { server in
            let administrator = Administrator(server: server)
            let token = try await administrator.preparedWithUser()
            let signedIn = try await administrator.run(Administrator.signIn(token), input: Administrator.password)
            #expect(signedIn.status == 0, "\(signedIn.messages)")
        }
    }

    @Test func `a port that is taken is named, with a way out`() async throws {
        try await RunningServer.with { server in
            let address = "127.0.0.1:\(server.port)"
            let second = try await Nacre.run(["serve", "--data", server.scratch + "/other", "--listen", address], in: server.scratch)
            #expect(second.status == 1)
            #expect(second.messages.contains("port \(server.port) is in use by nacre, process \(try server.process.pid)"), "\(second.messages)")
            #expect(second.messages.contains("--listen 127.0.0.1:0"))
            // The server has released its folder.
            let third = try await Nacre.run(["serve", "--data", server.scratch + "/other", "--listen", address], in: server.scratch)
            #expect(third.messages.contains("\(server.port) is in use"))
        }
    }

    @Test func `a folder that cannot be made is a failure with its name`() async throws {
        let folder = try TemporaryFolder()
        let file = folder.path + "/file"
        try Data().write(to: URL(filePath: file))
        let run = try await Nacre.run(["serve", "--data", file + "/data", "--listen", "127.0.0.1:0"], in: folder.path)
        #expect(run.status == 1)
        #expect(run.messages.contains(file) && run.messages.contains("--data"), "\(run.messages)")
        #expect(run.messages.contains("Not a directory") && !run.messages.contains("errno"), "\(run.messages)")
    }

    @Test func `requests are logged as JSON lines without tokens where that is asked for`() async throws {
        try await RunningServer.with(["--log-level", "info"]) { server in
            let cloud = try await NewCloud(server)
            try await cloud.addUser(Device.ada)
            let token = try await cloud.device(of: Device.ada)
            let client = cloud.client(token)
            let changes: RawDatabaseChanges = try await client.post("changes/database", RawDatabaseChangesRequest())
            #expect(try await server.stop() == 0)
            let lines = try server.process.errorText.split(separator: "\n").filter { $0.hasPrefix("{") }
            let routes = try lines.map { line in
                let members = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
                return members?["route"] as? String
            }
            #expect(routes.contains { $0?.hasSuffix("changes/database") == true })
            for secret in [token, cloud.apiToken, changes.syncToken] {
                #expect(try !server.process.errorText.contains(secret))
            }
        }
    }
}
