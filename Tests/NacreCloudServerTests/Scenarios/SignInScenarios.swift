/// `users/current`, and the sign-in URL for a client without a signed-in user.
extension Scenario {
    static let webSignIn: [Scenario] = [
        Scenario(
            "users/current answers as users/caller does",
            .get("public/users/current", .ada).lacks("users").gives(200, ["": .count(1), "userRecordName": "<<ada.name>>"]),
            .get("private/users/current", .device("bob")).gives(200, ["userRecordName": "<<bob.name>>"]),
            .get("public/users/current", .world).refuses(421, "AUTHENTICATION_REQUIRED", "request needs authorization"),
            .get("public/users/current", .nobody).refuses(401, "AUTHENTICATION_FAILED", "no auth method found"),
            .send("POST", "public/users/current", .ada).refuses(405, "BAD_REQUEST", "method not allowed")),
        Scenario(
            "who must sign in is told where",
            .get("private/zones/list", .world).header("Host", "localhost:8787")
                .refuses(421, "AUTHENTICATION_REQUIRED", "request needs authorization")
                .gives(421, ["redirectURL": "http://localhost:8787/sign-in?ckAPIToken=<<api>>", "": .count(4)]),
            .post("public/records/modify", .world, Body.modify("create", Body.note("a"))).gives(421, ["redirectURL": .some]),
            .get("private/zones/list", .world).query(["ckWebAuthToken": "wrong"]).gives(421, ["redirectURL": .some]),
            .get("private/zones/list", .world).query(["ckAPIToken": "wrong"]).lacks("redirectURL").gives(401)),
        Scenario(
            "the page that must sign a user in is told with its origin, or none where it has none",
            .get("private/zones/list", .world).header("Host", "localhost").header("Origin", "https://app.example:8443")
                .gives(421, ["redirectURL": "http://localhost/sign-in?ckAPIToken=<<api>>&origin=https%3A%2F%2Fapp.example%3A8443"]),
            .get("private/zones/list", .world).header("Host", "localhost").header("Origin", "null")
                .gives(421, ["redirectURL": "http://localhost/sign-in?ckAPIToken=<<api>>"]),
            .get("private/zones/list", .world).header("Host", "localhost").header("Sec-Fetch-Site", "same-origin")
                .gives(421, ["redirectURL": "http://localhost/sign-in?ckAPIToken=<<api>>&origin=http%3A%2F%2Flocalhost"])),
    ]

    private static func coded(_ step: Step, _ coding: String) -> Step {
        step.header("Content-Encoding", coding).lacks("records")
            .refuses(415, "BAD_REQUEST", "The body has a content coding; send it as it is, without Content-Encoding.")
            .answers(header: "Accept-Encoding", "identity")
    }

    static let codedBodies: [Scenario] = [
        Scenario(
            "a coded body is refused, and a plain one that says so is not",
            coded(.post("private/records/lookup", .ada, Body.lookup("a")), "gzip"),
            coded(.post("private/records/lookup", .ada, "\u{1f}\u{8b}"), "br, gzip"),
            coded(.post("/account/1/sign-in", .nobody, "{}"), "deflate"),
            .post("private/records/lookup", .ada, Body.lookup("a")).header("Content-Encoding", "identity").gives(200, ["records": .count(1)]))
    ]
}
