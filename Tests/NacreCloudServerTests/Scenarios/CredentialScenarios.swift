/// Credentials: API tokens, web auth tokens, account tokens, and `users/caller`.
extension Scenario {
    static let credentials: [Scenario] = callers + apiTokens + webAuthTokens + accountTokens + paths

    private static let list = "private/zones/list"
    private static let caller = "public/users/caller"
    private static let header = "X-Apple-CloudKit-Web-Auth-Token"

    fileprivate static func failed(_ step: Step) -> Step {
        step.refuses(401, "AUTHENTICATION_FAILED", "Authentication failed").answers(header: header, nil)
    }
    fileprivate static func required(_ step: Step) -> Step { step.refuses(421, "AUTHENTICATION_REQUIRED", "request needs authorization") }

    private static let callers: [Scenario] = [
        Scenario(
            "users/caller names the user, in any database",
            .get(caller, .ada).gives(200, ["userRecordName": "<<ada.name>>", "users": .absent]),
            .get("private/users/caller", .ada).gives(200, ["userRecordName": "<<ada.name>>"]),
            .get("shared/users/caller", .device("bob")).gives(200, ["userRecordName": "<<bob.name>>"])),
        Scenario("the world is no user", required(.get(caller, .world)), required(.get("private/users/caller", .world))),
        Scenario(
            "a user has another name in another environment",
            .get("/database/1/iCloud.test.scenes/production/public/users/caller", .ada).lacks("<<ada.name>>").gives(
                200, ["userRecordName": "<<ada.name.production>>"])),
        Scenario(
            "nobody is told so, at every endpoint",
            nobody(.get(list, .nobody)), nobody(.post(list, .nobody)), nobody(.get(caller, .nobody)), nobody(.post("public/records/modify", .nobody)),
            nobody(.post("public/records/lookup", .nobody)), nobody(.post("private/zones/lookup", .nobody)),
            nobody(.post("private/zones/modify", .nobody)), nobody(.post("private/changes/database", .nobody)),
            nobody(.post("private/changes/zone", .nobody)), nobody(.post("/account/1/sign-out", .nobody))),
    ]

    private static func nobody(_ step: Step) -> Step { step.refuses(401, "AUTHENTICATION_FAILED", "no auth method found") }

    private static let apiTokens: [Scenario] = [
        Scenario(
            "API tokens that are none", failed(.get("public/zones/list", .nobody).query(["ckAPIToken": "wrong"])),
            nobody(.get("public/zones/list", .nobody).query(["ckAPIToken": ""])),
            failed(.get("public/zones/list", .nobody).query(["ckAPIToken": String(repeating: "f", count: 64)]))),
        Scenario(
            "an API token is for one container and one environment",
            failed(.get("public/zones/list", .world).query(["ckAPIToken": "<<api.other>>"])),
            failed(.get("public/zones/list", .world).query(["ckAPIToken": "<<api.production>>"])),
            failed(.get("/database/1/iCloud.test.other/development/public/zones/list", .world)),
            .get("/database/1/iCloud.test.other/development/public/zones/list", .world).query(["ckAPIToken": "<<api.other>>"]).gives()),
        Scenario(
            "a container that does not exist",
            .get("/database/1/iCloud.test.none/development/public/zones/list", .world).refuses(404, "NOT_FOUND", "container does not exist")
                .answers(header: header, nil)),
    ]

    private static let webAuthTokens: [Scenario] = [
        Scenario(
            "web auth tokens that are none", required(.get(list, .world).query(["ckWebAuthToken": "wrong"])),
            required(.get(list, .world).query(["ckWebAuthToken": "1."])), required(.get(list, .world).query(["ckWebAuthToken": "<<ada.device>>"])),
            required(.get(list, .world).query(["ckWebAuthToken": ""])), required(.get("public/zones/list", .world).query(["ckWebAuthToken": "wrong"]))
        ),
        Scenario(
            "a web auth token goes with the API token of its sign-in", required(.get(list, .ada).query(["ckAPIToken": "<<api.second>>"])),
            required(.get("/database/1/iCloud.test.scenes/production/private/zones/list", .ada).query(["ckWebAuthToken": "<<ada>>"])),
            nobody(.get(list, .nobody).query(["ckWebAuthToken": "<<ada>>"]))),
        Scenario(
            "a web auth token goes back with every answer, and with errors",
            .get(list, .ada).gives().answers(header: header, "<<ada>>"),
            .post("private/records/modify", .ada, "nonsense").gives(400).answers(header: header, "<<ada>>"),
            .get(list, .device("ada")).gives().answers(header: header, nil), .get("public/zones/list", .world).gives().answers(header: header, nil)),
        Scenario(
            "a web auth token lives for half an hour", .later(30 * 60 - 1), .get(list, .ada).gives(), .later(1), required(.get(list, .ada)),
            required(.get("public/zones/list", .ada))),
        Scenario(
            "a web auth token lives for two weeks when its user asked to be kept", .later(14 * 24 * 3600 - 1),
            .get(list, .world).query(["ckWebAuthToken": "<<ada.kept>>"]).gives(), .later(1),
            required(.get(list, .world).query(["ckWebAuthToken": "<<ada.kept>>"]))),
        Scenario(
            "after five minutes the answer brings a new web auth token, and the old one stays good",
            .later(299), .get(list, .ada).gives().answers(header: header, "<<ada>>"), .later(1),
            .get(list, .ada).gives().keeps("next", "header:" + header), .get(list, .ada).gives(),
            .get(list, .world).query(["ckWebAuthToken": "<<next>>"]).gives().answers(header: header, "<<next>>"), .later(1500),
            required(.get(list, .ada)), .get(list, .world).query(["ckWebAuthToken": "<<next>>"]).gives()),
        Scenario(
            "a session that is kept lives on while it is used, and its older tokens end in their time", .later(23 * 3600),
            .get(list, .world).query(["ckWebAuthToken": "<<ada.kept>>"]).gives().keeps("next", "header:" + header), .later(14 * 24 * 3600 - 1),
            required(.get(list, .world).query(["ckWebAuthToken": "<<ada.kept>>"])),
            .get(list, .world).query(["ckWebAuthToken": "<<next>>"]).gives().keeps("later", "header:" + header), .later(14 * 24 * 3600 - 1),
            .get(list, .world).query(["ckWebAuthToken": "<<later>>"]).gives().keeps("last", "header:" + header), .later(14 * 24 * 3600),
            required(.get(list, .world).query(["ckWebAuthToken": "<<last>>"]))),
        Scenario(
            "a session lives on where the server cannot write, as long as it would have", .later(2 * 24 * 3600), .store(.full),
            .get(list, .world).query(["ckWebAuthToken": "<<ada.kept>>"]).gives().keeps("next", "header:" + header), .later(14 * 24 * 3600 - 1),
            .store(nil), required(.get(list, .world).query(["ckWebAuthToken": "<<next>>"]))),
        Scenario(
            "signing out ends the session, whichever of its tokens is shown", .later(400),
            .get(list, .ada).gives().keeps("next", "header:" + header), .post("/account/1/sign-out", .ada).gives(),
            required(.get(list, .ada)), required(.get(list, .world).query(["ckWebAuthToken": "<<next>>"])), .get(list, .bob).gives(),
            .get(list, .world).query(["ckWebAuthToken": "<<ada.kept>>"]).gives(), required(.post("/account/1/sign-out", .ada))),
    ]

    private static let accountTokens: [Scenario] = [
        Scenario(
            "account tokens that are none", failed(.get(list, .nobody).header("Authorization", "Bearer wrong")).detailed,
            failed(.get(list, .nobody).header("Authorization", "Bearer ")).detailed,
            failed(.get(list, .nobody).header("Authorization", "Bearer <<ada>>")).detailed,
            failed(.get(list, .nobody).header("Authorization", "Bearer <<api>>")).detailed,
            failed(.get(list, .world).header("Authorization", "Bearer wrong")).detailed,
            nobody(.get(list, .nobody).header("Authorization", "Basic eDp5"))),
        Scenario("the scheme's name has no case", .get(list, .nobody).header("Authorization", "bEARER <<ada.device>>").gives()),
        Scenario(
            "an account token is for its containers and its environment",
            failed(.get("/database/1/iCloud.test.other/development/private/zones/list", .device("ada"))).detailed,
            failed(.get("/database/1/iCloud.test.scenes/production/private/zones/list", .nobody).header("Authorization", "Bearer <<ada.device>>"))
                .detailed,
            .get("/database/1/iCloud.test.scenes/production/private/zones/list", .device("ada")).gives()),
        Scenario("an account token does not expire", .later(400 * 24 * 3600), .get(list, .device("ada")).gives()),
        Scenario(
            "an account token that was revoked elsewhere is refused within five seconds", .get(list, .device("ada")).gives(), .revokeElsewhere("ada"),
            .later(4.9), .get(list, .device("ada")).gives(), .later(0.1), failed(.get(list, .device("ada"))).detailed,
            .get(list, .device("bob")).gives()),
        Scenario(
            "an account token that was never used here is refused at once", .revokeElsewhere("ada"), failed(.get(list, .device("ada"))).detailed),
        Scenario(
            "signing out ends an account token at once", .get(list, .device("ada")).gives(), .post("/account/1/sign-out", .device("ada")).gives(),
            failed(.get(list, .device("ada"))).detailed, .get(list, .ada).gives(), .get(list, .device("bob")).gives()),
        Scenario(
            "signing out with a token that is none", failed(.post("/account/1/sign-out", .nobody).header("Authorization", "Bearer wrong")).detailed),
    ]

    private static let paths: [Scenario] = [
        Scenario(
            "environments that are none",
            .get("/database/1/iCloud.test.scenes/Development/public/zones/list", .world).refuses(400, "BAD_REQUEST", "unknown environment"),
            .get("/database/1/iCloud.test.scenes/staging/public/zones/list", .nobody).refuses(400, "BAD_REQUEST", "unknown environment")),
        Scenario(
            "databases that are none", .get("registry/zones/list", .ada).refuses(400, "BAD_REQUEST", "unknown database"),
            .get("%72egistry/zones/list", .ada).refuses(400, "BAD_REQUEST", "unknown database"),
            .get("Public/zones/list", .world).refuses(400, "BAD_REQUEST", "unknown database")),
        Scenario(
            "containers that are none",
            .get("/database/1/com.example/development/public/zones/list", .world).refuses(400, "BAD_REQUEST", "invalid container name"),
            .get("/database/1/iCloud.a%2Fb.c/development/public/zones/list", .world).refuses(400, "BAD_REQUEST", "invalid container name"),
            .get("/database/1//development/public/zones/list", .world).refuses(400, "BAD_REQUEST", "A part of the path is empty.")),
    ]
}
