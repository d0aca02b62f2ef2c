import NacreCloudServer

/// `nacre user act-as`
enum UserActAs {
    private static let email = Argument("email", "The address of the account.")

    static let command = Command(
        "act-as", "Sign yourself in as a user, in development, to see what their app sees.",
        discussion: """
            Prints an account token, which the framework takes as CLOUDKIT_ACCOUNT_TOKEN. It is good for an hour, for this container's development environment and \
            no other. The audit log has it, and the user's list of devices shows it: nacre session revoke ends it.
            """,
        arguments: [email], options: [SharedOptions.container] + AdminServer.options + [SharedOptions.json]
    ) { call in
        let asked = AdminMessages.NewActing(email: try call.require(email), container: try call.require(SharedOptions.container))
        let acting = try await AdminClient.connect(call).actAs(asked)
        if call.has(SharedOptions.json) { return try Output.json(acting) }
        try Output.data(acting.token)
        Output.hint("You are \(acting.userRecordName) in this container, until \(UserTime.text(acting.expires)).")
    }
}
