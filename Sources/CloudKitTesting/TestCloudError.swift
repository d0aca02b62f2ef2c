import NacreCloudWire

/// The reason why a `TestCloud` cannot do what a test asks of it.
public struct TestCloudError: Error, Equatable, CustomStringConvertible {
    /// The problem, in words.
    public let reason: String
    /// The remedy: what the author of the test can do.
    public let remedy: String

    public var description: String { "\(reason): \(remedy)" }

    init(_ reason: String, remedy: String) {
        self.reason = reason
        self.remedy = remedy
    }

    init(_ error: any Error) {
        guard let error = error as? ServerError else {
            self.init("the cloud failed: \(error)", remedy: "Use a cloud that was not shut down.")
            return
        }
        self.init([error.field, error.reason].compactMap { $0 }.joined(separator: ": "), remedy: error.remedy ?? "See docs/errors.md.")
    }
}
