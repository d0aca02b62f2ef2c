import NacreCloudContainer
import NacreCloudWire
import NacreHTTPServer

extension API {
    /// `POST changes/zone`
    func changesZone(_ call: Call) async throws -> HTTPResponse {
        let request = try ChangesZoneRequest(json: try await call.body())
        let details = request.extension.wantsDetails
        return try await detailed(details) {
            try await page(of: call) {
                let answer = try await cloud.zoneChanges(request, in: call.target, by: call.caller)
                var writer = JSONWriter()
                // Every zone says for itself how it wants its numbers; results stand in the order of the request.
                answer.write(to: &writer, details: details) { request.zones.indices.contains($0) && request.zones[$0].numbersAsStrings }
                return writer.finish()
            }
        }
    }
}
