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
    var zonesListPosted: Handler {
        let posted = Endpoint<ZonesListRequest, ZonesResponse>(ask: { request, call in
            try await cloud.listZones(in: call.target, by: call.caller, wantsDetails: request.extension.wantsDetails)
        })
        return { call in
            var call = call
            return try await call.readBody().isEmpty ? zonesList(call) : answer(call, by: posted)
        }
    }
}
