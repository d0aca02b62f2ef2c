import CloudServer

/// `nacre container`
enum ContainerCommands {
    static let command = Command("container", "Make containers.", subcommands: [ContainerCreate.command])
}

/// `nacre container create`
enum ContainerCreate {
    private static let name = Argument("name", "Its identifier: reverse DNS behind iCloud., such as iCloud.com.example.Notes.")

    static let command = Command(
        "create", "Make a container, with a development and a production environment.",
        discussion: "Making one that exists already changes nothing. Prints its name.",
        arguments: [name], options: AdminServer.options + [SharedOptions.json]
    ) { call in
        let admin = try await AdminClient.connect(call)
        let container = try await admin.create(AdminMessages.NewContainer(name: try call.require(name)))
        if call.has(SharedOptions.json) { return try Output.json(container) }
        try Output.data(container.name)
        Output.message(container.isNew ? "The container is made." : "The container was there already.")
    }
}
