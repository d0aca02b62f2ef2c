import NacreCloudServer

/// Tools that say why the server decided as it did.
enum WhyTools {
    static let all = [permission, notification]

    private static let operation = ToolParameter.text(
        "operation", "What is to be done. WRITE is also to delete.", oneOf: ["READ", "CREATE", "WRITE"], isRequired: true)
    private static let key = ToolParameter.text("key", "The ID of a server-to-server key, in place of user.")
    private static let recordName = ToolParameter.text("record", "The record's name in the public database. CREATE takes record_type instead.")
    private static let recordType = ToolParameter.text("record_type", "With CREATE: the type of the record to be made.")

    static let permission = Tool(
        "why_permission", "Why something is permitted",
        "Says whether a user may read, create or change a record of the public database, by which roles, and which roles could. Call it for "
            + "ACCESS_DENIED. Without user and key: somebody who is not signed in.",
        [.container, .environment, operation, .user, key, recordName, recordType]
    ) { arguments, context in
        try context.require(user: arguments.text(.user))
        let found = try await context.connect().explain(
            AdminMessages.NewPermissionQuestion(
                container: try arguments.require(.container), environment: try arguments.require(.environment), user: arguments.text(.user),
                key: arguments.text(key), operation: try arguments.require(operation), record: arguments.text(recordName),
                recordType: arguments.text(recordType)))
        return ToolAnswer([
            "is_permitted": .boolean(found.isPermitted), "user": .text(found.user), "is_administrator": .boolean(found.isAdministrator),
            "record_type": .string(found.recordType), "creator": .text(found.creator), "roles_of_user": .texts(found.roles),
            "roles_that_may": .texts(found.grantedTo), "because_of_roles": .texts(found.because),
        ])
    }

    private static let user = ToolParameter.text(
        "user", "Whose subscription: a user record name. An e-mail address only if private data is allowed.", isRequired: true)
    private static let database = ToolParameter.text(
        "database", "The database that they subscribe in.", oneOf: ["public", "private", "shared"], fallback: "private")
    private static let subscription = ToolParameter.text("subscription", "The subscription's ID.", isRequired: true)
    private static let record = ToolParameter.text("record", "The record's name.", isRequired: true)

    static let notification = Tool(
        "why_notification", "Why a notification came or not",
        "Says step by step whether a subscription fires for a record as it is now, and on each device of the user what became of its notifications. "
            + "The first step that is not passed is the reason. Steps: subscription and record exist (saved), zone, feed (the default zone has none), "
            + "type, event, filter, permission. Texts of steps, which have values, are shown only if private data is allowed.",
        [.container, .environment, database, user, subscription, record, .zone]
    ) { arguments, context in
        try context.require(user: arguments.text(user))
        let found = try await context.connect().explain(
            AdminMessages.NewNotificationQuestion(
                container: try arguments.require(.container), environment: try arguments.require(.environment),
                database: try arguments.require(database), user: try arguments.require(user), zone: arguments.text(.zone),
                record: try arguments.require(record), subscription: try arguments.require(subscription)))
        return found.answer(showsTexts: context.allowsPrivate)
    }
}

extension AdminMessages.NotificationAnswer {
    /// - Parameter showsTexts: Whether values, names of zones and devices, and a push service's words are shown.
    fileprivate func answer(showsTexts: Bool) -> ToolAnswer {
        let rows = devices.map { device in
            JSONValue.members([
                "device": .text(showsTexts ? device.name : device.name.split(separator: " ").first.map(String.init)),
                "way": .string(device.way), "made_the_change": .boolean(device.isAuthor),
                "log": .array(device.log.suffix(20).map { $0.row(showsTexts: showsTexts) }),
            ])
        }
        return ToolAnswer(
            "devices", rows, limit: 50,
            [
                "fires": .boolean(fires),
                "steps": .array(
                    steps.map { step in
                        .members([
                            "step": .string(step.name), "is_passed": .boolean(step.isPassed), "text": showsTexts ? .string(step.text) : nil,
                        ])
                    }),
                "devices_in_all": .number(devices.count),
            ])
    }
}

extension AdminMessages.PushLogLine {
    fileprivate func row(showsTexts: Bool) -> JSONValue {
        .members([
            "time": .time(time), "event": .string(event), "number": .integer(number), "record": showsTexts ? .string(record) : nil,
            "said": showsTexts ? .string(said) : nil,
        ])
    }
}
