import NacreCloudServer

/// `nacre user resync`
enum UserResync {
    private static let user = Option.required("user", "who", "Whose devices fetch: an e-mail address, or a user record name.")

    static let command = Command(
        "resync", "Make every device of a user fetch the private database from the beginning. Nothing is deleted.",
        discussion: """
            Does for the database and each of its zones what nacre zone resync does for one. Zones that others share with the user are fetched anew when their \
            owner's are.
            """,
        options: [SharedOptions.container, SharedOptions.environment, user] + AdminServer.options + [SharedOptions.json]
    ) { call in
        let done = try await AdminClient.connect(call).resync(
            AdminMessages.NewUserResync(
                container: try call.require(SharedOptions.container), environment: try call.require(SharedOptions.environment),
                user: try call.require(user)))
        if call.has(SharedOptions.json) { return try Output.json(done) }
        Output.message(
            done.zones == 0 ? "The user has no zone to fetch." : "Every device of the user fetches its zones from the beginning: \(done.zones).")
    }
}
