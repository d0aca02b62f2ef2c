import NacreCloudAccounts
import NacreCloudTestSupport
import NacreCloudWire
import Testing

@testable import NacreCloudServer

/// Tests of what `nacre why` says: a row for each outcome that a request can have.
struct RequestStoryTests {
    /// A request, and what its story must say.
    struct Outcome: Sendable {
        var name: String
        var path: String
        var body: String?
        var user: String? = "ada"
        var environment = "development"
        /// The code of the refusal that the story tells; nil: nothing is refused.
        var code: ServerErrorCode?
        var words: [String]
        var prepare: @Sendable (RecordedServer) async -> Void = { _ in }
        /// Takes back what `prepare` did, for the rows that follow.
        var restore: @Sendable (RecordedServer) async -> Void = { _ in }
    }

    private static let saved = Body.modify("create", Body.note("there"))
    private static let wanted = Body.filter("title", "EQUALS", #"{"value":"One"}"#)

    private static let answered = [
        Outcome(
            name: "a list", path: "private/zones/list",
            words: ["a web client asked for zones/list in the private database", "answered with status 200"]),
        Outcome(
            name: "a save", path: "private/records/modify", body: Body.modify("create", Body.note("new")), user: "ada.device",
            words: ["an app with the framework", "as user u-", "named 1 items", "in the store", "Nobody is notified"]),
        Outcome(
            name: "a query by an index", path: "private/records/query", body: Body.query("Note", filters: [wanted]),
            words: ["answered with status 200"]),
    ]

    /// The refusals of items or of requests as a whole, by what was asked.
    private static let refused = [
        Outcome(
            name: "nobody", path: "private/zones/list", user: nil, code: .authenticationRequired,
            words: ["refused as a whole with status 421", "without a user"]),
        Outcome(
            name: "unknown type", path: "private/records/query", body: Body.query("Nothing"), code: .notFound,
            words: ["Did not find record type: Nothing"]),
        Outcome(
            name: "a new record that is there", path: "private/records/modify", body: saved, code: .conflict,
            words: ["but its one item was refused with"]),
        Outcome(
            name: "a change of another version", path: "private/records/modify",
            body: Body.modify("update", Body.note("there", "Two", #""recordChangeTag":"another""#)), code: .conflict,
            words: ["but its one item was refused with"]),
        Outcome(
            name: "an absent record", path: "private/records/modify",
            body: Body.modify("update", Body.note("gone", "One", #""recordChangeTag":"1""#)), code: .notFound, words: ["item was refused"]),
        Outcome(
            name: "an atomic batch, by the item that failed by itself", path: "private/records/modify",
            body: Body.modify([("create", Body.note("fresh")), ("create", Body.note("there"))], Body.inWork), code: .conflict,
            words: ["but 2 of its 2 items were refused, the first with CONFLICT"],
            prepare: { scene in
                _ = await scene.ask("private/zones/modify", Body.zones("create", "Work"))
                _ = await scene.ask("private/records/modify", Body.modify("create", Body.note("there"), Body.inWork))
            }),
        Outcome(
            name: "no such zone", path: "private/records/query",
            body: Body.query("Note", filters: [wanted], more: #""zoneID":{"zoneName":"Nowhere"}"#), code: .zoneNotFound,
            words: ["There is no zone of that name"]),
        Outcome(
            name: "no JSON", path: "private/records/modify", body: "{", code: .badRequest, words: ["refused as a whole with status 400"]),
        Outcome(
            name: "a wrong type", path: "private/records/modify",
            body: Body.modify("create", #""recordName":"typed","recordType":"Note","fields":{"title":{"value":7}}"#), code: .badRequest,
            words: ["title"]),
        Outcome(name: "another method", path: "private/records/modify", code: .badRequest, words: ["method not allowed"]),
        Outcome(
            name: "too many names", path: "private/records/lookup", body: Body.lookup(count: 201), code: .badRequest,
            words: ["refused as a whole"]),
        Outcome(
            name: "a new type in production", path: "private/records/modify", body: Body.modify("create", Body.note("one")),
            environment: "production", code: .badRequest, words: ["Cannot create new type Note in production schema", "production"]),
        Outcome(
            name: "a reference to nothing", path: "private/records/modify",
            body: Body.modify(
                "create",
                #""recordName":"child","recordType":"Note","fields":{"of":{"value":{"recordName":"none","action":"VALIDATE"},"type":"REFERENCE"}}"#),
            code: .validatingReferenceError, words: ["What to do: Save the target"]),
        Outcome(
            name: "another user's record", path: "public/records/modify", body: Body.modify("forceUpdate", Body.note("public", "Two")), user: "bob",
            code: .accessDenied, words: ["as user u-"]),
        Outcome(
            name: "a subscription that is there", path: "private/subscriptions/modify",
            body: #"{"operations":[{"operationType":"create","subscription":{"subscriptionID":"other","subscriptionType":"database"}}]}"#,
            code: .exists, words: ["subscription is duplicate of '…'"],
            prepare: { scene in
                let mine = #"{"subscriptionID":"mine","subscriptionType":"database"}"#
                _ = await scene.ask("private/subscriptions/modify", #"{"operations":[{"operationType":"create","subscription":\#(mine)}]}"#)
            }),
    ]

    /// The refusals that come of the state of the server, and not of what was asked.
    private static let hindered = [
        Outcome(
            name: "a full database", path: "private/records/modify",
            body: Body.modify("create", Body.note("large", String(repeating: "x", count: 4000))), code: .quotaExceeded, words: ["item was refused"],
            prepare: { await $0.change("quotas", #""environment":"development","userBytes":3000"#) },
            restore: { await $0.change("quotas", #""environment":"development","resetsUserBytes":true"#) }),
        Outcome(
            name: "a full disk", path: "private/records/modify", body: Body.modify("create", Body.note("late")), code: .tryAgainLater,
            words: ["refused as a whole with status 503"], prepare: { $0.server.store.fail(.full) }, restore: { $0.server.store.fail(nil) }),
        Outcome(
            name: "a damaged page", path: "private/records/lookup", body: Body.lookup("there"), code: .internalError,
            words: ["refused as a whole with status 500"], prepare: { $0.server.store.fail(.corrupt) }, restore: { $0.server.store.fail(nil) }),
        Outcome(
            name: "a user beyond the rate", path: "private/users/caller", user: "bob.device", code: .throttled,
            words: ["refused as a whole with status 429"],
            prepare: { scene in
                await scene.change("rates", #""userRate":1"#)
                var asked = 0
                while asked < 200, await scene.ask("private/users/caller", as: "bob.device").status == 200 { asked += 1 }
            }, restore: { await $0.change("rates", #""resetsUserRate":true"#) }),
        Outcome(
            name: "a sign-in that has ended", path: "private/users/caller", user: "bob.device", code: .authenticationFailed,
            words: ["refused as a whole with status 401"],
            prepare: { scene in
                try? await scene.server.revokeElsewhere("bob")
                scene.server.clock.advance(Remembered<String, RateEntry>.secondsMax)
            }),
    ]

    @Test(.timeLimit(.minutes(1)))
    func `nacre why tells what came of a request, which rule refused it, and what to do`() async throws {
        try await RecordedServer.with { scene in
            _ = await scene.ask("private/records/modify", Self.saved)
            _ = await scene.ask("public/records/modify", Body.modify("create", Body.note("public")))
            for outcome in Self.answered + Self.refused + Self.hindered {
                await outcome.prepare(scene)
                let answer = await scene.ask(outcome.path, outcome.body, as: outcome.user, environment: outcome.environment)
                await outcome.restore(scene)
                let line = try await scene.line(of: answer)
                #expect(line.code == outcome.code?.rawValue, "\(outcome.name): \(answer.text.prefix(400))")
                let story = RequestStory.lines(of: line).joined(separator: "\n")
                let ofRefusal = outcome.code.map { ["\($0.rawValue) means: ", "The rule that refused: ", "What to do: "] } ?? []
                for word in outcome.words + ofRefusal + ["It took ", " ms: "] {
                    #expect(story.contains(word), "\(outcome.name): no \(word) in \(story)")
                }
                #expect(story.hasPrefix("At 20") && (outcome.code != nil || !story.contains("refused")), "\(outcome.name): \(story)")
            }
        }
    }

    @Test func `each code that a request can be refused with has an outcome`() {
        // The atomic error of an item repeats that another one failed: the story tells that one.
        let codes = Set((Self.refused + Self.hindered).compactMap(\.code)).union([.atomicError])
        #expect(codes == Set(ServerErrorCode.allCases))
    }
}

extension RecordedServer {
    /// Changes the container's quotas or rates, and waits until that takes effect.
    fileprivate func change(_ what: String, _ members: String) async {
        let answer = await administered.administrate("POST", "/admin/1/\(what)/change", #"{"container":"\#(TestServer.container)",\#(members)}"#)
        #expect(answer.status == 200, "\(answer.text)")
        server.clock.advance(Remembered<String, RateEntry>.secondsMax)
    }
}
