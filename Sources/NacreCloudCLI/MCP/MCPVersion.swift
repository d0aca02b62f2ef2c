/// Revisions of the Model Context Protocol that this server speaks, the oldest first.
enum MCPVersion: String, Comparable, CaseIterable, Sendable {
    case november2024 = "2024-11-05"
    case march2025 = "2025-03-26"
    case june2025 = "2025-06-18"

    static let latest = MCPVersion.june2025

    // Dates in this form sort as texts.
    static func < (one: MCPVersion, other: MCPVersion) -> Bool { one.rawValue < other.rawValue }

    /// Whether several messages may come as an array: 2025-06-18 took that out.
    var takesBatches: Bool { self < .june2025 }

    /// Whether a list says which tools only read.
    var hasAnnotations: Bool { self >= .march2025 }

    /// Whether tools have titles, and their results values beside the text.
    var hasStructure: Bool { self >= .june2025 }
}
