import Foundation
import NacreCloudServer

/// `nacre console`
enum ConsoleCommand {
    private static let role = Option.value(
        "role", "role", oneOf: AdminMessages.consoleRoles, fallback: "owner",
        "What the link opens: a viewer changes nothing and sees no record, a developer works on schemas and looks into databases, an admin does all but let "
            + "others in.")
    private static let name = Option.value("name", "text", "The session's name in nacre audit list. By default the user of this machine.")
    private static let noOpen = Option.flag("no-open", "Print the link, and open no browser.")
    private static let signOutAll = Option.flag("sign-out-all", "End all sessions and links of the console, and make none.")

    static let command = Command(
        "console", "Open the console in a browser.",
        discussion: """
            Prints a link that opens the console once, within 30 minutes, and opens it where there is a desktop. The session ends after twelve hours, or \
            two without a request, or with the server. The link has the address of --console-url or --console-listen of nacre serve, or else of the admin \
            listener. From another machine: ssh -L 9000:ADDRESS, with the address that the link has, and the link with localhost:9000 in its place.
            """,
        options: [role, name, noOpen, signOutAll] + AdminServer.options + [SharedOptions.json]
    ) { call in
        let admin = try await AdminClient.connect(call)
        if call.has(signOutAll) {
            let ended = try await admin.signOutOfConsole()
            if call.has(SharedOptions.json) { return try Output.json(ended) }
            return Output.message("Sessions of the console ended: \(ended.count)")
        }
        let link = try await link(by: admin, role: try call.require(role), name: call.value(name))
        if call.has(SharedOptions.json) { return try Output.json(link) }
        try Output.data(link.url)
        let environment = ProcessInfo.processInfo.environment
        guard !call.has(noOpen), admin.isHere, Output.isOnTerminal, DesktopBrowser.isThere(environment) else { return }
        try DesktopBrowser.open(link.url, by: try call.require(SharedOptions.data) + "/console.html")
    }

    /// A link as the command prints it.
    struct Link: Encodable {
        var url: String
        var role: String
        /// Milliseconds since 1970.
        var expires: Int64
    }

    private static func link(by admin: AdminClient, role: String, name: String? = nil) async throws -> Link {
        let made = try await admin.makeConsoleLink(AdminMessages.NewConsoleLink(role: role, name: name ?? NSUserName()))
        return Link(url: admin.url(of: made.path, at: made.consoleURL), role: made.role, expires: made.expires)
    }

    /// Prints an owner's link where a person sees it. A server that cannot make one serves without.
    static func show(_ call: Call) async {
        guard Output.isOnTerminal, let admin = try? await AdminClient.connect(call), let link = try? await link(by: admin, role: "owner")
        else { return }
        Output.message("The console, once, for 30 minutes (later: nacre console):\n\n  \(link.url)\n")
    }
}

/// The browser of the desktop on which a command runs.
enum DesktopBrowser {
    /// Whether there is a desktop, of the person who runs the command.
    static func isThere(_ environment: [String: String]) -> Bool {
        func has(_ name: String) -> Bool { environment[name]?.isEmpty == false }
        return (has("DISPLAY") || has("WAYLAND_DISPLAY")) && !has("CI") && !has("SSH_CONNECTION")
    }

    /// Opens a URL that holds a secret, by a private file that leads there: every user of the machine sees the
    /// arguments of a process.
    static func open(_ url: String, by file: String) throws {
        try PrivateFile.write(Array(page(leadingTo: url).utf8), to: file)
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["xdg-open", file]
        (process.standardInput, process.standardOutput, process.standardError) = (FileHandle.nullDevice, FileHandle.nullDevice, FileHandle.nullDevice)
        // Without xdg-open the printed link is there.
        try? process.run()
    }

    private static func page(leadingTo url: String) -> String {
        let escaped = url.replacing("&", with: "&amp;").replacing("\"", with: "&quot;").replacing("<", with: "&lt;")
        return "<!doctype html><meta charset=\"utf-8\"><title>Nacre console</title><meta http-equiv=\"refresh\" content=\"0;url=\(escaped)\">\n"
    }
}
