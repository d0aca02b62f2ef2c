import NacreCrypto

/// Sealed values in the text that earlier versions gave them: the key's ID, a point, base64 for URLs.
enum OlderText {
    static func of(_ text: String) throws -> String {
        let bytes = try Base64.decode(text, alphabet: .standard)
        let end = 1 + Int(bytes[0])
        return String(decoding: bytes[1..<end], as: UTF8.self) + "." + Base64.encode(Array(bytes[end...]), alphabet: .urlSafe)
    }
}
