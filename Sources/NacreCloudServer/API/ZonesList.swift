import NacreCloudContainer
import NacreCloudServerWire
import NacreCloudWire
import NacreHTTPServer

extension API {
    /// `GET zones/list`
    func zonesList(_ call: Call) async throws -> HTTPResponse {
        .json(try await cloud.listZones(in: call.target, by: call.caller).json(AnswerForm()))
    }
}
