import Glibc
import NacreCloudWire
import NacreHTTPServer

/// The files of the console's page under `/console/`: from the program or, for work on the page, from a folder.
///
/// The files hold no secret, and every browser that reaches the admin listener gets them. The page asks the admin API
/// alone.
struct ConsoleFiles: Sendable {
    static let path = "/console"
    static let filesPath = "/console/*file"
    static let routes: Set = [path, filesPath]
    /// Bytes of the largest file of a folder.
    private static let bytesMax = 1 << 20
    /// Parts of the longest path of a folder's file.
    private static let partsMax = 4

    let hosts: ServedHosts
    /// The folder whose files are read anew for each request; nil: the embedded files.
    let folder: String?

    func addRoutes(to router: inout Router) {
        // Relative, as a proxy may serve the listener below a path of its own.
        router.get(Self.path) { _, _ in HTTPResponse(.seeOther, headers: ["Location": "console/"]) }
        router.get(Self.filesPath) { request, parameters in
            guard hosts.serve(request) else { throw ServerError.unknownHost }
            let path = try parameters.require("file")
            guard let response = response(path.isEmpty ? "index.html" : path, to: request) else {
                throw HTTPError(.notFound, "The console has no such file.")
            }
            return response
        }
    }

    /// The page runs its own scripts alone, makes no HTML of text, cannot be framed, and asks this listener alone.
    private static let headers: HTTPHeaders = [
        "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
            + "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
        "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer",
        "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
        // A browser asks each time whether the file has changed: a newer server has other files under the same names.
        "Cache-Control": "no-cache",
    ]

    private func response(_ path: String, to request: HTTPRequest) -> HTTPResponse? {
        guard let type = ConsoleFile.mediaTypes[path.split(separator: ".").last.map(String.init) ?? ""] else { return nil }
        if let folder {
            guard let content = Self.read(path, in: folder) else { return nil }
            var response = HTTPResponse(.ok, headers: Self.headers)
            response.headers["Content-Type"] = type
            response.headers["ETag"] = "\"\(ConsoleFile.digest(of: content))\""
            response.body = .bytes(content)
            return response
        }
        return ConsoleFile.all[path].flatMap { ConsoleFile.response($0, type: type, headers: Self.headers, to: request) }
    }

    /// Reads a regular file below a folder; nil if there is none, a part of its path is hidden or leads out of the
    /// folder, or it is too large. It blocks for a moment.
    static func read(_ path: String, in folder: String) -> [UInt8]? {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        let isPlain = parts.allSatisfy { part in
            !part.isEmpty && part.first != "." && part.utf8.allSatisfy(Names.isPlain)
        }
        guard isPlain, parts.count <= partsMax, let root = realpath(folder, nil) else { return nil }
        defer { free(root) }
        guard let file = realpath(folder + "/" + path, nil) else { return nil }
        defer { free(file) }
        // A link may lead elsewhere.
        guard String(cString: file).hasPrefix(String(cString: root) + "/") else { return nil }
        let descriptor = open(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size <= bytesMax else { return nil }
        var content = [UInt8](repeating: 0, count: Int(status.st_size))
        var done = 0
        while done < content.count {
            let count = content[done...].withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 || (count < 0 && errno == EINTR) else { return nil }
            done += max(count, 0)
        }
        return content
    }
}
