import Foundation
import NacreCloudWire

/// Commands about shares for invited users. See `UserDatabase`.
enum ShareInvitations {
    static let commands = [ShareShow.command, ShareAccept.command, ShareRequest.command, ShareLeave.command]

    fileprivate static let url = Argument("url", "The share's URL, or the short GUID at its end.")
    fileprivate static let options = [UserDatabase.container, UserDatabase.environment, RowOutput.format]

    /// Returns the share's metadata for the user, as `records/resolve` and `records/accept` answer it.
    fileprivate static func ask(_ endpoint: String, _ call: Call) async throws -> [String: Any] {
        let guid = try shortGUID(in: try call.require(url))
        let database = try UserDatabase(call, database: "public")
        let answer = try await database.ask(endpoint, SharesRequest(shortGUIDs: [SharesRequest.Item(value: guid)]))
        let result = (answer["results"] as? [[String: Any]])?.first ?? [:]
        try UserDatabase.requireSuccess(result, of: guid)
        return result
    }

    private static func shortGUID(in text: String) throws -> String {
        let path = text.prefix { $0 != "#" && $0 != "?" }
        let guid = path.firstRange(of: "/share/").map { path[$0.upperBound...] } ?? path
        guard !guid.isEmpty, !guid.contains("/") else {
            throw CommandFailure(.usage, "\(text) is not the URL of a share", remedy: "It ends with /share/ and a short GUID.")
        }
        return String(guid)
    }

    fileprivate static func print(_ metadata: [String: Any], _ call: Call) throws {
        try RowOutput(call).print([metadata]) { metadata in
            func dictionary(_ key: String, in outer: [String: Any]) -> [String: Any] { outer[key] as? [String: Any] ?? [:] }
            let fields = dictionary("fields", in: dictionary("share", in: metadata))
            let values: [(String, Any?)] = [
                ("title", dictionary("cloudkit.title", in: fields)["value"]), ("zone", dictionary("zoneID", in: metadata)["zoneName"]),
                ("owner", dictionary("ownerIdentity", in: metadata)["userRecordName"]), ("root", metadata["rootRecordName"]),
                ("permission", metadata["participantPermission"]), ("status", metadata["participantStatus"]), ("type", metadata["participantType"]),
            ]
            return values.map { (column: $0, text: $1 as? String ?? "") }
        }
    }
}

/// `nacre share show`
private enum ShareShow {
    static let command = Command(
        "show", "Show what a share is to the user: what it shares, whose it is, and what they may.", discussion: UserDatabase.credentials,
        arguments: [ShareInvitations.url], options: ShareInvitations.options
    ) { call in
        try ShareInvitations.print(try await ShareInvitations.ask("records/resolve", call), call)
    }
}

/// `nacre share accept`
private enum ShareAccept {
    static let command = Command(
        "accept", "Take part in a share: its zone is in the user's shared database from now on.", discussion: UserDatabase.credentials,
        arguments: [ShareInvitations.url], options: ShareInvitations.options
    ) { call in
        try ShareInvitations.print(try await ShareInvitations.ask("records/accept", call), call)
    }
}

/// `nacre share request`
private enum ShareRequest {
    static let command = Command(
        "request", "Ask the owner of a share to let the user take part.",
        discussion: "The owner sees the account's name, and the address or number that it has verified. " + UserDatabase.credentials,
        arguments: [ShareInvitations.url], options: [UserDatabase.container, UserDatabase.environment]
    ) { call in
        _ = try await ShareInvitations.ask("records/request-access", call)
        Output.message("Asked. Accept the share when its owner has let you in.")
    }
}

/// `nacre share leave`
private enum ShareLeave {
    static let command = Command(
        "leave", "Take no part in a share any more.", discussion: UserDatabase.credentials, arguments: [ShareInvitations.url],
        options: [UserDatabase.container, UserDatabase.environment, SharedOptions.yes]
    ) { call in
        let metadata = try await ShareInvitations.ask("records/resolve", call)
        guard metadata["participantType"] as? String != "OWNER" else {
            throw CommandFailure(.failure, "the user owns the share", remedy: "To stop sharing, delete its record: nacre record delete.")
        }
        let (share, zone) = (metadata["share"] as? [String: Any] ?? [:], metadata["zoneID"] as? [String: Any] ?? [:])
        guard metadata["participantStatus"] as? String == "ACCEPTED", let name = share["recordName"] as? String else {
            throw CommandFailure(.failure, "the user takes no part in the share", remedy: "Nothing is to be left.")
        }
        let zoneID = ZoneID(zoneName: zone["zoneName"] as? String ?? "", ownerRecordName: zone["ownerRecordName"] as? String)
        try CktoolOptions.confirm("Leave the share of \(zoneID.zoneName)?", call)
        let operation = RecordOperation(.forceDelete, RecordChange(recordName: name))
        let answer = try await UserDatabase(call, database: "shared").ask(
            "records/modify", RecordsModifyRequest(operations: [operation], zoneID: zoneID))
        try UserDatabase.requireSuccess((answer["records"] as? [[String: Any]])?.first ?? [:], of: name)
    }
}
