import NacreCloudContainer
import NacreCloudServerWire
import NacreCloudStorage
import NacreCloudWire
import NacreHTTPServer

extension API {
    /// `POST changes/zone`
    var changesZone: Endpoint<ChangesZoneRequest, ChangesZoneAnswer> {
        Endpoint(
            cost: { request, _ in
                RequestCost(
                    rows: request.zones.count, kind: cloud.turnKind(of: request.zones),
                    names: RequestCost.of(names: request.zones.map(\.desiredKeys)))
            },
            page: { request, call in
                ChangesZoneAnswer(response: try await cloud.zoneChanges(request, in: call.target, by: call.caller), zones: request.zones)
            })
    }
}

/// The answer to `changes/zone`, and the zones of its request.
struct ChangesZoneAnswer: RecordAnswerMessage {
    var response: ChangesZoneResponse
    var zones: [ChangesZoneRequest.Item]

    /// Each zone of the request says how it wants its numbers; results stand in the request's order.
    func json(_ form: AnswerForm) -> [UInt8] {
        var writer = JSONWriter()
        response.write(to: &writer, details: form.details) { zones.indices.contains($0) && zones[$0].numbersAsStrings }
        return writer.finish()
    }

    var answerBytes: Int { response.answerBytes }
    var valueBytes: Int { response.valueBytes }
    var itemCount: Int { response.itemCount }
}
