import CloudKit
import Foundation
import NacreCloudServer
import NacreHTTPServer
import NacreLocks

/// The transport of one device of a cloud. Passes requests to the server in this process, unless a fault applies.
struct InProcessTransport: Transport {
    static let root = "http://cloud.test"

    let server: InProcessServer
    let faults: FaultQueue
    let tampering: TamperQueue
    let clock: TestClock
    /// The user who is signed in; nil on a device without an account.
    let user: String?
    let device: String

    func send(_ request: TransportRequest) async throws(TransportFailure) -> TransportAnswer {
        if Task.isCancelled { throw .cancelled }
        guard !clock.isEnded else { throw .notSent(Self.cause(.cannotConnectToHost)) }
        let asked = AskedRequest(path: request.url.path, body: request.body)
        guard let rule = faults.take(asked, by: user, on: device) else { return try await ask(request) }
        switch rule.fault.kind {
        case .refused(let error): return try await answer(server.refusal(error, of: Self.http(request)))
        case .recordsRefused(let names, let error):
            return try await answer(emulated.refusing(names, error, of: Self.http(request), request.body))
        case .tokenExpired: return try await answer(emulated.expiring(rule.zone, of: Self.http(request), request.body, asked))
        case .notSent: throw .notSent(Self.cause(.notConnectedToInternet))
        case .lost(let afterCommit):
            if afterCommit { _ = try await ask(request) }
            throw .answerLost(Self.cause(.networkConnectionLost))
        case .slow(let seconds):
            let limit = min(request.timeout, request.totalTimeout ?? .infinity)
            let answer = try await ask(request)
            try await pass(min(seconds, limit))
            guard seconds < limit else { throw .answerLost(Self.cause(.timedOut)) }
            return answer
        }
    }

    func upload(
        _ request: TransportRequest, from path: String, length: Int, progress: @escaping @Sendable (Int) -> Void
    ) async throws(TransportFailure) -> TransportAnswer {
        var request = request
        do {
            request.body = Array(try Data(contentsOf: URL(fileURLWithPath: path)).prefix(length))
        } catch {
            throw .fileFailed(error as NSError)
        }
        let answer = try await send(request)
        progress(request.body.count)
        return answer
    }

    func download(to path: String, bytesMax: Int) async throws(TransportFailure) -> any TransportDownload {
        InProcessDownload(transport: self, path: path, bytesMax: bytesMax)
    }

    static func cause(_ code: URLError.Code) -> NSError { NSError(domain: NSURLErrorDomain, code: code.rawValue, userInfo: [:]) }

    // MARK: To the server

    private var emulated: FaultedAnswers {
        FaultedAnswers(ask: { [server] in await server.respond(to: $0) }, refuse: { [server] in server.refusal($0, of: $1) })
    }

    private static func http(_ request: TransportRequest) -> HTTPRequest {
        var headers = HTTPHeaders()
        for (name, value) in request.headers { headers.add(name, value) }
        return HTTPRequest(
            method: HTTPMethod(rawValue: request.method.rawValue), target: String(request.url.absoluteString.dropFirst(root.count)), headers: headers,
            body: request.body)
    }

    private func ask(_ request: TransportRequest) async throws(TransportFailure) -> TransportAnswer {
        var answer = try await answer(await server.respond(to: Self.http(request)))
        if answer.status == 200 {
            answer.body = tampering.shown(answer.body, to: AskedRequest(path: request.url.path, body: request.body), by: user, on: device)
        }
        return answer
    }

    private func answer(_ response: HTTPResponse) async throws(TransportFailure) -> TransportAnswer {
        if Task.isCancelled { throw .cancelled }
        let body: [UInt8]
        do {
            body = try await response.body.collect()
        } catch {
            throw .answerLost(Self.cause(.networkConnectionLost))
        }
        let headers = Dictionary(response.headers.map { ($0.name.lowercased(), $0.value) }) { "\($0), \($1)" }
        return TransportAnswer(status: Int(response.status.rawValue), headers: headers, body: body)
    }

    private func pass(_ seconds: Double) async throws(TransportFailure) {
        do {
            try await clock.pause(seconds)
        } catch {
            throw .cancelled
        }
    }
}

/// A file that is downloaded from the cloud to a folder of this machine. Its bytes stay in memory until `finish()`.
private final class InProcessDownload: TransportDownload {
    private let transport: InProcessTransport
    private let path: String
    private let bytesMax: Int
    private let bytes = Locked<[UInt8]>([])

    init(transport: InProcessTransport, path: String, bytesMax: Int) {
        (self.transport, self.path, self.bytesMax) = (transport, path, bytesMax)
    }

    var received: Int { bytes.withLock(\.count) }

    func attempt(_ request: TransportRequest, progress: @escaping @Sendable (Int) -> Void) async throws(TransportFailure) -> TransportAnswer {
        var answer = try await transport.send(request)
        guard answer.status == 200 else { return answer }
        guard answer.body.count <= bytesMax else { throw .answerLost(InProcessTransport.cause(.dataLengthExceedsMaximum)) }
        bytes.withLock { $0 = answer.body }
        progress(answer.body.count)
        answer.body = []
        return answer
    }

    func finish() async throws(TransportFailure) {
        do {
            try Data(bytes.withLock { $0 }).write(to: URL(fileURLWithPath: path))
        } catch {
            throw .fileFailed(error as NSError)
        }
    }
}
