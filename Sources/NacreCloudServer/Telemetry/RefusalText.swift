import NacreCloudWire

/// The texts of refusals as the request log and the server's own lines may have them.
///
/// Texts of errors quote names: of types, fields and keys, and a few of records or subscriptions. About a private or
/// shared database the log keeps a quoted name only behind a word that says it is one of the schema or a key, and only
/// if it looks like one. A text that takes another name in must quote it.
enum RefusalText {
    private static let words: Set = ["field", "type", "container", "in", "key", "Field", "that"]
    private static let cut = "…"
    private static let characters = 255

    /// Texts that have a name of the client's without quotes, by what stands before and behind it.
    private static let frames = [
        ("Did not find record type: ", ""), ("Cannot create new type ", " in production schema"), ("Field ", " not found in "),
    ]

    /// Returns the text as it may be shown of a request.
    /// - Parameter isPublic: whether the request was about a public database.
    static func shown(_ text: String, inPublic isPublic: Bool) -> String { isPublic ? shortened(text) : withoutNames(text) }

    /// Returns the name of a zone as the server's own lines have it: empty for one of a private or shared database,
    /// except for the default zone.
    static func zone(_ name: String?, inPublic isPublic: Bool) -> String {
        guard let name, isPublic || name == ZoneID.defaultZone.zoneName else { return "" }
        return shortened(name)
    }

    /// Returns the text without quoted and bracketed names that are not the schema's, and without other names that do
    /// not look like one of a schema. Costs a walk over the text.
    static func withoutNames(_ text: String) -> String {
        for (before, behind) in frames where text.hasPrefix(before) {
            let name = text.dropFirst(before.count)
            guard let end = behind.isEmpty ? name.endIndex : name.ranges(of: behind).last?.lowerBound else { continue }
            return shortened(before + field(String(name[..<end])) + field(ofWords: name[end...]))
        }
        return withoutQuotedNames(text)
    }

    private static func withoutQuotedNames(_ text: String) -> String {
        var rest = Array(text.unicodeScalars)[...]
        var kept = String.UnicodeScalarView()
        while let scalar = rest.first {
            let isOpening = !(kept.last.map(isOfName) ?? false)
            guard let closing = closing(scalar), isOpening, let last = rest.dropFirst().lastIndex(of: closing) else {
                kept.append(scalar)
                rest = rest.dropFirst()
                continue
            }
            kept.append(scalar)
            let next = rest.dropFirst().firstIndex(of: closing) ?? last
            let quoted = rest[rest.index(after: rest.startIndex)..<next]
            // A name may have closing marks in it: what is cut ends at the last one of the text.
            let keeps = scalar != "[" && isKept(quoted, after: String(kept.dropLast()))
            if keeps { kept.append(contentsOf: quoted) } else { kept.append(contentsOf: cut.unicodeScalars) }
            kept.append(closing)
            rest = rest[rest.index(after: keeps ? next : last)...]
        }
        return shortened(String(kept))
    }

    /// Returns a key or field that a refusal names, if it looks like one.
    static func field(_ text: String) -> String {
        text.utf8.count <= 100 && text.unicodeScalars.allSatisfy { isOfName($0) || ".[]-".unicodeScalars.contains($0) } ? text : cut
    }

    private static func field(ofWords text: Substring) -> String {
        text.split(separator: " ", omittingEmptySubsequences: false).map { field(String($0)) }.joined(separator: " ")
    }

    static func shortened(_ text: String) -> String {
        text.count <= characters ? text : String(text.prefix(characters - 1)) + cut
    }

    private static func closing(_ scalar: Unicode.Scalar) -> Unicode.Scalar? {
        switch scalar {
        case "'", "\"": scalar
        case "[": "]"
        default: nil
        }
    }

    private static func isKept(_ quoted: some Collection<Unicode.Scalar>, after text: String) -> Bool {
        guard let word = text.split(separator: " ").last, text.hasSuffix(" "), words.contains(String(word)) else { return false }
        return !quoted.isEmpty && quoted.count <= 100 && quoted.allSatisfy { isOfName($0) || ".".unicodeScalars.contains($0) }
    }

    private static func isOfName(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "a"..."z", "A"..."Z", "0"..."9", "_": true
        default: false
        }
    }
}
