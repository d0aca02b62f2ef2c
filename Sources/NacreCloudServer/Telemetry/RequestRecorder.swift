import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire
import NacreTelemetry

/// Puts a row for each answered request into the request log, with stand-ins for private names. The log's thread makes
/// the row: stand-ins and shortened texts cost no request anything. See `docs/logs.md`.
struct RequestRecorder: RequestObserver {
    let log: any RequestLog
    let pseudonyms: Pseudonyms

    func observe(_ request: FinishedRequest) { log.add(bytes: request.bytes) { row(of: request) } }

    private func row(of request: FinishedRequest) -> RequestRow {
        var row = RequestRow()
        row.ended = request.ended.millisecondsSince1970
        row.id = request.id
        row.took = Int(request.duration.microseconds)
        row.waited = Int(request.facts.waited.microseconds)
        row.stored = Int(request.facts.stored.microseconds)
        row.encoded = Int(request.facts.encoded.microseconds)
        row.status = request.status
        (row.bytesIn, row.bytesOut) = (request.bytesIn, request.bytesOut)
        (row.asked, row.answered, row.refused) = (request.facts.itemsAsked, request.facts.itemsAnswered, request.facts.itemsRefused)
        row.operation = request.operation ?? request.route
        row.operationID = Self.id(request.facts.operationID)
        row.group = Self.id(request.group?.id)
        row.groupName = request.group?.name.map { RefusalText.shortened($0.onOneLine) } ?? ""
        // A path may name anything. The log keeps what a path may name.
        if Names.containerFault(request.target.container) == nil { row.container = request.target.container }
        row.environment = DatabaseKey.Environment(rawValue: request.target.environment)?.rawValue ?? ""
        row.database = DatabaseKey.Scope(rawValue: request.target.database)?.rawValue ?? ""
        let isPublic = request.target.isPublic
        row.zone = zone(request.facts.zone ?? "", isPublic: isPublic)
        row.user = pseudonyms.of(request.user ?? "", .user)
        row.client = request.client
        row.index = request.facts.index ?? ""
        row.telling = request.facts.telling.map(pseudonyms.of) ?? ""
        if let refusal = request.facts.refusal {
            row.code = refusal.code.rawValue
            row.field = RefusalText.field(refusal.field ?? "")
            row.reason = RefusalText.shown(refusal.reason, inPublic: isPublic)
            row.remedy = RefusalText.shown(refusal.remedy ?? "", inPublic: isPublic)
        }
        return row
    }

    /// The name of a zone in a public database and of the default zone, otherwise a stand-in.
    func zone(_ name: String, isPublic: Bool) -> String {
        isPublic ? RefusalText.shortened(name) : name == ZoneID.defaultZone.zoneName ? name : pseudonyms.of(name, .zone)
    }

    /// An ID of a client's making, which is none if it does not look like one.
    private static func id(_ text: String?) -> String {
        guard let text, text.utf8.count <= 64 else { return "" }
        return text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f } ? text : ""
    }
}

extension RecordedRequests {
    /// Returns the receiver of events for a cloud's process.
    func noting(by clock: ServerClock) -> @Sendable ([NotificationEvent]) -> Void {
        { note($0, at: clock.now()) }
    }

    /// Puts events of notifications into the log, with stand-ins for names. A subscription of a public database keeps
    /// its ID.
    private func note(_ events: [NotificationEvent], at time: Timestamp) {
        log.add(bytes: events.count * Self.bytesOfEvent, count: events.count) { [pseudonyms] in
            events.map { event in
                RequestTrace(
                    telling: event.task.map(pseudonyms.of) ?? "", notification: pseudonyms.of(event.notification, .notification),
                    time: time.millisecondsSince1970,
                    subscription: event.scope == .public
                        ? RefusalText.shortened(event.subscriptionID) : pseudonyms.of(event.subscriptionID, .subscription),
                    user: pseudonyms.of(event.user, .user), device: pseudonyms.of(event.device, .device), event: event.kind.rawValue)
            }
        }
    }

    /// The bytes that an event takes, about: a record name or subscription's ID has 255 characters at most.
    private static let bytesOfEvent = MemoryLayout<NotificationEvent>.stride + 256
}

extension Pseudonyms {
    fileprivate func of(_ task: TaskKey) -> String { of("\(task.database.rawValue) \(task.name)", .task) }
}
