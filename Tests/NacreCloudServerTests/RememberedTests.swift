import NacreCloudWire
import NacreLocks
import Testing

@testable import NacreCloudServer

@Suite struct RememberedTests {
    private let reads = Locked(0)

    private func read(_ value: Int?) -> Int? {
        reads.withLock { $0 += 1 }
        return value
    }

    private var readCount: Int { reads.withLock { $0 } }

    private func at(_ seconds: Double) -> Timestamp { Timestamp(secondsSince2001: seconds) }

    @Test func `a value is read once in five seconds`() async throws {
        let remembered = Remembered<String, Int>()
        for second in [0, 1, 4.99] { #expect(try await remembered.value("a", at: at(second)) { read(1) } == 1) }
        #expect(readCount == 1)
        #expect(try await remembered.value("a", at: at(5)) { read(2) } == 2)
        #expect(try await remembered.value("a", at: at(9.9)) { read(3) } == 2)
        #expect(readCount == 2)
    }

    @Test func `a value that is gone is forgotten, and one that was never there is asked for every time`() async throws {
        let remembered = Remembered<String, Int>()
        #expect(try await remembered.value("a", at: at(0)) { read(1) } == 1)
        #expect(try await remembered.value("a", at: at(5)) { read(nil) } == nil)
        #expect(try await remembered.value("a", at: at(5)) { read(nil) } == nil)
        #expect(try await remembered.value("b", at: at(5)) { read(nil) } == nil)
        #expect(readCount == 4)
    }

    @Test func `what was forgotten is read again`() async throws {
        let remembered = Remembered<String, Int>()
        #expect(try await remembered.value("a", at: at(0)) { read(1) } == 1)
        remembered.forget("a")
        #expect(try await remembered.value("a", at: at(0)) { read(2) } == 2)
    }

    @Test func `a clock that goes back does not keep a value for longer`() async throws {
        let remembered = Remembered<String, Int>()
        #expect(try await remembered.value("a", at: at(1000)) { read(1) } == 1)
        #expect(try await remembered.value("a", at: at(10)) { read(2) } == 2)
    }

    @Test func `an error is not remembered`() async throws {
        let remembered = Remembered<String, Int>()
        await #expect(throws: ServerError.self) { try await remembered.value("a", at: at(0)) { throw ServerError(.internalError, "x") } }
        #expect(try await remembered.value("a", at: at(0)) { read(1) } == 1)
    }

    @Test func `it does not grow without bound`() async throws {
        let remembered = Remembered<String, Int>()
        for number in 0...Remembered<String, Int>.countMax { _ = try await remembered.value("\(number)", at: at(0)) { 1 } }
        // The memory was full, and restarted with the last one.
        #expect(try await remembered.value("0", at: at(0)) { read(2) } == 2)
        #expect(try await remembered.value("\(Remembered<String, Int>.countMax)", at: at(0)) { read(3) } == 1)
    }
}
