/// Prints on standard error why a command failed: as text of two lines, or with `--json` as one object in a line.
struct ErrorReport {
    let root: Command
    let isJSON: Bool
    /// Settings from outside the command line, so that the report can name the origin of a faulty one.
    var settings: [String: Setting] = [:]

    private struct Object: Encodable {
        var error: Fault
    }

    private struct Fault: Encodable {
        /// The exit code of the process.
        var exitCode: Int32
        var message: String
        var remedy: String?
        /// The usage, for a command line that cannot be read. It may be long, so the text leads to the help instead.
        var usage: String?
    }

    /// Prints a failure.
    /// - Returns: The exit code of the process.
    func print(_ failure: CommandFailure) -> ExitCode {
        print(Fault(exitCode: failure.code.rawValue, message: failure.message, remedy: failure.remedy))
        return failure.code
    }

    /// Prints a usage error.
    /// - Returns: The exit code of the process.
    func print(_ error: UsageError) -> ExitCode {
        var path = [root]
        for name in error.path.dropFirst() {
            if let next = path.last?.subcommands.first(where: { $0.name == name }) { path.append(next) }
        }
        let origins = settings.filter { error.message.contains("--\($0.key)'") }.values.map(\.origin).sorted()
        let message = origins.isEmpty ? error.message : "\(error.message) It is set by \(origins.joined(separator: " and "))."
        let help = "See \(error.path.joined(separator: " ")) --help."
        print(Fault(exitCode: ExitCode.usage.rawValue, message: message, remedy: help, usage: HelpText(path: path).usage))
        return .usage
    }

    private func print(_ fault: Fault) {
        if isJSON, let line = try? Output.line(of: Object(error: fault)) { return Output.error(line) }
        Output.error("Error: \(Output.withoutControls(fault.message))")
        if let remedy = fault.remedy { Output.error("  \(remedy)") }
    }
}
