import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire

@testable import NacreCloudServer

/// HTTP alone: methods, paths, hosts, CORS, health, and a store that fails.
extension Scenario {
    static let http: [Scenario] = methods + emptyLists + hosts + cors + health + storeFaults

    private static func wrongMethod(_ method: String, _ path: String, allow: String) -> Step {
        .send(method, path, .ada).refuses(405, "BAD_REQUEST", "method not allowed").answers(header: "Allow", allow)
    }

    private static let unknownPath = "could not find handler for endpoint"

    private static let methods: [Scenario] = [
        Scenario(
            "methods that an endpoint does not take", wrongMethod("GET", "private/records/modify", allow: "OPTIONS, POST"),
            wrongMethod("GET", "private/records/lookup", allow: "OPTIONS, POST"),
            wrongMethod("GET", "private/records/query", allow: "OPTIONS, POST"),
            wrongMethod("PUT", "private/records/changes", allow: "OPTIONS, POST"),
            wrongMethod("GET", "private/zones/changes", allow: "OPTIONS, POST"),
            wrongMethod("PUT", "private/zones/list", allow: "GET, HEAD, OPTIONS, POST"),
            wrongMethod("DELETE", "private/zones/lookup", allow: "OPTIONS, POST"),
            wrongMethod("PATCH", "private/zones/modify", allow: "OPTIONS, POST"),
            wrongMethod("GET", "private/changes/database", allow: "OPTIONS, POST"),
            wrongMethod("GET", "private/changes/zone", allow: "OPTIONS, POST"),
            wrongMethod("POST", "public/users/caller", allow: "GET, HEAD, OPTIONS"), wrongMethod("GET", "/account/1/sign-in", allow: "OPTIONS, POST"),
            wrongMethod("GET", "/account/1/sign-up", allow: "OPTIONS, POST"), wrongMethod("GET", "/account/1/sign-out", allow: "OPTIONS, POST"),
            wrongMethod("POST", "/healthz", allow: "GET, HEAD, OPTIONS")),
        Scenario(
            "paths that lead nowhere", .post("private/records/nothing", .ada).refuses(404, "NOT_FOUND", unknownPath),
            .get("/database/2/iCloud.test.scenes/development/public/zones/list", .world).refuses(404, "NOT_FOUND", unknownPath),
            .get("private/zones/list/", .ada).refuses(404, "NOT_FOUND", unknownPath),
            .get("/admin/1/server", .nobody).refuses(404, "NOT_FOUND", unknownPath),
            .get("/..%2f..%2fetc/passwd", .nobody).refuses(404, "NOT_FOUND", unknownPath),
            .get("/Healthz", .nobody).refuses(404, "NOT_FOUND", unknownPath)),
        Scenario(
            "a path that is malformed",
            .get("/database/1/%zz/development/public/zones/list", .world).refuses(
                400, "BAD_REQUEST", "The path is malformed: it is UTF-8 with percent-encoding.")),
        Scenario("HEAD asks for the headers of GET", .send("HEAD", "private/zones/list", .ada).gives(200)),
        Scenario("OPTIONS of a path that leads nowhere", .send("OPTIONS", "/nothing", .nobody).refuses(404, "NOT_FOUND", unknownPath)),
    ]

    private static func nothing(_ path: String, _ list: String, _ answer: String) -> Step {
        .post(path, .ada, "{\"\(list)\":[]}").gives(200, [answer: .count(0)])
    }

    /// Every endpoint whose request has a list of items.
    private static let emptyLists: [Scenario] = [
        Scenario(
            "an empty list of a request is answered by an empty list", nothing("private/records/lookup", "records", "records"),
            nothing("private/records/modify", "operations", "records"), nothing("public/records/modify", "operations", "records"),
            nothing("private/zones/lookup", "zones", "zones"), nothing("shared/zones/lookup", "zones", "zones"),
            nothing("private/zones/modify", "operations", "zones"), nothing("private/changes/zone", "zones", "zones"),
            nothing("shared/changes/zone", "zones", "zones"), nothing("public/users/discover", "lookupInfos", "users"),
            nothing("public/users/lookup/email", "users", "users"), nothing("public/users/lookup/id", "users", "users"),
            nothing("public/records/resolve", "shortGUIDs", "results"), nothing("public/records/accept", "shortGUIDs", "results"),
            nothing("public/records/request-access", "shortGUIDs", "results"),
            nothing("public/assets/upload", "tokens", "tokens"), nothing("private/assets/rereference", "assets", "assets"),
            nothing("private/subscriptions/lookup", "subscriptions", "subscriptions"),
            nothing("private/subscriptions/modify", "operations", "subscriptions"),
            .get("private/zones/list", .ada).gives(200, ["zones": .count(1)])),
        Scenario(
            "an empty list needs its zone, its database and its user as a longer one does",
            .post("private/records/lookup", .ada, #"{"records":[],"zoneID":{"zoneName":"Nowhere"}}"#).refuses(
                404, "ZONE_NOT_FOUND", "Zone does not exist"),
            .post("public/zones/modify", .ada, #"{"operations":[]}"#).gives(400, ["serverErrorCode": "BAD_REQUEST"]),
            .post("private/subscriptions/modify", .world, #"{"operations":[]}"#).gives(421, [:])),
    ]

    private static func stranger(_ host: String) -> Step {
        .get("public/zones/list", .world).header("Host", host).refuses(403, "ACCESS_DENIED", "host is not served here").lacks("zones")
    }

    private static func friend(_ host: String) -> Step {
        .get("public/zones/list", .world).header("Host", host).gives(200, ["zones": .count(1)])
    }

    private static let hosts: [Scenario] = [
        Scenario(
            "hosts that are served", friend("localhost"), friend("LOCALHOST:8787"), friend("127.0.0.1:1"), friend("[::1]:8787"), friend("[::1]"),
            friend("[::2]"), friend("0.0.0.0"), friend("192.0.2.7:8787"), friend("[2001:db8::1]:80")),
        Scenario(
            "hosts that are not", stranger("evil.example"), stranger("evil.example:8787"), stranger("localhost.evil.example"),
            stranger("localhost:1:2"),
            stranger("127.0.0.1.evil.example"), stranger("[::1].evil.example"), stranger("[::1]x:8787"), stranger("127.1"), stranger("0x7f000001"),
            stranger("2130706433"), stranger("[evil.example]"), stranger("[127.0.0.1]"), stranger("")),
        Scenario(
            "who asks whether the server lives is answered by every name", .get("/healthz", .nobody).header("Host", "evil.example").gives(),
            .get("/readyz", .nobody).header("Host", "evil.example").gives(),
            .get("/version", .nobody).header("Host", "evil.example").refuses(403, "ACCESS_DENIED", "host is not served here")),
    ]

    private static let exposed =
        "X-Apple-Request-UUID, X-Request-Id, X-Apple-CloudKit-Web-Auth-Token, Retry-After, X-Nacre-Remedy, X-Nacre-Help, "
        + "X-Nacre-Version, Upload-Offset, Upload-Complete, ETag, Content-Range"

    private static func page(_ path: String, _ status: Int) -> Step {
        .get(path, .nobody).header("Origin", "https://app.example").gives(status).answers(header: "Access-Control-Allow-Origin", nil)
            .answers(header: "Access-Control-Expose-Headers", nil).answers(header: "Cache-Control", nil)
    }

    private static let cors: [Scenario] = [
        Scenario(
            "a page may read answers and their headers",
            .get("private/zones/list", .ada).header("Origin", "https://app.example").gives()
                .answers(header: "Access-Control-Allow-Origin", "*").answers(header: "Access-Control-Expose-Headers", exposed)
                .answers(header: "Access-Control-Allow-Credentials", nil),
            .get("private/zones/list", .world).header("Origin", "null").gives(421).answers(header: "Access-Control-Allow-Origin", "*")
                .answers(header: "Access-Control-Expose-Headers", exposed),
            .get("/database/1/nothing", .nobody).header("Origin", "https://app.example").gives(404)
                .answers(header: "Access-Control-Allow-Origin", "*"),
            .post("/account/1/sign-in", .nobody, "[").header("Origin", "https://app.example").gives(400)
                .answers(header: "Access-Control-Allow-Origin", "*").answers(header: "Access-Control-Expose-Headers", exposed)),
        Scenario(
            "what no app needs is not for pages",
            page("/healthz", 200), page("/readyz", 200), page("/limits", 200), page("/version", 200), page("/nothing", 404),
            .send("OPTIONS", "/limits", .nobody).header("Origin", "https://app.example").gives(200).answers(header: "Allow", "GET, HEAD, OPTIONS")
                .answers(header: "Access-Control-Allow-Methods", nil).answers(header: "Access-Control-Allow-Origin", nil)),
        Scenario("without an origin there is no CORS", .get("private/zones/list", .ada).gives().answers(header: "Access-Control-Allow-Origin", nil)),
        Scenario(
            "a preflight says what may be asked",
            .send("OPTIONS", "private/records/modify", .nobody).header("Origin", "https://app.example")
                .header("Access-Control-Request-Method", "POST").header("Access-Control-Request-Headers", "content-type").gives(200)
                .answers(header: "Allow", "OPTIONS, POST").answers(header: "Access-Control-Allow-Methods", "OPTIONS, POST")
                .answers(header: "Access-Control-Allow-Origin", "*").answers(header: "Access-Control-Max-Age", "600")
                .answers(
                    header: "Access-Control-Allow-Headers",
                    "Content-Type, Authorization, X-Apple-CloudKit-Request-KeyID, X-Apple-CloudKit-Request-ISO8601Date, "
                        + "X-Apple-CloudKit-Request-SignatureV1, Upload-Offset, Upload-Complete, X-Nacre-Operation-Age, X-Nacre-Operation-Group, "
                        + "Range, If-Range, If-None-Match, traceparent, tracestate"
                ),
            .send("OPTIONS", "private/zones/list", .nobody).gives(200).answers(header: "Allow", "GET, HEAD, OPTIONS, POST"),
            .send("OPTIONS", "/account/1/sign-in", .nobody).header("Origin", "https://app.example").gives(200)
                .answers(header: "Access-Control-Allow-Methods", "OPTIONS, POST")),
    ]

    private static let health: [Scenario] = [
        Scenario(
            "health, readiness, version and limits ask for no credential", .get("/healthz", .nobody).contains("ok").gives(),
            .get("/readyz", .nobody).contains("ready").gives(),
            .get("/version", .nobody).gives(200, ["name": "nacre", "version": .some]),
            .get("/limits", .nobody).contains("bodyBytesOfStrangers").contains("answerBytesOfUsers").contains("\"sessionSeconds\"").contains(
                "headerSeconds"
            ).gives(
                200,
                [
                    "limits": .count(Limits.table.count + Health.otherLimits.count), "limits[0].name": "itemsPerNativeRequest",
                    "limits[0].value": 400, "limits[0].source": "CloudKit",
                ])),
        Scenario(
            "a server without its store lives, and is not ready", .store(.unavailable), .get("/healthz", .nobody).gives(),
            .get("/readyz", .nobody).refuses(503, "TRY_AGAIN_LATER", "The server's store is not available").answers(header: "Retry-After", "5"),
            .store(.full), .get("/readyz", .nobody).gives(), .store(nil), .get("/readyz", .nobody).gives()),
    ]

    private static func unavailable(_ step: Step) -> Step {
        step.gives(503, ["serverErrorCode": "TRY_AGAIN_LATER", "reason": "The server's store is not available", "retryAfter": 5])
            .answers(header: "Retry-After", "5")
    }

    private static let storeFaults: [Scenario] = [
        Scenario(
            "a full disk: writes wait, reads go on, and writes go on by themselves", .makeWork(), .makeNote("a"), .store(.full),
            .post("private/records/modify", .ada, Body.modify("create", Body.note("b")))
                .gives(503, ["serverErrorCode": "TRY_AGAIN_LATER", "reason": "The server has no room to write", "retryAfter": 30, "uuid": .some])
                .answers(header: "Retry-After", "30").answers(header: "X-Apple-CloudKit-Web-Auth-Token", "<<ada>>"),
            .post("private/zones/modify", .ada, Body.zones("create", "Home")).gives(503).answers(header: "Retry-After", "30"),
            .post("private/records/modify", .device("ada"), Body.modify("create", Body.note("b"), Body.details)).detailed
                .gives(503, ["nacre.code": 6, "nacre.internalCode": 2022]),
            .post("private/records/lookup", .ada, Body.lookup("a")).gives(200, ["records[0].recordName": "a"]), .store(nil),
            .post("private/records/lookup", .ada, Body.lookup("b")).gives(200, ["records[0].serverErrorCode": "NOT_FOUND"]),
            .post("private/records/modify", .ada, Body.modify("create", Body.note("b"))).gives(200, ["records[0].recordName": "b"])),
        Scenario(
            "a store that is gone, at every endpoint", .makeWork(), .get("private/zones/list", .ada).gives(), .store(.unavailable),
            unavailable(.post("private/records/modify", .ada, Body.modify("create", Body.note("b")))),
            unavailable(.post("private/records/lookup", .ada, Body.lookup("a"))), unavailable(.get("private/zones/list", .ada)),
            unavailable(.post("private/zones/lookup", .ada, Body.zoneNames(count: 1))),
            unavailable(.post("private/zones/modify", .ada, Body.zones("create", "Home"))),
            unavailable(.post("private/changes/database", .ada)), unavailable(.post("private/zones/changes", .ada)),
            unavailable(.post("private/records/query", .ada, Body.query("Note"))),
            unavailable(.post("private/records/changes", .ada, #"{"zoneID":{"zoneName":"Work"}}"#)), unavailable(.get("private/zones/list", .bob)),
            .post("private/changes/zone", .ada, Body.feed("Work")).gives(
                200, ["zones[0].serverErrorCode": "TRY_AGAIN_LATER", "zones[0].retryAfter": 5]),
            .store(nil), .get("private/zones/list", .bob).gives()),
        Scenario(
            "a store that is damaged says so in the log alone", .makeNote("a"), .store(.corrupt),
            .post("private/records/lookup", .ada, Body.lookup("a")).refuses(500, "INTERNAL_ERROR", "Internal server error"),
            .get("private/zones/list", .bob).refuses(500, "INTERNAL_ERROR", "Internal server error")),
    ]
}
