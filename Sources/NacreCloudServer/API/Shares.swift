import NacreCloudContainer
import NacreCloudServerWire
import NacreCloudStorage
import NacreCloudWire
import NacreHTTPServer

extension API {
    /// `POST records/resolve`
    func recordsResolve(_ call: Call) async throws -> HTTPResponse {
        let turn: (SharesRequest, inout Turn) -> Void = { $1.rows = $0.shortGUIDs.count }
        return try await answer(call, try await call.body(), as: SharesRequest.self, turn: turn) { request in
            told(try await cloud.resolveShares(request, in: call.target, by: call.caller), to: call)
        }
    }

    /// `POST records/accept`
    func recordsAccept(_ call: Call) async throws -> HTTPResponse {
        let turn: (SharesRequest, inout Turn) -> Void = { $1.rows = $0.shortGUIDs.count }
        return try await answer(call, try await call.body(), as: SharesRequest.self, turn: turn) { request in
            told(try await cloud.acceptShares(request, in: call.target, by: call.caller), to: call)
        }
    }

    /// `POST records/request-access`, an endpoint of this server's own: Apple's systems request access by themselves.
    func recordsRequestAccess(_ call: Call) async throws -> HTTPResponse {
        let turn: (SharesRequest, inout Turn) -> Void = { $1.rows = $0.shortGUIDs.count }
        return try await answer(call, try await call.body(), as: SharesRequest.self, turn: turn) { request in
            let answer = try await cloud.requestShareAccess(request, in: call.target, by: call.caller)
            errors.logRefusals(answer.results.compactMap(\.error), call.request)
            return answer
        }
    }

    private func told(_ answer: SharesResponse, to call: Call) -> SharesResponse {
        let refused = answer.results.compactMap { result -> ServerError? in
            if case .failure(_, let error) = result { error } else { nil }
        }
        errors.logRefusals(refused, call.request)
        return answer
    }
}
