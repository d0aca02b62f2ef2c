/// What an account is signed in with, as its holder lists and ends it.
extension Scenario {
    static let sessions: [Scenario] = lists + ends

    private static let list = "/account/1/sessions/list"
    private static let end = "/account/1/sessions/end"
    private static let others = "/account/1/sessions/end-others"
    private static let password = #""email":"ada@example.com","password":"\#(TestServer.password)""#

    private static func works(_ sender: Sender) -> Step { .get("private/users/caller", sender).gives() }
    private static func isOut(_ sender: Sender, _ status: Int) -> Step { .get("private/users/caller", sender).detailed.gives(status) }
    private static func id(_ id: String) -> String { #"{"id":"<<\#(id)>>"}"# }
    private static let notFound = "no such session or device"

    private static let lists: [Scenario] = [
        Scenario(
            "a web auth token lists what is signed in to its container and environment, itself among it",
            .post(list, .ada).secret.gives(200, ["sessions": .count(3), "next": .absent])
                .contains("<<ada.id>>", "<<ada.kept.id>>", "<<ada.device.id>>", #""isCurrent":true"#)
                .lacks("<<ada.id.production>>", "<<ada.device.id.production>>", "<<bob.id>>")),
        Scenario(
            "a page can begin with the devices, and an account token lists the same",
            .post(list, .device("ada"), #"{"after":"account:"}"#).secret.gives(
                200,
                [
                    "sessions": .count(1), "next": .absent, "sessions[0].id": "<<ada.device.id>>", "sessions[0].kind": "account",
                    "sessions[0].device": "test", "sessions[0].containers[0]": .equals(.string(TestServer.container)),
                    "sessions[0].environment": "development", "sessions[0].created": 1_778_307_200_000, "sessions[0].isCurrent": true,
                ]),
            .post(list, .device("bob")).secret.gives().lacks("<<ada.id>>", "<<ada.device.id>>")),
        Scenario(
            "the password lists all containers and environments",
            .post(list, .nobody, "{\(password)}").secret.gives(200, ["sessions": .count(6)])
                .contains("<<ada.id.production>>").lacks("isCurrent", "<<bob.id>>")),
        Scenario(
            "who may not ask", .post(list, .nobody).refuses(401, "AUTHENTICATION_FAILED", "no auth method found"),
            .post(list, .world).refuses(401, "AUTHENTICATION_FAILED", "no auth method found"),
            .post(list, .ada).query(["ckWebAuthToken": "wrong"]).gives(421),
            .post(list, .nobody).header("Authorization", "Bearer wrong").detailed.gives(401),
            .post(list, .nobody, #"{"email":"ada@example.com","password":"wrong"}"#).gives(401),
            .post(list, .nobody, #"{"email":"ada@example.com"}"#).refuses(400, "BAD_REQUEST", "missing required field"),
            .post(list, .ada, #"{"after":"server:"}"#).refuses(400, "BAD_REQUEST", "unknown place to go on"), .post(list, .ada, "").gives(400)),
    ]

    private static let ends: [Scenario] = [
        Scenario(
            "a device that is ended is refused at once, and can be ended by a web page of the same container", works(.device("ada")),
            .post(end, .ada, id("ada.device.id")).gives(200, ["count": 1]), isOut(.device("ada"), 401), works(.ada), works(.device("bob")),
            .post(end, .ada, id("ada.device.id")).refuses(404, "NOT_FOUND", notFound)),
        Scenario(
            "a session that is ended is refused at once, its own too", works(.ada), .post(end, .device("ada"), id("ada.kept.id")).gives(),
            isOut(.web("ada.kept"), 421), works(.ada), .post(end, .ada, id("ada.id")).gives(), isOut(.ada, 421), .post(list, .ada).gives(421)),
        Scenario(
            "nobody ends another's, or one of another environment", .post(end, .bob, id("ada.id")).refuses(404, "NOT_FOUND", notFound),
            .post(end, .device("bob"), id("ada.device.id")).detailed.refuses(404, "NOT_FOUND", notFound),
            .post(end, .ada, id("ada.id.production")).refuses(404, "NOT_FOUND", notFound),
            .post(end, .ada, #"{"id":""}"#).refuses(404, "NOT_FOUND", notFound),
            .post(end, .ada).refuses(400, "BAD_REQUEST", "missing required field"),
            works(.ada), works(.device("ada")), .post(end, .nobody, "{\(password),\"id\":\"<<ada.id.production>>\"}").gives()),
        Scenario(
            "all others are ended and the one that asks stays", works(.web("ada.kept")), works(.device("ada")),
            .post(others, .ada).gives(200, ["count": 2]), works(.ada), isOut(.web("ada.kept"), 421), isOut(.device("ada"), 401), works(.bob),
            .get("/database/1/iCloud.test.scenes/production/private/users/caller", .nobody)
                .header("Authorization", "Bearer <<ada.device.production>>").gives()),
        Scenario(
            "the password ends all", .post(others, .nobody, "{\(password)}").gives(200, ["count": 6]), isOut(.ada, 421), isOut(.device("ada"), 401),
            works(.bob), .post(others, .nobody, "{\(password)}").gives(200, ["count": 0])),
    ]
}
