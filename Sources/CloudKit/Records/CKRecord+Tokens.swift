import CloudWire
import Foundation

extension CKRecord {
    /// The words of all text fields, without case and diacritics, each once, for matching text on this device.
    public func allTokens() -> [String] {
        var seen: Set<String> = []
        return snapshot.fields.entries
            .flatMap { $0.value.texts }
            .flatMap { text in
                text.folding(options: [.caseInsensitive, .diacriticInsensitive, .widthInsensitive], locale: .current)
                    .split { !$0.isLetter && !$0.isNumber }
                    .map(String.init)
            }
            .filter { seen.insert($0).inserted }
    }
}
