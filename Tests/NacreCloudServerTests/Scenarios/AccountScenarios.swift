/// Sign-up, sign-in and sign-out.
extension Scenario {
    static let accounts: [Scenario] = signUps + signIns

    private static let signUp = "/account/1/sign-up"
    private static let signIn = "/account/1/sign-in"

    /// Returns a scenario of a server with open sign-up.
    private static func open(_ name: String, _ steps: Step...) -> Scenario {
        var scenario = Scenario(name, opensSignUp: true)
        scenario.steps = steps
        return scenario
    }

    private static func new(_ email: String, _ password: String = TestServer.password) -> Step {
        .post(signUp, .nobody, #"{"email":"\#(email)","password":"\#(password)"}"#).lacks(password)
    }

    private static func asks(
        _ more: String = "", email: String = "ada@example.com", password: String = TestServer.password, token: String = "<<api>>",
        container: String = TestServer.container, environment: String = "development"
    ) -> Step {
        .post(
            signIn, .nobody,
            #"{"email":"\#(email)","password":"\#(password)","apiToken":"\#(token)","container":"\#(container)","environment":"\#(environment)"\#(more)}"#
        )
        .lacks(password)
    }

    private static let signUps: [Scenario] = [
        open(
            "who signs up can sign in", new("Carol@Example.com").gives(200, ["email": "carol@example.com"]),
            asks(email: "carol@example.com").secret.gives(200, ["userRecordName": .prefix("_"), "token": .some]).keeps("carol", "token"),
            .get("private/zones/list", .world).query(["ckWebAuthToken": "<<carol>>"]).gives(200, ["zones": .count(1)])),
        Scenario("sign-up is closed unless the server opens it", new("carol@example.com").refuses(403, "ACCESS_DENIED", "sign-up is closed")),
        open(
            "an address that is taken gets the answer of a new one, and stays as it was",
            new("ADA@example.com", "another password").gives(200, ["email": "ada@example.com", "": .count(1)]),
            asks(password: "another password").refuses(401, "AUTHENTICATION_FAILED", wrong), asks().secret.gives()),
        open(
            "addresses that are none", new("carol").refuses(400, "BAD_REQUEST", "invalid e-mail address"),
            new("@x").refuses(400, "BAD_REQUEST", "invalid e-mail address"), new("a b@c").refuses(400, "BAD_REQUEST", "invalid e-mail address"),
            new(String(repeating: "a", count: 250) + "@x.de").refuses(400, "BAD_REQUEST", "invalid e-mail address")),
        open(
            "passwords that are too short or too long", new("carol@example.com", "sevenxx").refuses(400, "BAD_REQUEST", "password is too short"),
            new("carol@example.com", String(repeating: "p", count: 1025)).refuses(400, "BAD_REQUEST", "password is too long")),
        open(
            "bodies that are none", .post(signUp, .nobody, "").refuses(400, "BAD_REQUEST", "badRequestException: unexpected input"),
            .post(signUp, .nobody, "nonsense").refuses(400, "BAD_REQUEST", "badRequestException: unexpected input"),
            .post(signUp, .nobody, #"{"email":"carol@example.com"}"#).refuses(400, "BAD_REQUEST", "missing required field"),
            .post(signUp, .nobody, #"{"email":1,"password":"x"}"#).refuses(400, "BAD_REQUEST", "field has the wrong type"),
            .post(signUp, .nobody, #"{"email":null,"password":"x"}"#).gives(400, ["serverErrorCode": "BAD_REQUEST"]),
            .post(signUp, .nobody, String(repeating: " ", count: 16 * 1024 + 1)).refuses(413, "BAD_REQUEST", "request body is too large")),
        Scenario(
            "sign-up where the store has no room", opensSignUp: true, .store(.full),
            new("carol@example.com")
                .refuses(503, "TRY_AGAIN_LATER", "The server has no room to write").answers(header: "Retry-After", "30"), .store(nil),
            new("carol@example.com").gives()),
    ]

    private static let wrong = "wrong e-mail address or password"

    private static let signIns: [Scenario] = [
        Scenario(
            "a web sign-in gives a web auth token",
            asks(#","kind":"web""#).secret
                .gives(200, ["userRecordName": "<<ada.name>>", "token": .some]).keeps("mine", "token"),
            .get("public/users/caller", .world).query(["ckWebAuthToken": "<<mine>>"]).gives(200, ["userRecordName": "<<ada.name>>"])
                .answers(header: "X-Apple-CloudKit-Web-Auth-Token", "<<mine>>"),
            .later(1800), .get("private/zones/list", .world).query(["ckWebAuthToken": "<<mine>>"]).gives(421)),
        Scenario(
            "a web sign-in that is kept gives a token for two weeks", asks(#","keepSignedIn":true"#).secret.gives().keeps("mine", "token"),
            .later(1801),
            .get("private/zones/list", .world).query(["ckWebAuthToken": "<<mine>>"]).gives()),
        Scenario(
            "a device's sign-in gives an account token",
            asks(#","kind":"account","device":"Ada's laptop""#).secret
                .gives(200, ["userRecordName": "<<ada.name>>"]).keeps("mine", "token"),
            .get("public/users/caller", .nobody).header("Authorization", "Bearer <<mine>>").gives(200, ["userRecordName": "<<ada.name>>"]),
            .post("/account/1/sign-out", .nobody).header("Authorization", "Bearer <<mine>>").gives(),
            .get("public/users/caller", .nobody).header("Authorization", "Bearer <<mine>>").detailed.gives(401)),
        Scenario(
            "a wrong password and an unknown address are answered alike",
            asks(password: "wrong password").refuses(401, "AUTHENTICATION_FAILED", wrong),
            asks(email: "nobody@example.com").refuses(401, "AUTHENTICATION_FAILED", wrong),
            asks(email: "none").refuses(401, "AUTHENTICATION_FAILED", wrong),
            asks(password: "").refuses(401, "AUTHENTICATION_FAILED", wrong)),
        Scenario(
            "a sign-in names an API token, its container and its environment",
            asks(token: "wrong").refuses(401, "AUTHENTICATION_FAILED", "Authentication failed"),
            asks(token: "<<api.other>>").refuses(401, "AUTHENTICATION_FAILED", "Authentication failed"),
            asks(container: TestServer.otherContainer).refuses(401, "AUTHENTICATION_FAILED", "Authentication failed"),
            asks(environment: "production").refuses(401, "AUTHENTICATION_FAILED", "Authentication failed"),
            asks(environment: "Staging").refuses(401, "AUTHENTICATION_FAILED", "Authentication failed")),
        Scenario(
            "bodies that are none", asks(#","kind":"server""#).refuses(400, "BAD_REQUEST", "field has an unknown value"),
            asks(#","keepSignedIn":"yes""#).refuses(400, "BAD_REQUEST", "field has the wrong type"),
            .post(signIn, .nobody, "{}").refuses(400, "BAD_REQUEST", "missing required field"),
            .post(signIn, .nobody, "[]").refuses(400, "BAD_REQUEST", "field has the wrong type"),
            .post(signIn, .nobody, "{").refuses(400, "BAD_REQUEST", "badRequestException: unexpected input"),
            .post("/account/1/sign-out", .nobody, "{").refuses(401, "AUTHENTICATION_FAILED", "no auth method found")),
        Scenario(
            "a password of more than a kilobyte",
            asks(password: String(repeating: "p", count: 1025)).refuses(400, "BAD_REQUEST", "password is too long")),
    ]
}
