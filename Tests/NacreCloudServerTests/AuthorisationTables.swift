/// The authorisation tables. Their sources: SECURITY.md, "Tokens" and "The admin listener"; docs/wire.md, "Accounts"
/// and "Signed requests".
extension AuthorisationTable {
    static let all = [databases, assets, push, webhooks, accounts, others, signIn, administration, faults]

    private static let signedIn: [Credential] = [.session, .device]
    private static let signedInElsewhere: [Credential] = [
        .sessionOfOtherContainer, .sessionOfOtherEnvironment, .deviceOfOtherContainer, .deviceOfOtherEnvironment,
    ]
    /// Credentials whose users must sign in (again): an invalid web auth token beside a valid API token.
    private static let signedOut: [Credential] = [
        .endedSession, .sessionBesideOtherAPIToken, .sessionOfOtherContainerBesideThisAPIToken, .accountTokenAsWebAuthToken,
    ]
    private static let strangers: [Credential] = [
        .nothing, .apiTokenOfOtherContainer, .apiTokenOfOtherEnvironment, .revokedAPIToken, .apiTokenAsBearer, .webAuthTokenAsBearer,
        .keyOfOtherContainer, .keyOfOtherEnvironment, .revokedKey,
    ]
    /// Results of Ada's sign-ins that her account knows or has known.
    static let signIns = Set(signedIn + signedInElsewhere + [.sessionOfRevokedAPIToken, .endedDevice])
    private static let keys: [Credential] = [.key, .administratorKey]

    /// CloudKit Web Services. A credential of another container or environment is invalid, and so is the
    /// administrator's of the other listener. A signed request is refused everywhere but in the public database. A
    /// query names no zone, which the shared database refuses (400): it has no default zone, so none is found there
    /// (404).
    static let databases = AuthorisationTable(
        name: "databases", listener: .public, roots: ["database", "device"],
        columns: [
            ("stranger", strangers + signedInElsewhere + [.sessionOfRevokedAPIToken, .endedDevice, .administrator] + managers),
            ("signedOut", signedOut),
            ("apiToken", [.apiToken]), ("user", signedIn), ("key", keys),
        ],
        //                                                 stranger signedOut apiToken user key
        text: """
            POST …/records/modify      public                 401  421  421  200  200
            POST …/records/modify      private                401  421  421  200  401
            POST …/records/modify      shared                 401  421  421  404:ZONE_NOT_FOUND  401
            POST …/records/lookup      public                 401  421  200  200  200
            POST …/records/lookup      private                401  421  421  200  401
            POST …/records/lookup      shared                 401  421  421  404:ZONE_NOT_FOUND  401
            POST …/records/query       public                 401  421  200  200  200
            POST …/records/query       private                401  421  421  200  401
            POST …/records/query       shared                 401  421  421  400  401
            POST …/records/changes     public                 401  421  400  400  400
            POST …/records/changes     private                401  421  421  200  401
            POST …/records/changes     shared                 401  421  421  404:ZONE_NOT_FOUND  401
            GET  …/zones/list          public                 401  421  200  200  200
            GET  …/zones/list          private,shared         401  421  421  200  401
            POST …/zones/list          public                 401  421  200  200  200
            POST …/zones/list          private,shared         401  421  421  200  401
            POST …/zones/lookup        public                 401  421  200  200  200
            POST …/zones/lookup        private                401  421  421  200  401
            POST …/zones/lookup        shared                 401  421  421  200:ZONE_NOT_FOUND  401
            POST …/zones/modify        public                 401  421  400  400  400
            POST …/zones/modify        private                401  421  421  200  401
            POST …/zones/modify        shared                 401  421  400  400  401
            POST …/zones/changes       public                 401  421  400  400  400
            POST …/zones/changes       private,shared         401  421  421  200  401
            POST …/changes/database    public                 401  421  400  400  400
            POST …/changes/database    private,shared         401  421  421  200  401
            POST …/changes/zone        public                 401  421  400  400  400
            POST …/changes/zone        private                401  421  421  200  401
            POST …/changes/zone        shared                 401  421  421  200:ZONE_NOT_FOUND  401
            GET  …/users/caller        public,private,shared  401  421  421  200  401
            GET  …/users/current       public,private,shared  401  421  421  200  401
            POST …/records/resolve     public                 401  421  421  200:ACCESS_DENIED  401
            POST …/records/resolve     private,shared         401  421  421  400  401
            POST …/records/accept      public                 401  421  421  200:ACCESS_DENIED  401
            POST …/records/accept      private,shared         401  421  421  400  401
            POST …/records/request-access  public             401  421  421  200:ACCESS_DENIED  401
            POST …/records/request-access  private,shared     401  421  421  400  401
            POST …/records/share-page  public                 401  421  400  400  400
            POST …/records/share-page  private                401  421  421  200  401
            POST …/records/share-page  shared                 401  421  421  404:ZONE_NOT_FOUND  401
            POST …/assets/upload       public                 401  421  421  200  200
            POST …/assets/upload       private                401  421  421  200  401
            POST …/assets/upload       shared                 401  421  421  404:ZONE_NOT_FOUND  401
            POST …/assets/rereference  public                 401  421  421  404  404
            POST …/assets/rereference  private                401  421  421  404  401
            POST …/assets/rereference  shared                 401  421  421  404:ZONE_NOT_FOUND  401
            GET  …/subscriptions/list  public                 401  421  421  200  200
            GET  …/subscriptions/list  private,shared         401  421  421  200  401
            POST …/subscriptions/list  public                 401  421  421  200  200
            POST …/subscriptions/list  private,shared         401  421  421  200  401
            POST …/subscriptions/lookup  public               401  421  421  200:NOT_FOUND  200:NOT_FOUND
            POST …/subscriptions/lookup  private,shared       401  421  421  200:NOT_FOUND  401
            POST …/subscriptions/modify  public               401  421  421  200:BAD_REQUEST  200:BAD_REQUEST
            POST …/subscriptions/modify  private,shared       401  421  421  200  401
            POST …/keys/append         public                 401  421  421  400  400
            POST …/keys/append         private,shared         401  421  421  400  401
            POST …/keys/log            public                 401  421  421  400  400
            POST …/keys/log            private                401  421  421  200  401
            POST …/keys/log            shared                 401  421  421  400  401
            POST …/keys/scopes/modify  public                 401  421  421  400  400
            POST …/keys/scopes/modify  private,shared         401  421  421  400  401
            POST …/keys/scopes/list    public                 401  421  421  400  400
            POST …/keys/scopes/list    private,shared         401  421  421  400  401
            POST …/keys/scopes/join    public                 401  421  421  400  400
            POST …/keys/scopes/join    private,shared         401  421  421  400  401
            POST …/keys/enrolment/post  public                401  421  421  400  400
            POST …/keys/enrolment/post  private,shared        401  421  421  400  401
            POST …/keys/enrolment/list  public                401  421  421  400  400
            POST …/keys/enrolment/list  private               401  421  421  200  401
            POST …/keys/enrolment/list  shared                401  421  421  400  401
            GET  …/users/discover      public                 401  421  421  200  401
            GET  …/users/discover      private,shared         401  421  421  400  401
            POST …/users/discover      public                 401  421  421  200  401
            POST …/users/discover      private,shared         401  421  421  400  401
            POST …/users/lookup/email  public                 401  421  421  200  401
            POST …/users/lookup/email  private,shared         401  421  421  400  401
            POST …/users/lookup/id     public                 401  421  421  200  401
            POST …/users/lookup/id     private,shared         401  421  421  400  401
            POST …/users/lookup/contacts  public                401  421  421  200  401
            POST …/users/lookup/contacts  private,shared        401  421  421  400  401
            GET  …/users/permission    public                 401  421  421  200  401
            GET  …/users/permission    private,shared         401  421  421  400  401
            POST …/users/permission    public                 401  421  421  200  401
            POST …/users/permission    private,shared         401  421  421  400  401
            GET  …/users/contact-key   public                 401  421  421  200  401
            GET  …/users/contact-key   private,shared         401  421  421  400  401
            POST …/users/web-auth-token  public               401  421  421  400  400
            POST …/users/web-auth-token  private,shared       401  421  421  400  401
            POST /database/1/:container/:environment/tokens/create    -  401  421  421  200  401
            POST /database/1/:container/:environment/tokens/register  -  401  421  421  400  401
            POST /device/1/:container/:environment/tokens/create      -  401  421  421  200  401
            POST /device/1/:container/:environment/tokens/register    -  401  421  421  400  401
            GET  /device/1/:container/:environment/tokens/web-push    -  401  421  421  200  401
            POST /device/1/:container/:environment/tokens/web-push    -  401  421  421  200  401
            GET  /device/1/:container/:environment/notifications      -  401  421  421  200  401
            POST /device/1/:container/:environment/notifications      -  401  421  421  404  401
            """)

    /// An asset's URL identifies its owner. Other credentials beside it do not count, and this URL has no owner.
    static let assets = AuthorisationTable(
        name: "assets", listener: .public, roots: ["assets"], columns: [("anybody", Credential.allCases)],
        text: """
            POST /assets/1/upload/:token          -  404
            PATCH /assets/1/upload/:token         -  404
            HEAD /assets/1/upload/:token          -  404
            GET  /assets/1/download/:token/:name  -  404
            """)

    /// A push token identifies its owner; other credentials do not count, and here is none.
    static let push = AuthorisationTable(
        name: "push", listener: .public, roots: ["push"], columns: [("anybody", Credential.allCases)],
        text: """
            GET /push/1/aps  -  404
            """)

    /// A webhook's secret opens its changes, and no other credential does.
    static let webhooks = AuthorisationTable(
        name: "webhooks", listener: .public, roots: ["webhooks"], columns: [("anybody", Credential.allCases)],
        text: """
            GET /webhooks/1/:container/:environment/:id  -  401
            """)

    /// Accounts have no container: a sign-in to any container is valid. Where a password counts, no token replaces it
    /// (400: it is missing). Endpoints that only end credentials accept expired ones: a device that has ended, a
    /// session whose API token was revoked.
    static let accounts = AuthorisationTable(
        name: "accounts", listener: .public, roots: ["account"],
        columns: [
            ("stranger", strangers + keys + [.apiToken, .administrator] + managers), ("signedOut", signedOut), ("endedDevice", [.endedDevice]),
            ("revoked", [.sessionOfRevokedAPIToken]), ("user", signedIn + signedInElsewhere),
        ],
        //                                      stranger signedOut endedDevice revoked user
        text: """
            POST /account/1/sign-up              -  403  403  403  403  403
            POST /account/1/sign-in              -  400  400  400  400  400
            POST /account/1/sign-out             -  401  421  200  200  200
            POST /account/1/sessions/list        -  401  421  401  401  200
            POST /account/1/sessions/end         -  401  421  401  401  404
            POST /account/1/sessions/end-others  -  401  421  401  401  200
            POST /account/1/change-password      -  400  400  400  400  400
            POST /account/1/reset-password       -  400  400  400  400  400
            POST /account/1/change-email         -  400  400  400  400  400
            POST /account/1/verify-email         -  400  400  400  400  400
            POST /account/1/verify-phone         -  400  400  400  400  400
            POST /account/1/confirm-phone        -  400  400  400  400  400
            POST /account/1/remove-phone         -  400  400  400  400  400
            POST /account/1/delete               -  400  400  400  400  400
            POST /account/1/change-name          -  400  400  400  400  400
            POST /account/1/discoverability      -  400  400  400  400  400
            POST /account/1/usage                -  401  421  401  401  200
            POST /account/1/passkeys/list        -  400  400  400  400  400
            POST /account/1/passkeys/remove      -  400  400  400  400  400
            """)

    /// Routes without private data answer all callers.
    static let others = AuthorisationTable(
        name: "others", listener: .public,
        roots: ["healthz", "readyz", "limits", "version", "openapi", "openapi.json", "errors", "share", "manage-share", "new-password", "ck", ""],
        columns: [("anybody", Credential.allCases)],
        text: """
            GET /healthz  -  200
            GET /readyz   -  200
            GET /limits   -  200
            GET /version  -  200
            GET /  -  200
            GET /errors  -  200
            GET /share/:shortGUID  -  200
            GET /manage-share  -  401
            POST /manage-share  -  403
            GET /new-password  -  401
            POST /new-password  -  403
            GET /openapi  -  200
            GET /openapi.json  -  200
            GET /ck/:version/:file  -  404
            """)

    /// The page needs a known app, and nothing more. Its form must come from the page itself: another one is refused
    /// before it is read.
    static let signIn = AuthorisationTable(
        name: "signIn", listener: .public, roots: ["sign-in"],
        columns: [
            ("noApp", Credential.allCases.filter { !apps.contains($0) && !endedApps.contains($0) }), ("endedApp", endedApps), ("app", apps),
        ],
        //                 noApp endedApp app
        text: """
            GET  /sign-in  -  400  401  200
            POST /sign-in  -  403  403  403
            """)

    private static let endedApps: [Credential] = [.revokedAPIToken, .sessionOfRevokedAPIToken]
    private static let apps: [Credential] = [
        .apiToken, .apiTokenOfOtherContainer, .apiTokenOfOtherEnvironment, .session, .sessionOfOtherContainer, .sessionOfOtherEnvironment,
        .endedSession, .sessionBesideOtherAPIToken, .sessionOfOtherContainerBesideThisAPIToken, .accountTokenAsWebAuthToken,
    ]

    private static let managers: [Credential] = [.manager, .managerOfOtherContainer, .revokedManager]

    /// The administrator's token opens all of it; a management token opens the schema of its container; no other
    /// credential opens any. 400: an empty request. 403 for the container's manager: a message without a container,
    /// or a route that is not about schemas.
    static let administration = AuthorisationTable(
        name: "administration", listener: .admin, roots: ["admin", "metrics", "console"],
        columns: [
            ("anybody", Credential.allCases.filter { $0 != .administrator && $0 != .manager && $0 != .managerOfOtherContainer }),
            ("managerElsewhere", [.managerOfOtherContainer]), ("manager", [.manager]), ("administrator", [.administrator]),
        ],
        //                                        anybody managerElsewhere manager administrator
        text: """
            GET    /admin/1/proof                 -  200  200  200  200
            GET    /metrics                       -  401  403  403  200
            GET    /console                       -  303  303  303  303
            GET    /console/*file                 -  404  404  404  404
            POST   /admin/1/console/sign-in       -  400  400  400  400
            GET    /admin/1/console/session       -  401  403  403  401
            POST   /admin/1/console/sign-out      -  401  403  403  401
            POST   /admin/1/console/links         -  401  403  403  201
            POST   /admin/1/console/sign-out-all  -  401  403  403  200
            POST   /admin/1/console/challenge     -  403  403  403  403
            GET    /admin/1/team                  -  401  403  403  200
            POST   /admin/1/team                  -  401  403  403  400
            POST   /admin/1/team/role             -  401  403  403  400
            POST   /admin/1/team/remove           -  401  403  403  400
            POST   /admin/1/team/invite           -  401  403  403  400
            POST   /admin/1/team/passkeys/remove  -  401  403  403  400
            GET    /admin/1/server                -  401  403  403  200
            GET    /admin/1/limits                -  401  403  403  200
            GET    /admin/1/openapi.json          -  401  403  403  200
            GET    /admin/1/audit                 -  401  403  403  200
            GET    /admin/1/logs                  -  401  403  403  200
            GET    /admin/1/telemetry             -  401  403  403  200
            GET    /admin/1/requests              -  401  403  403  404
            GET    /admin/1/alerts                -  401  403  403  200
            POST   /admin/1/alerts                -  401  403  403  400
            POST   /admin/1/alerts/remove         -  401  403  403  400
            POST   /admin/1/alerts/test           -  401  403  403  400
            POST   /admin/1/alerts/silence        -  401  403  403  400
            GET    /admin/1/mail                  -  401  403  403  200
            POST   /admin/1/mail/test             -  401  403  403  400
            GET    /admin/1/containers            -  401  403  403  200
            POST   /admin/1/containers            -  401  403  403  400
            POST   /admin/1/containers/change     -  401  403  403  400
            POST   /admin/1/containers/delete     -  401  403  403  400
            POST   /admin/1/containers/sharing    -  401  403  403  400
            POST   /admin/1/tokens                -  401  403  403  400
            GET    /admin/1/tokens                -  401  403  403  200
            POST   /admin/1/tokens/revoke         -  401  403  403  400
            POST   /admin/1/tokens/rotate         -  401  403  403  400
            GET    /admin/1/rates                 -  401  403  403  400
            POST   /admin/1/rates/change          -  401  403  403  400
            GET    /admin/1/push/apns             -  401  403  403  400
            POST   /admin/1/push/apns/set         -  401  403  403  400
            POST   /admin/1/push/apns/remove      -  401  403  403  400
            POST   /admin/1/subscriptions/list    -  401  403  403  400
            POST   /admin/1/subscriptions/why     -  401  403  403  400
            GET    /admin/1/webhooks              -  401  403  403  400
            POST   /admin/1/webhooks              -  401  403  403  400
            POST   /admin/1/webhooks/delete       -  401  403  403  400
            POST   /admin/1/webhooks/test         -  401  403  403  400
            POST   /admin/1/webhooks/resume       -  401  403  403  400
            POST   /admin/1/shares/list           -  401  403  403  400
            POST   /admin/1/shares/who            -  401  403  403  400
            POST   /admin/1/shares/create         -  401  403  403  400
            POST   /admin/1/shares/manage         -  401  403  403  400
            POST   /admin/1/zones/create          -  401  403  403  400
            POST   /admin/1/zones/purge           -  401  403  403  400
            POST   /admin/1/zones/resync          -  401  403  403  400
            POST   /admin/1/users/resync          -  401  403  403  400
            POST   /admin/1/users                 -  401  403  403  400
            GET    /admin/1/users                 -  401  403  403  200
            GET    /admin/1/users/show            -  401  403  403  400
            GET    /admin/1/users/usage           -  401  403  403  400
            POST   /admin/1/users/delete          -  401  403  403  400
            POST   /admin/1/users/reset-password  -  401  403  403  400
            POST   /admin/1/users/sign-in         -  401  403  403  400
            POST   /admin/1/users/change-email    -  401  403  403  400
            POST   /admin/1/users/change-name     -  401  403  403  400
            POST   /admin/1/users/state           -  401  403  403  400
            GET    /admin/1/users/passkeys        -  401  403  403  400
            POST   /admin/1/users/passkeys/remove -  401  403  403  400
            GET    /admin/1/usage                 -  401  403  403  400
            GET    /admin/1/quotas                -  401  403  403  400
            POST   /admin/1/quotas/change         -  401  403  403  400
            GET    /admin/1/sessions              -  401  403  403  400
            POST   /admin/1/sessions/revoke       -  401  403  403  400
            GET    /admin/1/schema                -  401  403  200  200
            POST   /admin/1/schema/deploy         -  401  400  400  400
            POST   /admin/1/schema/import         -  401  400  400  400
            POST   /admin/1/schema/diff           -  401  403  200  200
            POST   /admin/1/schema/indexes        -  401  400  400  400
            POST   /admin/1/schema/reset          -  401  400  400  400
            GET    /admin/1/schema/history        -  401  403  200  200
            GET    /admin/1/schema/indexes        -  401  403  200  200
            GET    /admin/1/schema/counts         -  401  403  403  400
            POST   /admin/1/schema/undo           -  401  400  400  400
            GET    /admin/1/roles                 -  401  403  403  400
            POST   /admin/1/roles/assign          -  401  403  403  400
            POST   /admin/1/roles/revoke          -  401  403  403  400
            POST   /admin/1/roles/why             -  401  403  403  400
            POST   /admin/1/check                 -  401  403  403  200
            POST   /admin/1/assets/verify         -  401  403  403  200
            POST   /admin/1/assets/collect        -  401  403  403  200
            POST   /admin/1/assets/content        -  401  403  403  400
            POST   /admin/1/assets/upload         -  401  403  403  400
            GET    /admin/1/tasks                 -  401  403  403  200
            POST   /admin/1/tasks/retry           -  401  403  403  400
            POST   /admin/1/query/explain         -  401  403  403  400
            POST   /admin/1/records/lookup        -  401  403  403  400
            POST   /admin/1/records/modify        -  401  403  403  400
            POST   /admin/1/zones/list            -  401  403  403  400
            POST   /admin/1/zones/changes         -  401  403  403  400
            POST   /admin/1/backup                -  401  403  403  400
            GET    /admin/1/backup                -  401  403  403  200
            DELETE /admin/1/backup                -  401  403  403  200
            GET    /admin/1/backups               -  401  403  403  200
            POST   /admin/1/backups/verify        -  401  403  403  400
            """)

    /// Routes of an emulator: only its administrator orders faults.
    static let faults = AuthorisationTable(
        name: "faults", listener: .emulator, roots: ["admin"],
        columns: [
            ("anybody", Credential.allCases.filter { $0 != .administrator && $0 != .manager && $0 != .managerOfOtherContainer }),
            ("manager", [.manager, .managerOfOtherContainer]), ("administrator", [.administrator]),
        ],
        //                                anybody manager administrator
        text: """
            GET    /admin/1/faults        -  401  403  200
            POST   /admin/1/faults        -  401  403  400
            POST   /admin/1/faults/clear  -  401  403  200
            """)

    // MARK: Bodies

    /// bodies[pattern]: small, and valid for a good credential; `{}` for all others.
    static let bodies: [String: String] = {
        let inCellar = #""zoneID":{"zoneName":"Cellar"}"#
        let ofDatabases = [
            "records/modify": Body.modify("create", #""recordType":"Note","fields":{"text":{"value":"new","type":"STRING"}}"#),
            "records/lookup": Body.lookup("note"),
            "records/query": Body.query("Note", filters: [Body.filter("text", "EQUALS", #"{"value":"hush-hush"}"#)]),
            "records/changes": "{\(inCellar)}", "zones/lookup": #"{"zones":[{"zoneName":"_defaultZone"}]}"#,
            "records/resolve": #"{"shortGUIDs":[{"value":"nothing"}]}"#, "records/accept": #"{"shortGUIDs":[{"value":"nothing"}]}"#,
            "records/request-access": #"{"shortGUIDs":[{"value":"nothing"}]}"#, "records/share-page": "{\(inCellar)}",
            "zones/modify": Body.zones("create", "Cellar"), "changes/zone": Body.feed("Cellar"),
            "assets/upload": #"{"tokens":[{"recordType":"Note","fieldName":"image"}]}"#,
            "assets/rereference": #"{"assets":[{"recordName":"nothing","fieldName":"image"}]}"#,
            "users/discover": #"{"lookupInfos":[{"userRecordName":"_nobody"}]}"#,
            "users/lookup/email": #"{"users":[{"emailAddress":"nobody@example.com"}]}"#,
            "users/lookup/id": #"{"users":[{"userRecordName":"_nobody"}]}"#, "users/permission": #"{"userDiscoverability":"DENIED"}"#,
            "subscriptions/lookup": #"{"subscriptions":[{"subscriptionID":"nothing"}]}"#,
            "subscriptions/modify":
                #"{"operations":[{"operationType":"create","subscription":{"subscriptionID":"all","subscriptionType":"zone","zoneWide":true}}]}"#,
        ]
        let ofTokens = [
            "tokens/create": #"{"apnsEnvironment":"development"}"#, "tokens/register": #"{"apnsEnvironment":"development","apnsToken":"00"}"#,
            "tokens/web-push": #"{"subscription":null}"#, "notifications": #"{"clientId":"nothing","badge":0}"#,
        ]
        let ofAccounts = [
            "sign-in": #"{"email":"ada@example.com"}"#, "sessions/end": #"{"id":"nothing"}"#, "change-password": #"{"email":"ada@example.com"}"#,
            "reset-password": #"{"email":"ada@example.com","newPassword":"a longer horse"}"#, "change-email": #"{"email":"ada@example.com"}"#,
            "delete": #"{"email":"ada@example.com"}"#,
        ]
        let ofAdministration = [
            "check": #"{"repairs":false,"removesLost":false}"#, "assets/collect": #"{"isDryRun":true}"#,
            "schema/diff": #"{"container":"\#(TestServer.container)","environment":"development","text":"DEFINE SCHEMA"}"#,
        ]
        let pairs =
            ofDatabases.map { ("/database/1/:container/:environment/:database/\($0.key)", $0.value) }
            + ofTokens.flatMap { name, body in ["device", "database"].map { ("/\($0)/1/:container/:environment/\(name)", body) } }
            + ofAccounts.map { ("/account/1/\($0.key)", $0.value) } + ofAdministration.map { ("/admin/1/\($0.key)", $0.value) }
        return Dictionary(uniqueKeysWithValues: pairs)
    }()

    static let queries = [
        "/admin/1/proof": ["nonce": "00112233445566778899aabbccddeeff"], "/sign-in": ["origin": "https://app.example"],
        "/admin/1/schema": ["container": TestServer.container, "environment": "development"],
        "/admin/1/schema/history": ["container": TestServer.container, "environment": "development"],
        "/admin/1/schema/indexes": ["container": TestServer.container, "environment": "development"],
    ]

    /// Routes that end sign-ins: each of `signIns` is tested there on a server of its own.
    static let ending: Set = ["/account/1/sign-out", "/account/1/sessions/end-others"]
}
