import Foundation
import Glibc
import NacreCloudServer
import NacreCloudWire

/// The first output of a started server: its URLs and folder, and the next steps.
struct FirstScreen: Encodable {
    let version = ServerVersion.current
    let mode: String
    /// The absolute path, which can be pasted anywhere.
    let data: String
    let url: String
    let localURL: String
    let adminURL: String
    /// The console's URL, unless it is that of the admin API.
    let consoleURL: String?
    let pid = getpid()
    /// The backup that was made before older data were rewritten.
    let migrationBackup: String?
    private let option: String

    private enum CodingKeys: String, CodingKey {
        case version, mode, data, url, localURL, adminURL, consoleURL, pid, migrationBackup
    }

    init(_ addresses: Server.Addresses, _ configuration: ServerConfiguration) {
        mode = configuration.engine.rawValue
        data = URL(fileURLWithPath: configuration.dataFolder).standardizedFileURL.path
        url = addresses.publicURL
        localURL = addresses.localURL
        adminURL = addresses.adminURL
        consoleURL = addresses.consoleURL
        migrationBackup = addresses.migrationBackup
        option = configuration.dataFolder == "./nacre-data" ? "" : " --data \(ShellWord.quoted(configuration.dataFolder))"
    }

    var text: String {
        let keeps = mode == "memory" ? "in memory: ends with the server" : "SQLite: every answer is on the disk before it is given"
        let backup = migrationBackup.map { "\n  backup    \($0): the data were of an older version" } ?? ""
        let console = consoleURL.map { "\n  console   \($0)/console/" } ?? ""
        let here = localURL == url ? "" : "\n  here      \(localURL)"
        return """

            Nacre \(version)

              mode      \(keeps)
              data      \(data)
              url       \(url)\(here)\(console)\(backup)

            Next, in another terminal: a container, a token and a signed-in user, as variables for an app.

              nacre up iCloud.com.example.Notes\(option)
              eval "$(nacre env)"

            nacre demo\(option) shows the server at work. An app that has its token already finds the server by this:

              export CLOUDKIT_SERVER_URL=\(url)

            Ctrl-C stops it.

            """
    }
}
