/// `nacre config show`
enum ConfigCommands {
    static let command = Command("config", "Look at the settings of the server.", subcommands: [show])

    private static let origin = Option.flag("origin", "Say where each value comes from.")

    private static let show = Command(
        "show", "Print every setting as nacre serve would have it here.",
        discussion: """
            Takes what nacre serve takes. The command line counts before the environment, that before the file, and that before what is usual. What it prints \
            is a file of settings itself. It ends with 64 where nacre serve would not take them.
            """, options: Serve.settings + [Settings.file, origin, SharedOptions.json], settings: Serve.settings
    ) { call in
        _ = try Serve.configuration(call)
        let lines = Serve.settings.flatMap { Self.lines(of: $0, call) }
        if call.has(SharedOptions.json) { return try Output.json(["settings": lines]) }
        var last = ""
        for line in lines {
            if call.has(origin), line.origin != last { try Output.data("# \(line.origin)") }
            last = line.origin
            try Output.data(line.text)
        }
    }

    private struct Line: Encodable {
        var name: String
        /// The value that holds; nil where the option is not set and has no default.
        var value: String?
        var origin: String

        var text: String { value.map { "\(name) = \($0)" } ?? "# \(name) =" }
    }

    /// Returns a line for each value.
    private static func lines(of option: Option, _ call: Call) -> [Line] {
        let origin = call.isGiven(option) ? "--\(option.name)" : call.settings[option.name]?.origin ?? "usual"
        if case .flag = option.kind { return [Line(name: option.name, value: call.has(option) ? Setting.yes : Setting.no, origin: origin)] }
        let values = option.repeats ? call.all(option) : call.value(option).map { [$0] } ?? []
        return values.isEmpty ? [Line(name: option.name, origin: origin)] : values.map { Line(name: option.name, value: $0, origin: origin) }
    }
}
