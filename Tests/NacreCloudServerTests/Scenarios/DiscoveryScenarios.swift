import NacreCloudContainer
import NacreCloudStorage

/// Lookups of users, with their answers; also of identities without a user.
extension Scenario {
    static let discovery: [Scenario] = permissions + findings + refusedDiscoveries + identities

    private static let discover = "public/users/discover"
    private static let permission = "public/users/permission"
    private static let rename = "/account/1/change-name"
    private static let judge = "/account/1/discoverability"
    private static let ada = #""email":"ada@example.com","password":"\#(TestServer.password)""#

    private static func infos(_ infos: String...) -> String { #"{"lookupInfos":[\#(infos.map { "{\($0)}" }.joined(separator: ","))]}"# }
    private static func email(_ address: String) -> String { #""emailAddress":"\#(address)""# }
    private static func answer(_ status: String, _ sender: Sender = .ada) -> Step {
        .post(permission, sender, #"{"userDiscoverability":"\#(status)"}"#)
    }
    private static func named(_ given: String, _ family: String) -> Step {
        .post(rename, .nobody, #"{\#(ada),"givenName":"\#(given)","familyName":"\#(family)"}"#)
    }

    /// Expects an answer without users and without other members.
    private static func findsNobody(_ body: String, _ sender: Sender = .bob) -> Step {
        .post(discover, sender, body).gives(200, ["": .count(1), "users": .count(0)])
    }

    private static let permissions: [Scenario] = [
        Scenario(
            "nobody is found who was not asked, or said no",
            .get(permission, .ada).gives(200, ["": .count(1), "userDiscoverability": "INITIAL_STATE"]),
            findsNobody(infos(email("ada@example.com"), #""userRecordName":"<<ada.name>>""#)),
            answer("DENIED").gives(200, ["": .count(1), "userDiscoverability": "DENIED"]),
            answer("GRANTED").gives(200, ["userDiscoverability": "DENIED"]),
            findsNobody(infos(email("ada@example.com"), #""userRecordName":"<<ada.name>>""#)),
            .get(permission, .device("ada")).gives(200, ["userDiscoverability": "DENIED"]),
            .get(permission, .bob).gives(200, ["userDiscoverability": "INITIAL_STATE"])),
        Scenario(
            "the user changes an answer by the password, and an app takes a yes back",
            answer("DENIED", .device("ada")).gives(200, ["userDiscoverability": "DENIED"]),
            .post(judge, .nobody, #"{\#(ada),"container":"\#(TestServer.container)","environment":"development","userDiscoverability":"GRANTED"}"#)
                .gives(200, ["": .count(1), "userDiscoverability": "GRANTED"]),
            .post(discover, .bob, infos(email("ada@example.com"))).gives(200, ["users": .count(1)]),
            // Production is separate.
            .get("/database/1/\(TestServer.container)/production/public/users/permission", .ada)
                .gives(200, ["userDiscoverability": "INITIAL_STATE"]),
            answer("DENIED").gives(), findsNobody(infos(email("ada@example.com")))),
        Scenario(
            "answers that are none", answer("INITIAL_STATE").refuses(400, "BAD_REQUEST", "INITIAL_STATE is no answer"),
            answer("granted").gives(400, ["serverErrorCode": "BAD_REQUEST"]), .post(permission, .ada).gives(400),
            .post(judge, .nobody, #"{\#(ada),"container":"iCloud.test.never","environment":"development","userDiscoverability":"GRANTED"}"#)
                .refuses(404, "NOT_FOUND", "the account has no user in this container and environment"),
            .post(judge, .nobody, #"{\#(ada),"container":"\#(TestServer.container)","environment":"staging","userDiscoverability":"GRANTED"}"#)
                .refuses(400, "BAD_REQUEST", "unknown environment"),
            .post(judge, .nobody, #"{\#(ada),"container":"\#(TestServer.container)","environment":"production","userDiscoverability":"YES"}"#)
                .refuses(400, "BAD_REQUEST", "field has an unknown value"),
            .post(
                judge, .nobody,
                #"{"email":"ada@example.com","password":"wrong","container":"\#(TestServer.container)","environment":"production","userDiscoverability":"GRANTED"}"#
            ).refuses(401, "AUTHENTICATION_FAILED", "wrong e-mail address or password"),
            .get(permission, .ada).gives(200, ["userDiscoverability": "INITIAL_STATE"])),
    ]

    private static let findings: [Scenario] = [
        Scenario(
            "who has allowed it is found by address and by name, and the others are left out", answer("GRANTED").gives(),
            named("Ada", "Lovelace").gives(200, ["": .count(3), "givenName": "Ada", "familyName": "Lovelace"]),
            .post(
                discover, .bob,
                infos(
                    email("nobody@example.com"), #""phoneNumber":"+44 20""#, email("ADA@example.com"), email("bob@example.com"),
                    #""userRecordName":"<<bob.name>>""#, #""userRecordName":"<<ada.name>>""#, #""userRecordName":"_none""#)
            ).gives(
                200,
                [
                    "": .count(1), "users": .count(2), "users[0]": .count(3), "users[0].userRecordName": "<<ada.name>>",
                    "users[0].nameComponents": .count(2), "users[0].nameComponents.givenName": "Ada",
                    "users[0].nameComponents.familyName": "Lovelace",
                    "users[0].lookupInfo": .count(1), "users[0].lookupInfo.emailAddress": "ADA@example.com",
                    "users[1].userRecordName": "<<ada.name>>", "users[1].lookupInfo": .count(1), "users[1].lookupInfo.userRecordName": "<<ada.name>>",
                ]
            ).lacks("bob@example.com", "nobody@example.com", "<<bob.name>>", "ada@example.com", "_none", "+44"),
            // One object in place of an array of one.
            .post(discover, .bob, #"{"lookupInfos":{"userRecordName":"<<ada.name>>","emailAddress":null}}"#).gives(200, ["users": .count(1)])
                .lacks("example.com")),
        Scenario(
            "the older endpoints answer user dictionaries and identities in one", answer("GRANTED").gives(), named("Ada", "").gives(),
            .post("public/users/lookup/email", .bob, #"{"users":[{"emailAddress":"ada@example.com"},{"emailAddress":"bob@example.com"}]}"#)
                .gives(
                    200,
                    [
                        "": .count(1), "users": .count(1), "users[0]": .count(5), "users[0].userRecordName": "<<ada.name>>",
                        "users[0].firstName": "Ada",
                        "users[0].lastName": .absent, "users[0].emailAddress": "ada@example.com", "users[0].nameComponents.givenName": "Ada",
                        "users[0].lookupInfo.emailAddress": "ada@example.com",
                    ]
                ).lacks("bob"),
            .post("public/users/lookup/id", .bob, #"{"users":[{"userRecordName":"<<ada.name>>","emailAddress":"x@example.com"}]}"#)
                .gives(200, ["users": .count(1), "users[0].firstName": "Ada", "users[0].emailAddress": .absent]).lacks("example.com"),
            .post("public/users/lookup/id", .bob, #"{"users":[{"userRecordName":"<<ada.name>>"},{}]}"#).gives(
                400, ["reason": "missing required field"]
            ).lacks("Ada"),
            .post("public/users/lookup/email", .bob, #"{"users":[{"userRecordName":"<<ada.name>>"}]}"#).gives(400).lacks("Ada")),
        Scenario(
            "there is no address book, and nobody is found in it", answer("GRANTED").gives(), answer("GRANTED", .bob).gives(),
            .get(discover, .bob).gives(200, ["": .count(1), "users": .count(0)]),
            .post("public/users/lookup/contacts", .bob).gives(200, ["": .count(1), "users": .count(0)]),
            .post("public/users/lookup/contacts", .bob, "").gives(200, ["users": .count(0)])),
        Scenario(
            "a hash is the framework's, and its answer is the framework's too", answer("GRANTED").gives(),
            .get("public/users/contact-key", .bob).gives(200, ["": .count(1), "contactKey": .some]).keeps("key", "contactKey"),
            .get("public/users/contact-key", .ada).gives(200, ["contactKey": "<<key>>"]),
            .get("/database/1/\(TestServer.container)/production/public/users/contact-key", .ada).gives(200, ["contactKey": .not("<<key>>")]),
            findsNobody(infos(#""nacre":{"contactHash":"\#(String(repeating: "0", count: 64))"}"#)),
            .post(discover, .bob, infos(#""nacre":{"contactHash":"0"}"#)).refuses(400, "BAD_REQUEST", "invalid hash of an address or a number")),
    ]

    /// Requests that all of the endpoints refuse alike.
    private static let refusedDiscoveries: [Scenario] = [
        Scenario(
            "the API token alone discovers nobody, and without one there is no answer",
            steps: endpoints.flatMap { method, path -> [Step] in
                [
                    .send(method, "public/\(path)", .world).refuses(421, "AUTHENTICATION_REQUIRED", "request needs authorization"),
                    .send(method, "private/\(path)", .world).gives(421).lacks("users\":"),
                    .send(method, "public/\(path)", .nobody).refuses(401, "AUTHENTICATION_FAILED", "no auth method found"),
                ]
            }.map { step in
                guard case .ask(var ask) = step, ask.method == "POST" else { return step }
                ask.body = bodies(ask.path)
                return .ask(ask)
            }),
        Scenario(
            "users are looked up in the public database",
            steps: endpoints.flatMap { method, path -> [Step] in
                ["private", "shared"].map { scope in
                    .ask(Ask(method: method, path: "\(scope)/\(path)", sender: .ada, body: method == "POST" ? bodies(path) : ""))
                        .refuses(400, "BAD_REQUEST", "endpoint not applicable in the database type '\(scope)db'")
                }
            }),
        Scenario(
            "lookup infos that are none", .post(discover, .bob).gives(400, ["serverErrorCode": "BAD_REQUEST"]),
            .post(discover, .bob, infos("")).gives(400, ["serverErrorCode": "BAD_REQUEST"]),
            .post(discover, .bob, infos(email("a@b.c") + #","userRecordName":"a""#)).gives(400, ["serverErrorCode": "BAD_REQUEST"]),
            .post(discover, .bob, infos(email("a@b.c"), email("a@b.c")))
                .refuses(400, "BAD_REQUEST", "a name stands in 'lookupInfos' more than once"),
            .post(discover, .bob, "{\"lookupInfos\":[\((0..<201).map { #"{"emailAddress":"\#($0)@b.c"}"# }.joined(separator: ","))]}").refuses(
                400, "BAD_REQUEST", "Your request contains 201 items which is more than the maximum number of items in a single request (200)"),
            .send("GET", "public/users/lookup/email", .bob).refuses(405, "BAD_REQUEST", "method not allowed")),
        Scenario(
            "names that are none", named(String(repeating: "x", count: 257), "").refuses(400, "BAD_REQUEST", "name is too long"),
            named("a\\nb", "").refuses(400, "BAD_REQUEST", "name has a character that cannot be shown"),
            .post(rename, .nobody, #"{"email":"ada@example.com","password":"wrong","givenName":"Eve"}"#).refuses(
                401, "AUTHENTICATION_FAILED", "wrong e-mail address or password"),
            .post(rename, .ada, #"{"givenName":"Eve"}"#).refuses(400, "BAD_REQUEST", "missing required field")),
        Scenario(
            "where the store cannot be asked, no answer says that there is nobody", answer("GRANTED").gives(), .store(.unavailable),
            .post(discover, .bob, infos(email("ada@example.com"))).gives(503, ["serverErrorCode": "TRY_AGAIN_LATER"]).lacks("users"), .store(nil),
            .post(discover, .bob, infos(email("ada@example.com"))).gives(200, ["users": .count(1)])),
    ]

    private static let endpoints = [
        ("POST", "users/discover"), ("GET", "users/discover"), ("POST", "users/lookup/email"), ("POST", "users/lookup/id"),
        ("POST", "users/lookup/contacts"), ("GET", "users/permission"), ("POST", "users/permission"), ("GET", "users/contact-key"),
    ]

    private static func bodies(_ path: String) -> String {
        if path.hasSuffix("lookup/email") { return #"{"users":[{"emailAddress":"ada@example.com"}]}"# }
        if path.hasSuffix("lookup/id") { return #"{"users":[{"userRecordName":"<<ada.name>>"}]}"# }
        return path.hasSuffix("permission") ? #"{"userDiscoverability":"GRANTED"}"# : infos(email("ada@example.com"))
    }

    private static let identities: [Scenario] = [
        Scenario(
            "one's own name is told to apps where one has allowed it, and one's address nowhere", named("Ada", "Lovelace").gives(),
            .get("public/users/caller", .ada).gives(200, ["": .count(1)]), .get("public/users/current", .ada).gives(200, ["": .count(1)]),
            answer("GRANTED").gives(),
            .get("public/users/caller", .ada).gives(200, ["": .count(2), "nameComponents.givenName": "Ada", "nameComponents.familyName": "Lovelace"])
                .lacks("firstName", "example.com"),
            .get("private/users/current", .ada).gives(200, ["userRecordName": "<<ada.name>>", "firstName": "Ada", "lastName": "Lovelace"])
                .lacks("example.com"),
            .get("public/users/caller", .bob).gives(200, ["": .count(1)]),
            answer("DENIED").gives(), .get("public/users/caller", .ada).gives(200, ["": .count(1)]).lacks("Lovelace")),
        Scenario(
            "the old address is found no more, and another one not until it is verified", answer("GRANTED").gives(),
            .post("/account/1/change-email", .nobody, #"{\#(ada),"newEmail":"Countess@example.com"}"#).gives(),
            findsNobody(infos(email("ada@example.com"))),
            findsNobody(infos(email("countess@example.com"))),
            .post("/account/1/delete", .nobody, #"{"email":"countess@example.com","password":"\#(TestServer.password)"}"#).gives(),
            findsNobody(infos(email("countess@example.com"), #""userRecordName":"<<ada.name>>""#))),
        Scenario(
            "a sign-up may bring names", opensSignUp: true,
            .post("/account/1/sign-up", .nobody, #"{"email":"carol@example.com","password":"long enough","givenName":"Carol","familyName":"C"}"#)
                .gives(200, ["email": "carol@example.com"]),
            .post("/account/1/sign-up", .nobody, #"{"email":"dan@example.com","password":"long enough","givenName":"D\u0007"}"#)
                .refuses(400, "BAD_REQUEST", "name has a character that cannot be shown")),
    ]
}
