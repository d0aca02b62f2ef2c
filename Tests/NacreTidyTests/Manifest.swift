import Foundation

/// The targets of `Package.swift` and their dependencies, read as text.
struct Manifest: Equatable {
    struct Target: Equatable {
        var name: String
        var dependencies: [String]
        var line: Int
    }

    static let page = "Package.swift"
    /// Targets that apps import by name.
    static let publicTargets: Set = ["CloudKit", "CloudKitPush", "CloudKitTesting", "CoreLocation"]

    static let executables: Set = ["NacreCloudCLI", "NacreLongLivedApp"]

    private(set) var targets: [Target] = []

    init(_ text: String) throws {
        // A dependency in a variable: `let client = Target.Dependency.target(name: "…")`.
        let named = try Self.matches(#"let (\w+) = Target\.Dependency\.target\(name: "(\w+)""#, in: text).reduce(into: [:]) {
            $0[$1.parts[0]] = $1.parts[1]
        }
        let makers = #"(?:\bmodule|\btests|\.executableTarget|\.testTarget|\.systemLibrary|(?<!Dependency)\.target)"#
        targets = try Self.matches(makers + #"\(\s*(?:name:\s*)?"(\w+)"(?:,\s*(?:dependencies:\s*)?\[([^\]]*)\])?"#, in: text).map { match in
            let dependencies = match.parts[1].split(separator: ",").map { $0.trimmingCharacters(in: .whitespacesAndNewlines) }.filter { !$0.isEmpty }
            return Target(
                name: match.parts[0], dependencies: dependencies.map { named[$0] ?? $0.trimmingCharacters(in: ["\""]) }, line: match.line)
        }
    }

    private static func matches(_ pattern: String, in text: String) throws -> [(parts: [String], line: Int)] {
        let whole = text as NSString
        let range = NSRange(location: 0, length: whole.length)
        return try NSRegularExpression(pattern: pattern).matches(in: text, range: range).map { match in
            let parts = (1..<match.numberOfRanges).map { match.range(at: $0) }.map { $0.location == NSNotFound ? "" : whole.substring(with: $0) }
            return (parts, whole.substring(to: match.range.location).split(separator: "\n", omittingEmptySubsequences: false).count)
        }
    }

    /// SwiftPM refuses two targets of one name, in whichever packages they are, and an app may depend on packages of
    /// its own.
    var unprefixed: [Finding] {
        targets.filter { !Self.publicTargets.contains($0.name) && !$0.name.hasPrefix("Nacre") && !$0.name.hasPrefix("CNacre") }.map {
            Finding(path: Self.page, line: $0.line, message: "\($0.name) is not public API: its name begins with Nacre or CNacre")
        }
    }

    /// Returns dependencies that no file of the target imports. Tests depend on executables to have them built.
    func unused(by files: [SwiftText]) -> [Finding] {
        let imports = Dictionary(grouping: files, by: { $0.target ?? "" }).mapValues { Set($0.flatMap(\.imports).map(\.module)) }
        return targets.flatMap { target in
            target.dependencies.filter { !Self.executables.contains($0) && imports[target.name]?.contains($0) == false }.map {
                Finding(path: Self.page, line: target.line, message: "\(target.name) depends on \($0), and none of its files imports it")
            }
        }
    }
}
