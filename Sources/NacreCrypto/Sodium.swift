import CNacreSodium

/// The one-time start of libsodium.
enum Sodium {
    /// `sodium_init` chooses the fastest code for the processor and opens its source of randomness. A `static let` runs
    /// it once, whichever thread asks first. It returns 0, 1 if other code in the process called it before, or -1 on
    /// failure.
    private static let started: Bool = sodium_init() >= 0

    /// Initializes libsodium. Call before any function that draws randomness or has processor-specific code. After the
    /// first call it costs a load.
    static func start() throws(CryptoError) {
        guard started else { throw CryptoError(.libraryFailure) }
    }
}
