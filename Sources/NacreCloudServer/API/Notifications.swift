import NacreCloudContainer
import NacreCloudWire
import NacreHTTPServer

extension API {
    /// `GET notifications`: the event stream of a device, which is ours; see docs/wire.md.
    func notifications(_ call: Call) async throws -> HTTPResponse {
        let last = try Self.lastEventID(of: call.request)
        let address = try await cloud.registerDevice(
            call.request.query("clientId"), in: call.target.container, call.target.environment, by: call.caller)
        // One that comes again takes the place of its stream before.
        if !cloud.listening.hasStream(of: address) { try hub.requireRoom(for: call.holder.name) }
        var start: Int64 = 0
        if let last { start = try await cloud.acknowledge(through: last, for: address) }
        var response = HTTPResponse(.ok, headers: ["Content-Type": "text/event-stream"])
        response.mayCompress = false
        response.isLasting = true
        response.body = .stream { [start] writer in
            let stream = cloud.listening.beginStream(of: address)
            defer { cloud.listening.end(stream, of: address) }
            // A stream that this one ends is waiting.
            hub.signal(address.database)
            let asker = Turn(asker: call.holder.name)
            try await Turn.$current.withValue(asker) { try await follow(address, after: start, stream, call, writer) }
        }
        return response
    }

    /// `POST notifications`, which is ours: what the device has, and what its badge shows.
    func noteOfDevice(_ call: Call) async throws -> HTTPResponse {
        try await answer(call, try await call.body(), as: DeviceNoteRequest.self) { request in
            try await cloud.takeNote(request, in: call.target.container, call.target.environment, by: call.caller)
            return TokensRegisterResponse()
        }
    }

    /// Sends what comes until the stream is to end: it is old, another one follows the device, its user is signed out, or the server ends.
    private func follow(_ address: DeviceAddress, after start: Int64, _ stream: UInt64, _ call: Call, _ writer: HTTPStreamWriter) async throws {
        try await writer.write(Array("retry: \(Self.retryMilliseconds)\n\n".utf8))
        let end = cloud.now + Limits.eventStreamSeconds
        var last = start
        // What waited when it began is looked at whole, for some may have waited too long.
        var isFirst = true
        while cloud.now < end, !Task.isCancelled, !hub.isClosed {
            let found = try await hub.read(
                address.database, waiting: Limits.eventHeartbeatSeconds, by: call.holder.name, account: call.request.account
            ) { (found: [QueuedNotification]) in
                !found.isEmpty || !cloud.listening.isCurrent(stream, of: address)
            } _: {
                if isFirst {
                    let found = try await cloud.notifications(for: address, after: last, limit: Self.eventsAtATime)
                    isFirst = false
                    return found
                }
                return try await cloud.newNotifications(for: address, after: last, limit: Self.eventsAtATime)
            }
            guard cloud.listening.isCurrent(stream, of: address), await isStillSignedIn(call) else { return }
            var text = found.isEmpty ? Array(": heartbeat\n\n".utf8) : []
            for event in found {
                text += Array("id: \(event.number)\nevent: notification\ndata: ".utf8) + event.json + Array("\n\n".utf8)
                last = event.number
            }
            try await writer.write(text)
        }
    }

    private func isStillSignedIn(_ call: Call) async -> Bool {
        do {
            try await call.requireCaller()
            return true
        } catch {
            return false
        }
    }

    /// After which a client connects again.
    private static let retryMilliseconds = 1000
    /// Events that are read and sent together. On this server: 80 KB.
    private static let eventsAtATime = 20

    private static func lastEventID(of request: HTTPRequest) throws(ServerError) -> Int64? {
        guard let text = request.header("Last-Event-ID"), !text.isEmpty else { return nil }
        guard let number = Int64(text), number >= 0 else {
            throw ServerError(
                .badRequest, "invalid event ID", field: "Last-Event-ID", remedy: "Send the id of the last event as it came, or nothing.")
        }
        return number
    }
}
