import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage
@testable import NacreCloudTasks

/// Tests of which change fires which subscription: scope, kind, the record before and after, the filter, and the
/// changing device.
@Suite struct FiringTableTests {
    /// A record before or after a commit: none, one that a filter on `open` matches, or another.
    enum State: String, CaseIterable { case none, matching, other }

    private static let zone = ZoneAddress(database: DatabaseID(rawValue: 7), zone: 9)

    private static let schema = {
        var schema = Schema()
        var additions = SchemaAdditions()
        additions.add(["open": FieldShape(.string), "text": FieldShape(.string)], to: "Note")
        additions.add(["open": FieldShape(.string)], to: "List")
        schema.add(additions)
        return schema
    }()

    private static func record(_ state: State, text: String = "a") -> StoredRecord? {
        guard state != .none else { return nil }
        let stamp = Record.Stamp(timestamp: Timestamp(secondsSince2001: 1), userRecordName: "_ann")
        let fields: RecordFields = ["open": .string(state == .matching ? "yes" : "no"), "text": .string(text)]
        let content = RecordContent(created: stamp, modified: stamp, entered: .zero, fields: fields)
        let body = RecordBody.encode(content, in: zone, name: "n", type: "Note", number: .zero, isTombstone: false, parent: nil)
        return StoredRecord(
            row: RecordRow(name: "n", type: "Note", number: .zero, isTombstone: false, parent: nil, body: body), content: content)
    }

    /// Returns the transition; nil: the commit did nothing.
    private static func transition(_ old: State, _ new: State) -> RecordTransition? {
        switch (record(old), record(new, text: "b")) {
        case (nil, nil): nil
        case (let old?, nil): RecordTransition(deleting: old)
        case (let old, let new?): RecordTransition(from: old, to: new)
        }
    }

    private static func database(_ scope: DatabaseKey.Scope) -> DatabaseKey {
        DatabaseKey(container: "iCloud.a.b", environment: .development, scope: scope, owner: scope == .public ? "" : "_ann")
    }

    private func fires(_ subscription: Subscription, _ transition: RecordTransition, in zone: String, of scope: DatabaseKey.Scope) -> Bool {
        let key = Self.database(scope)
        let rule = FiringRule(subscription, by: SubscriptionRule(database: key, schema: Self.schema, caller: Caller(.user("_ann"))))
        // The part that a task keeps must give the same result.
        let kept = transition.only(["open"], in: Self.zone)
        let fires = rule.fires(for: kept, inZoneNamed: zone, of: key)
        #expect(fires == rule.fires(for: transition, inZoneNamed: zone, of: key))
        return fires
    }

    private static let isOpen = [QueryFilter.equals("open", .string("yes"))]

    /// Returns what fires a query subscription with the filter; without a filter every state matches.
    private static func expected(_ old: State, _ new: State, filtered: Bool) -> FiresOn {
        let matches = { (state: State) in state != .none && (state == .matching || !filtered) }
        switch (old, new) {
        case (.none, .none): return []
        case (.none, _): return matches(new) ? .create : []
        // CloudKit: a record that leaves a query's results is not deleted.
        case (_, .none): return matches(old) ? .delete : []
        default: return matches(new) ? .update : []
        }
    }

    @Test(arguments: State.allCases, State.allCases)
    func `a query subscription tells of what matches after, and of what matched and went`(_ old: State, _ new: State) throws {
        guard let transition = Self.transition(old, new) else { return }
        for filtered in [false, true] {
            for scope in [DatabaseKey.Scope.public, .private] {
                for raw in UInt(1)...7 {
                    let firesOn = FiresOn(rawValue: raw)
                    let subscription = Subscription.query("s", filtered ? Self.isOpen : [], on: firesOn)
                    let expected = !Self.expected(old, new, filtered: filtered).isDisjoint(with: firesOn)
                    #expect(
                        fires(subscription, transition, in: ZoneID.defaultZoneName, of: scope) == expected, "\(firesOn.kind) \(filtered) \(scope)")
                }
            }
        }
    }

    @Test func `a save that changes nothing fires no query subscription, and those to the zone`() throws {
        let record = try #require(Self.record(.matching))
        let same = RecordTransition(from: record, to: record)
        #expect(!fires(.query("s"), same, in: "Work", of: .private))
        #expect(fires(.zone("s", "Work"), same, in: "Work", of: .private))
        #expect(fires(.database("s"), same, in: "Work", of: .private))
    }

    @Test(arguments: State.allCases, State.allCases)
    func `subscriptions to zones and the database tell of every change with a feed`(_ old: State, _ new: State) throws {
        guard let transition = Self.transition(old, new) else { return }
        for (zone, isTold) in [("Work", true), ("Home", false), (ZoneID.defaultZoneName, false)] {
            #expect(fires(.zone("s", "Work"), transition, in: zone, of: .private) == isTold)
            #expect(fires(.zone("s", "Work", type: "Note"), transition, in: zone, of: .private) == isTold)
            #expect(!fires(.zone("s", "Work", type: "List"), transition, in: zone, of: .private))
            #expect(fires(.database("s"), transition, in: zone, of: .private) == (zone != ZoneID.defaultZoneName))
            #expect(!fires(.database("s", type: "List"), transition, in: zone, of: .private))
        }
        #expect(!fires(.zone("s", "Work"), transition, in: "Work", of: .public))
    }

    @Test(arguments: [DatabaseKey.Scope.private, .shared])
    func `that zones came or went is told by subscriptions to the whole database alone`(_ scope: DatabaseKey.Scope) {
        let rows: [(Subscription, Bool)] = [
            (.database("s"), true), (.database("s", type: "Note"), false), (.zone("s", "Work"), false), (.query("s"), false),
        ]
        for (subscription, isTold) in rows {
            let rule = FiringRule(
                subscription, by: SubscriptionRule(database: Self.database(scope), schema: Self.schema, caller: Caller(.user("_ann"))))
            #expect(rule.firesForZones == isTold, "\(subscription)")
        }
    }

    @Test func `a zone and a database tell all devices of their user but the one that made the change`() async throws {
        let scene = try await SubscriptionScene(try await Engine.memory.makeStore())
        let (phone, mac, bobs) = (try await scene.signIn("ada"), try await scene.signIn("ada"), try await scene.signIn("bob"))
        for device in [phone, bobs] {
            try await scene.user(device).makeZone("Work")
            try await scene.subscribe(device, .zone("z", "Work"), .database("d"))
        }
        for (author, other) in [(phone, mac), (mac, phone)] {
            try await scene.user(author).modify([.update("n", ["text": .string(author.address?.key ?? "")])], zone: "Work")
            #expect(try await scene.identifiers(author) == [])
            #expect(try await scene.identifiers(other).sorted() == ["d", "z"])
            #expect(try await scene.identifiers(bobs) == [], "of another user")
        }
    }

    @Test func `another type, another zone and a field that went fire nothing`() throws {
        let made = try #require(Self.transition(.none, .matching))
        #expect(!fires(.query("s", type: "List"), made, in: "Work", of: .private))
        #expect(fires(.query("s", zone: "Work"), made, in: "Work", of: .private))
        #expect(!fires(.query("s", zone: "Home"), made, in: "Work", of: .private))
        let rule = FiringRule(
            .query("s", Self.isOpen), by: SubscriptionRule(database: Self.database(.private), schema: Schema(), caller: Caller(.user("_ann"))))
        #expect(!rule.fires(for: made, inZoneNamed: "Work", of: Self.database(.private)))
    }

    @Test func `a text is cut into words once, however many subscriptions look for words of it`() throws {
        let text = (0..<1_000).map { "word\($0)" }.joined(separator: " ")
        let made = RecordTransition(from: nil, to: try #require(Self.record(.matching, text: text)))
        let key = Self.database(.private)
        let rule = FiringRule(
            .query("s", [QueryFilter(.containsAnyTokens, fieldName: "text", value: .string("sea"))]),
            by: SubscriptionRule(database: key, schema: Self.schema, caller: Caller(.user("_ann"))))
        var tested = made.tested
        #expect(rule.tests != nil && !rule.fires(for: made, &tested, inZoneNamed: "Work", of: key))
        let first = tested.work
        for _ in 0..<9 { #expect(!rule.fires(for: made, &tested, inZoneNamed: "Work", of: key)) }
        #expect(first > text.utf8.count && tested.work < 2 * first)
    }

    @Test func `a task keeps a change as it was`() throws {
        for old in State.allCases {
            for new in State.allCases {
                guard let transition = Self.transition(old, new) else { continue }
                var writer = ByteWriter()
                let kept = transition.only(["open"], in: Self.zone)
                kept.write(to: &writer)
                var reader = ByteReader(writer.bytes)
                #expect(try RecordTransition(&reader, in: Self.zone) == kept)
                #expect(kept.record.content.fields.entries.map(\.name) == ["open"])
            }
        }
    }

    /// The changing user, and the notified devices.
    @Test(arguments: [DatabaseKey.Scope.private, .public])
    func `all devices of all subscribers hear of a change but the one that made it`(_ scope: DatabaseKey.Scope) async throws {
        let scene = try await SubscriptionScene(try await Engine.memory.makeStore())
        let (phone, mac, bobs) = (try await scene.signIn("ada"), try await scene.signIn("ada"), try await scene.signIn("bob"))
        for device in [phone, bobs] { try await scene.subscribe(device, .query("all"), in: scope) }
        let isPublic = scope == .public
        try await scene.user(phone, in: scope).modify([.create("one", ["text": .string("a")])])
        #expect(try await scene.identifiers(phone) == [])
        #expect(try await scene.identifiers(mac) == ["all one 1"])
        #expect(try await scene.identifiers(bobs) == (isPublic ? ["all one 1"] : []))
        try await scene.user(bobs, in: scope).modify([.create("two", ["text": .string("a")])])
        #expect(try await scene.identifiers(bobs) == [])
        #expect(try await scene.identifiers(phone) == (isPublic ? ["all two 1"] : []))
    }
}
