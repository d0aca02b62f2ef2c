import NacreCloudContainer
import NacreCloudWire
import NacreHTTPServer

extension API {
    /// The zone's caught-up token, if the URL's query asks for it: `getCurrentSyncToken=true`, or `True`, as a client
    /// writes it.
    func currentSyncToken(of zoneID: ZoneID, for call: Call) async throws -> String? {
        guard ["true", "True"].contains(call.request.query("getCurrentSyncToken")) else { return nil }
        return try await cloud.currentSyncToken(of: zoneID, in: call.target, by: call.caller)
    }
}
