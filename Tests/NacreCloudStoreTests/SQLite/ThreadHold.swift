import Dispatch

/// Holds threads of a store, which block in there, until a test lets them go. No thread of Swift's tasks may come in: there are few, and all tests share them.
struct ThreadHold: Sendable {
    private let turnstile = DispatchSemaphore(value: 0)

    /// Blocks the calling thread until `release`.
    func wait() {
        turnstile.wait()
        turnstile.signal()
    }

    /// Lets those go who wait, and whoever comes later.
    func release() {
        turnstile.signal()
    }
}
