import Foundation
import Glibc

/// The values that an environment variable or the settings file gives to an option.
struct Setting: Sendable, Equatable {
    /// The values of a flag.
    static let yes = "true"
    static let no = "false"

    /// More than one only for an option that may be given several times.
    var values: [String]
    /// The source of the values: `NACRE_LISTEN`, or `nacre.conf:3`.
    var origin: String
}

/// Options in the environment and in the settings file, by the same names: `--admin-listen` is `NACRE_ADMIN_LISTEN`,
/// and `admin-listen = …` in the file.
enum Settings {
    private static let prefix = "NACRE_"
    static let file = Option.value(
        "config", "file", "A file of settings, a line each: listen = 127.0.0.1:8787. By default ./nacre.conf where it is there.")
    private static let usualFile = "nacre.conf"

    /// Options that may be set elsewhere for commands other than `nacre serve`: the server's data folder, the
    /// container and the environment.
    ///
    /// See `docs/decisions/commands-settings.md`.
    static let ofEveryCommand = [SharedOptions.data, SharedOptions.container, SharedOptions.environment]

    /// Every setting. The data folder is one for every command.
    static var all: [Option] { Serve.settings + ofEveryCommand.filter { $0.name != SharedOptions.data.name } }

    /// Returns whether variables and the file set this option of a command. An option that narrows a list or has its
    /// own default is set on the command line only.
    static func isOfEveryCommand(_ option: Option) -> Bool {
        option.name == SharedOptions.data.name || option.isRequired && ofEveryCommand.contains { $0.name == option.name }
    }

    static func variable(of option: Option) -> String {
        prefix + option.name.uppercased().replacing("-", with: "_")
    }

    /// Puts the values of variables and the file into a call.
    /// - Parameter all: Options that may be set elsewhere. Those of other commands are allowed, without effect.
    static func add(to call: inout Call, of command: Command, all: [Option], environment: [String: String]) throws(CommandFailure) {
        guard !command.settings.isEmpty else { return }
        let named = call.value(file) ?? environment[variable(of: file)]
        let settings = if let named { try SettingsFile.read(named) } else { try SettingsFile.read(ifThere: usualFile, isNamed: false) }
        call.settings = try found(all, environment: environment, file: settings).filter { name, _ in command.settings.contains { $0.name == name } }
    }

    /// Returns the values by option name. A variable wins over the file. The last of several lines wins, unless the
    /// option may be given several times.
    /// - Throws: `CommandFailure` 64 for a value that an option cannot have, an unknown setting, and a variable
    ///   nearly named like a setting.
    static func found(_ options: [Option], environment: [String: String], file: SettingsFile?) throws(CommandFailure) -> [String: Setting] {
        var settings: [String: Setting] = [:]
        for line in file?.lines ?? [] {
            guard let option = options.first(where: { $0.name == line.name }) else {
                throw unknown("\(line.origin): there is no setting \(line.name)", Nearest.match(line.name, among: options.map(\.name)))
            }
            let earlier = option.repeats ? settings[option.name]?.values ?? [] : []
            settings[option.name] = Setting(values: earlier + [try checked(line.value, option, at: line.origin)], origin: line.origin)
        }
        for option in options {
            let name = variable(of: option)
            guard let text = environment[name], !text.isEmpty else { continue }
            var values: [String] = []
            for part in option.repeats ? text.split(separator: ",").map(String.init) : [text] { values.append(try checked(part, option, at: name)) }
            settings[option.name] = Setting(values: values, origin: name)
        }
        let variables = options.map(variable) + [variable(of: Self.file)]
        for name in environment.keys.sorted() where name.hasPrefix(prefix) && !variables.contains(name) {
            // Others may use this prefix. Only a name one slip away from a setting is an error.
            if let meant = variables.first(where: { Nearest.distance($0, name) == 1 }) { throw unknown("there is no variable \(name)", meant) }
        }
        return settings
    }

    private static func unknown(_ message: String, _ nearest: String?) -> CommandFailure {
        let list = "nacre config show lists all."
        return CommandFailure(.usage, message, remedy: nearest.map { "Did you mean \($0)? \(list)" } ?? list)
    }

    private static func checked(_ text: String, _ option: Option, at origin: String) throws(CommandFailure) -> String {
        let allowed: [String] =
            switch option.kind {
            case .flag: [Setting.yes, Setting.no]
            case .value(_, let values): values
            }
        guard !text.isEmpty, allowed.isEmpty || allowed.contains(text) else {
            let expected = allowed.isEmpty ? "a value" : allowed.joined(separator: " or ")
            throw CommandFailure(.usage, "\(origin): \(option.name) must be \(expected)")
        }
        return text
    }
}

/// A file of settings: one `name = value` per line. Empty lines and lines that begin with `#` are ignored.
struct SettingsFile {
    /// Bytes of the largest file accepted. Ours: a few hundred bytes are usual.
    private static let bytesMax = 64 * 1024

    struct Line: Equatable {
        var name: String
        var value: String
        /// The file and the line's number.
        var origin: String
    }

    let lines: [Line]

    /// Parses a text.
    /// - Throws: `CommandFailure` 64 for a line that is no setting.
    init(text: String, path: String) throws(CommandFailure) {
        var lines: [Line] = []
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let line = line.trimmingCharacters(in: .whitespaces)
            guard !line.isEmpty, !line.hasPrefix("#") else { continue }
            let origin = "\(path):\(index + 1)"
            let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map { $0.trimmingCharacters(in: .whitespaces) }
            guard parts.count == 2, !parts[0].isEmpty else {
                throw CommandFailure(.usage, "\(origin): not a setting", remedy: "Write name = value; # begins a line that says nothing.")
            }
            lines.append(Line(name: parts[0], value: parts[1], origin: origin))
        }
        self.lines = lines
    }

    static func read(_ path: String) throws(CommandFailure) -> SettingsFile {
        guard let file = try read(ifThere: path, isNamed: true) else {
            throw CommandFailure(.usage, "\(path): there is no such file", remedy: "Name a file of settings with --config or NACRE_CONFIG.")
        }
        return file
    }

    /// Returns the fault of a file that was found and not named: another user owns it or can write it, and would
    /// decide what the server does.
    static func fault(mode: mode_t, owner: uid_t, user: uid_t, path: String) -> CommandFailure? {
        guard owner == 0 || owner == user else {
            return CommandFailure(
                .usage, "\(path) belongs to another user", remedy: "Run the command in another folder, make the file yours, or name it with --config."
            )
        }
        guard mode & 0o022 == 0 else {
            return CommandFailure(.usage, "others may write \(path)", remedy: "chmod go-w \(path), or name the file with --config.")
        }
        return nil
    }

    /// Reads a file.
    /// - Parameter isNamed: Whether the user named the file; otherwise it was found in the working folder.
    /// - Returns: nil where there is no file.
    static func read(ifThere path: String, isNamed: Bool) throws(CommandFailure) -> SettingsFile? {
        guard FileManager.default.fileExists(atPath: path) else { return nil }
        guard let file = FileHandle(forReadingAtPath: path) else {
            throw CommandFailure(.failure, "\(path) cannot be read: \(String(cString: strerror(errno)))")
        }
        defer { try? file.close() }
        if !isNamed {
            var (link, status) = (stat(), stat())
            guard lstat(path, &link) == 0, fstat(file.fileDescriptor, &status) == 0 else {
                throw CommandFailure(.failure, "\(path) cannot be read: \(String(cString: strerror(errno)))")
            }
            // A link has no mode of its own; its owner is the user who made it.
            if let fault = fault(mode: status.st_mode, owner: status.st_uid, user: geteuid(), path: path)
                ?? fault(mode: 0, owner: link.st_uid, user: geteuid(), path: path)
            {
                throw fault
            }
        }
        let data = (try? file.read(upToCount: bytesMax + 1)) ?? Data()
        guard data.count <= bytesMax, let text = String(data: data, encoding: .utf8) else {
            throw CommandFailure(.usage, "\(path) is not a file of settings")
        }
        return try SettingsFile(text: text, path: path)
    }
}
