import NacreCloudContainer
import NacreCloudServerWire
import NacreCloudStorage
import NacreCloudWire
import NacreHTTPServer

/// Bodies as requests and answers as JSON: short ones on the loop, long ones on other threads.
extension API {
    /// Bodies with more bytes are decoded on another thread, while the loop serves others. On this server: 0.2 ms for a
    /// body of short numbers only.
    private static let decodedOnLoopBytesMax = 32 * 1024
    /// Answers with more bytes of values are encoded on another thread. On this server: 0.1 ms.
    private static let encodedOnLoopBytesMax = 128 * 1024
    /// Bodies and answers from this size on are long work, which yields to all other work; a batch of 200 notes is
    /// smaller.
    private static let longBytesMin = 512 * 1024

    /// The threads that encode or decode `bytes` of JSON.
    static func executor(for bytes: Int) -> any TaskExecutor { bytes < longBytesMin ? globalConcurrentExecutor : LongWork.shared }

    // MARK: Requests

    func decoded<Request: ReadableRequest>(_ type: Request.Type, _ body: [UInt8]) async throws -> Request {
        guard body.count > Self.decodedOnLoopBytesMax else { return try Request(json: body) }
        guard body.count >= Self.longBytesMin else {
            return try await withTaskExecutorPreference(Self.executor(for: body.count)) { try await Self.decodedElsewhere(type, body) }
        }
        return try await largeBodies.pass(Turn(asker: Turn.current.asker, bytes: body.count)) {
            try await withTaskExecutorPreference(Self.executor(for: body.count)) { try await Self.decodedElsewhere(type, body) }
        }
    }

    @concurrent
    private static func decodedElsewhere<Request: ReadableRequest>(_ type: Request.Type, _ body: [UInt8]) async throws -> Request {
        try Request(json: body)
    }

    // MARK: Answers

    /// Encodes an answer as JSON, on another thread if it is long.
    static func encoded<Answer: RecordAnswerMessage>(
        _ answer: consuming Answer, _ form: AnswerForm, _ ledger: RequestLedger
    ) async throws -> HTTPResponse {
        let (valueBytes, isDone) = (answer.valueBytes, answer.isDone)
        guard valueBytes > encodedOnLoopBytesMax else {
            // Measuring the room it needs would cost as much as making it.
            let bytes = answer.json(form)
            ledger.countAnswer(bytes.count)
            return .json(bytes)
        }
        // Takes the least that the answer needs before it waits for a thread with all its values.
        if !isDone { try ledger.takeAnswer(valueBytes) }
        var handedOn: Answer? = consume answer
        return try await withTaskExecutorPreference(executor(for: valueBytes)) {
            try await encodedElsewhere(handedOn.take(), form, ledger, isDone: isDone)
        }
    }

    /// Takes room for the bytes, then makes them. The answer is freed here: on the loop that would take a millisecond.
    /// - Parameter answer: never nil; it is optional so that it can be moved out of the caller.
    @concurrent
    private static func encodedElsewhere<Answer: RecordAnswerMessage>(
        _ answer: consuming Answer?, _ form: AnswerForm, _ ledger: RequestLedger, isDone: Bool
    ) async throws -> HTTPResponse {
        if !isDone { try ledger.takeAnswer(answer?.answerBytes ?? 0) }
        let bytes = answer?.json(form) ?? []
        ledger.countAnswer(bytes.count)
        return .json(bytes)
    }
}
