import NacreCloudServer

/// `nacre web`
enum WebCommands {
    static let command = Command("web", "Put CloudKit JS into pages.", subcommands: [WebIntegrity.command])
}

/// `nacre web sri`
enum WebIntegrity {
    private static let url = Option.value(
        "url", "url", "A server, as pages name it: its scripts are compared with those of this program, and the elements name it.")

    static let command = Command(
        "sri", "Print the hashes of CloudKit JS, and elements for pages with them.",
        discussion: """
            A line for each script, with its name and its hash as Subresource Integrity writes it, and below it an element for a page's head. The \
            classic script gets a script element, with which a browser runs these bytes and no others. Each module gets a link, and pages import it by \
            the same address; only browsers that check the integrity of modulepreload refuse other bytes. A page needs the lines of the modules for \
            encrypted values only if it loads them. The addresses are those of \
            this build: after an update of the server a page needs the new ones. Without --url they are for pages of the server's own origin. With --url it ends \
            with 2 where the server has other scripts.
            """,
        options: [url, SharedOptions.json]
    ) { call in
        let server = call.value(url).map { String($0.reversed().drop { $0 == "/" }.reversed()) }
        if let server { try await compare(server) }
        let scripts = WebLibrary.scripts.map {
            IntegrityReport.Script(name: $0.name, path: $0.path, integrity: $0.integrity, element: $0.element(url: server ?? ""))
        }
        if call.has(SharedOptions.json) { return try Output.json(IntegrityReport(scripts: scripts)) }
        for script in scripts { try Output.data("\(script.name) \(script.integrity)\n\(script.element)") }
        if let server { Output.message("\(server) has these scripts.") }
    }

    /// - Throws: `CommandFailure` where a server has other scripts than this program.
    private static func compare(_ server: String) async throws {
        var web = WebClient(url: server)
        web.whereabouts = url.spelling
        for script in WebLibrary.scripts {
            try check(try await web.send("GET", "/ck/2/\(script.name)"), script, of: server)
        }
    }

    /// - Throws: `CommandFailure` where a server's answer is not a script of this program.
    static func check(_ answer: WebClient.Answer, _ script: WebLibrary.Script, of server: String) throws(CommandFailure) {
        guard answer.status == 200 else {
            throw CommandFailure(.failure, "\(server) answered \(answer.status) for \(script.name)", remedy: "Name the URL of a nacre server.")
        }
        let found = WebLibrary.integrity(of: [UInt8](answer.body))
        guard found == script.integrity else {
            throw CommandFailure(
                .damaged, "\(script.name) of \(server) is another one than this program's: \(found), and here \(script.integrity)",
                remedy: "Ask with the nacre of the server's version. If it is that already, somebody has changed the script.")
        }
    }
}

/// The output of `nacre web sri --json`.
struct IntegrityReport: Encodable {
    var scripts: [Script]

    struct Script: Encodable {
        var name: String
        /// The address below the server's URL.
        var path: String
        var integrity: String
        var element: String
    }
}
