import NacreCloudServer

/// The names of a person, as options.
enum UserNames {
    static let given = Option.value("given-name", "name", "The given name, which others see where the user has allowed it.")
    static let family = Option.value("family-name", "name", "The family name, likewise.")

    /// Both names in one line; nil where there is none.
    static func line(_ given: String?, _ family: String?) -> String? {
        let names = [given, family].compactMap(\.self)
        return names.isEmpty ? nil : names.joined(separator: " ")
    }
}

/// `nacre user change-email`
enum UserChangeEmail {
    private static let new = Option.required("new-email", "address", "The address that it has from then on.")

    static let command = Command(
        "change-email", "Give an account another address.",
        discussion: """
            For a user who cannot read the old one's mail any more: passwords, passkeys, sessions and data stay. Where the server sends mail the old address is \
            told. You vouch for the new one, which counts as verified. The user may do the same by POST /account/1/change-email.
            """,
        options: [SessionCommands.email, new] + AdminServer.options + [SharedOptions.json]
    ) { call in
        let old = try call.require(SessionCommands.email)
        let user = try await AdminClient.connect(call).changeEmail(AdminMessages.NewEmail(email: old, newEmail: try call.require(new)))
        if call.has(SharedOptions.json) { return try Output.json(user) }
        try Output.data(user.id)
        Output.message("\(old) is \(user.email) now.")
    }
}

/// `nacre user verify`
enum UserVerify {
    private static let email = Argument("email", "The address of the account.")

    static let command = Command(
        "verify", "Vouch for the address of an account, so that its user is found and invited by it.",
        discussion: """
            For a user who signed up on a server without mail, or whose mail does not arrive: make sure that the address is theirs. An address of \
            nacre user create or nacre user change-email needs no more. nacre user show tells whether an address is verified.
            """,
        arguments: [email], options: AdminServer.options + [SharedOptions.json]
    ) { call in
        let address = try call.require(email)
        let user = try await AdminClient.connect(call).changeEmail(AdminMessages.NewEmail(email: address, newEmail: address))
        if call.has(SharedOptions.json) { return try Output.json(user) }
        try Output.data(user.id)
        Output.message("The address \(user.email) is verified now.")
    }
}

/// `nacre user change-name`
enum UserChangeName {
    static let command = Command(
        "change-name", "Give an account other names, or none.",
        discussion: """
            Sets both: a name that is not given is none. Others see names where the user has allowed to be found, and there see the new ones at once. The user may do \
            the same by POST /account/1/change-name.
            """,
        options: [SessionCommands.email, UserNames.given, UserNames.family] + AdminServer.options + [SharedOptions.json]
    ) { call in
        let asked = AdminMessages.NewNames(
            email: try call.require(SessionCommands.email), givenName: call.value(UserNames.given), familyName: call.value(UserNames.family))
        let user = try await AdminClient.connect(call).changeName(asked)
        if call.has(SharedOptions.json) { return try Output.json(user) }
        try Output.data(user.id)
        Output.message("\(user.email) is \(UserNames.line(user.givenName, user.familyName) ?? "without a name") now.")
    }
}
