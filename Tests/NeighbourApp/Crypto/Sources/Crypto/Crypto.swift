/// Returns a sum, not cryptography: only the module's name matters.
public func checksum(_ text: String) -> Int {
    text.utf8.reduce(0) { ($0 &* 31 &+ Int($1)) & 0xFFFF }
}
