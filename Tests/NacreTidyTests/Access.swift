/// Checks `public`, which is a promise to app developers; between our own modules the word is `package`.
enum Access {
    static let publicTargets: Set = ["CloudKit", "CloudKitPush", "CoreLocation", "CloudKitTesting", "NacreFoundationGaps"]

    /// Modules of the toolchain that the body of an `@inlinable` function uses: it is compiled in other modules too,
    /// and so they are imported.
    private static let toolchain: Set = ["Foundation", "Synchronization"]

    static func findings(_ file: SwiftText) -> [Finding] {
        guard file.isSource, let target = file.target, !publicTargets.contains(target) else { return [] }
        return file.tokens.indices.compactMap { index in
            // `.public` is a value and `public:` a label; CloudKit has a database of that name.
            guard file.text(index) == "public", file.text(index - 1) != ".", file.text(index + 1) != ":" else { return nil }
            if file.text(index + 1) == "import", toolchain.contains(file.text(index + 2)) { return nil }
            return Finding(path: file.path, line: file.tokens[index].line, message: "public is not for \(target): write package")
        }
    }
}
