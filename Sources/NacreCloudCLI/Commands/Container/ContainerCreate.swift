import Foundation
import NacreCloudServer

/// `nacre container`
enum ContainerCommands {
    static let command = Command(
        "container", "Make, list and delete containers.",
        subcommands: [ContainerCreate.command, ContainerList.command, ContainerChange.command, ContainerSharing.command, ContainerDelete.command])

    static let name = Argument("name", "Its identifier: reverse DNS behind iCloud., such as iCloud.com.example.Notes.")
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
        "sharing", "Say what users see of a container's app, and where a browser goes on that has opened a share.",
        discussion: "Prints what holds. Without an option nothing changes. An option with an empty text takes away what there is.",
        arguments: [ContainerCommands.name], options: [appName, icon, app, fallback, redirect] + AdminServer.options + [SharedOptions.json]
    ) { call in
        let admin = try await AdminClient.connect(call)
        let held = try await sharing(call, admin)
        if call.has(SharedOptions.json) { return try Output.json(held) }
        try Output.data("\(held.name) app \(held.app ?? "none") fallback \(held.fallback ?? "none") redirect \(held.redirects ? "yes" : "no")")
        try Output.data("name \(held.appName ?? "none")")
        try Output.data("icon \(held.hasIcon ? "yes" : "none")")
    }

    /// Changes what the options say. Without one it only looks, which the audit log need not have.
    private static func sharing(_ call: Call, _ admin: AdminClient) async throws -> AdminMessages.ContainerSharing {
        let name = try call.require(ContainerCommands.name)
        let changes = [appName, icon, app, fallback, redirect].contains { call.isGiven($0) }
        if !changes, let held = try await admin.container(name).sharing { return held }
        return try await admin.setSharing(
            AdminMessages.NewContainerSharing(
                name: name, app: call.value(app), fallback: call.value(fallback), redirects: call.value(redirect).map { $0 == "yes" },
                appName: call.value(appName), icon: try call.value(icon).map(Self.picture)))
    }

    private static let appName = Option.value("name", "text", "The app's name, as people know it.")
    private static let icon = Option.value("icon", "file", "A PNG of the app's icon, of 32 KB at most.")
    private static let app = Option.value(
        "app", "url",
        "What opens a share in the app: an https URL that is the app's, or one of its own scheme. The share's URL comes behind its query.")
    private static let fallback = Option.value(
        "fallback", "url",
        "The URL of a page about the app, for who has it not. The share's short GUID comes behind a final / or =, or as shortGUID in its query, "
            + "without the secret of a one-time URL."
    )
    private static let redirect = Option.value(
        "redirect", "choice", oneOf: ["yes", "no"],
        "Whether a browser goes to the fallback, an https URL, at once, without a sign-in here. That page gets the secret of a one-time URL too.")

    /// Reads an icon's file as Base64; an empty path is an empty text.
    private static func picture(_ path: String) throws -> String {
        if path.isEmpty { return "" }
        guard let bytes = FileManager.default.contents(atPath: path) else {
            throw CommandFailure(.failure, "\(path) cannot be read", remedy: "Name a file that is there.")
        }
        return bytes.base64EncodedString()
    }
}
