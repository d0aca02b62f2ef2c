import NacreCloudServer

/// `nacre user`
enum UserCommands {
    static let command = Command(
        "user", "Make, list and delete accounts, sign them in, and help with lost passwords.",
        subcommands: [
            UserCreate.command, UserChangeName.command, UserChangeEmail.command, UserVerify.command, UserState.command, UserList.command,
            UserShow.command, UserUsage.command, UserSignIn.command, UserActAs.command, UserResetPassword.command, UserPasskeys.command,
            UserRemovePasskey.command, UserResync.command, UserDelete.command,
        ])
}

/// `nacre user create`
enum UserCreate {
    private static let email = Argument("email", "The address that the user signs in with.")

    static let command = Command(
        "create", "Make an account.",
        discussion: """
            Prints the account's ID. You vouch for the address, which counts as verified.

              printf '%s' "$PASSWORD" | nacre user create ada@example.com --password-stdin
            """,
        arguments: [email],
        options: [SharedOptions.passwordFromInput, UserNames.given, UserNames.family] + AdminServer.options + [SharedOptions.json]
    ) { call in
        let password = try Password.fromInput()
        let admin = try await AdminClient.connect(call)
        let user = try await admin.create(
            AdminMessages.NewUser(
                email: try call.require(email), password: password, givenName: call.value(UserNames.given), familyName: call.value(UserNames.family)))
        if call.has(SharedOptions.json) { return try Output.json(user) }
        try Output.data(user.id)
        Output.message("The account of \(user.email) is made.")
    }
}
