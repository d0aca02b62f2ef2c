import CNacreBuild
import NacreCloudServer
import NacreCloudWire

/// `nacre version`
enum ShowVersion {
    static let command = Command("version", Parser.version.help, options: [SharedOptions.json]) { call in
        guard call.has(SharedOptions.json) else { return try show() }
        try Output.json(Version(version: ServerVersion.current, commit: commit))
    }

    private struct Version: Encodable {
        var version: String
        /// nil where the build does not know it.
        var commit: String?
    }

    /// The version, with the commit where `make dist` made the program.
    static var text: String { commit.map { "\(ServerVersion.current) (\($0))" } ?? ServerVersion.current }

    private static var commit: String? {
        let text = String(cString: nacre_build_commit())
        return text.isEmpty ? nil : text
    }

    static func show() throws {
        try Output.data(text)
    }
}
