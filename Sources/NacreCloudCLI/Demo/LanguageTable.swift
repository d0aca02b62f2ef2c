import Foundation

/// The languages of ISO 639-3 as Debian's iso-codes has them.
enum LanguageTable {
    static let file = InputFile(path: "/usr/share/iso-codes/json/iso_639-3.json", package: "iso-codes")

    struct Language: Decodable, Equatable {
        /// Three letters, unique.
        var code: String
        var name: String
        /// Individual, macrolanguage or special.
        var scope: String
        var type: String
        var twoLetterCode: String?
        var bibliographicCode: String?
        var commonName: String?
        var invertedName: String?

        enum CodingKeys: String, CodingKey {
            case code = "alpha_3"
            case name
            case scope
            case type
            case twoLetterCode = "alpha_2"
            case bibliographicCode = "bibliographic"
            case commonName = "common_name"
            case invertedName = "inverted_name"
        }
    }

    private struct Table: Decodable {
        var languages: [Language]

        enum CodingKeys: String, CodingKey {
            case languages = "639-3"
        }
    }

    /// Parses the table.
    /// - Throws: `InputFault` for other JSON.
    static func parse(_ bytes: Data) throws(InputFault) -> [Language] {
        do {
            return try JSONDecoder().decode(Table.self, from: bytes).languages
        } catch {
            throw InputFault(file: file, place: "its JSON")
        }
    }
}
