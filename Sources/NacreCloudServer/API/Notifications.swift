import NacreCloudContainer
import NacreCloudServerWire
import NacreCloudTasks
import NacreCloudWire
import NacreHTTPServer

extension API {
    /// `GET notifications`: the event stream of a device, an addition of this server; see docs/wire.md.
    func notifications(_ call: Call) async throws -> HTTPResponse {
        let last = try Self.lastEventID(of: call.request)
        let address = try await cloud.registerDevice(
            call.request.query("clientId"), in: call.target.container, call.target.environment, by: call.caller)
        // A device that connects again takes the place of its previous stream.
        if !cloud.listening.hasStream(of: address) { try hub.requireRoom(for: call.holder.name) }
        var start: Int64 = 0
        if let last { start = try await cloud.acknowledge(through: last, for: address) }
        var response = HTTPResponse(.ok, headers: ["Content-Type": "text/event-stream"])
        response.mayCompress = false
        response.isLasting = true
        response.body = .stream(EventFollower(address, after: start, cloud, hub, call).run)
        return response
    }

    /// `POST notifications`, an addition of this server: which events the device has, and what its badge shows.
    var noteOfDevice: Endpoint<DeviceNoteRequest, TokensRegisterResponse> {
        Endpoint(ask: { request, call in
            try await cloud.takeNote(request, in: call.target.container, call.target.environment, by: call.caller)
            return TokensRegisterResponse()
        })
    }

    private static func lastEventID(of request: HTTPRequest) throws(ServerError) -> Int64? {
        guard let text = request.header("Last-Event-ID"), !text.isEmpty else { return nil }
        guard let number = Int64(text), number >= 0 else {
            throw ServerError(
                .badRequest, "invalid event ID", field: "Last-Event-ID", remedy: "Send the id of the last event as it came, or nothing.")
        }
        return number
    }
}
