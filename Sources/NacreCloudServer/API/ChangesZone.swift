import NacreCloudContainer
import NacreCloudServerWire
import NacreCloudStorage
import NacreCloudWire
import NacreHTTPServer

extension API {
    /// `POST changes/zone`
    func changesZone(_ call: Call) async throws -> HTTPResponse {
        let request = try await decoded(ChangesZoneRequest.self, try await call.body())
        for item in request.zones { charge(names: item.desiredKeys) }
        let details = request.extension.wantsDetails
        return try await detailed(details) {
            try await inTurn {
                ($0.lane, $0.rows) = (cloud.lane(of: request.zones), request.zones.count)
            } run: {
                try await page(of: call) {
                    try await cloud.zoneChanges(request, in: call.target, by: call.caller)
                } json: { answer in
                    var writer = JSONWriter()
                    // Each zone of the request says how it wants its numbers; results stand in the request's order.
                    answer.write(to: &writer, details: details) { request.zones.indices.contains($0) && request.zones[$0].numbersAsStrings }
                    return writer.finish()
                }
            }
        }
    }
}
