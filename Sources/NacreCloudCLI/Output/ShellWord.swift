import Foundation

enum ShellWord {
    /// Quotes a word so that a shell reads it back.
    static func quoted(_ word: String) -> String {
        let plain = word.utf8.allSatisfy { byte in
            byte > 0x7f || "/._-+,:@%".utf8.contains(byte) || (0x30...0x39).contains(byte) || (0x41...0x5a).contains(byte & 0xdf)
        }
        return plain && !word.isEmpty ? word : "'" + word.replacingOccurrences(of: "'", with: #"'\''"#) + "'"
    }
}
