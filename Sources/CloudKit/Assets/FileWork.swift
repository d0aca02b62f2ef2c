import Dispatch

/// Runs file system calls, which may block, on threads of their own.
enum FileWork {
    private static let queue = DispatchQueue(label: "CloudKit files", attributes: .concurrent)

    static func run<Value: Sendable, Failure: Error>(_ work: @escaping @Sendable () throws(Failure) -> Value) async throws(Failure) -> Value {
        let result: Result<Value, Failure> = await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: Result { () throws(Failure) in try work() }) }
        }
        return try result.get()
    }
}
