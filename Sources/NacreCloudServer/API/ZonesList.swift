import NacreCloudContainer
import NacreCloudServerWire
import NacreCloudWire
import NacreHTTPServer

extension API {
    /// `GET zones/list`
    func zonesList(_ call: Call) async throws -> HTTPResponse {
        .json(try await cloud.listZones(in: call.target, by: call.caller).json(AnswerForm()))
    }

    /// `POST zones/list`, as CloudKit JS and others send it, with an empty object or an empty body.
    func zonesListPosted(_ call: Call) async throws -> HTTPResponse {
        let body = try await call.body()
        if body.isEmpty { return try await zonesList(call) }
        return try await answer(call, body, as: ZonesListRequest.self) { request in
            try await cloud.listZones(in: call.target, by: call.caller, wantsDetails: request.extension.wantsDetails)
        }
    }
}
