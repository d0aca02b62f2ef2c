import NacreHTTPServer

/// Descriptions of the admin API for `/admin/1/openapi.json`.
extension AdminAPI {
    private typealias Messages = AdminMessages
    private typealias Query = [EndpointDescription.QueryValue]

    static let documentPath = "/admin/1/openapi.json"
    static let document = document(of: descriptions)
    static let documentJSON = document.json
    /// The description of an emulator's admin API.
    static let emulatorDocument = document(of: descriptions + ofFaults)
    static let emulatorDocumentJSON = emulatorDocument.json

    private static func document(of endpoints: [EndpointDescription]) -> OpenAPIDocument {
        OpenAPIDocument(
            title: "Nacre, administration", summary: "What an administrator may ask of the running server.", endpoints: endpoints, errors: .problem)
    }

    static let descriptions: [EndpointDescription] =
        ofServer + ofContainers + ofUsers + ofSchemas + ofRoles + ofQuotas + ofPush + ofWebhooks + ofShares + ofStore + ofAlerts + ofConsole

    private static let place: Query = [.required("container"), .required("environment", EndpointDescription.environment)]
    private static let after = EndpointDescription.QueryValue.optional("after")

    private static func get<Given: Decodable>(
        _ path: String, _ group: String, _ summary: String, _ given: Given.Type, query: Query = [],
        by credentials: [[AskingCredential]] = [[.adminToken]]
    ) -> EndpointDescription {
        EndpointDescription(
            method: .get, pattern: "/admin/1/" + path, summary: summary, group: group, credentials: credentials, query: query,
            answers: [.init(status: 200, schema: MessageSchema.of(given, isClosed: true))], errors: errors)
    }

    private static func post<Asked: Decodable, Given: Decodable>(
        _ path: String, _ group: String, _ summary: String, _ asked: Asked.Type, _ given: Given.Type, status: Int = 200, example: StaticString? = nil,
        by credentials: [[AskingCredential]] = [[.adminToken]]
    ) -> EndpointDescription {
        EndpointDescription(
            method: .post, pattern: "/admin/1/" + path, summary: summary, group: group, credentials: credentials,
            body: MessageSchema.of(asked, isClosed: false), example: example,
            answers: [.init(status: status, schema: MessageSchema.of(given, isClosed: true))], errors: errors)
    }

    private static let errors = [400, 401, 403, 404, 409, 413, 422, 429]

    private static func text(_ pattern: String, _ summary: String, by credentials: [[AskingCredential]], type: String) -> EndpointDescription {
        EndpointDescription(
            method: .get, pattern: pattern, summary: summary, group: "Server", credentials: credentials, answers: [.init(status: 200, type: type)],
            errors: errors)
    }

    private static let ofServer = [
        get(
            "proof", "Server", "Proves that this is the server of an admin.json.", Messages.Proof.self,
            query: [.required("nonce"), .optional("token")],
            by: []),
        get("server", "Server", "The server's version, where apps reach it, and what files of assets take.", Messages.Server.self),
        get("limits", "Server", "Every limit of the server, as it is set, with its source.", Messages.LimitTable.self),
        get("audit", "Server", "What administrators did, newest first.", Messages.AuditLog.self, query: [after]),
        get(
            "logs", "Server", "The last lines of the log.", Messages.Logs.self,
            query: [after, .optional("level", .word(ServerConfiguration.logLevels))]),
        get(
            "telemetry", "Server", "What the cloud did in a period, in sums.", Messages.Telemetry.self,
            query: [
                .optional("last", .word(TelemetryQuestion.Last.allCases.map(\.rawValue))), .optional("from"), .optional("to"), .optional("operation"),
                .optional("database"), .optional("container"), .optional("environment", EndpointDescription.environment),
                .optional("by", .word(TelemetryQuestion.Grouping.allCases.map(\.rawValue))), .optional("compare", .word(["previous"])),
            ]),
        get(
            "requests", "Server", "Requests that were answered, newest first.", Messages.Requests.self,
            query: [
                .optional("since"), .optional("until"), .optional("container"), .optional("environment"), .optional("database"), .optional("zone"),
                .optional("user"), .optional("operation"), .optional("client"), .optional("code"), .optional("status"), .optional("refused"),
                .optional("slowerThan"), .optional("request"), after, .optional("following"), .optional("limit"),
            ]),
        EndpointDescription(
            method: .get, pattern: documentPath, summary: "This document.", group: "Server", credentials: [[.adminToken]],
            answers: [.init(status: 200, schema: .map(.any))], errors: errors),
        text(
            Metrics.path, "Counters for Prometheus; loopback needs no token.", by: [[], [.adminToken]], type: Metrics.contentType),
    ]

    private static let ofContainers = [
        get(
            "containers", "Containers", "The containers, or one with its settings.", Messages.Containers.self,
            query: [after, .optional("name")]),
        created("containers", "Containers", "Makes a container.", Messages.NewContainer.self, Messages.Container.self),
        post(
            "containers/change", "Containers", "Says whose saves bring types and fields.", Messages.NewContainerChange.self,
            Messages.ContainerChange.self),
        post(
            "containers/delete", "Containers", "Deletes a container with all its data.", Messages.NewContainerDeletion.self,
            Messages.ContainerDeletion.self),
        post(
            "containers/sharing", "Containers", "Says where the pages of shares lead.", Messages.NewContainerSharing.self,
            Messages.ContainerSharing.self),
        newToken,
        get(
            "tokens", "Tokens", "API tokens, server-to-server keys and management tokens.", Messages.Tokens.self,
            query: [.optional("container"), after]),
        post("tokens/rotate", "Tokens", "Gives an API token's place to another.", Messages.NewRotation.self, Messages.Rotation.self, status: 201),
        post("tokens/revoke", "Tokens", "Ends an API token, a key or a management token.", Messages.TokenRevocation.self, Messages.TokenLine.self),
    ]

    /// A `POST` with the answers 201 and, if the thing existed already, 200.
    private static func created<Asked: Decodable, Given: Decodable>(
        _ path: String, _ group: String, _ summary: String, _ asked: Asked.Type, _ given: Given.Type
    ) -> EndpointDescription {
        var endpoint = post(path, group, summary, asked, given)
        endpoint.answers += endpoint.answers.map { EndpointDescription.Answer(status: 201, schema: $0.schema) }
        return endpoint
    }

    private static let newToken: EndpointDescription = {
        var endpoint = post(
            "tokens", "Tokens", "Makes an API token, a server-to-server key or a management token.", Messages.NewToken.self, Messages.Token.self)
        let schemas = [MessageSchema.of(Messages.Token.self, isClosed: true), MessageSchema.of(Messages.ServerKey.self, isClosed: true)]
        endpoint.answers = [.init(status: 201, schema: .either(schemas))]
        return endpoint
    }()

    private static let ofUsers = [
        post("users", "Users", "Makes an account.", Messages.NewUser.self, Messages.User.self, status: 201),
        get("users", "Users", "The accounts.", Messages.Users.self, query: [after]),
        get("users/show", "Users", "One account.", Messages.UserDetails.self, query: [.required("email")]),
        get("users/usage", "Users", "What an account's private databases hold.", AccountMessages.AccountUsage.self, query: [.required("email")]),
        post("users/change-email", "Users", "Gives an account another address.", Messages.NewEmail.self, Messages.User.self),
        post("users/change-name", "Users", "Sets an account's names.", Messages.NewNames.self, Messages.Names.self),
        post("users/state", "Users", "Says whether an account reaches its data.", Messages.NewUserState.self, Messages.UserState.self),
        post("users/delete", "Users", "Deletes an account.", Messages.NewUserDeletion.self, Messages.User.self),
        post(
            "users/reset-password", "Users", "Makes a code for a new password, and a link with it.", Messages.NewPasswordReset.self,
            Messages.PasswordReset.self,
            status: 201),
        post(
            "users/sign-in", "Users", "Signs an administrator in as a user, in development.", Messages.NewActing.self, Messages.Acting.self,
            status: 201),
        get(
            "sessions", "Users", "What an account is signed in with.", AccountMessages.Sessions.self, query: [.required("email"), after]),
        post(
            "sessions/revoke", "Users", "Ends sessions and devices.", Messages.NewSessionEnd.self, AccountMessages.SessionsEnded.self),
        get("users/passkeys", "Users", "An account's passkeys.", AccountMessages.Passkeys.self, query: [.required("email")]),
        post(
            "users/passkeys/remove", "Users", "Takes a passkey away.", Messages.NewPasskeyRemoval.self, AccountMessages.Passkey.self),
    ]

    /// Credentials that may manage the schema of a container.
    private static let managers: [[AskingCredential]] = [[.adminToken], [.managementToken]]

    private static let ofSchemas = [
        get("schema", "Schemas", "A schema.", Messages.Schema.self, query: place, by: managers),
        post(
            "schema/deploy", "Schemas", "Brings development's schema to production.", Messages.NewDeployment.self, Messages.Deployment.self,
            by: managers),
        post("schema/import", "Schemas", "Sets development's schema.", Messages.NewImport.self, Messages.Differences.self, by: managers),
        post("schema/diff", "Schemas", "How a schema differs from a file.", Messages.NewDiff.self, Messages.Differences.self, by: managers),
        get("schema/indexes", "Schemas", "The indexes that are made, and why.", Messages.MadeIndexes.self, query: place, by: managers),
        post("schema/indexes", "Schemas", "A field's indexes.", Messages.NewIndexes.self, Messages.Indexes.self, by: managers),
        get("schema/counts", "Schemas", "The records of the public database by type.", Messages.RecordCounts.self, query: place),
        post("schema/reset", "Schemas", "Makes development as production is, and empty.", Messages.NewReset.self, Messages.Reset.self, by: managers),
        get("schema/history", "Schemas", "What administrators changed.", Messages.SchemaHistory.self, query: place, by: managers),
        post("schema/undo", "Schemas", "Takes the last change back.", Messages.NewUndo.self, Messages.Undo.self, by: managers),
        post("query/explain", "Schemas", "How a query is answered.", Messages.NewExplanation.self, Messages.Explanation.self),
        post("records/lookup", "Schemas", "Records by their names.", Messages.NewDatabaseRequest.self, Messages.DatabaseAnswer.self),
        post("records/modify", "Schemas", "Saves and deletes records.", Messages.NewDatabaseRequest.self, Messages.DatabaseAnswer.self),
        post("zones/list", "Schemas", "The zones of a database.", Messages.NewDatabaseRequest.self, Messages.DatabaseAnswer.self),
        post("zones/changes", "Schemas", "The feed of a zone.", Messages.NewDatabaseRequest.self, Messages.DatabaseAnswer.self),
        // An image has its own type.
        EndpointDescription(
            method: .post, pattern: "/admin/1/assets/content", summary: "The file in a field of a record.", group: "Schemas",
            credentials: [[.adminToken]], body: MessageSchema.of(Messages.NewAssetContent.self, isClosed: false),
            answers: [.init(status: 200, type: "*/*")], errors: errors),
        EndpointDescription(
            method: .post, pattern: "/admin/1/assets/upload", summary: "Takes the file of a field, which the body is.", group: "Schemas",
            credentials: [[.adminToken]], query: uploadQuery,
            answers: [.init(status: 200, schema: MessageSchema.of(Messages.DatabaseAnswer.self, isClosed: true))], errors: errors),
    ]

    private static let ofRoles = [
        get("roles", "Roles", "The roles, and who has them.", Messages.Roles.self, query: place + [after]),
        post("roles/assign", "Roles", "Gives a role.", Messages.NewRoleChange.self, Messages.RoleHolder.self),
        post("roles/revoke", "Roles", "Takes a role.", Messages.NewRoleChange.self, Messages.RoleHolder.self),
        post("roles/why", "Roles", "Why somebody may do something, or not.", Messages.NewPermissionQuestion.self, Messages.PermissionAnswer.self),
    ]

    private static let ofQuotas = [
        get("usage", "Quotas", "What databases hold.", Messages.Usage.self, query: place + [.optional("user"), after]),
        get("quotas", "Quotas", "What databases may hold.", Messages.Quotas.self, query: place),
        get("rates", "Quotas", "How much work may be done.", Messages.Rates.self, query: [.required("container")]),
        post("rates/change", "Quotas", "Sets how much work may be done.", Messages.NewRates.self, Messages.Rates.self),
        post("quotas/change", "Quotas", "Sets what databases may hold.", Messages.NewQuotas.self, Messages.Quotas.self),
    ]

    private static let ofPush = [
        get("push/apns", "Push", "Which keys of Apple's push services a container has.", Messages.PushKeys.self, query: [.required("container")]),
        post("push/apns/set", "Push", "Gives a container its key.", Messages.NewPushKey.self, Messages.PushKey.self),
        post("subscriptions/list", "Push", "A user's subscriptions.", Messages.NewSubscriptionList.self, Messages.Subscriptions.self),
        post(
            "subscriptions/why", "Push", "Why a subscription fired for a record, or not.", Messages.NewNotificationQuestion.self,
            Messages.NotificationAnswer.self),
        post("push/apns/remove", "Push", "Takes a container's key away.", Messages.NewPushKeyRemoval.self, Messages.PushKey.self),
    ]

    private static let ofWebhooks = [
        post(
            "webhooks", "Webhooks", "Makes a webhook, and shows its secret this once.", Messages.NewWebhook.self, Messages.CreatedWebhook.self,
            status: 201),
        get("webhooks", "Webhooks", "The webhooks of an environment, and how they fare.", Messages.Webhooks.self, query: place),
        post("webhooks/delete", "Webhooks", "Deletes a webhook.", Messages.WebhookName.self, Messages.WebhookLine.self),
        post("webhooks/test", "Webhooks", "Sends a delivery without changes.", Messages.WebhookName.self, Messages.WebhookTest.self),
        post("webhooks/resume", "Webhooks", "Puts the parked deliveries of a webhook back.", Messages.WebhookName.self, Messages.WebhookResume.self),
    ]

    private static let ofShares = [
        post("shares/list", "Users", "What a user shares.", Messages.NewShareList.self, Messages.Shares.self),
        post(
            "shares/create", "Users", "Shares a user's zone or record as the user, in development.", Messages.NewShare.self,
            Messages.CreatedShare.self, status: 201),
        post(
            "shares/manage", "Users", "A link to the page on which a share's owner manages it.", Messages.NewShareLink.self,
            Messages.ShareLink.self, status: 201),
        post(
            "shares/who", "Users", "Who sees and writes a record, by which share and why.", Messages.NewShareQuestion.self, Messages.ShareAnswer.self),
        post(
            "zones/create", "Users", "Makes a zone in a user's private database, in development.", Messages.UserZone.self,
            Messages.NamedZone.self, status: 201),
        post(
            "zones/purge", "Users", "Deletes a zone as its user does in the storage settings.", Messages.UserZone.self, Messages.NamedZone.self),
        post("zones/resync", "Users", "Makes every device fetch a zone from the beginning.", Messages.UserZone.self, Messages.NamedZone.self),
        post(
            "users/resync", "Users", "Makes every device of a user fetch the private database from the beginning.", Messages.NewUserResync.self,
            Messages.UserResync.self),
    ]

    private static let ofAlerts = [
        get("alerts", "Alerts", "The alert rules, their states, and the kinds that there are.", Messages.Alerts.self),
        created("alerts", "Alerts", "Adds an alert rule, or changes the one of its name.", Messages.NewAlert.self, Messages.AddedAlert.self),
        post("alerts/remove", "Alerts", "Removes an alert rule.", Messages.NewAlertRemoval.self, Messages.RemovedAlert.self),
        post("alerts/test", "Alerts", "Tells by all ways of a rule at once.", Messages.NewAlertTest.self, Messages.AlertTest.self),
        get("mail", "Alerts", "Whether the server sends mail, and from which address.", Messages.Mail.self),
        post("mail/test", "Alerts", "Sends a mail that tries the mail server.", Messages.NewMailTest.self, Messages.MailTest.self),
        post("alerts/silence", "Alerts", "Tells nothing of a rule for a time.", Messages.NewAlertSilence.self, Messages.SilencedAlert.self),
    ]

    private static let ofConsole = [
        post(
            "console/links", "Console", "Makes a link that opens the console once.", Messages.NewConsoleLink.self, Messages.ConsoleLink.self,
            status: 201),
        post(
            "console/sign-in", "Console", "Begins a session of the console by a link's token or a passkey; its page sends the cookie and the key.",
            Messages.NewConsoleSession.self, Messages.ConsoleSession.self, by: []),
        post(
            "console/challenge", "Console", "A challenge for a passkey on the console's page.", Messages.NewConsoleChallenge.self,
            Messages.ConsoleChallenge.self, by: []),
        get("team", "Console", "The people of the team, who sign in to the console with passkeys.", Messages.Team.self),
        post(
            "team", "Console", "Invites a person to the team, by a link that makes a passkey once.", Messages.NewTeamRole.self,
            Messages.InvitedTeamMember.self, status: 201),
        post("team/role", "Console", "Gives a member of the team another role.", Messages.NewTeamRole.self, Messages.TeamLine.self),
        post(
            "team/invite", "Console", "Invites a member again, to a further passkey or in the place of an invitation that has ended.",
            Messages.TeamMemberName.self, Messages.InvitedTeamMember.self, status: 201),
        post(
            "team/passkeys/remove", "Console", "Takes a passkey away from a member of the team.", Messages.NewTeamPasskeyRemoval.self,
            Messages.TeamLine.self),
        post("team/remove", "Console", "Removes a member of the team.", Messages.TeamMemberName.self, Messages.TeamLine.self),
        get("console/session", "Console", "The session of the console's page that asks.", Messages.ConsoleSession.self, by: []),
        post(
            "console/sign-out", "Console", "Ends the session of the console's page that asks.", Messages.ConsoleSignOut.self,
            Messages.ConsoleSession.self, by: []),
        post(
            "console/sign-out-all", "Console", "Ends all sessions and links of the console.", Messages.ConsoleSignOut.self,
            Messages.ConsolesSignedOut.self),
    ]

    private static let ofFaults = [
        get("faults", "Faults", "What was ordered to go wrong and has not happened.", Messages.Faults.self),
        post(
            "faults", "Faults", "Orders that something goes wrong with requests to come.", Messages.NewFault.self, Messages.Faults.self, status: 201,
            example: #"{"fault":"zoneBusy"}"#),
        post(
            "faults/clear", "Faults", "Takes back what was ordered and has not happened.", Messages.NoFaults.self, Messages.Faults.self,
            example: "{}"),
    ]

    private static let ofStore = [
        post(
            "check", "Store", "A part of a check.", Messages.NewCheck.self, Messages.CheckPart.self,
            example: #"{"repairs":false,"removesLost":false}"#),
        post(
            "assets/verify", "Store", "A part of a look at all assets.", Messages.NewAssetVerification.self, Messages.AssetReview.self,
            example: "{}"),
        post(
            "assets/collect", "Store", "Takes chunks away that no asset has.", Messages.NewAssetCollection.self, Messages.AssetReview.self,
            example: #"{"isDryRun":true}"#),
        get("tasks", "Store", "What waits to be done.", Messages.TaskPage.self, query: [after]),
        post("tasks/retry", "Store", "Makes a parked task due.", Messages.NewRetry.self, Messages.Retries.self),
        post("backup", "Store", "Begins a backup.", Messages.NewBackup.self, Messages.BackupStatus.self, status: 202),
        get("backup", "Store", "The backup under way, or how the last one ended.", Messages.BackupStatus.self),
        get("backups", "Store", "The backups that the server makes by itself, and the next one's time.", Messages.Backups.self),
        post(
            "backups/verify", "Store", "Begins to verify one of them.", Messages.NewBackupVerification.self, Messages.BackupStatus.self, status: 202),
        EndpointDescription(
            method: .delete, pattern: "/admin/1/backup", summary: "Gives up the backup under way.", group: "Store", credentials: [[.adminToken]],
            answers: [.init(status: 200, schema: MessageSchema.of(Messages.BackupStatus.self, isClosed: true))], errors: errors),
    ]
}
