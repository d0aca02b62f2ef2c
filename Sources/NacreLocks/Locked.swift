#if THREAD_SANITIZER
    public import Foundation
#else
    public import Synchronization
#endif

/// A value that one thread at a time may touch.
///
/// Never call out of `withLock` to code that may take the same lock, and never suspend inside it: the body is synchronous.
/// Built with `-D THREAD_SANITIZER` it is an `NSLock`, because ThreadSanitizer does not see the futex under `Mutex` and reports false races.
///
/// `@inlinable`, and so `@usableFromInline`: the body is the caller's, and a request takes dozens of locks.
@usableFromInline
package final class Locked<Value>: @unchecked Sendable {
    // Sendable: `value` is only reached inside `withLock`, and only sendable results and inputs cross its border. Unchecked: who comes again within the
    // body meets the lock before the value.
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

    /// The same where no other thread is in there; nil, at once, where one is.
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
