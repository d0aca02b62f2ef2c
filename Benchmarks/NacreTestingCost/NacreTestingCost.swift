import CloudKit
import CloudKitTesting

/// Measures how long a test's cloud takes to make, sign a user in and end. Prints one JSON object, in milliseconds.
///
///     NacreTestingCost COUNT
@main
struct NacreTestingCost {
    private struct Misuse: Error {}

    static func main() async throws {
        guard CommandLine.arguments.count == 2, let count = Int(CommandLine.arguments[1]), count > 0 else { throw Misuse() }
        let clock = ContinuousClock()
        var milliseconds: [Double] = []
        for _ in 0..<count {
            let began = clock.now
            try await use()
            milliseconds.append(began.duration(to: clock.now) / .milliseconds(1))
        }
        let sorted = milliseconds.sorted()
        print(#"{"first":\#(milliseconds[0]),"median":\#(sorted[count / 2]),"most":\#(sorted[count - 1])}"#)
    }

    private static func use() async throws {
        let cloud = try await TestCloud()
        _ = try await cloud.signIn("alice")
    }
}
