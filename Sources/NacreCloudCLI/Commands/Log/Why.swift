import NacreCloudServer

/// `nacre why`
enum Why {
    private static let id = Argument("request", "The UUID of an answer: its uuid, X-Apple-Request-UUID, or CKError's request UUID.")

    static let command = Command(
        "why", "Say what a request was, and what came of it.",
        discussion: """
            When it was asked, by which kind of client and where, what came of it, which rule refused it and what to do, how its time was split, which index \
            a query used, and whom a save told. Users, zones, devices and subscriptions of private and shared databases are stand-ins.
            """,
        arguments: [id], options: AdminServer.options + [SharedOptions.json]
    ) { call in
        let asked = try call.require(id, at: 0)
        let admin = try await AdminClient.connect(call)
        let line = try await line(of: asked, by: admin)
        if call.has(SharedOptions.json) { return try Output.json(line) }
        for text in line.story ?? [] { try Output.data(Output.withoutControls(text)) }
    }

    /// Returns the row of a request.
    /// - Throws: `CommandFailure` if the log has none.
    static func line(of request: String, by admin: AdminClient) async throws -> AdminMessages.RequestLine {
        guard let line = try await admin.requests([("request", request)]).requests.first else {
            throw CommandFailure(
                .failure, "the server's request log has no such request",
                remedy: "Take the UUID of an answer. Requests are kept for seven days, or as --request-log-days of nacre serve says.")
        }
        return line
    }
}
