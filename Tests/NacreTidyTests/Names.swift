/// Checks for empty names, in which the noun or the verb is missing.
enum Names {
    static let banned: Set = [
        "Util", "Utils", "Utility", "Utilities", "Helper", "Helpers", "Manager", "Managers", "Common", "Core", "Impl", "Misc", "Extensions",
        "Protocols",
    ]

    /// Apple's names, which are allowed.
    static let kept: Set = ["CoreLocation", "CoreLocationTests", "CLLocationManager", "CLLocationManagerDelegate"]

    static func findings(_ file: SwiftText) -> [Finding] {
        let inPath = file.path.split(separator: "/").map { $0.hasSuffix(".swift") ? $0.dropLast(".swift".count) : $0 }
        let places =
            inPath.map { (name: String($0), line: 1) } + declaredTypes(file).map { (name: $0.text, line: $0.line) }
        return places.compactMap { place in
            guard !kept.contains(place.name), let word = words(of: place.name).first(where: banned.contains) else { return nil }
            return Finding(path: file.path, line: place.line, message: "\(place.name): name it for what it is about, without \(word)")
        }
    }

    static func declaredTypes(_ file: SwiftText) -> [SwiftText.Token] {
        let kinds: Set = ["class", "struct", "enum", "protocol", "actor", "typealias", "associatedtype"]
        return file.tokens.indices.dropFirst().compactMap { index in
            guard kinds.contains(file.text(index - 1)), file.text(index - 2) != "." else { return nil }
            let token = file.tokens[index]
            return token.text.first?.isUppercase == true ? token : nil
        }
    }

    /// `CKRecord+ZoneIDs` is `CK`, `Record`, `Zone`, `IDs`: a new word begins where a capital follows a small letter or
    /// leads one.
    static func words(of name: String) -> [String] {
        var words: [String] = []
        let letters = Array(name)
        for (index, letter) in letters.enumerated() {
            guard letter.isLetter else {
                words.append("")
                continue
            }
            let follows = index > 0 ? letters[index - 1] : "_"
            let next = index + 1 < letters.count ? letters[index + 1] : "_"
            let starts = letter.isUppercase && (!follows.isUppercase || next.isLowercase)
            if starts || words.isEmpty { words.append("") }
            words[words.count - 1].append(letter)
        }
        return words.filter { !$0.isEmpty }
    }
}
