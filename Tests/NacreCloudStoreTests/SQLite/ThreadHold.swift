import Dispatch

/// Holds threads of a store, which block here, until a test releases them. No thread of Swift's pool may block here:
/// there are few, and all tests share them.
struct ThreadHold: Sendable {
    private let turnstile = DispatchSemaphore(value: 0)

    /// Blocks the calling thread until `release`.
    func wait() {
        turnstile.wait()
        turnstile.signal()
    }

    /// Releases waiting threads, and later ones.
    func release() {
        turnstile.signal()
    }
}
