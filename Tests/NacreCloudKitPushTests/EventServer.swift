import Foundation
import NacreCloudServerWire
import NacreCloudWire
import NacreHTTPServer
import NacreLocks

/// A server of event streams, on its own port: each connection gets the next of its scripts.
final class EventServer: Sendable {
    /// The behaviour of one connection.
    enum Script: Sendable {
        /// Pieces of a stream, which then ends.
        case pieces([String])
        /// Pieces of a stream, which then stays open and silent.
        case open([String])
        case refusal(HTTPStatus, retryAfter: String?, ServerError?)
        /// An answer that is not a nacre server's.
        case page
    }

    struct Seen: Sendable {
        var target: String
        var lastEventID: String?
        var authorization: String?
    }

    private struct State {
        var scripts: [Script] = []
        var seen: [Seen] = []
        var closed = 0
        var notes: [String] = []
        var notesRefused = 0
        var noteWatchers: [(note: String, continuation: CheckedContinuation<Void, Never>)] = []
        var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Locked(State())
    private let server: HTTPServer
    let url: URL

    init() async throws {
        let state = state
        var router = Router()
        router.get("/device/1/:container/:environment/notifications") { request, _ in
            let script = state.withLock { state in
                state.seen.append(
                    Seen(target: request.target, lastEventID: request.header("Last-Event-ID"), authorization: request.header("Authorization")))
                return state.scripts.isEmpty ? Script.open([]) : state.scripts.removeFirst()
            }
            return Self.answer(script) {
                let ready = state.withLock { state -> [CheckedContinuation<Void, Never>] in
                    state.closed += 1
                    let ready = state.watchers.filter { $0.count <= state.closed }.map(\.continuation)
                    state.watchers.removeAll { $0.count <= state.closed }
                    return ready
                }
                for continuation in ready { continuation.resume() }
            }
        }
        router.post("/device/1/:container/:environment/notifications") { request, _ in
            let body = String(decoding: try await request.body.collect(upTo: 1000), as: UTF8.self)
            let (isTaken, ready) = state.withLock { state in
                state.notes.append(body)
                let ready = state.noteWatchers.filter { state.notes.contains($0.note) }.map(\.continuation)
                state.noteWatchers.removeAll { state.notes.contains($0.note) }
                if state.notesRefused > 0 { state.notesRefused -= 1 } else { return (true, ready) }
                return (false, ready)
            }
            for continuation in ready { continuation.resume() }
            return isTaken ? .json(Array("{}".utf8)) : HTTPResponse(.serviceUnavailable)
        }
        var configuration = HTTPServerConfiguration()
        (configuration.host, configuration.port) = ("127.0.0.1", 0)
        server = HTTPServer(configuration, router: router)
        let port = try await server.start().port
        guard let url = URL(string: "http://127.0.0.1:\(port)") else { throw CancellationError() }
        self.url = url
    }

    func play(_ scripts: [Script]) { state.withLock { $0.scripts = scripts } }

    func close() async { await server.shutdown(grace: .zero) }

    /// The notes that were posted.
    var notes: [String] { state.withLock { $0.notes } }

    func refuseNotes(_ count: Int) { state.withLock { $0.notesRefused = count } }

    /// Returns when this note was posted.
    func hears(_ note: String) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                let isThere = state.notes.contains(note)
                if !isThere { state.noteWatchers.append((note, continuation)) }
                return isThere
            }
            if isThere { continuation.resume() }
        }
    }

    var seen: [Seen] { state.withLock { $0.seen } }

    /// Returns when so many streams have ended or lost their client.
    func closes(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.closed < count { state.watchers.append((count, continuation)) }
                return state.closed >= count
            }
            if isThere { continuation.resume() }
        }
    }

    private static func answer(_ script: Script, closed: @escaping @Sendable () -> Void) -> HTTPResponse {
        let type: HTTPHeaders = ["Content-Type": "text/event-stream; charset=utf-8"]
        switch script {
        case .pieces(let pieces):
            return HTTPResponse(
                headers: type,
                body: .stream { writer in
                    defer { closed() }
                    for piece in pieces { try await writer.write(Array(piece.utf8)) }
                })
        case .open(let pieces):
            return HTTPResponse(
                headers: type,
                body: .stream { writer in
                    defer { closed() }
                    for piece in pieces { try await writer.write(Array(piece.utf8)) }
                    // Waits until the client has gone: the server then cancels this handler.
                    let (never, keeper) = AsyncStream<Void>.makeStream()
                    for await _ in never {}
                    keeper.finish()
                })
        case .refusal(let status, let retryAfter, let error):
            let body = error.map { ErrorResponse(uuid: "u", error: $0).json(AnswerForm(details: true)) } ?? Array("<html>".utf8)
            var response = HTTPResponse.json(body, status: status)
            response.headers["Retry-After"] = retryAfter
            return response
        case .page: return .text("Sign in to this network")
        }
    }
}
