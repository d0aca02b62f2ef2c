import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudContainer

/// Long random histories: subscriptions come and go while records change, and what devices are told is held against one who looks at everything.
@Suite(.timeLimit(.minutes(5))) struct FiringHistoryTests {
    /// A record as the naive evaluator knows it.
    private struct Known: Equatable {
        var text: String?
        var count: Int64?
        var creator: String
    }

    private struct Naive {
        /// By user and ID.
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
            .equals("___createdBy", .reference(Reference(recordName: names.randomElement(using: &dice) ?? "", action: .none))),
        ]
        return Array(all.shuffled(using: &dice).prefix(.random(in: 0...2, using: &dice)))
    }

    @Test(arguments: Engine.allCases) func `what is told is what one finds who looks at every subscription`(_ engine: Engine) async throws {
        var dice = SeededRandom()
        let people = ["ada", "bob", "cyd"]
        let scene = try await SubscriptionScene(try await engine.makeStore(), people: people)
        var devices: [String: SubscriptionScene.Device] = [:]
        for person in people { devices[person] = try await scene.signIn(person) }
        // Writers are other devices, so that everybody is told of everything.
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
                    #expect(try await scene.subscribe(device, .query(id, filters, on: firesOn), in: .public)[0].error == nil)
                    naive.subscriptions[person, default: [:]][id] = (filters, firesOn)
                }
                continue
            }
            let name = "n\(Int.random(in: 0...4, using: &dice))"
            let old = naive.records[name]
            let writer = writers[Int.random(in: 0..<writers.count, using: &dice)]
            var new: Known?
            if old != nil, dice.chance(4) {
                // Its creator alone may delete it.
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
}
