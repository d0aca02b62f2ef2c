import Foundation
import Glibc
import NacreCloudServer
import NacreCloudTestSupport
import Testing

/// Tests of `nacre serve` as a service: signals, logs, terminals, descriptors, and its supervisor.
struct ServiceTests {
    @Test func `SIGHUP opens the log anew under its name, and the server serves on`() async throws {
        let logs = try TemporaryFolder()
        let file = logs.path + "/nacre.log"
        try await RunningServer.with(["--log-file", file, "--log-level", "info"]) { server in
            let cloud = try await NewCloud(server)
            try FileManager.default.moveItem(atPath: file, toPath: file + ".1")
            let appearance = try FileAppearance(of: "nacre.log", in: logs.path)
            for _ in 1...3 { try server.process.signal(SIGHUP) }
            #expect(await appearance.wait(while: try server.process, seconds: RunningServer.patienceSeconds))
            try await cloud.addUser(Device.ada)
            _ = try await cloud.device(of: Device.ada)
            #expect(try await server.stop() == 0)
            let second = try String(contentsOfFile: file, encoding: .utf8)
            #expect(second.contains("Told to open the log anew") && second.contains("\"msg\":\"request\""))
            let both = try String(contentsOfFile: file + ".1", encoding: .utf8) + second
            #expect(both.contains("\"Serving\"") && both.contains(server.url))
            #expect(try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int == 0o600)
            #expect(try !server.process.errorText.contains("{"))
        }
    }

    @Test func `SIGHUP without a file ends nothing either`() async throws {
        try await RunningServer.with { server in
            try server.process.signal(SIGHUP)
            _ = try await NewCloud(server)
            #expect(try await server.stop() == 0)
        }
    }

    @Test(.enabled(if: mayRun(Launched.hasTerminals), "script is not installed, or there is no pseudo-terminal"), arguments: [false, true])
    func `a terminal is shown the first screen, unless it is to be quiet`(isQuiet: Bool) async throws {
        let folder = try TemporaryFolder()
        let data = folder.path + "/data"
        try FileManager.default.createDirectory(atPath: data, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let appearance = try FileAppearance(of: AdminFile.name, in: data)
        let process = try Launched(
            ["serve", "--data", data, "--listen", "127.0.0.1:0"] + (isQuiet ? ["-q"] : []), named: "serve", in: folder.path,
            environment: ["NO_COLOR": "1"], isOnTerminal: true)
        try #require(await appearance.wait(while: process, seconds: RunningServer.patienceSeconds), "\(process.outputText)\(process.errorText)")
        _ = kill(try AdminFile.read(folder: data).pid, SIGINT)
        #expect(await process.ended() == 0)
        let text = process.outputText
        #expect(text.contains("export CLOUDKIT_SERVER_URL=") != isQuiet && text.contains("saved to \(data)") != isQuiet)
        // The log is not a message, and has no colours here.
        #expect(text.contains("notice   Serving") && !text.contains("\u{1B}["))
    }

    @Test func `who supervises it is told that it serves, and that it stops`() async throws {
        let folder = try TemporaryFolder()
        let socket = try NotifySocket(folder.path + "/notify")
        try await RunningServer.with(environment: ["NOTIFY_SOCKET": socket.path]) { server in
            let ready = await socket.next()
            #expect(ready == "READY=1\nSTATUS=Serving at \(server.url)")
            let ending = try await server.stop()
            #expect(ending == 0)
            let stopping = await socket.next()
            #expect(stopping.hasPrefix("STOPPING=1\n"))
        }
    }

    @Test(.enabled(if: mayRun(FileManager.default.isExecutableFile(atPath: "/usr/bin/jq")), "jq is not installed"))
    func `a request that is under way at Ctrl-C is told, and ends well`() async throws {
        try await RunningServer.with { server in
            #expect(try await Administrator(server: server).run(["up", Administrator.container]).status == 0)
            let variables = ProcessInfo.processInfo.environment.merging([
                "ADMIN": try server.adminURL, "SERVER": "\(try server.process.pid)", "ERRORS": server.scratch + "/serve-1.err",
            ]) { $1 }
            let shell = Program(
                "/usr/bin/timeout", ["120", "/bin/bash", "-euo", "pipefail", "-c", Self.slowUpload], in: server.scratch, environment: variables)
            let (status, output) = try await shell.run()
            try #require(status == 0, "\(String(decoding: output, as: UTF8.self))")
            #expect(try await server.process.ended() == 0)
            let messages = try server.process.errorText
            #expect(messages.contains("A request is under way and may take 7 seconds to end; another Ctrl-C ends the server at once."))
            #expect(messages.hasSuffix("saved to \(server.data)\n"))
        }
    }

    /// Sends half a file, interrupts the server, and sends the rest once the server reports that it waits.
    private static let slowUpload = #"""
        . ./.env
        root=$CLOUDKIT_SERVER_URL/database/1/$CLOUDKIT_CONTAINER/$CLOUDKIT_ENVIRONMENT/private
        url=$(curl -fsS -H "Authorization: Bearer $CLOUDKIT_ACCOUNT_TOKEN" "$root/assets/upload" \
            --data '{"tokens": [{"recordType": "Note", "fieldName": "picture", "recordName": "sea"}]}' | jq -r '.tokens[0].url')
        mkfifo picture
        curl -fsS -X POST -T picture "$url" > receipt.json & upload=$!
        exec 3> picture
        printf 'half of it, ' >&3
        until curl -fsS "$ADMIN/metrics" | grep -qx 'nacre_http_requests_awaiting_client 1'; do kill -0 $upload; done
        kill -INT "$SERVER"
        until grep -q 'under way' "$ERRORS"; do kill -0 "$SERVER"; done
        printf 'and the rest' >&3
        exec 3>&-
        wait $upload
        jq -e .singleFile.receipt receipt.json
        """#

    @Test(arguments: ["0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-"])
    func `with descriptors closed no file of the server takes their place`(closed: String) async throws {
        let folder = try TemporaryFolder()
        // The log is lost, and not written into a file of the data folder.
        let script = "exec '\(Launched.executable)' serve --data data --listen 127.0.0.1:1 --admin-listen 192.0.2.1:1 --insecure-admin \(closed)"
        let (status, _) = try await Program("/bin/sh", ["-c", script], in: folder.path).run()
        #expect(status == 1)
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.path + "/data") {
            let bytes = FileManager.default.contents(atPath: folder.path + "/data/" + name)
            #expect(!String(decoding: bytes ?? Data(), as: UTF8.self).contains("Error:"), "\(name)")
        }
    }
}

/// A socket as systemd has one for each service.
private final class NotifySocket: Sendable {
    let path: String
    private let descriptor: Int32

    init(_ path: String) throws {
        self.path = path
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let isBound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0 }
        }
        guard isBound else { throw POSIXFault(call: "bind", code: errno) }
    }

    deinit { close(descriptor) }

    /// Returns the next notice; empty where none comes for half a minute.
    func next() async -> String {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async { [descriptor] in
                var wait = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                var bytes = [UInt8](repeating: 0, count: 1024)
                let count = poll(&wait, 1, 30_000) == 1 ? recv(descriptor, &bytes, bytes.count, 0) : 0
                continuation.resume(returning: String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self))
            }
        }
    }
}
