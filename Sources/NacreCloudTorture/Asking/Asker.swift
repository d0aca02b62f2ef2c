import Foundation
import NacreCloudWire

/// The reason why a request has no answer.
enum AskFault: Error {
    /// The server refused, and would refuse again.
    case refused(ServerError)
    /// No server answered for too long.
    case silent(String)
}

/// Sends requests to one server for one account, and repeats each with the same bytes until it is answered.
struct Asker: Sendable {
    struct Asked<Answer: Sendable>: Sendable {
        var answer: Answer
        /// From the first attempt's start to the last one's end.
        var span: History.Span
        var attempts: Int
    }

    /// The longest time that a server may be away. Ours: a restart with a long recovery fits.
    static let patience: Duration = .seconds(60)
    /// The first pause between attempts, and the longest; each is twice the one before.
    private static let firstPause: Duration = .milliseconds(10)
    private static let longestPause: Duration = .milliseconds(500)

    let web: Web
    /// `…/database/1/{container}/{environment}/private`
    let root: URL
    let token: String

    /// Returns an asker for the same device at another database.
    func at(_ scope: String) -> Asker { Asker(web: web, root: root.deletingLastPathComponent().appendingPathComponent(scope), token: token) }

    /// Sends a request until it is answered.
    /// - Parameters:
    ///   - body: nil sends a GET request.
    ///   - abandoning: The longest wait for the first attempt's answer.
    /// - Throws: `AskFault`.
    func ask<Answer: AnswerMessage>(
        _ path: String, _ body: [UInt8]?, as type: Answer.Type, abandoning: Duration? = nil
    ) async throws(AskFault) -> Asked<Answer> {
        let start = MonotonicClock.now
        let deadline = ContinuousClock.now + Self.patience
        var pause = Self.firstPause
        var attempts = 0
        while true {
            attempts += 1
            let reply = await web.send(
                root.appendingPathComponent(path), body: body, token: token,
                repeatedAfter: attempts == 1 ? nil : MonotonicClock.seconds(since: start),
                patience: attempts == 1 ? abandoning : nil)
            let end = MonotonicClock.now
            let trouble: String
            switch Self.read(reply, as: type) {
            case .answer(let answer): return Asked(answer: answer, span: History.Span(start, end), attempts: attempts)
            case .refused(let error): throw .refused(error)
            case .later(let text): trouble = text
            }
            if Task.isCancelled || ContinuousClock.now + pause > deadline { throw .silent(trouble) }
            // A cancelled pause only makes the last attempt come sooner.
            try? await Task.sleep(for: pause)
            pause = min(pause * 2, Self.longestPause)
        }
    }

    /// Returns nil where the zone does not exist for the caller.
    func askUnlessGone<Answer: AnswerMessage>(_ path: String, _ body: [UInt8], as type: Answer.Type) async throws(AskFault) -> Asked<Answer>? {
        do throws(AskFault) {
            return try await ask(path, body, as: type)
        } catch {
            guard case .refused(let refusal) = error, refusal.code == .zoneNotFound else { throw error }
            return nil
        }
    }

    private enum Reading<Answer> {
        case answer(Answer)
        case refused(ServerError)
        case later(String)
    }

    private static func read<Answer: AnswerMessage>(_ reply: Web.Reply, as type: Answer.Type) -> Reading<Answer> {
        switch reply {
        case .lost(let text): return .later(text)
        case .answer(200, let body):
            do {
                return .answer(try Answer(json: body))
            } catch {
                return .refused(error)
            }
        case .answer(let status, let body):
            // A proxy before the server answers with texts of its own while the server is away.
            guard let error = try? ErrorResponse(json: body).error else {
                return status >= 500 || status == 429 ? .later("HTTP status \(status)") : .refused(ServerError(.badRequest, "HTTP status \(status)"))
            }
            switch error.code {
            case .tryAgainLater, .throttled, .internalError: return .later(error.reason)
            default: return .refused(error)
            }
        }
    }
}
