extension HMACSHA256 {
    /// Returns the code of a message under a key that is wiped after its last use.
    package static func code(for message: [UInt8], key: SecretBytes) -> [UInt8] {
        var code = [UInt8](repeating: 0, count: codeLength)
        var stream = Stream(key: key)
        stream.update(message, count: message.count)
        stream.finish(into: &code)
        return code
    }
}
