import FoundationEssentials
import NacreCloudContainer

/// A request of the log in words: what was asked, what came of it, why, and what to do.
package enum RequestStory {
    package static func lines(of line: AdminMessages.RequestLine) -> [String] {
        [asked(line), outcome(line)] + refusal(line) + [times(line)] + search(line) + notifications(line)
    }

    /// Formats a time as ISO 8601 with milliseconds.
    package static func time(_ milliseconds: Int64) -> String {
        Date(timeIntervalSince1970: Double(milliseconds) / 1000).formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }

    private static func asked(_ line: AdminMessages.RequestLine) -> String {
        var text = "At \(time(line.time)) \(client(line.client)) asked for \(line.operation)"
        if let database = line.database { text += " in the \(database) database" }
        if let container = line.container { text += " of \(container)" }
        if let environment = line.environment { text += ", \(environment)" }
        if let zone = line.zone { text += ", about zone \(zone)" }
        text += line.user.map { ", as user \($0)." } ?? ", without a user."
        if let id = line.operationID { text += " Its operation is \(id), the same over its retries." }
        if let group = line.group { text += " Its operation group is \(group)\(line.groupName.map { ", \"\($0)\"" } ?? "")." }
        return text
    }

    private static func client(_ client: String) -> String {
        let words = client.split(separator: " ", maxSplits: 1).map(String.init)
        let version = words.count > 1 ? " \(words[1])" : ""
        switch words.first ?? "" {
        case "framework": return "an app with the framework\(version)"
        case "command": return "a nacre command\(version)"
        case "serverKey": return "a holder of a server-to-server key"
        case "web": return "a web client"
        default: return "a client without a credential"
        }
    }

    private static func outcome(_ line: AdminMessages.RequestLine) -> String {
        let bytes = "\(line.bytesIn) bytes came and \(line.bytesOut) went."
        guard line.status < 400 else { return "It was refused as a whole with status \(line.status)\(line.code.map { ", \($0)" } ?? ""). \(bytes)" }
        guard line.refused == 0 else {
            let code = line.code ?? "an error"
            let start = "It was answered with status \(line.status), but "
            if line.answered <= 1 { return start + "its one item was refused with \(code). \(bytes)" }
            return start + "\(line.refused) of its \(max(line.answered, line.refused)) items were refused, the first with \(code). \(bytes)"
        }
        return "It was answered with status \(line.status); it named \(line.asked) items, and the answer has \(line.answered). \(bytes)"
    }

    private static func refusal(_ line: AdminMessages.RequestLine) -> [String] {
        guard let code = line.code else { return [] }
        let guide = ErrorGuide.find(code)
        var lines: [String] = []
        if let reason = line.reason { lines.append("The rule that refused: \(reason)\(line.field.map { " (\($0))" } ?? "").") }
        if let guide { lines.append("\(guide.name) means: \(guide.cause)") }
        if let advice = line.remedy ?? guide?.fix { lines.append("What to do: \(advice)") }
        return lines
    }

    private static func times(_ line: AdminMessages.RequestLine) -> String {
        func text(_ milliseconds: Double) -> String { "\((milliseconds * 100).rounded() / 100)" }
        let rest = max(0, line.milliseconds - line.waitMilliseconds - line.storeMilliseconds - line.encodeMilliseconds)
        return "It took \(text(line.milliseconds)) ms: \(text(line.waitMilliseconds)) in queues, \(text(line.storeMilliseconds)) in the store, "
            + "\(text(line.encodeMilliseconds)) for encoding, \(text(rest)) for the rest."
    }

    private static func search(_ line: AdminMessages.RequestLine) -> [String] {
        guard let way = line.index else { return [] }
        let isWithoutIndex = way.hasSuffix("the whole zone") || way.hasSuffix("all records by name")
        return [
            isWithoutIndex
                ? "No index served the query (\(way)). nacre schema index lists those that are made, and makes more."
                : "The query's way: \(way)."
        ]
    }

    /// Operations whose changes subscriptions may be to.
    private static let changing: Set = ["records/modify", "zones/modify"]

    private static func notifications(_ line: AdminMessages.RequestLine) -> [String] {
        guard let events = line.notifications else {
            guard changing.contains(line.operation), line.status < 400, line.answered > line.refused else { return [] }
            return [
                "Nobody is notified: the zone's database has no subscription to the zone, to the whole database or to records of these types (the default "
                    + "zone has no feed of changes), or the operation had been answered before."
            ]
        }
        if events.isEmpty { return ["Subscriptions may be concerned; whether any fires is not known yet."] }
        return events.compactMap { event in
            NotificationEvent.Kind(rawValue: event.event).map { "\(time(event.time)): \(words(event, $0))" }
        }
    }

    private static func words(_ event: AdminMessages.RequestNotification, _ kind: NotificationEvent.Kind) -> String {
        let subscription = event.subscription.map { "subscription \($0)" } ?? "the user's subscriptions"
        let user = event.user.map { "user \($0)" } ?? "the user"
        let device = "device \(event.device ?? "unknown")"
        return switch kind {
        case .fires:
            event.subscription == nil
                ? "\(user) is to fetch everything, since there is more than a queue holds." : "\(subscription) of \(user) fires."
        case .firesNone:
            "no subscription fires, though some are to records of these types or to zones: they ask for another zone, another event than this one "
                + "(create, update, delete) or other values, or the save changed nothing. nacre subscription why explains one of them."
        case .mayNotRead: "\(subscription) of \(user) asks for this, and does not fire: the user may not read the record. nacre role why tells why."
        case .parked: "the task that finds subscriptions failed too often and is parked, so nobody is told. nacre task retry puts it back."
        case .isAuthor: "\(device) of \(user) made the change, and is not told."
        case .hasNoDevice: "\(user) has no device that follows a stream, polls or has registered an address, so nobody is told."
        case .isToldAnyway: "\(device) of \(user) is to fetch everything anyway, as an earlier notification says."
        case .queued: "the notification waits for \(device) of \(user)."
        case .listened: "\(device) of \(user) listens, and was told by its event stream."
        case .heard: "\(device) acknowledged the notification."
        case .coalesced: "a later notification took the place of this one for \(device)."
        case .everything: "the queue of \(device) was full: it is told to fetch everything instead."
        case .sent: "the push service of \(device) took the notification."
        case .postponed: "the push service of \(device) did not take the notification yet; the server asks again."
        case .refused: "the push service of \(device) will never take the notification."
        case .addressEnded: "the push service does not know \(device) any more, so it is not pushed to."
        case .signedOut: "\(device) was signed out, and is told nothing any more."
        }
    }
}
