@testable import NacreCloudContainer

#if canImport(NacreCloudServer)
    @testable import NacreCloudServer
#endif

/// Fuzzes change tokens: their bytes, and the sealed text that clients hold.
enum TokenTarget {
    /// Fixed keys, so that the corpus has texts that open.
    private static let sealer: TokenSealer = {
        do {
            return try TokenSealer(keys: [("a1", [UInt8](0..<32)), ("b2", [UInt8](32..<64))])
        } catch {
            promise("two keys make a sealer", false)
            return sealer
        }
    }()

    static func run(_ input: UnsafeRawBufferPointer) {
        let bytes = [UInt8](input)
        check(String(decoding: bytes, as: UTF8.self))
        guard let token = ChangeToken(bytes) else { return }
        promise("a token that was read is written as the same token", ChangeToken(token.bytes) == token)
        do {
            let text = try sealer.seal(token.bytes)
            check(text)
            // A name at the limit of its length still fits a text that opens; longer ones never occur.
            if token.bytes.count <= 512 { promise("what was sealed opens as the same", sealer.open(text) == token.bytes) }
            promise("a text that was changed does not open", sealer.open(changed(text, by: bytes)) == nil)
            promise("a token opens for its own purpose only", sealer.open(text, for: .account) == nil)
            promise("a token opens with its own binding only", sealer.open(text, for: .change, binding: "x") == nil)
        } catch {
            promise("a token can be sealed", false)
        }
    }

    /// Returns the text with one character changed; the bytes choose which and to what.
    private static func changed(_ text: String, by bytes: [UInt8]) -> String {
        var characters = Array(text.utf8)
        let choice = bytes.reduce(0) { ($0 &* 31 &+ Int($1)) & 0xFF_FFFF }
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_.".utf8)
        let place = choice % characters.count
        let other = alphabet[choice / characters.count % alphabet.count]
        characters[place] = other == characters[place] ? UInt8(ascii: "=") : other
        return String(decoding: characters, as: UTF8.self)
    }

    /// Checks that a text opens only if sealing made it: under the newest key the same bytes give the same text.
    private static func check(_ text: String) {
        guard let opened = sealer.open(text) else { return }
        // The newest key's ID, `b2`, behind its length.
        if text.hasPrefix("AmIy") { promise("only what was sealed opens", (try? sealer.seal(opened)) == text) }
    }
}
