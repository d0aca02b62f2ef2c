import NacreCloudServer

/// `nacre user reset-password`
enum UserResetPassword {
    private static let link = Option.flag("link", "Print the link of a page of the server on which the user sets the password.")

    static let command = Command(
        "reset-password", "Make a code, or the link of a page, with which a user sets a new password.",
        discussion: """
            Prints the code, or with --link a link that opens a page in the user's browser. Either is good for an hour and once, and a new one ends the one \
            before. Give it to the user yourself, in a way that nobody else reads. An app sends the code with the new password to POST \
            /account/1/reset-password. The new password signs the user out everywhere.
            """,
        options: [SessionCommands.email, link] + AdminServer.options + [SharedOptions.json]
    ) { call in
        let asked = AdminMessages.NewPasswordReset(email: try call.require(SessionCommands.email))
        let reset = try await AdminClient.connect(call).openReset(asked)
        if call.has(SharedOptions.json) { return try Output.json(reset) }
        try Output.data(call.has(link) ? reset.url : reset.code)
        Output.message("It is good until \(UserTime.text(reset.expires)), and once.")
    }
}
