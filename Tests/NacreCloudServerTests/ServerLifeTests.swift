import Foundation
import NacreCloudContainer
import NacreCloudServer
import NacreCloudStorage
import NacreCloudStore
import NacreCloudTestSupport
import NacreCloudWire
import NacreCrypto
import NacreHTTPServer
import NacreLocks
import NacreTelemetry
import Testing

/// Tests of starts, failed starts, ends and restarts of whole servers on temporary folders.
@Suite(.timeLimit(.minutes(5))) struct ServerLifeTests {
    private func configuration(_ folder: TemporaryFolder, memory: Bool = true, port: Int = 0) -> NacreCloudServer.ServerConfiguration {
        var configuration = NacreCloudServer.ServerConfiguration(dataFolder: folder.path, logger: .silent)
        configuration.engine = memory ? .memory : .sqlite
        configuration.listen = ListenAddress(host: "127.0.0.1", port: port)
        return configuration
    }

    private func port(_ url: String) throws -> Int {
        try #require(ListenAddress(String(url.dropFirst("http://".count)))).port
    }

    private func isHealthy(_ port: Int) async -> Bool {
        (try? await ask(Question(method: "GET", target: "/healthz"), port: port))?.status == 200
    }

    @Test func `passwords of an emulator are hashed at the least cost, and all others at the usual one`() throws {
        var configuration = configuration(try TemporaryFolder())
        #expect(configuration.passwordCost == .usual)
        configuration.isEmulator = true
        #expect(configuration.passwordCost == .least)
    }

    @Test func `a server answers where it says, and tells its administrator in the folder`() async throws {
        let folder = try TemporaryFolder()
        let server = Server(configuration(folder))
        let addresses = try await server.start()
        #expect(await isHealthy(try port(addresses.publicURL)))
        let file = try AdminFile.read(folder: folder.path)
        #expect(file.url == addresses.adminURL)
        #expect(file.publicURL == addresses.publicURL)
        #expect(file.pid == getpid())
        await server.shutdown()
        #expect(!folder.contents.contains(AdminFile.name))
        #expect(await isHealthy(try port(addresses.publicURL)) == false)
        #expect(await isHealthy(try port(addresses.adminURL)) == false)
    }

    @Test func `the admin token is another at each start, in a file that its owner alone can read`() async throws {
        let folder = try TemporaryFolder()
        var tokens: [String] = []
        for _ in 0..<2 {
            let server = Server(configuration(folder))
            _ = try await server.start()
            tokens.append(try AdminFile.read(folder: folder.path).token)
            let permissions = try FileManager.default.attributesOfItem(atPath: "\(folder.path)/\(AdminFile.name)")[.posixPermissions] as? Int
            #expect(permissions == 0o600)
            await server.shutdown()
        }
        #expect(Set(tokens).count == 2 && tokens.allSatisfy { $0.count == 64 })
    }

    @Test func `what an administrator may do is not on the public listener`() async throws {
        let folder = try TemporaryFolder()
        let server = Server(configuration(folder))
        let addresses = try await server.start()
        let file = try AdminFile.read(folder: folder.path)
        let question = Question(method: "GET", target: "/admin/1/server", headers: ["Authorization": "Bearer \(file.token)"])
        #expect(try await ask(question, port: try port(addresses.publicURL)).status == 404)
        #expect(try await ask(question, port: try port(addresses.adminURL)).status == 200)
        await server.shutdown()
    }

    @Test func `the public URL is answered as it was given, and its host is served`() async throws {
        let folder = try TemporaryFolder()
        var configuration = configuration(folder)
        configuration.publicURL = "https://Cloud.Example/"
        configuration.hosts = ["Notes.Example", "lan.example"]
        let log = LogLines()
        configuration.logger = log.logger
        let server = Server(configuration)
        #expect(try await server.start().publicURL == "https://Cloud.Example/")
        guard case .number(let port) = log.objects("listening").first?["port"] else {
            Issue.record("no line tells the port")
            return await server.shutdown()
        }
        for (host, status) in [("cloud.example", 200), ("notes.example:80", 200), ("LAN.example", 200), ("evil.example", 403), ("evil.example", 403)]
        {
            let question = Question(method: "GET", target: "/version", headers: ["Host": host])
            #expect(try await ask(question, port: Int(port)).status == status)
        }
        // Logged once, with the remedy.
        let refused = log.objects("A host is not served here")
        #expect(refused.map { $0["host"]?.text } == ["evil.example"])
        #expect(refused.first?["remedy"]?.text?.contains("--host") == true)
        await server.shutdown()
    }

    @Test func `a server on all addresses tells others one that leads to it, and its own commands loopback's`() async throws {
        let folder = try TemporaryFolder()
        var configuration = configuration(folder)
        configuration.listen = ListenAddress(host: "0.0.0.0", port: 0)
        let server = Server(configuration)
        let addresses = try await server.start()
        #expect(addresses.localURL.hasPrefix("http://127.0.0.1:"))
        #expect(!addresses.publicURL.contains("0.0.0.0"))
        for url in [addresses.localURL, addresses.publicURL] {
            let authority = String(url.dropFirst("http://".count))
            let question = Question(method: "GET", target: "/version", headers: ["Host": authority])
            #expect(try await ask(question, port: try port(url)).status == 200)
        }
        await server.shutdown()
    }

    @Test func `a port that is taken refuses the start, and leaves nothing behind`() async throws {
        let first = try TemporaryFolder()
        let second = try TemporaryFolder()
        let holder = Server(configuration(first))
        let taken = try port(try await holder.start().publicURL)
        let late = Server(configuration(second, memory: false, port: taken))
        await #expect(throws: ServerStartError.self) { try await late.start() }
        #expect(!second.contents.contains(AdminFile.name))
        // The folder is free: its store was closed.
        let store = try await SQLiteStore.open(folder: second.path)
        await store.close()
        await late.shutdown()
        await holder.shutdown()
    }

    @Test func `an admin port that is taken closes the public one again`() async throws {
        let first = try TemporaryFolder()
        let second = try TemporaryFolder()
        let holder = Server(configuration(first))
        let taken = try port(try await holder.start().publicURL)
        let log = LogLines()
        var configuration = configuration(second)
        configuration.adminListen = ListenAddress(host: "127.0.0.1", port: taken)
        configuration.logger = log.logger
        await #expect(throws: ServerStartError.self) { try await Server(configuration).start() }
        guard case .number(let opened) = log.objects("listening").first?["port"] else {
            Issue.record("the public listener was never open")
            return await holder.shutdown()
        }
        #expect(await isHealthy(Int(opened)) == false)
        #expect(!second.contents.contains(AdminFile.name))
        await holder.shutdown()
    }

    @Test func `a folder in use refuses a second server, and the first goes on`() async throws {
        for memory in [true, false] {
            let folder = try TemporaryFolder()
            let first = Server(configuration(folder, memory: memory))
            let running = try port(try await first.start().publicURL)
            let log = LogLines()
            var configuration = configuration(folder, memory: memory)
            configuration.logger = log.logger
            await #expect(throws: (any Error).self) { try await Server(configuration).start() }
            for line in log.objects("listening") {
                guard case .number(let opened) = line["port"] else { continue }
                #expect(await isHealthy(Int(opened)) == false)
            }
            #expect(await isHealthy(running))
            #expect(try AdminFile.read(folder: folder.path).publicURL == "http://127.0.0.1:\(running)")
            await first.shutdown()
            // The folder is free again.
            let third = Server(self.configuration(folder, memory: memory))
            _ = try await third.start()
            await third.shutdown()
        }
    }

    @Test func `ending before the start and after the end does no harm`() async throws {
        let folder = try TemporaryFolder()
        let server = Server(configuration(folder, memory: false))
        await server.shutdown()
        _ = try await server.start()
        await server.shutdown()
        await server.shutdown()
        let store = try await SQLiteStore.open(folder: folder.path)
        await store.close()
    }

    private func isEnded(_ server: TestServer, _ store: SlowStore) async -> Bool {
        await server.server.shutdown(grace: .seconds(10))
        return store.isClosed
    }

    @Test func `a request under way is finished, and one after the end is not taken`() async throws {
        let gate = SlowStore()
        let server = try await TestServer(over: gate)
        let port = try await server.startListening()
        let question = Question(
            method: "POST", target: "/database/1/\(TestServer.container)/development/private/records/modify",
            headers: ["Authorization": "Bearer \(server.names["ada.device"] ?? "")"], body: Array(Body.modify("create", Body.note("a")).utf8))
        gate.hold()
        async let answer = ask(question, port: port)
        await gate.arrived()
        // Both calls for the end return only when it is complete.
        async let end = isEnded(server, gate)
        async let secondEnd = isEnded(server, gate)
        gate.release()
        let got = try await answer
        #expect(got.status == 200)
        #expect(got.json?.at("records[0].recordName") == .string("a"))
        let isEnded = await (end, secondEnd)
        #expect(isEnded == (true, true))
        await #expect(throws: POSIXFault.self) { try await ask(question, port: port) }
    }

    @Test func `a restart on the same folder keeps records, tokens and changes`() async throws {
        let folder = try TemporaryFolder()
        let first = try await TestServer(over: try await SQLiteStore.open(folder: folder.path))
        let port = try await first.startListening()
        try await first.prepareTypes(for: Body.modify("create", Body.note("a")), in: TestServer.container)
        func question(_ path: String, _ body: String) -> Question {
            Question(
                method: "POST",
                target:
                    "/database/1/\(TestServer.container)/development/\(path)?ckAPIToken=\(first.names["api"] ?? "")&ckWebAuthToken=\(first.names["ada"] ?? "")",
                body: Array(body.utf8))
        }
        _ = try await ask(question("private/zones/modify", Body.zones("create", "Work")), port: port)
        _ = try await ask(question("private/records/modify", Body.modify("create", Body.note("a"), Body.inWork)), port: port)
        let token = try #require(try await ask(question("private/changes/zone", Body.feed("Work")), port: port).json?.at("zones[0].syncToken")?.text)
        await first.server.shutdown()

        // Another server, with an empty memory.
        var configuration = configuration(folder, memory: false)
        configuration.clock = first.clock.serverClock
        let second = Server(configuration)
        let newPort = try self.port(try await second.start().publicURL)
        let found = try await ask(question("private/records/lookup", Body.lookup("a", more: Body.inWork)), port: newPort)
        #expect(found.json?.at("records[0].fields.title.value") == .string("One"))
        _ = try await ask(question("private/records/modify", Body.modify("create", Body.note("b"), Body.inWork)), port: newPort)
        let changes = try await ask(question("private/changes/zone", Body.feed("Work", token: token)), port: newPort)
        #expect(changes.json?.at("zones[0].records")?.count == 1)
        #expect(changes.json?.at("zones[0].records[0].recordName") == .string("b"))
        await second.shutdown()
    }
}
