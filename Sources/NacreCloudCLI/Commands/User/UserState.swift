import NacreCloudServer

/// `nacre user state`
enum UserState {
    static let state = Option.required("state", "state", "One of \(AdminMessages.NewUserState.states.joined(separator: ", ")).")

    static let command = Command(
        "state", "Say whether an account reaches its data: shut it out, or try how an app takes it.",
        discussion: """
            Nobody is signed out by it: with any state but available the user's sessions and devices are nobody in particular until the state is set back. Apps get \
            the state from CKContainer.accountStatus, and CKAccountChanged when an answer shows them that it has changed. A request for private data is answered with \
            notAuthenticated, or accountTemporarilyUnavailable. nacre user show prints the state.
            """,
        options: [SessionCommands.email, state] + AdminServer.options + [SharedOptions.json]
    ) { call in
        let asked = AdminMessages.NewUserState(email: try call.require(SessionCommands.email), state: try call.require(state))
        let user = try await AdminClient.connect(call).setState(asked)
        if call.has(SharedOptions.json) { return try Output.json(user) }
        try Output.data(user.id)
        Output.message("The account of \(user.email) is \(user.state) now.")
    }
}
