import Foundation
import NacreCloudWire

/// Why a question has no answer.
enum AskFault: Error {
    /// The server said no, and would say it again.
    case refused(ServerError)
    /// Nobody answered for too long.
    case silent(String)
}

/// Asks one server for one account, again and again until it hears something: the same bytes each time.
struct Asker: Sendable {
    struct Asked<Answer: Sendable>: Sendable {
        var answer: Answer
        /// From the first attempt's start to the last one's end.
        var span: History.Span
        var attempts: Int
    }

    /// How long a server may be away. Ours: a restart with a long recovery fits.
    static let patience: Duration = .seconds(60)
    /// The first pause between attempts, and the longest; each is twice the one before.
    private static let firstPause: Duration = .milliseconds(10)
    private static let longestPause: Duration = .milliseconds(500)

    let web: Web
    /// `…/database/1/{container}/{environment}/private`
    let root: URL
    let token: String

    /// The same device at another database.
    func at(_ scope: String) -> Asker { Asker(web: web, root: root.deletingLastPathComponent().appendingPathComponent(scope), token: token) }

    /// - Parameters:
    ///   - body: nil asks with GET.
    ///   - abandoning: how long the first attempt may take before its answer is not waited for any more.
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

    /// - Returns: nil where the zone that is asked about is not there, for who asks.
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
            // What stands before the server answers for it in words of its own while it is away.
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
