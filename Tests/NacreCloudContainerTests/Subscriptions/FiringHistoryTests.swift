import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudAccounts
@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests with long random histories: subscriptions come and go while records change, and notifications are compared
/// with a naive evaluator's.
@Suite(.timeLimit(.minutes(5))) struct FiringHistoryTests {
    /// A record as the naive evaluator knows it.
    private struct Known: Equatable {
        var text: String?
        var count: Int64?
        var creator: String
    }

    private struct Naive {
        /// subscriptions[user][subscriptionID]
        var subscriptions: [String: [String: (filters: [QueryFilter], firesOn: FiresOn)]] = [:]
        var records: [String: Known] = [:]

        func matches(_ record: Known, _ filters: [QueryFilter]) -> Bool {
            filters.allSatisfy { filter in
                switch (filter.fieldName, filter.comparator, filter.value) {
                case ("text", .equals, .string(let text)): record.text == text
                case ("text", .notEquals, .string(let text)): record.text.map { $0 != text } ?? false
                case ("text", .beginsWith, .string(let text)): record.text?.hasPrefix(text) ?? false
                case ("count", .equals, .int64(let count)): record.count == count
                case ("count", .greaterThan, .int64(let count)): record.count.map { $0 > count } ?? false
                case ("count", .lessThanOrEquals, .double(let count)): record.count.map { Double($0) <= count } ?? false
                case ("text", .lessThan, .string(let text)): record.text.map { $0 < text } ?? false
                case ("text", .greaterThanOrEquals, .string(let text)): record.text.map { $0 >= text } ?? false
                case ("___createdBy", .equals, .reference(let user)): record.creator == user.recordName
                default: false
                }
            }
        }

        func told(_ name: String, _ old: Known?, _ new: Known?) -> [String: Set<String>] {
            var told: [String: Set<String>] = [:]
            for (user, subscriptions) in subscriptions {
                for (id, subscription) in subscriptions {
                    let (reason, fires): (Int, Bool) =
                        switch (old, new) {
                        case (nil, let new?): (1, subscription.firesOn.contains(.create) && matches(new, subscription.filters))
                        case (let old?, let new?): (2, old != new && subscription.firesOn.contains(.update) && matches(new, subscription.filters))
                        case (let old?, nil): (3, subscription.firesOn.contains(.delete) && matches(old, subscription.filters))
                        case (nil, nil): (0, false)
                        }
                    if fires { told[user, default: []].insert("\(id) \(name) \(reason)") }
                }
            }
            return told
        }
    }

    private static let texts = ["red", "blue", "reddish", ""]

    private static func filters(_ dice: inout SeededRandom, _ names: [String]) -> [QueryFilter] {
        let all: [QueryFilter] = [
            .equals("text", .string(texts.randomElement(using: &dice) ?? "")),
            QueryFilter(.notEquals, fieldName: "text", value: .string(texts.randomElement(using: &dice) ?? "")),
            QueryFilter(.beginsWith, fieldName: "text", value: .string("re")), .equals("count", .int64(.random(in: 0...2, using: &dice))),
            QueryFilter(.greaterThan, fieldName: "count", value: .int64(1)),
            QueryFilter(.lessThanOrEquals, fieldName: "count", value: .double(1.5)),
            QueryFilter(.lessThan, fieldName: "text", value: .string(texts.randomElement(using: &dice) ?? "")),
            QueryFilter(.greaterThanOrEquals, fieldName: "text", value: .string(texts.randomElement(using: &dice) ?? "")),
            .equals("___createdBy", .reference(Reference(recordName: names.randomElement(using: &dice) ?? "", action: .none))),
        ]
        return Array(all.shuffled(using: &dice).prefix(.random(in: 0...2, using: &dice)))
    }

    @Test(arguments: Engine.ofHistories) func `what is told is what one finds who looks at every subscription`(_ engine: Engine) async throws {
        var dice = SeededRandom()
        let people = ["ada", "bob", "cyd"]
        let scene = try await SubscriptionScene(try await engine.makeStore(), people: people)
        var devices: [String: SubscriptionScene.Device] = [:]
        for person in people { devices[person] = try await scene.signIn(person) }
        // Writers are other devices, so that every device is notified of everything.
        var writers: [SubscriptionScene.Device] = []
        for person in people { writers.append(try await scene.signIn(person, isRegistered: false)) }
        var naive = Naive()
        for step in 0..<(engine == .memory ? 400 : 120) {
            if dice.chance(3), let person = people.randomElement(using: &dice), let device = devices[person] {
                let id = "s\(Int.random(in: 0...5, using: &dice))"
                if dice.chance(3) {
                    let request = SubscriptionsModifyRequest(operations: [.delete(id)])
                    _ = try await scene.cloud.modifySubscriptions(request, in: scene.target(.public), by: device.caller)
                    naive.subscriptions[person]?[id] = nil
                } else {
                    let filters = Self.filters(&dice, people.compactMap { scene.names[$0] })
                    let firesOn = FiresOn(rawValue: .random(in: 1...7, using: &dice))
                    let isDuplicate = naive.subscriptions[person]?.contains { other in
                        other.key != id && other.value.firesOn == firesOn && other.value.filters.count == filters.count
                            && filters.allSatisfy(other.value.filters.contains)
                    }
                    let result = try await scene.subscribe(device, .query(id, filters, on: firesOn), in: .public)[0]
                    #expect((result.error != nil) == (isDuplicate ?? false))
                    if result.error == nil { naive.subscriptions[person, default: [:]][id] = (filters, firesOn) }
                }
                continue
            }
            let name = "n\(Int.random(in: 0...4, using: &dice))"
            let old = naive.records[name]
            let writer = writers[Int.random(in: 0..<writers.count, using: &dice)]
            var new: Known?
            if old != nil, dice.chance(4) {
                // Only its creator may delete it.
                guard let creator = writers.first(where: { $0.caller.userRecordName == old?.creator }) else { continue }
                try await scene.user(creator, in: .public).modify([.delete(name)])
            } else {
                let author = old.flatMap { old in writers.first { $0.caller.userRecordName == old.creator } } ?? writer
                var made = Known(text: old?.text, count: old?.count, creator: author.caller.userRecordName ?? "")
                var fields = RecordFields()
                if dice.chance(2) { made.text = Self.texts.randomElement(using: &dice) }
                if dice.chance(2) { made.count = .random(in: 0...3, using: &dice) }
                if let text = made.text { fields["text"] = .string(text) }
                if let count = made.count { fields["count"] = .int64(count) }
                let results = try await scene.user(author, in: .public).modify([.update(name, fields)])
                #expect(results[0].error == nil, "\(dice)")
                new = made
            }
            naive.records[name] = new
            let expected = naive.told(name, old, new)
            for person in people {
                guard let device = devices[person] else { continue }
                let told = try await scene.identifiers(device)
                #expect(Set(told) == expected[person] ?? [] && told.count == Set(told).count, "step \(step) \(person) \(dice)")
            }
        }
    }

    @Test(arguments: Engine.ofHistories)
    func `in a private database each commit is told once by each subscription to it, its zone or its records, on all devices but its own`(
        _ engine: Engine
    ) async throws {
        var dice = SeededRandom()
        let scene = try await SubscriptionScene(try await engine.makeStore(), people: ["ada"])
        let devices = [try await scene.signIn("ada"), try await scene.signIn("ada"), try await scene.signIn("ada")]
        let zones = ["Work", "Home", ZoneID.defaultZoneName]
        try await scene.user(devices[0]).makeZone("Work", "Home")
        let note = NotificationInfo.alert("told")
        // The subscriptions, with the zone and the type that each asks for; nil: any. Only record subscriptions name
        // the record.
        let all: [(subscription: Subscription, zone: String?, type: String?, tellsRecords: Bool)] = [
            (.zone("w", "Work", info: note), "Work", nil, false), (.zone("wn", "Work", type: "Note", info: note), "Work", "Note", false),
            (.zone("h", "Home", info: note), "Home", nil, false), (.database("d", info: note), nil, nil, false),
            (.database("dl", type: "List", info: note), nil, "List", false), (.query("q", info: note), nil, "Note", true),
            (.query("qh", zone: "Home", info: note), "Home", "Note", true),
        ]
        try await scene.user(devices[0]).modify([.make(.create, "first", type: "List")])
        var there: Set<String> = []
        var made = 0
        for step in 0..<(engine == .memory ? 200 : 60) {
            if dice.chance(3), let (subscription, _, _, _) = all.randomElement(using: &dice) {
                let id = subscription.subscriptionID
                if there.remove(id) == nil {
                    there.insert(id)
                    #expect(try await scene.subscribe(devices[0], subscription)[0].error == nil)
                } else {
                    let request = SubscriptionsModifyRequest(operations: [.delete(id)])
                    _ = try await scene.cloud.modifySubscriptions(request, in: scene.target(.private), by: devices[0].caller)
                }
                continue
            }
            let zone = try #require(zones.randomElement(using: &dice))
            let types = (0..<Int.random(in: 1...3, using: &dice)).map { _ in dice.chance(2) ? "Note" : "List" }
            let names = types.map { _ in
                made += 1
                return "n\(made)"
            }
            let author = Int.random(in: 0..<devices.count, using: &dice)
            let operations = zip(names, types).map { RecordOperation.make(.create, $0, type: $1) }
            let results = try await scene.user(devices[author]).modify(operations, zone: zone)
            #expect(results.allSatisfy { $0.error == nil })
            let expected = all.flatMap { subscription, itsZone, type, tellsRecords -> [String] in
                let id = subscription.subscriptionID
                guard there.contains(id), itsZone.map({ $0 == zone }) ?? true else { return [] }
                if tellsRecords { return zip(names, types).filter { $1 == type }.map { "\(id) \($0.0) 1" } }
                let isTold = zone != ZoneID.defaultZoneName && (type.map(types.contains) ?? true)
                return isTold ? [id] : []
            }
            for (index, device) in devices.enumerated() {
                let told = try await scene.identifiers(device)
                #expect(told.sorted() == (index == author ? [] : expected.sorted()), "step \(step) \(zone) \(dice)")
            }
        }
    }
}
