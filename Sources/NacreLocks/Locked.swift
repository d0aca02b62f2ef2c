#if THREAD_SANITIZER
    public import Foundation
#else
    public import Synchronization
#endif

/// A value that one thread at a time may touch.
///
/// Never call out of `withLock` to code that may take the same lock, and never suspend inside it: the body is
/// synchronous.
///
/// ```swift
/// let counts = Locked<[String: Int]>([:])
/// let count = counts.withLock { counts in
///     counts[name, default: 0] += 1
///     return counts[name]
/// }
/// ```
///
/// With `-D THREAD_SANITIZER` the lock is an `NSLock`: ThreadSanitizer does not see the futex under `Mutex` and reports
/// false races.
///
/// `@inlinable`, and therefore `@usableFromInline`: the body is compiled into the caller, and a request takes dozens of
/// locks.
@usableFromInline
package final class Locked<Value>: @unchecked Sendable {
    // Sendable: `value` is only reached inside `withLock`, and only sendable inputs and results cross its border.
    // Unchecked: a body that re-enters the lock stops at the lock, before it reaches the value.
    @exclusivity(unchecked) @usableFromInline var value: Value
    #if THREAD_SANITIZER
        @usableFromInline let lock = NSLock()
    #else
        @usableFromInline let lock = Mutex<Void>(())
    #endif

    @inlinable
    package init(_ value: sending Value) {
        self.value = value
    }

    @inlinable
    package func withLock<Result>(_ body: (inout Value) throws -> sending Result) rethrows -> sending Result {
        #if THREAD_SANITIZER
            lock.lock()
            defer { lock.unlock() }
            return try body(&value)
        #else
            return try lock.withLock { _ in try body(&self.value) }
        #endif
    }

    /// Runs the body if no other thread holds the lock; otherwise returns nil at once.
    @inlinable
    package func withLockIfAvailable<Result>(_ body: (inout Value) throws -> sending Result) rethrows -> sending Result? {
        #if THREAD_SANITIZER
            guard lock.try() else { return nil }
            defer { lock.unlock() }
            return try body(&value)
        #else
            return try lock.withLockIfAvailable { _ in try body(&self.value) }
        #endif
    }
}
