import NacreCloudContainer
import NacreCloudServerWire
import NacreCloudStorage
import NacreCloudWire
import NacreCrypto
import NacreHTTPServer

extension API {
    /// `POST records/modify`. Most long decisions end as refusals, whose answers have room for as many records as a
    /// page: they are made among pages.
    var recordsModify: Endpoint<RecordsModifyRequest, RecordsResponse> {
        Endpoint(
            form: { request in AnswerForm(details: request.extension.wantsDetails, numbersAsStrings: request.numbersAsStrings) },
            cost: { request, bytes in RequestCost(rows: request.operations.count, bytes: bytes) },
            first: { request, call in
                do {
                    return try await modified(request, at: .writer, call)
                } catch is LongDecision {
                    return nil
                }
            },
            page: { request, call in try await modified(request, at: .snapshot, call) }, refused: \.refused)
    }

    private func modified(_ request: RecordsModifyRequest, at place: DecisionStage, _ call: Call) async throws -> RecordsResponse {
        var answer = try await cloud.modifyRecords(
            request, in: call.target, by: call.caller, digest: digest(of: call, request.extension), age: try age(of: call.request), at: place)
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
    func digest(of call: Call, _ request: RequestExtension) async -> [UInt8] {
        guard request.operationID != nil, let body = call.body else { return [] }
        guard body.count > Authenticator.verifiedOnLoopBytesMax else { return SHA256.digest(body) }
        return await withTaskExecutorPreference(Self.executor(for: body.count)) { await Self.hashedElsewhere(body) }
    }

    @concurrent
    private static func hashedElsewhere(_ body: [UInt8]) async -> [UInt8] { SHA256.digest(body) }
}
