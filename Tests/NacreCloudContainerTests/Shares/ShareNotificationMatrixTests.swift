import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests of notifications by a subscription to the shared database: a line is the owner's save or deletion, a column
/// a user, who subscribed before or after joining. Written from CloudKit's `CKDatabaseSubscription`: a participant's
/// devices are notified of changes to what is shared with them.
///
/// `told`; `-`: no notification at all.
@Suite struct ShareNotificationMatrixTests {
    static let columns = ["adminRW", "writer", "reader", "nothing", "openRW", "openRO", "invited", "left", "removed", "stranger"]

    static let text = """
        trip      told     told    told    -        told    told    -        -     -        -
        stop      told     told    told    -        told    told    -        -     -        -
        new       told     told    told    -        told    told    -        -     -        -
        -stop     told     told    told    -        told    told    -        -     -        -
        other     -        -       -       -        -       -       -        -     -        -
        above     -        -       -       -        -       -       -        -     -        -
        note      -        -       -       -        -       -       -        -     -        -
        -note     -        -       -       -        -       -       -        -     -        -
        """

    private static let zone = TreeScene.zone

    /// Makes Ada's tree with the shared `trip`, and Bob's device with its subscription.
    private func seat(_ column: String) async throws -> (people: SubscriptionScene, owner: TestCloudUser, bob: SubscriptionScene.Device) {
        let people = try await SubscriptionScene(try await Engine.memory.makeStore())
        let (ada, bob) = (try await people.signIn("ada"), try await people.signIn("bob"))
        let owner = people.user(ada)
        let (name, guest) = (try #require(people.names["bob"]), people.user(bob).at(try #require(people.names["ada"])))
        try await owner.makeZone(Self.zone)
        let asked: [String: (SharePermission, ParticipantRole)] = [
            "adminRW": (.readWrite, .administrator), "writer": (.readWrite, .privateUser), "reader": (.readOnly, .privateUser),
            "nothing": (SharePermission.none, .privateUser), "invited": (.readWrite, .privateUser), "left": (.readWrite, .privateUser),
            "removed": (.readWrite, .privateUser),
        ]
        let open: SharePermission = column == "openRW" ? .readWrite : column == "openRO" ? .readOnly : .none
        let change = ShareChange(
            publicPermission: open, participants: asked[column].map { [.invite(name, $0.0, role: $0.1)] }, forRecord: "trip")
        let text = TreeScene.text
        let saved = try await owner.modify(
            [
                .create("above", text("above")), .create("trip", text("trip"), parent: "above"), .create("other", text("other"), parent: "above"),
                .create("stop", text("stop"), parent: "trip"), .create("note", text("note")), .share(.create, change, name: "S"),
            ], zone: Self.zone)
        let share = try #require(saved.last?.record)
        let request = SharesRequest(shortGUIDs: [.init(value: try #require(share.sharing?.value.shortGUID))])
        // Subscribed before or after joining, alternately.
        if column.utf8.count % 2 == 0 { try await people.subscribe(bob, .database("shared"), in: .shared) }
        if !["invited", "stranger"].contains(column) { _ = try await people.cloud.acceptShares(request, in: people.target(.public), by: bob.caller) }
        if column.utf8.count % 2 == 1 { try await people.subscribe(bob, .database("shared"), in: .shared) }
        if column == "left" { try await guest.modify([.delete("S")], zone: Self.zone) }
        if column == "removed" {
            let tag = try await owner.lookup(["S"], zone: Self.zone).first?.record?.recordChangeTag
            try await owner.modify([.share(.update, ShareChange(participants: []), tag: tag, name: "S")], zone: Self.zone)
        }
        _ = try await people.told(bob)
        return (people, owner, bob)
    }

    @Test(arguments: text.split(separator: "\n").map(String.init)) func `a change is told to those who see it, and to nobody else`(line: String)
        async throws
    {
        let words = line.split(separator: " ").map(String.init)
        #expect(words.count == Self.columns.count + 1)
        let name = String(words[0].drop { $0 == "-" })
        let operation: RecordOperation =
            words[0].hasPrefix("-") ? .delete(name) : name == "new" ? .create(name, parent: "stop") : .update(name, TreeScene.text("x"))
        var given: [String] = []
        for column in Self.columns {
            let (people, owner, bob) = try await seat(column)
            let done = try await owner.modify([operation], zone: Self.zone)
            #expect(done.allSatisfy { $0.error == nil })
            let told = try await people.told(bob)
            given.append(told.isEmpty ? "-" : "told")
            // The notification names the subscription, and no record, zone or owner.
            #expect(told.allSatisfy { $0.summary == "shared" && !$0.text.contains(name + "\"") })
        }
        #expect(given == Array(words.dropFirst()), "the line would be\n\((words.prefix(1) + given).joined(separator: "  "))")
    }
}
