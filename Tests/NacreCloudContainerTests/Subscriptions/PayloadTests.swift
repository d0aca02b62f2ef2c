import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests of a notification's payload, and of the parts left out of one that is too long.
@Suite struct PayloadTests {
    private static let database = DatabaseKey(container: "iCloud.a.b", environment: .development, scope: .private, owner: "_ann")
    private static let zone = ZoneAddress(database: DatabaseID(rawValue: 7), zone: 9)

    private func transition(_ reason: RecordTransition.Reason = .created, _ fields: RecordFields = [:], type: String = "Note") -> RecordTransition {
        let stamp = Record.Stamp(timestamp: Timestamp(secondsSince2001: 1), userRecordName: "_ann")
        let content = RecordContent(created: stamp, modified: stamp, entered: .zero, fields: fields)
        let row = RecordRow(name: "n", type: type, number: .zero, isTombstone: false, parent: nil, body: [])
        return RecordTransition(reason: reason, record: StoredRecord(row: row, content: content), hasChanged: true)
    }

    private func payload(_ subscription: Subscription, _ transition: RecordTransition?) -> Payload {
        Payload(subscription, for: transition, id: "id", user: "_ann", in: "Work", of: Self.database)
    }

    private func text(_ payload: Payload, badge: Int64 = 0) -> String { String(decoding: payload.fitted().json(badge: badge), as: UTF8.self) }

    @Test func `each kind of subscriptions has its key, and names what changed`() {
        #expect(
            text(payload(.query("s"), transition(.updated)))
                == #"{"aps":{},"ck":{"ce":2,"nid":"id","cid":"iCloud.a.b","ckuserid":"_ann","qry":{"sid":"s","rid":"n","fo":2,"zid":"Work","zoid":"_ann","dbs":2}}}"#
        )
        #expect(
            text(payload(.zone("s", "Work"), transition()))
                == #"{"aps":{"content-available":1},"ck":{"ce":2,"nid":"id","cid":"iCloud.a.b","ckuserid":"_ann","fet":{"sid":"s","zid":"Work","zoid":"_ann","dbs":2}}}"#
        )
        #expect(
            text(payload(.database("s"), nil))
                == #"{"aps":{"content-available":1},"ck":{"ce":2,"nid":"id","cid":"iCloud.a.b","ckuserid":"_ann","met":{"sid":"s","dbs":2}}}"#)
        #expect(
            text(.fetchEverything(of: .public, user: "_ann", in: "iCloud.a.b", id: "id"))
                == #"{"aps":{"content-available":1},"ck":{"ce":2,"nid":"id","cid":"iCloud.a.b","ckuserid":"_ann","met":{"dbs":1}}}"#)
    }

    @Test func `texts, arguments, a badge and fields come from the subscription and the record`() {
        var info = NotificationInfo()
        info.alertBody = "Body"
        #expect(text(payload(.query("s", info: info), transition())).hasPrefix(#"{"aps":{"alert":"Body"},"#))
        info.alertLocalizationKey = "KEY"
        info.alertLocalizationArgs = ["text", "count", "day", "secret", "gone"]
        info.title = "Title"
        info.soundName = "ping"
        info.category = "cat"
        info.shouldBadge = true
        info.shouldSendMutableContent = true
        info.additionalFields = ["text", "secret", "place"]
        let fields: RecordFields = [
            "text": .string(String(repeating: "é", count: 120)), "count": .int64(3), "day": .timestamp(Timestamp(millisecondsSince1970: 1000)),
            "secret": .sealed(SealedValue(type: .string, keyID: "k", bytes: [1])), "place": .location(Location(latitude: 1, longitude: 2)),
        ]
        let told = text(payload(.query("s", info: info), transition(.created, fields)), badge: 7)
        let hundred = String(repeating: "é", count: 100)
        #expect(told.contains(#""alert":{"body":"Body","title":"Title","loc-key":"KEY","loc-args":["\#(hundred)","3","1000","",""]}"#))
        #expect(told.contains(#""badge":7,"sound":"ping","mutable-content":1,"category":"cat""#))
        #expect(told.contains(#""af":{"text":"\#(hundred)","place":{"value":{"latitude":1.0,"longitude":2.0},"type":"LOCATION"}}"#), "\(told)")
        #expect(!told.contains("secret"))
        #expect(!text(payload(.query("s", info: info), transition(.deleted, fields))).contains(#""af""#))
    }

    @Test func `what shows something is urgent, what only wakes is less so, and the rest is not`() {
        func priority(_ change: (inout NotificationInfo) -> Void) -> Payload.Priority {
            var info = NotificationInfo()
            change(&info)
            return payload(.query("s", info: info), transition()).priority
        }
        #expect(priority { _ in } == .low)
        #expect(priority { $0.shouldSendContentAvailable = true } == .background)
        #expect(priority { $0.category = "c" } == .low)
        #expect(
            priority {
                $0.alertBody = "a"
                $0.shouldSendContentAvailable = true
            } == .visible)
        #expect(priority { $0.soundName = "a" } == .visible && priority { $0.shouldBadge = true } == .visible)
        #expect(priority { $0.subtitle = "a" } == .visible)
        #expect(payload(.query("s"), transition()).priority == .low)
    }

    /// The properties of a notification in its JSON, the least important first. CloudKit: CKNotification.h.
    private static let order = [
        #""subtitle""#, #""subtitle-loc-args""#, #""subtitle-loc-key""#, #""title""#, #""title-loc-args""#, #""title-loc-key""#, #""ckuserid""#,
        #""cid""#, #""rid""#, #""zid""#, #""fo""#, #""af""#, #""content-available""#, #""category""#, #""sound""#, #""launch-image""#,
        #""action-loc-key""#, #""body""#, #""loc-args""#, #""loc-key""#, #""badge""#, #""nid""#,
    ]

    @Test func `a payload that is too long loses the least important first, and says so`() {
        var info = NotificationInfo()
        info.alertLocalizationKey = "K"
        info.alertLocalizationArgs = ["text"]
        info.title = "t"
        info.titleLocalizationKey = "K"
        info.titleLocalizationArgs = ["text"]
        info.subtitle = "s"
        info.subtitleLocalizationKey = "K"
        info.subtitleLocalizationArgs = ["text"]
        info.alertActionLocalizationKey = "K"
        info.alertLaunchImage = "i"
        info.soundName = "s"
        info.category = "c"
        info.shouldBadge = true
        info.shouldSendContentAvailable = true
        info.additionalFields = ["text"]
        var seen = Set<Int>()
        // The text in the middle grows, until nothing is left to drop.
        for length in stride(from: 0, through: 6000, by: 8) {
            info.alertBody = "b"
            var long = payload(.query("s", info: info), transition(.created, ["text": .string("v")]))
            long.id = "id"
            long.alert.key = String(repeating: "k", count: length)
            let told = text(long, badge: 1)
            let there = Self.order.map(told.contains)
            // The dropped properties are the first of the order.
            let gone = there.firstIndex(of: true) ?? there.count
            #expect(there[gone...].allSatisfy { $0 }, "\(length)")
            #expect(told.contains(#""p":1"#) == (gone > 0))
            #expect(told.utf8.count <= Limits.payloadBytes)
            seen.insert(gone)
        }
        #expect(seen.count > 10)
    }
}
