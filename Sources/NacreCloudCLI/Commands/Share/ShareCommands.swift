import NacreCloudServer

/// `nacre share`
enum ShareCommands {
    static let command = Command(
        "share", "See what users share, who sees and writes a record by it, and take part in a share as a user.",
        discussion: "An administrator's look, by list and who, and a share that one makes are noted in the audit log.",
        subcommands: [ShareCreate.command, ShareManage.command, ShareList.command, ShareWho.command] + ShareInvitations.commands)

    fileprivate static let user = Option.required("user", "who", "Whose the zones are: an e-mail address, or a user record name.")
}

/// `nacre share create`
enum ShareCreate {
    private static let zone = Option.required("zone", "name", "The zone, which is not the default one.")
    private static let record = Option.value(
        "record", "name", "Share this record and what hangs on it. By default the whole zone is shared.")
    private static let title = Option.value("title", "text", "The title, which participants see.")
    private static let participant = Option.repeated(
        "participant", "who",
        "A person to invite: an e-mail address, a phone number such as +4930123456, or a user record name; may be given several times.")
    private static let write = Option.flag("write", "Let those who are invited write. By default they read.")
    private static let open = Option.value(
        "public", "permission", oneOf: ["none", "read", "write"], fallback: "none", "What everybody may who has the URL.")

    static let command = Command(
        "create", "Share a user's zone or record as the user does, in development.",
        discussion: """
            Prints the URL by which participants accept. In production users share by themselves. Encrypted values are not handed on: the owner's app does \
            that when it saves the share.
            """,
        options: [
            SharedOptions.container, SharedOptions.environment, ShareCommands.user, zone, record, title, participant, write, open,
        ] + AdminServer.options + [SharedOptions.json]
    ) { call in
        var asked = AdminMessages.NewShare(
            container: try call.require(SharedOptions.container), environment: try call.require(SharedOptions.environment),
            user: try call.require(ShareCommands.user), zone: try call.require(zone), record: call.value(record))
        (asked.title, asked.participants) = (call.value(title), call.all(participant))
        asked.permission = call.has(write) ? "READ_WRITE" : "READ_ONLY"
        asked.publicPermission = ["none": "NONE", "read": "READ_ONLY", "write": "READ_WRITE"][try call.require(open)]
        let made = try await AdminClient.connect(call).create(asked)
        if call.has(SharedOptions.json) { return try Output.json(made) }
        try Output.data(made.url)
    }
}

/// `nacre share manage`
enum ShareManage {
    private static let zone = Option.required("zone", "name", "The zone, which is not the default one.")
    private static let record = Option.value("record", "name", "The record that is shared. By default the whole zone is meant.")

    static let command = Command(
        "manage", "Print a link to the page on which a share is managed.",
        discussion: """
            The page invites people and removes them, makes links, answers requests for access and stops sharing. The link is good for an hour. In \
            development it opens the page once, and the page acts as the owner. In production the owner signs in on the page, and nobody else gets in.
            """,
        options: [SharedOptions.container, SharedOptions.environment, ShareCommands.user, zone, record] + AdminServer.options
            + [SharedOptions.json]
    ) { call in
        let made = try await AdminClient.connect(call).link(
            AdminMessages.NewShareLink(
                container: try call.require(SharedOptions.container), environment: try call.require(SharedOptions.environment),
                user: try call.require(ShareCommands.user), zone: try call.require(zone), record: call.value(record)))
        if call.has(SharedOptions.json) { return try Output.json(made) }
        try Output.data(made.url)
    }
}

/// `nacre share list`
enum ShareList {
    static let command = Command(
        "list", "List what a user shares.",
        discussion: "A line for each: zone, the share's record, the root record, what everybody may who has the URL, and how many take part.",
        options: [SharedOptions.container, SharedOptions.environment, ShareCommands.user] + AdminServer.options + [SharedOptions.json]
    ) { call in
        let found = try await AdminClient.connect(call).list(
            AdminMessages.NewShareList(
                container: try call.require(SharedOptions.container), environment: try call.require(SharedOptions.environment),
                user: try call.require(ShareCommands.user)))
        if call.has(SharedOptions.json) { return try Output.json(found) }
        for line in found.shares {
            try Output.data([line.zone, line.share, line.root ?? "-", line.publicPermission, "\(line.participants)"].joined(separator: "\t"))
        }
    }
}

/// `nacre share who`
enum ShareWho {
    private static let record = Argument("record", "The record, by its name; of a share, the name of its record.")
    private static let zone = Option.required("zone", "name", "The record's zone.")

    static let command = Command(
        "who", "Say who can see and write a record, through which share, and why.",
        discussion: "Asks what each request asks: a share of the whole zone, or that of the record on which it hangs.",
        arguments: [record],
        options: [SharedOptions.container, SharedOptions.environment, ShareCommands.user, zone] + AdminServer.options + [SharedOptions.json]
    ) { call in
        let found = try await AdminClient.connect(call).explain(
            AdminMessages.NewShareQuestion(
                container: try call.require(SharedOptions.container), environment: try call.require(SharedOptions.environment),
                user: try call.require(ShareCommands.user), zone: try call.require(zone), record: try call.require(record, at: 0)))
        if call.has(SharedOptions.json) { return try Output.json(found) }
        for line in found.lines { try Output.data(line) }
    }
}

extension AdminMessages.ShareAnswer {
    fileprivate var lines: [String] {
        var lines: [String] = []
        if let share {
            lines.append("share \(share): \(root.map { "of \($0) and what hangs on it" } ?? "of the whole zone")")
            if path.count > 1 { lines.append("path \(path.joined(separator: " < "))") }
        } else {
            lines.append("not shared")
        }
        return lines
            + people.map { person in
                let name = person.user ?? person.invited ?? "-"
                return "\(person.mayRead ? "read" : "-")\t\(person.mayWrite ? "write" : "-")\t\(name)\t\(person.role): \(person.because)"
            }
    }
}
