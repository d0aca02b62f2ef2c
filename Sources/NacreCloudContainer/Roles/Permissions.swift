/// The permissions of a security role on records of a type.
package struct Permissions: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    package static let read = Permissions(rawValue: 1)
    package static let create = Permissions(rawValue: 2)
    /// CloudKit: changing and deleting.
    package static let write = Permissions(rawValue: 4)

    /// The words of CloudKit's schema language, in the order in which it prints them.
    package static let words: [(word: String, permission: Permissions)] = [("READ", .read), ("CREATE", .create), ("WRITE", .write)]

    /// The permission of a word; nil for an unknown word.
    package init?(word: String) {
        guard let found = Self.words.first(where: { $0.word == word }) else { return nil }
        self = found.permission
    }

    package var words: [String] {
        Self.words.filter { contains($0.permission) }.map(\.word)
    }
}
