import NacreCloudServer
import NacreCloudWire

/// `nacre zone`: a user's zones without code. See `UserDatabase`.
enum ZoneCommands {
    static let command = Command(
        "zone", "Look at zones and what changed in them, as a user; make and purge one or have it fetched anew, as an administrator.",
        subcommands: [ZoneList.command, ZoneChanges.command, ZoneCreate.command, ZonePurge.command, ZoneResync.command])

    fileprivate static let user = Option.required("user", "who", "Whose the zone is: an e-mail address, or a user record name.")
}

/// `nacre zone list`
private enum ZoneList {
    static let command = Command(
        "list", "Show the zones of a database.", discussion: UserDatabase.credentials, options: UserDatabase.options
    ) { call in
        let zones = try await UserDatabase(call).ask("zones/list")["zones"] as? [[String: Any]] ?? []
        try RowOutput(call).print(zones) { zone in
            let id = zone["zoneID"] as? [String: Any] ?? [:]
            return [
                (column: "zone", text: id["zoneName"] as? String ?? ""), (column: "owner", text: id["ownerRecordName"] as? String ?? ""),
                (column: "atomic", text: zone["atomic"] as? Bool == true ? "yes" : "no"),
            ]
        }
    }
}

/// `nacre zone changes`
private enum ZoneChanges {
    private static let zone = Option.required("zone", "name", "A zone that was made: of default zones nobody can follow the changes.")
    private static let since = Option.value("since", "token", "Where an earlier call ended; without it, from the beginning.")

    static let command = Command(
        "changes", "Show what changed in a zone, page by page up to now, and where it ends.",
        discussion: "\(UserDatabase.credentials) The token for the next call is the last line on standard error.",
        options: [zone, UserDatabase.owner] + UserDatabase.options + [since]
    ) { call in
        let (database, output) = (try UserDatabase(call), RowOutput(call))
        var token = call.value(since)
        while true {
            let item = ChangesZoneRequest.Item(zoneID: database.zoneID, syncToken: token)
            let answer = try await database.ask("changes/zone", ChangesZoneRequest(zones: [item]))
            let zone = (answer["zones"] as? [[String: Any]])?.first ?? [:]
            try UserDatabase.requireSuccess(zone, of: database.zoneID.zoneName)
            try output.print(zone["records"] as? [[String: Any]] ?? [], cells: RecordCommands.cells)
            token = zone["syncToken"] as? String ?? token
            guard zone["moreComing"] as? Bool == true else { break }
        }
        if let token { Output.message(token) }
    }
}

/// `nacre zone create`
private enum ZoneCreate {
    private static let zone = Argument("zone", "The name of the zone.")

    static let command = Command(
        "create", "Make a zone in a user's private database, in development.",
        discussion: "A zone that is there stays as it is. In production apps make zones. The audit log has it.", arguments: [zone],
        options: [SharedOptions.container, SharedOptions.environment, ZoneCommands.user] + AdminServer.options + [SharedOptions.json]
    ) { call in
        let made = try await AdminClient.connect(call).createZone(
            AdminMessages.UserZone(
                container: try call.require(SharedOptions.container), environment: try call.require(SharedOptions.environment),
                user: try call.require(ZoneCommands.user), zone: try call.require(zone, at: 0)))
        if call.has(SharedOptions.json) { return try Output.json(made) }
        Output.message("The zone \(made.zone) is there.")
    }
}

/// `nacre zone purge`
private enum ZonePurge {
    private static let zone = Argument("zone", "The zone, by its name.")

    static let command = Command(
        "purge", "Delete a zone as its user does who removes an app's data in the storage settings.",
        discussion: """
            Apps hear that the zone was purged, and requests about it fail with userDeletedZone until an app saves the zone anew. At a terminal it \
            asks first; elsewhere it wants --yes.
            """,
        arguments: [zone],
        options: [SharedOptions.container, SharedOptions.environment, ZoneCommands.user, SharedOptions.yes] + AdminServer.options + [
            SharedOptions.json
        ]
    ) { call in
        let asked = AdminMessages.UserZone(
            container: try call.require(SharedOptions.container), environment: try call.require(SharedOptions.environment),
            user: try call.require(ZoneCommands.user), zone: try call.require(zone, at: 0))
        try CktoolOptions.confirm("Purge the zone \(asked.zone) of \(asked.user), with all its records?", call)
        let purged = try await AdminClient.connect(call).purge(asked)
        if call.has(SharedOptions.json) { return try Output.json(purged) }
        Output.message("The zone \(purged.zone) is purged.")
    }
}

/// `nacre zone resync`
private enum ZoneResync {
    private static let zone = Argument("zone", "The zone, by its name.")

    static let command = Command(
        "resync", "Make every device fetch a zone from the beginning. Nothing is deleted.",
        discussion: """
            The change tokens of the zone expire, those of participants in its shares too: the next fetch of changes fails with changeTokenExpired, and \
            CKSyncEngine begins again by itself. A device that has not yet fetched the deletion of a record does not hear of it any more, unless its app \
            drops what the new fetch leaves out.
            """,
        arguments: [zone],
        options: [SharedOptions.container, SharedOptions.environment, ZoneCommands.user] + AdminServer.options + [SharedOptions.json]
    ) { call in
        let done = try await AdminClient.connect(call).resync(
            AdminMessages.UserZone(
                container: try call.require(SharedOptions.container), environment: try call.require(SharedOptions.environment),
                user: try call.require(ZoneCommands.user), zone: try call.require(zone, at: 0)))
        if call.has(SharedOptions.json) { return try Output.json(done) }
        Output.message("Every device fetches the zone \(done.zone) from the beginning.")
    }
}
