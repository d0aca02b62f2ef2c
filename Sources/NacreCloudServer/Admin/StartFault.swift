import Glibc
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire
import NacreHTTPServer

/// The reason why a server did not start, and the remedy, for an administrator.
package struct StartFault: Error, Sendable {
    package var text: String
    package var remedy: String?

    /// - Parameter addresses: the addresses to listen on, for errors that do not name one.
    package init(_ error: any Error, listen addresses: [ListenAddress], dataFolder: String) {
        switch error {
        case let error as StartFault: self = error
        case let error as ServerStartError: self.init(error, addresses)
        case let error as StoreError: self.init(error, dataFolder)
        case let error as AdminFileInUse:
            let holder = error.pid.map { "process \($0)" } ?? "another process"
            self.init("\(holder) serves the data folder \(dataFolder) already", "stop it, or choose another folder with --data")
        case let error as PrivateFileError:
            self.init("\(error.path) could not be written: \(error.text)", Self.remedy(error, dataFolder))
        default: self.init("the server could not start: \(error)", nil)
        }
    }

    private init(_ text: String, _ remedy: String?) {
        self.text = text
        self.remedy = remedy
    }

    private static func remedy(_ error: PrivateFileError, _ folder: String) -> String {
        switch error.code {
        case .system(ENOSPC), .system(EDQUOT): "make room on the disk of \(folder)"
        default: "make the folder writable for this user, or choose another with --data"
        }
    }

    private init(_ error: ServerStartError, _ addresses: [ListenAddress]) {
        let address = addresses.map(\.description).joined(separator: " or ")
        let cause = String(cString: strerror(error.code))
        switch error.step {
        case .bind where error.code == EADDRINUSE:
            let holder = PortHolder.first(of: addresses.map(\.port))
            self.init(
                "\(holder.map { "port \($0.port)" } ?? address) is in use by \(holder?.text ?? "another process")",
                "take another port with --listen HOST:PORT, or any free one with --listen 127.0.0.1:0")
        case .bind where error.code == EACCES:
            self.init("\(address) needs more rights than this user has", "take a port from 1024 on, such as --listen 127.0.0.1:8787")
        case .bind, .unknownHost:
            self.init(
                "\(address) is not an address of this machine (\(cause))",
                "listen on loopback with --listen 127.0.0.1:8787, or everywhere with 0.0.0.0")
        default: self.init("\(address): \(error.step.rawValue) (\(cause))", nil)
        }
    }

    private init(_ error: StoreError, _ folder: String) {
        // The reason says in words what `errno` says as a number.
        let values = error.values.filter { !["remedy", "errno"].contains($0.key) }.sorted { $0.key < $1.key }
            .map { "\($0.key) \($0.value)" }.joined(separator: ", ")
        let text = values.isEmpty ? error.text : "\(error.text) (\(values))"
        if let remedy = error.values["remedy"] {
            self.init(text, remedy)
            return
        }
        switch error.code {
        case .inUse:
            let holder = error.values["pid"].map { "process \($0)" } ?? "another process"
            self.init("\(holder) has the data folder \(folder)", "stop it, or choose another folder with --data")
        case .newerVersion:
            self.init(
                "the data in \(folder) was written by a newer version of nacre than \(ServerVersion.current): \(text)",
                error.values["backup"].map { "start it with that version, or go back: nacre backup restore \($0) --data \(folder) --replace" }
                    ?? "start it with that version, or choose another folder with --data")
        case .full: self.init(text, "make room on the disk of \(folder)")
        case .corrupt: self.init("the data in \(folder) is damaged: \(text)", "restore a backup of the folder; do not delete what is there before")
        case .foreignLog:
            self.init(
                text,
                "put file and log of one time there, or a whole copy of the folder; to take nacre.sqlite as it is, and lose what only the log holds, "
                    + "move nacre.sqlite-wal and nacre.sqlite-shm out of \(folder)")
        case .collision, .tooLarge: self.init(text, "start the server again")
        case .unavailable, .outpaced, .closed, .readOnly:
            self.init(text, "see that the folder \(folder) can be written, or choose another with --data")
        }
    }
}
