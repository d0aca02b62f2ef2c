import Foundation
import Testing

/// Tests the inputs that fuzzers found. `make soak` looks for new ones with libFuzzer and AddressSanitizer.
struct CorpusTests {
    @Test(arguments: Target.allCases)
    func `each input of the corpus keeps the promises of its target`(target: Target) async throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "corpus/\(target.rawValue)")
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        try #require(!files.isEmpty)
        for file in files {
            let input = try Data(contentsOf: file)
            // A target may block its thread, which must not be one of the pool's.
            let broken = await withCheckedContinuation { done in
                Thread { done.resume(returning: brokenPromises { input.withUnsafeBytes { target.run($0) } }) }.start()
            }
            #expect(broken.isEmpty, "\(file.lastPathComponent)")
        }
    }
}

/// Returns the sentences of the promises that an input broke, on the thread that runs it.
private func brokenPromises(_ run: () -> Void) -> [String] {
    Thread.current.threadDictionary[key] = [String]()
    run()
    return Thread.current.threadDictionary[key] as? [String] ?? []
}

private let key = "broken promises"

/// Notes a promise that does not hold.
func promise(_ sentence: StaticString, _ holds: Bool) {
    guard !holds else { return }
    Thread.current.threadDictionary[key] = (Thread.current.threadDictionary[key] as? [String] ?? []) + ["\(sentence)"]
}
