import CNacreSodium

/// libsodium's one-time start.
enum Sodium {
    /// `sodium_init` chooses the fastest code for the processor and opens its source of randomness; a `static let` runs it once, whichever thread
    /// asks first.
    /// It answers 0, 1 when somebody else in the process was first, or -1 on failure.
    private static let started: Bool = sodium_init() >= 0

    /// Call before anything of libsodium that draws randomness or has code for special processors. After the first time it costs a load.
    static func start() throws(CryptoError) {
        guard started else { throw CryptoError(.libraryFailure) }
    }
}
