import Foundation
import NacreCloudServer
import NacreCloudTestSupport
import NacreCrypto
import Testing

@testable import NacreCloudCLI

/// Tests of `nacre web`: CloudKit JS in pages.
@Suite(.timeLimit(.minutes(5))) struct WebTests {
    @Test func `the hashes are those of the scripts that the server answers, and the elements name its addresses`() async throws {
        try await RunningServer.with { server in
            let run = try await Nacre.run(["web", "sri", "--url", server.url + "/"], in: server.scratch)
            let lines = run.output.split(separator: "\n").map(String.init)
            let names = ["cloudkit.js", "cloudkit.mjs", "cloudkit-encryption.mjs", "cloudkit-recovery-words.mjs"]
            try #require(run.status == 0 && lines.count == 2 * names.count, "\(run)")
            #expect(run.messages == "\(server.url) has these scripts.\n")
            for (index, name) in names.enumerated() {
                let hash = lines[2 * index].split(separator: " ")
                #expect(hash.first.map(String.init) == name)
                let address = try #require(lines[2 * index + 1].firstMatch(of: /(?:src|href)="([^"]+)" integrity="([^"]+)"/))
                #expect(hash.last == address.2 && address.1.hasPrefix("\(server.url)/ck/"))
                let answer = try await WebClient(url: server.url).send("GET", String(address.1.dropFirst(server.url.count)))
                #expect("sha256-\(Data(SHA256.digest([UInt8](answer.body))).base64EncodedString())" == String(address.2))
            }
        }
    }

    @Test func `without a server the elements are for pages of the server's own origin`() async throws {
        let folder = try TemporaryFolder()
        let run = try await Nacre.run(["web", "sri", "--json"], in: folder.path)
        let report = try JSONDecoder().decode([String: [[String: String]]].self, from: Data(run.output.utf8))
        let scripts = try #require(report["scripts"])
        #expect(scripts.map { $0["name"] } == ["cloudkit.js", "cloudkit.mjs", "cloudkit-encryption.mjs", "cloudkit-recovery-words.mjs"])
        for script in scripts {
            let path = try #require(script["path"])
            #expect(script["element"]?.contains("=\"\(path)\" integrity=\"\(script["integrity"] ?? "")\"") == true, "\(script)")
        }
    }

    @Test func `a server that has no such script ends it with 1`() async throws {
        try await RunningServer.with { server in
            let run = try await Nacre.run(["web", "sri", "--url", server.url + "/nowhere"], in: server.scratch)
            #expect(run.status == 1 && run.output.isEmpty && run.messages.contains("answered 404 for cloudkit.js"), "\(run)")
        }
    }

    @Test func `a script that differs in one byte is told by both hashes, and ends the command with 2`() throws {
        for script in WebLibrary.scripts {
            try WebIntegrity.check(WebClient.Answer(status: 200, body: Data(script.content)), script, of: "https://cloud.example")
            let altered = WebClient.Answer(status: 200, body: Data(script.content + [0x20]))
            let failure = #expect(throws: CommandFailure.self) { try WebIntegrity.check(altered, script, of: "https://cloud.example") }
            #expect(failure?.code == .damaged && failure?.message.contains(script.integrity) == true)
            #expect(failure?.message.contains(WebLibrary.integrity(of: script.content + [0x20])) == true)
        }
    }
}
