import Glibc
import NacreTelemetry

extension ServerConfiguration {
    /// The format of log lines: for people, or one JSON object for each line.
    package enum LogFormat: String, CaseIterable, Sendable {
        case text
        case json

        /// Text on a terminal, JSON otherwise.
        package static var usual: LogFormat { isatty(STDERR_FILENO) == 1 ? .text : .json }
    }

    /// The names of log levels, the most verbose first.
    package static var logLevels: [String] { LogLevel.allCases.map(\.name) }

    /// Configures a server that logs to a file or to standard error, coloured on a terminal unless `NO_COLOR` is set.
    /// - Parameters:
    ///   - logLevel: one of `logLevels`; the result is nil for any other.
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

    /// Lets the log continue in the file that has its name now, and logs that.
    package func reopenLog(_ file: LogFile?) {
        do throws(PrivateFileError) {
            try file?.reopen()
            logger.log(.notice, "Told to open the log anew", [.path: .string(file?.path ?? "standard error")])
        } catch {
            logger.log(.warning, "The log goes on in its old file", [.path: .string(error.path), .error: .string(error.text)])
        }
    }

    /// Logs that the server serves, for readers of the log without a terminal.
    package func logServing(at url: String, data: String, version: String) {
        logger.log(.notice, "Serving", [.version: .string(version), .url: .string(url), .path: .string(data)])
    }
}

/// A log file that lines are appended to. Its descriptor keeps one number for its whole life.
package final class LogFile: Sendable {
    package let path: String
    let descriptor: Int32

    private init(path: String, descriptor: Int32) {
        (self.path, self.descriptor) = (path, descriptor)
    }

    /// Opens the file, or creates it for this user alone: lines contain addresses of clients.
    package static func open(_ path: String) throws(PrivateFileError) -> LogFile {
        LogFile(path: path, descriptor: try descriptor(path))
    }

    /// Writes further lines to the file that has the name now, a new one if the old one was renamed. No line is lost
    /// meanwhile.
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
