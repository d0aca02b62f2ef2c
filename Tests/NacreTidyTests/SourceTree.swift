import Foundation

/// The project's files on disk; the Swift ones are read once for all checks.
enum SourceTree {
    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// Every Swift file under `Sources`, `Tests` and `Benchmarks`.
    static let swift: Result<[SwiftText], any Error> = Result {
        try paths(under: ["Sources", "Tests", "Benchmarks"]).filter { $0.hasSuffix(".swift") }.map { SwiftText(try text(of: $0), path: $0) }
    }

    /// Returns the pages for people: those at the root and all under `docs`.
    static func pages() throws -> [String] {
        let top = try FileManager.default.contentsOfDirectory(atPath: root.path).filter { $0.hasSuffix(".md") }
        return try top + paths(under: ["docs"]).filter { $0.hasSuffix(".md") }
    }

    static func text(of path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    static func exists(_ path: String) -> Bool {
        FileManager.default.fileExists(atPath: root.appending(path: path).path)
    }

    /// Returns the paths, from the root, of the files under those of `folders` that exist, in order.
    static func paths(under folders: [String]) throws -> [String] {
        try folders.filter(exists).flatMap { folder in
            try FileManager.default.subpathsOfDirectory(atPath: root.appending(path: folder).path).sorted().map { "\(folder)/\($0)" }
        }
    }
}
