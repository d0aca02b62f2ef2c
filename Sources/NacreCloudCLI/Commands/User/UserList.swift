import Foundation
import NacreCloudServer

/// `nacre user list`
enum UserList {
    static let command = Command(
        "list", "List the accounts of this server.",
        discussion: "Each line has the account's ID, its address and when it was made; those that are being deleted say so.",
        options: AdminServer.options + [SharedOptions.json]
    ) { call in
        let admin = try await AdminClient.connect(call)
        let isJSON = call.has(SharedOptions.json)
        var all = AdminMessages.Users(users: [])
        try await admin.eachPageOfUsers { page in
            if isJSON { all.users += page.users } else { for user in page.users { try Output.data(user.line) } }
        }
        if isJSON { try Output.json(all) }
    }
}

/// `nacre user show`
enum UserShow {
    static let command = Command(
        "show", "Show where an account has a name, and how many sessions and devices it has.",
        discussion:
            "The first line has the ID, the address and when the account was made. Then whether its user has verified the address, its phone number, where it has one, its state, its names, where it has any, and a line for each container and environment with the user record name.",
        options: [SessionCommands.email] + AdminServer.options + [SharedOptions.json]
    ) { call in
        let user = try await AdminClient.connect(call).user(try call.require(SessionCommands.email))
        if call.has(SharedOptions.json) { return try Output.json(user) }
        try Output.data("\(user.id) \(user.email) \(UserTime.text(user.created))")
        try Output.data("address \(user.isEmailVerified ? "verified" : "unverified")")
        if let phone = user.phone { try Output.data("phone \(phone)") }
        try Output.data("state \(user.state)")
        if let names = UserNames.line(user.givenName, user.familyName) { try Output.data("name \(names)") }
        for place in user.places { try Output.data("\(place.container) \(place.environment) \(place.userRecordName)") }
        try Output.data("sessions \(user.sessions)")
        try Output.data("devices \(user.devices)")
    }
}

/// `nacre user delete`
enum UserDelete {
    static let command = Command(
        "delete", "Delete an account and its data. Nothing brings it back.",
        discussion: """
            Ends its sessions and devices at once. A minute later its private databases go, its user records and its roles, in every container and environment, \
            and then its address is free. Records that the user has made in public databases stay. Look at it first: nacre user show. \
            At a terminal it asks first.
            """,
        options: [SessionCommands.email, SharedOptions.yes] + AdminServer.options + [SharedOptions.json]
    ) { call in
        let asked = AdminMessages.NewUserDeletion(email: try call.require(SessionCommands.email))
        try Confirmation.atTerminal("Delete the account of \(asked.email) and all its data?", else: "nothing was deleted", call)
        let user = try await AdminClient.connect(call).delete(asked)
        if call.has(SharedOptions.json) { return try Output.json(user) }
        try Output.data(user.id)
        Output.message("The account of \(user.email) is deleted, and its data will be.")
    }
}

/// Times as commands about accounts print them.
enum UserTime {
    /// Formats a time as ISO 8601.
    /// - Parameter milliseconds: since 1970.
    static func text(_ milliseconds: Int64) -> String {
        Date(timeIntervalSince1970: Double(milliseconds) / 1000).formatted(.iso8601)
    }
}

extension AdminMessages.UserLine {
    fileprivate var line: String {
        "\(id) \(email) \(UserTime.text(created))\(isDeleted ? " being deleted" : "")"
    }
}
