extension SwiftText {
    struct Import: Equatable {
        let module: String
        let line: Int
    }

    /// The modules that the file imports, whatever stands before the word `import`, and whatever is picked from the
    /// module.
    var imports: [Import] {
        let kinds: Set = ["struct", "class", "enum", "protocol", "typealias", "func", "let", "var"]
        return tokens.indices.compactMap { index in
            guard tokens[index].text == "import", text(index - 1) != "." else { return nil }
            let name = kinds.contains(text(index + 1)) ? index + 2 : index + 1
            return Import(module: text(name), line: tokens[index].line)
        }
    }

    /// The target that the file belongs to: `Sources/NacreCloudWire/…` is in `NacreCloudWire`.
    var target: String? {
        let parts = path.split(separator: "/")
        return parts.count > 2 ? String(parts[1]) : nil
    }

    var isSource: Bool { path.hasPrefix("Sources/") }
}

/// The allowed imports: the table under "The arrows" in `docs/architecture.md`.
struct Arrows: Equatable {
    static let page = "docs/architecture.md"

    /// A target of ours and the targets that it may import; those it may not import are the others that the table
    /// names.
    private(set) var allowed: [String: Set<String>] = [:]
    private var named: Set<String> = []

    init(table page: String) {
        let section = page.lines(under: "## The arrows")
        for row in section where row.hasPrefix("| `") {
            let cells = row.split(separator: "|", omittingEmptySubsequences: false).dropFirst().map { Self.words(in: $0) }
            guard cells.count > 1 else { continue }
            for target in cells[0] { allowed[target] = Set(cells[1]) }
            named.formUnion(cells[0] + cells[1])
        }
    }

    func findings(_ file: SwiftText) -> [Finding] {
        guard file.isSource, let target = file.target else { return [] }
        guard let allowed = allowed[target] else {
            return [Finding(path: file.path, line: 1, message: "\(target) has no row in the table of arrows in \(Self.page)")]
        }
        return file.imports.filter { named.contains($0.module) && !allowed.contains($0.module) }.map {
            Finding(path: file.path, line: $0.line, message: "\(target) may not import \($0.module)")
        }
    }

    /// Returns the words between backticks.
    private static func words(in cell: Substring) -> [String] {
        cell.split(separator: "`", omittingEmptySubsequences: false).enumerated().filter { $0.offset % 2 == 1 }.map { String($0.element) }
    }
}

extension String {
    /// Returns the lines of a page's section, from its heading to the next heading of its level.
    func lines(under heading: String) -> ArraySlice<Substring> {
        let lines = split(separator: "\n", omittingEmptySubsequences: false)
        guard let start = lines.firstIndex(where: { $0 == heading }) else { return [] }
        return lines[(start + 1)...].prefix { !$0.hasPrefix("## ") }
    }
}

/// Modules that only certain files or folders may import.
enum Confinement {
    /// places[module]: the beginnings of the paths that may import it.
    static let places: [String: [String]] = [
        "CNacreBuild": ["Sources/NacreCloudCLI/"],
        "CNacreChecksum": ["Sources/NacreCloudStorage/"],
        "CNacreOpenSSL": ["Sources/NacreCrypto/", "Tests/NacreCryptoTests/"],
        "CNacreSodium": ["Sources/NacreCrypto/", "Tests/NacreCryptoTests/"],
        "CNacreFileReads": ["Sources/NacreCloudStore/SQLite/"],
        "CNacreSQLite": ["Sources/NacreCloudStore/SQLite/", "Tests/NacreCloudStoreTests/"],
        "CNacrePostgres": ["Sources/NacrePostgres/"],
        "CNacreCurl": ["Sources/NacreHTTPClient/"],
        "CNacreSockets": ["Sources/NacreHTTPServer/", "Tests/NacreHTTPServerTests/"],
        "CNacreZlib": ["Sources/NacreHTTPServer/", "Tests/NacreHTTPServerTests/"],
    ]

    static func findings(_ file: SwiftText) -> [Finding] {
        file.imports.compactMap { found in
            var places = places[found.module]
            // The engines are chosen where the server is put together, and nowhere else in it; a backup is of one
            // engine's files.
            if file.target == "NacreCloudServer", found.module == "NacreCloudStore" {
                places = ["Sources/NacreCloudServer/Server.swift", "Sources/NacreCloudServer/Backup/"]
            }
            // A backup's files are named by the rows of its assets; no other part of an engine knows a rule.
            if file.target == "NacreCloudStore", found.module == "NacreCloudContainer" {
                places = ["Sources/NacreCloudStore/Assets/AssetBackup.swift"]
            }
            // A bucket is accessed over HTTP; an engine is not.
            if file.target == "NacreCloudStore", found.module == "NacreHTTPClient" { places = ["Sources/NacreCloudStore/Assets/S3/"] }
            guard let places, !places.contains(where: file.path.hasPrefix) else { return nil }
            return Finding(path: file.path, line: found.line, message: "\(found.module) may be imported in \(places.joined(separator: ", ")) only")
        }
    }
}
