import NacreCloudContainer
import NacreCloudServerWire
import NacreCloudStorage
import NacreCloudWire
import NacreCrypto
import NacreHTTPServer

extension API {
    /// `POST records/modify`
    func recordsModify(_ call: Call) async throws -> HTTPResponse {
        let body = try await call.body()
        return try await respond(to: body, as: RecordsModifyRequest.self) { request in
            AnswerForm(details: request.extension.wantsDetails, numbersAsStrings: request.numbersAsStrings)
        } turn: {
            ($1.rows, $1.bytes) = ($0.operations.count, body.count)
        } _: { request, form in
            do {
                let answer = try await modified(request, body, at: .writer, call)
                let isDone = answer.isDone
                return try await encoded(answer, of: call, isDone: isDone) { $0.json(form) }
            } catch is LongDecision {}
            // Most long decisions end as refusals, whose answers have room for as many records as a page.
            var turn = Turn.current
            turn.lane = .bulk
            return try await page(of: call, turn: turn) {
                try await modified(request, body, at: .snapshot, call)
            } isDone: {
                $0.isDone
            } json: {
                $0.json(form)
            }
        }
    }

    private func modified(
        _ request: RecordsModifyRequest, _ body: [UInt8], at place: DecisionPlace, _ call: Call
    ) async throws -> RecordsResponse {
        var answer = try await cloud.modifyRecords(
            request, in: call.target, by: call.caller, digest: digest(of: body, in: request.extension), age: try age(of: call.request), at: place)
        let refused = answer.records.compactMap { result -> ServerError? in
            if case .failure(_, let error) = result { error } else { nil }
        }
        errors.logRefusals(refused, call.request)
        // A successful save is reported even if the token cannot be read.
        answer.syncToken = try? await currentSyncToken(of: request.zoneID, for: call)
        return answer
    }

    /// Seconds since the client first sent a repeated request, as the client says; nil for a first sending.
    func age(of request: HTTPRequest) throws -> Double? {
        guard let text = request.header(OperationAge.header) else { return nil }
        guard let age = OperationAge(text) else {
            throw ServerError(
                .badRequest, "invalid age of an operation", field: OperationAge.header,
                remedy: "Send seconds as a decimal number, 0 or more, with each repetition of a request; and nothing with its first sending.")
        }
        return age.seconds
    }

    /// The digest of a request's bytes, by which a retry is recognised; empty if the request names no operation.
    func digest(of body: [UInt8], in request: RequestExtension) async -> [UInt8] {
        guard request.operationID != nil else { return [] }
        guard body.count > Authenticator.verifiedOnLoopBytesMax else { return SHA256.digest(body) }
        return await withTaskExecutorPreference(Self.executor(for: body.count)) { await Self.hashedElsewhere(body) }
    }

    @concurrent
    private static func hashedElsewhere(_ body: [UInt8]) async -> [UInt8] { SHA256.digest(body) }
}

extension RecordsResponse {
    /// Whether some item of the request was carried out, now or by an earlier sending.
    fileprivate var isDone: Bool {
        records.contains { result in
            if case .failure = result { false } else { true }
        }
    }
}
