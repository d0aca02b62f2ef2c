import CloudKit
import CloudKitPush
import Foundation
import NacreCloudWire
import NacreHTTPServer
import NacreLocks
import Testing

/// Tests of a container's notifications, over a real connection to a scripted server.
@Suite(.timeLimit(.minutes(5))) struct RemoteNotificationTests {
    /// The log of the sequence, and its pauses, which take no time.
    private final class Log: Sendable {
        private let lines = Locked<[String]>([])

        var entries: [String] { lines.withLock { $0 } }

        func note(_ line: String) { lines.withLock { $0.append(line) } }

        func hear(_ state: RemoteNotifications.State) {
            switch state {
            case .connecting: note("connecting")
            case .connected: note("connected")
            case .waiting(let seconds, let error): note("waiting \(seconds) \(error.map { "\($0.code)" } ?? "-")")
            case .ended(let error): note("ended \(error.map { "\($0.code)" } ?? "-")")
            }
        }
    }

    private static func event(_ id: Int, sid: String = "s") -> String {
        "id: \(id)\nevent: notification\ndata: {\"aps\":{},\"ck\":{\"nid\":\"n\(id)\",\"met\":{\"sid\":\"\(sid)\",\"dbs\":2}}}\n\n"
    }

    private func container(_ server: EventServer, accountToken: String? = "account") -> CKContainer {
        CKContainer(
            identifier: "iCloud.com.example.notes",
            server: CloudKitServer(url: server.url, apiToken: "app+token", accountToken: accountToken), transport: NoTransport())
    }

    private func notifications(_ server: EventServer, clientID: String? = nil, _ log: Log, accountToken: String? = "account") -> RemoteNotifications {
        RemoteNotifications(
            for: container(server, accountToken: accountToken), clientID: clientID, pause: { _ in try Task.checkCancellation() }, spread: { 1 },
            onStateChange: log.hear)
    }

    /// Returns the IDs of the first `count` notifications.
    private func ids(_ count: Int, of notifications: RemoteNotifications) async -> [String] {
        var ids: [String] = []
        for await userInfo in notifications {
            let notification = CKNotification(fromRemoteNotificationDictionary: userInfo)
            ids.append(notification?.notificationID?.description ?? "none")
            if ids.count == count { break }
        }
        return ids
    }

    private func withServer(_ scripts: EventServer.Script..., body: (EventServer) async throws -> Void) async throws {
        let server = try await EventServer()
        server.play(scripts)
        do { try await body(server) } catch {
            await server.close()
            throw error
        }
        await server.close()
    }

    @Test func `notifications come as the framework reads them, over one connection with the account's token`() async throws {
        try await withServer(.open(["retry: 1000\n\n", Self.event(1), ": heartbeat\n\n", Self.event(2)])) { server in
            let log = Log()
            #expect(await ids(2, of: notifications(server, clientID: "tab 1", log)) == ["<CKNotificationID: n1>", "<CKNotificationID: n2>"])
            #expect(log.entries == ["connecting", "connected"])
            let seen = try #require(server.seen.first)
            #expect(seen.target == "/device/1/iCloud.com.example.notes/development/notifications?ckAPIToken=app%2Btoken&clientId=tab%201")
            #expect(seen.authorization == "Bearer account" && seen.lastEventID == nil)
            // The end of the iterator closes the connection.
            await server.closes(1)
        }
    }

    @Test func `it connects again where the stream ends, acknowledging what was told and nothing that was not`() async throws {
        try await withServer(
            .pieces([Self.event(1), Self.event(2)]), .pieces([": nothing\n\n"]), .pieces([Self.event(3), "id: 9\nevent: notif"]),
            .open([Self.event(4)])
        ) { server in
            let log = Log()
            #expect(await ids(4, of: notifications(server, log)).count == 4)
            #expect(server.seen.map(\.lastEventID) == [nil, "2", "2", "3"])
            #expect(log.entries.filter { $0.hasPrefix("waiting") } == ["waiting 1.0 -", "waiting 1.0 -", "waiting 1.0 -"])
        }
    }

    @Test func `pauses grow while nobody answers, and the server's wish counts`() async throws {
        let busy = ServerError(.tryAgainLater, "busy", retryAfter: 7)
        try await withServer(
            .refusal(.serviceUnavailable, retryAfter: "7", busy), .refusal(502, retryAfter: nil, nil), .page,
            .pieces(["retry: 3000\n\n"]), .open([Self.event(1)])
        ) { server in
            let log = Log()
            #expect(await ids(1, of: notifications(server, log)).count == 1)
            #expect(
                log.entries.filter { $0.hasPrefix("waiting") } == [
                    "waiting 7.0 serviceUnavailable", "waiting 2.0 serviceUnavailable", "waiting 4.0 internalError", "waiting 3.0 -",
                ])
        }
    }

    @Test func `nobody at the address is waited for`() async throws {
        let server = try await EventServer()
        await server.close()
        let log = Log()
        let counted = Locked(0)
        let gone = RemoteNotifications(
            for: container(server),
            pause: { _ in
                let count = counted.withLock { count in
                    count += 1
                    return count
                }
                if count == 3 { withUnsafeCurrentTask { $0?.cancel() } }
            }, spread: { 1 }, onStateChange: log.hear)
        let task = Task { await ids(1, of: gone) }
        #expect(await task.value == [])
        #expect(
            log.entries == [
                "connecting", "waiting 1.0 networkUnavailable", "connecting", "waiting 2.0 networkUnavailable", "connecting",
                "waiting 4.0 networkUnavailable", "ended -",
            ])
    }

    @Test func `who is signed out is told so, and it ends`() async throws {
        for (status, error) in [
            (401, ServerError(.authenticationRequired, "signed out")), (421, ServerError(.authenticationRequired, "signed out")),
            (403, ServerError(.accessDenied, "no")), (404, nil),
        ] as [(Int, ServerError?)] {
            try await withServer(.refusal(HTTPStatus(rawValue: status), retryAfter: nil, error)) { server in
                let log = Log()
                #expect(await ids(1, of: notifications(server, log)) == [])
                #expect(log.entries.count == 2 && log.entries[1].hasPrefix("ended "))
                #expect(log.entries[1] != "ended -" && server.seen.count == 1)
            }
        }
    }

    @Test func `without an account there is nothing to connect to`() async throws {
        try await withServer { server in
            let log = Log()
            #expect(await ids(1, of: notifications(server, log, accountToken: nil)) == [])
            #expect(log.entries == ["connecting", "ended notAuthenticated"] && server.seen.isEmpty)
        }
    }

    @Test func `a cancelled task gets the end, and the connection is closed`() async throws {
        try await withServer(.open([Self.event(1)])) { server in
            let log = Log()
            let notifications = notifications(server, log)
            let (first, told) = AsyncStream<Void>.makeStream()
            let task = Task {
                var count = 0
                for await _ in notifications {
                    count += 1
                    told.yield()
                }
                return count
            }
            for await _ in first { break }
            task.cancel()
            #expect(await task.value == 1)
            await server.closes(1)
            #expect(log.entries == ["connecting", "connected", "ended -"])
        }
    }

    @Test func `what was told is acknowledged while the stream goes on, also after the server refused to hear it`() async throws {
        try await withServer(.open([Self.event(1), Self.event(2), Self.event(3)])) { server in
            server.refuseNotes(1)
            let notifications = notifications(server, clientID: "tab", Log())
            let task = Task {
                var count = 0
                for await _ in notifications { count += 1 }
                return count
            }
            await server.hears(#"{"heard":3,"clientId":"tab"}"#)
            task.cancel()
            #expect(await task.value == 3)
            #expect(server.notes.allSatisfy { $0.hasPrefix(#"{"heard":"#) } && server.notes.count <= 3)
        }
    }

    @Test func `what is no notification is passed over, and acknowledged`() async throws {
        try await withServer(
            .pieces(["id: 1\nevent: later\ndata: {}\n\nid: 2\nevent: notification\ndata: nonsense\n\nid: 3\nevent: notification\ndata: []\n\n"]),
            .open([Self.event(4)])
        ) { server in
            #expect(await ids(1, of: notifications(server, Log())) == ["<CKNotificationID: n4>"])
            #expect(server.seen.map(\.lastEventID) == [nil, "3"])
        }
    }
}

/// A transport that fails: only the stream is requested.
private struct NoTransport: Transport {
    func send(_ request: TransportRequest) async throws(TransportFailure) -> TransportAnswer { throw .cancelled }

    func upload(
        _ request: TransportRequest, from path: String, length: Int, progress: @escaping @Sendable (Int) -> Void
    ) async throws(TransportFailure) -> TransportAnswer { throw .cancelled }

    func download(to path: String, bytesMax: Int) async throws(TransportFailure) -> any TransportDownload { throw .cancelled }
}
