import NacreCloudServer

/// `nacre user reset-password`
enum UserResetPassword {
    static let command = Command(
        "reset-password", "Make a code with which a user sets a new password.",
        discussion: """
            Prints the code. It is good for an hour and once, and a new one ends the one before. Give it to the user yourself, in a way that nobody else reads. \
            She sends it with her new password to POST /account/1/reset-password, which signs her out everywhere.
            """,
        options: [SessionCommands.email] + AdminServer.options + [SharedOptions.json]
    ) { call in
        let asked = AdminMessages.NewPasswordReset(email: try call.require(SessionCommands.email))
        let reset = try await AdminClient.connect(call).openReset(asked)
        if call.has(SharedOptions.json) { return try Output.json(reset) }
        try Output.data(reset.code)
        Output.message("It is good until \(UserTime.text(reset.expires)), and once.")
    }
}
