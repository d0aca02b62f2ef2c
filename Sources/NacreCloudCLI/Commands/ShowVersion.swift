import NacreCloudServer

/// `nacre version`
enum ShowVersion {
    static let command = Command("version", Parser.version.help, options: [SharedOptions.json]) { call in
        if call.has(SharedOptions.json) { try Output.json(["version": ServerVersion.current]) } else { try show() }
    }

    static func show() throws {
        try Output.data(ServerVersion.current)
    }
}
