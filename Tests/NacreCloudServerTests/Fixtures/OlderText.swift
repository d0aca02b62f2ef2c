import NacreCloudWire
import NacreCrypto

/// Sealed values in the form of earlier versions: the key's ID, a point, base64 for URLs.
enum OlderText {
    static func of(_ text: String) throws -> String {
        let bytes = Base64.decode(text) ?? []
        guard let length = bytes.first else { throw CryptoError(.malformedText) }
        let end = 1 + Int(length)
        let sealed = Base64.encode(Array(bytes[end...])).filter { $0 != "=" }.map { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 }
        return String(decoding: bytes[1..<end], as: UTF8.self) + "." + String(sealed)
    }
}
