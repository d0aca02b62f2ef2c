/// An account's sessions and devices, listed and ended by its holder.
extension Scenario {
    static let sessions: [Scenario] = lists + ends + devices

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

    private static let webAuthToken = "private/users/web-auth-token"
    private static let under = #"{"apiToken":"<<api.second>>"}"#

    private static func caller(_ token: String, beside apiToken: String = "<<api.second>>") -> Step {
        .get("private/users/caller", .nobody).query(["ckAPIToken": apiToken, "ckWebAuthToken": "<<\(token)>>"])
    }

    private static let devices: [Scenario] = [
        Scenario(
            "a device gets its user a web auth token for an API token, of one session however often it asks, which ends with the device",
            .post(webAuthToken, .device("ada"), under).secret.gives(200, ["": .count(1)]).keeps("page", "webAuthToken"),
            caller("page").secret.gives(200, ["userRecordName": "<<ada.name>>"]), caller("page", beside: "<<api>>").gives(421),
            .post(list, .ada).secret.gives(200, ["sessions": .count(4)]),
            .post(webAuthToken, .device("ada"), under).secret.gives().keeps("again", "webAuthToken"),
            .post(list, .ada).secret.gives(200, ["sessions": .count(4)]),
            .post(webAuthToken, .device("ada"), #"{"apiToken":"<<api>>"}"#).secret.gives().keeps("other", "webAuthToken"),
            .post(list, .ada).secret.gives(200, ["sessions": .count(5)]),
            .post("/account/1/sign-out", .device("ada")).gives(), caller("page").gives(421), caller("again").gives(421),
            caller("other", beside: "<<api>>").gives(421), works(.ada), .post(list, .ada).secret.gives(200, ["sessions": .count(2)])),
        Scenario(
            "a device that is ended takes its sessions along, and a session that is ended leaves the device",
            .post(webAuthToken, .device("ada"), under).secret.gives().keeps("page", "webAuthToken"),
            .post("/account/1/sign-out", .nobody).query(["ckAPIToken": "<<api.second>>", "ckWebAuthToken": "<<page>>"]).gives(),
            caller("page").gives(421), works(.device("ada")),
            .post(webAuthToken, .device("ada"), under).secret.gives().keeps("page", "webAuthToken"),
            .post(end, .ada, id("ada.device.id")).gives(200, ["count": 1]), caller("page").gives(421), works(.ada)),
        Scenario(
            "a web auth token is for a device's own user, container and environment, and no web session gets one",
            .post(webAuthToken, .ada, under).refuses(403, "ACCESS_DENIED", "a web auth token is given to a device").lacks("webAuthToken"),
            .post(webAuthToken, .device("ada"), #"{"apiToken":"<<api.other>>"}"#).detailed.refuses(
                400, "BAD_REQUEST", "no such API token in this container and environment"),
            .post(webAuthToken, .device("ada"), #"{"apiToken":"<<api.production>>"}"#).detailed.gives(400),
            .post(webAuthToken, .device("ada"), #"{"apiToken":"nothing"}"#).detailed.gives(400),
            .post(webAuthToken, .device("ada")).detailed.gives(400).contains("a required key is missing"),
            .post("public/users/web-auth-token", .device("ada"), under).detailed.refuses(
                400, "BAD_REQUEST", "endpoint not applicable in this database type"),
            .post(webAuthToken, .world, under).gives(421), .post(list, .ada).secret.gives(200, ["sessions": .count(3)])),
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
