import NacreCloudServer

/// `nacre container`
enum ContainerCommands {
    static let command = Command(
        "container", "Make and list containers.",
        subcommands: [ContainerCreate.command, ContainerList.command, ContainerChange.command, ContainerSharing.command])

    fileprivate static let name = Argument("name", "Its identifier: reverse DNS behind iCloud., such as iCloud.com.example.Notes.")
    private static let justInTimeName = "just-in-time"
    private static let choices = ["native", "all"]
    private static let justInTimeHelp =
        "Whose saves bring types and fields in development: the framework's alone, or those of web clients too."
    fileprivate static let justInTime = Option.value(justInTimeName, "who", oneOf: choices, fallback: "native", justInTimeHelp)
    fileprivate static let newJustInTime = Option.required(justInTimeName, "who", oneOf: choices, justInTimeHelp)
}

/// `nacre container create`
enum ContainerCreate {
    static let command = Command(
        "create", "Make a container, with a development and a production environment.",
        discussion: "Making one that exists already changes nothing. Prints its name.",
        arguments: [ContainerCommands.name], options: [ContainerCommands.justInTime] + AdminServer.options + [SharedOptions.json]
    ) { call in
        let admin = try await AdminClient.connect(call)
        let choice = try call.require(ContainerCommands.justInTime)
        let container = try await admin.create(AdminMessages.NewContainer(name: try call.require(ContainerCommands.name), justInTime: choice))
        if call.has(SharedOptions.json) { return try Output.json(container) }
        try Output.data(container.name)
        Output.message(container.isNew ? "The container is made." : "The container was there already.")
        guard call.isGiven(ContainerCommands.justInTime), container.justInTime != choice else { return }
        Output.message("Its types come \(container.justInTime), as before: nacre container change \(container.name) --just-in-time \(choice)")
    }
}

/// `nacre container change`
enum ContainerChange {
    static let command = Command(
        "change", "Change whose saves bring types and fields to a container's development environment.",
        discussion: "Types and fields that are there stay. Prints what held before and what holds now.",
        arguments: [ContainerCommands.name], options: [ContainerCommands.newJustInTime] + AdminServer.options + [SharedOptions.json]
    ) { call in
        let admin = try await AdminClient.connect(call)
        let change = try await admin.change(
            AdminMessages.NewContainerChange(
                name: try call.require(ContainerCommands.name), justInTime: try call.require(ContainerCommands.newJustInTime)))
        if call.has(SharedOptions.json) { return try Output.json(change) }
        try Output.data("\(change.name) just-in-time \(change.before) → \(change.justInTime)")
    }
}

/// `nacre container sharing`
enum ContainerSharing {
    static let command = Command(
        "sharing", "Say where a browser goes on that has opened a container's share.",
        discussion: "Prints what holds. Without an option nothing changes. An option with an empty text takes away what there is.",
        arguments: [ContainerCommands.name], options: [app, fallback] + AdminServer.options + [SharedOptions.json]
    ) { call in
        let admin = try await AdminClient.connect(call)
        let held = try await admin.setSharing(
            AdminMessages.NewContainerSharing(name: try call.require(ContainerCommands.name), app: call.value(app), fallback: call.value(fallback)))
        if call.has(SharedOptions.json) { return try Output.json(held) }
        try Output.data("\(held.name) app \(held.app ?? "none") fallback \(held.fallback ?? "none")")
    }

    private static let app = Option.value(
        "app", "url",
        "What opens a share in the app: an https URL that is the app's, or one of its own scheme. The share's URL comes behind its query.")
    private static let fallback = Option.value("fallback", "url", "A page about the app, for who has it not.")
}
