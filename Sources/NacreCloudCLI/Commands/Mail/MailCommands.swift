import NacreCloudServer

/// `nacre mail`
enum MailCommands {
    static let command = Command("mail", "Show whether the server sends mail, and try it.", subcommands: [MailShow.command, MailTest.command])
}

/// `nacre mail show`
enum MailShow {
    static let command = Command(
        "show", "Show from which address the server sends mail, and by which server.",
        discussion: "Prints both, or none where the server sends no mail.", options: AdminServer.options + [SharedOptions.json]
    ) { call in
        let mail = try await AdminClient.connect(call).mail()
        if call.has(SharedOptions.json) { return try Output.json(mail) }
        try Output.data("\(mail.from ?? "none") \(mail.server ?? "none")")
    }
}

/// `nacre mail test`
enum MailTest {
    private static let address = Argument("address", "The address that the mail goes to.")

    static let command = Command(
        "test", "Send a mail, and print what the mail server says.",
        discussion: "One a minute. A mail that the mail server has taken may still be lost behind it: look whether it arrives.",
        arguments: [address], options: AdminServer.options + [SharedOptions.json]
    ) { call in
        let sent = try await AdminClient.connect(call).test(AdminMessages.NewMailTest(to: try call.require(address)))
        if call.has(SharedOptions.json) { try Output.json(sent) } else { try Output.data("\(sent.to) \(sent.said)") }
        if !sent.isTaken { throw CommandFailure(.failure, "the mail was not taken: \(sent.said)", remedy: "See --smtp of nacre serve.") }
    }
}
