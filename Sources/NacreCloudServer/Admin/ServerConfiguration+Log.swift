import Glibc
import NacreTelemetry

extension ServerConfiguration {
    /// How log lines look: for people, or one JSON object each.
    package enum LogFormat: String, CaseIterable, Sendable {
        case text
        case json

        /// Text on a terminal, JSON elsewhere.
        package static var usual: LogFormat { isatty(STDERR_FILENO) == 1 ? .text : .json }
    }

    /// The levels that a log may have, by their names, from the most talkative on.
    package static var logLevels: [String] { LogLevel.allCases.map(\.name) }

    /// A server that logs to a file or to standard error; coloured on a terminal unless `NO_COLOR` is set.
    /// - Parameters:
    ///   - logLevel: one of `logLevels`; nil for any other.
    ///   - logFile: nil: standard error.
    package init?(dataFolder: String, logFormat: LogFormat, logLevel: String, logFile: LogFile? = nil) {
        guard let level = LogLevel(name: logLevel) else { return nil }
        let wantsColours = getenv("NO_COLOR").map { $0.pointee == 0 } ?? true
        let format =
            switch logFormat {
            case .text: Logger.Format.human(colours: wantsColours && logFile == nil && isatty(STDERR_FILENO) == 1)
            case .json: Logger.Format.json
            }
        let sink = FileDescriptorSink(logFile?.descriptor ?? STDERR_FILENO)
        self.init(dataFolder: dataFolder, logger: Logger(level: level, format: format, sink: sink).foldingRepeats())
    }

    /// Has the log go on in the file that is there now under its name, and says so.
    package func reopenLog(_ file: LogFile?) {
        do throws(PrivateFileError) {
            try file?.reopen()
            logger.log(.notice, "Told to open the log anew", [.path: .string(file?.path ?? "standard error")])
        } catch {
            logger.log(.warning, "The log goes on in its old file", [.path: .string(error.path), .error: .string(error.text)])
        }
    }

    /// For who reads the log and has no terminal.
    package func logServing(at url: String, data: String, version: String) {
        logger.log(.notice, "Serving", [.version: .string(version), .url: .string(url), .path: .string(data)])
    }
}

/// A file that lines of a log are appended to, by one number of a descriptor all its life.
package final class LogFile: Sendable {
    package let path: String
    let descriptor: Int32

    private init(path: String, descriptor: Int32) {
        (self.path, self.descriptor) = (path, descriptor)
    }

    /// Opens the file, or makes one for this user alone: lines have addresses of clients.
    package static func open(_ path: String) throws(PrivateFileError) -> LogFile {
        LogFile(path: path, descriptor: try descriptor(path))
    }

    /// Lines go into what has the file's name now: another file where somebody has renamed the old one. No line is lost meanwhile.
    func reopen() throws(PrivateFileError) {
        let fresh = try Self.descriptor(path)
        defer { close(fresh) }
        guard dup2(fresh, descriptor) == descriptor, fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0 else { throw PrivateFileError(.system(errno), path) }
    }

    private static func descriptor(_ path: String) throws(PrivateFileError) -> Int32 {
        let descriptor = Glibc.open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw PrivateFileError(.system(errno), path) }
        return descriptor
    }

    deinit { close(descriptor) }
}
