import NacreCloudTestSupport
import Testing

@testable import NacreCloudServer

/// Tests of what `nacre why` says: a row for each outcome that a request can have.
struct RequestStoryTests {
    /// A request, and words that its story must have.
    struct Outcome: CustomTestStringConvertible, Sendable {
        var name: String
        var path: String
        var body: String?
        var user: String? = "ada"
        var environment = "development"
        var words: [String]

        var testDescription: String { name }
    }

    private static let saved = Body.modify("create", Body.note("there"))
    private static let wanted = Body.filter("title", "EQUALS", #"{"value":"One"}"#)

    static let outcomes = [
        Outcome(
            name: "a list", path: "private/zones/list",
            words: ["a web client asked for zones/list in the private database", "answered with status 200"]),
        Outcome(
            name: "a save", path: "private/records/modify", body: Body.modify("create", Body.note("new")), user: "ada.device",
            words: ["an app with the framework", "as user u-", "named 1 items", "in the store"]),
        Outcome(
            name: "nobody", path: "private/zones/list", user: nil, words: ["AUTHENTICATION_REQUIRED", "without a user", "status 421", "What to do:"]),
        Outcome(
            name: "unknown type", path: "private/records/query", body: Body.query("Nothing"),
            words: ["NOT_FOUND", "Did not find record type: Nothing"]),
        Outcome(
            name: "a new record that is there", path: "private/records/modify", body: saved,
            words: ["but 1 of its 1 items were refused", "CONFLICT", "The rule that refused:"]),
        Outcome(
            name: "an absent record", path: "private/records/modify",
            body: Body.modify("update", Body.note("gone", "One", #""recordChangeTag":"1""#)),
            words: ["NOT_FOUND", "items were refused"]),
        Outcome(
            name: "an atomic batch", path: "private/records/modify",
            body: Body.modify([("create", Body.note("fresh")), ("create", Body.note("there"))], #""zoneID":{"zoneName":"Z"}"#),
            words: ["ZONE_NOT_FOUND"]),
        Outcome(
            name: "no such zone", path: "private/records/query",
            body: Body.query("Note", filters: [wanted], more: #""zoneID":{"zoneName":"Nowhere"}"#),
            words: ["ZONE_NOT_FOUND", "There is no zone of that name"]),
        Outcome(name: "no JSON", path: "private/records/modify", body: "{", words: ["BAD_REQUEST", "refused as a whole with status 400"]),
        Outcome(
            name: "a wrong type", path: "private/records/modify",
            body: Body.modify("create", #""recordName":"typed","recordType":"Note","fields":{"title":{"value":7}}"#), words: ["BAD_REQUEST", "title"]),
        Outcome(name: "another method", path: "private/records/modify", words: ["BAD_REQUEST", "method not allowed"]),
        Outcome(
            name: "a query by an index", path: "private/records/query", body: Body.query("Note", filters: [wanted]),
            words: ["answered with status 200"]),
        Outcome(
            name: "a new type in production", path: "private/records/modify", body: Body.modify("create", Body.note("one")),
            environment: "production",
            words: ["Cannot create new type Note in production schema", "production"]),
        Outcome(
            name: "a reference to nothing", path: "private/records/modify",
            body: Body.modify(
                "create",
                #""recordName":"child","recordType":"Note","fields":{"of":{"value":{"recordName":"none","action":"VALIDATE"},"type":"REFERENCE"}}"#),
            words: ["VALIDATING_REFERENCE_ERROR", "What to do: Save the target"]),
        Outcome(
            name: "another user's record", path: "public/records/modify",
            body: Body.modify("forceUpdate", Body.note("public", "Two")), user: "bob", words: ["ACCESS_DENIED", "as user u-"]),
        Outcome(
            name: "a subscription that is there", path: "private/subscriptions/modify",
            body: #"{"operations":[{"operationType":"create","subscription":{"subscriptionID":"other","subscriptionType":"database"}}]}"#,
            words: ["EXISTS", "subscription is duplicate of '…'"]),
        Outcome(name: "too many", path: "private/records/lookup", body: Body.lookup("a", more: #""x":1"#), words: ["answered with status 200"]),
    ]

    @Test(arguments: outcomes)
    func `nacre why tells what came of a request, which rule refused it, and what to do`(outcome: Outcome) async throws {
        try await RecordedServer.with { scene in
            _ = await scene.ask("private/records/modify", Self.saved)
            _ = await scene.ask("public/records/modify", Body.modify("create", Body.note("public")))
            _ = await scene.ask(
                "private/subscriptions/modify",
                #"{"operations":[{"operationType":"create","subscription":{"subscriptionID":"mine","subscriptionType":"database"}}]}"#)
            let answer = await scene.ask(outcome.path, outcome.body, as: outcome.user, environment: outcome.environment)
            let story = RequestStory.lines(of: try await scene.line(of: answer)).joined(separator: "\n")
            for word in outcome.words { #expect(story.contains(word), "\(outcome.name): no \(word) in \(story)\n\(answer.text.prefix(400))") }
            #expect(story.contains("It took ") && story.contains(" ms: ") && story.hasPrefix("At 20"))
        }
    }
}
