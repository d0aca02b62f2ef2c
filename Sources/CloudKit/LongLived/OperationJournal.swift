import Foundation
import NacreLocks

/// What the steps of a long-lived operation came to, in a file: a request's answer, a file's proof, or an error.
///
/// Who runs the operation again asks here first, so that what was done is neither asked nor sent again, and all blocks hear the same. The file is written
/// by one process at a time, which has its lock. An entry is a head of its key's and its value's length, a check of both, the key and the value; what does
/// not read is where a process was killed, and is cut off.
/// See docs/decisions/the-agent-takes-over-where-a-lock-is-let-go.md.
final class OperationJournal: Sendable {
    private static let headBytes = 16
    private static let keyBytesMax = 4096
    /// An answer with room for how a property list keeps it.
    private static let valueBytesMax = NetworkTransport.answerBytesMax + 4096

    private struct State {
        var places: [String: Range<Int>] = [:]
        var end = 0
        /// A value could not be written: nothing is noted any more, and what comes is asked again by the next process.
        var isFull = false
        var changes = 0
    }

    private struct Entry<Value: Codable>: Codable {
        var value: Value?
        var error: KeptError?
    }

    /// When the operation was kept first.
    let began: Date
    /// Seconds since then at which this process took it over; nil: it is the process that kept it.
    let takenOverAfter: Double?
    /// Takes files that were fetched.
    let files: String
    private let operationID: String
    private let file: KeptFile
    private let state: Locked<State>

    /// Reads what is there. The caller has the file's lock.
    init(_ file: KeptFile, operationID: String, files: String, began: Date, takenOverAfter: Double?) {
        (self.file, self.operationID, self.files, self.began, self.takenOverAfter) = (file, operationID, files, began, takenOverAfter)
        var state = State()
        let size = file.size
        while let (key, value) = Self.entry(in: file, at: state.end, size: size) {
            state.places[key] = value
            state.end = value.upperBound
        }
        if state.end < size { file.truncate(to: state.end) }
        self.state = Locked(state)
    }

    /// The entry there, if it is whole.
    private static func entry(in file: KeptFile, at offset: Int, size: Int) -> (key: String, value: Range<Int>)? {
        let head = file.bytes(headBytes, at: offset)
        guard head.count == headBytes else { return nil }
        let (keyCount, valueCount, check) = (number(head[0..<4]), number(head[4..<8]), number(head[8..<16]))
        let start = offset + headBytes + Int(clamping: keyCount)
        guard (1...UInt64(keyBytesMax)).contains(keyCount), valueCount <= UInt64(valueBytesMax), start + Int(valueCount) <= size else { return nil }
        let bytes = file.bytes(Int(keyCount) + Int(valueCount), at: offset + headBytes)
        guard Checksum.of(bytes) == check, let key = String(validating: bytes.prefix(Int(keyCount)), as: UTF8.self) else { return nil }
        return (key, start..<start + Int(valueCount))
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) } }

    private static func bytes(_ number: UInt64, _ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: number >> (8 * UInt64($0))) } }

    /// What a step came to before; nil where it has not ended yet.
    func outcome<Value: Codable>(_ key: String, as type: Value.Type = Value.self) -> Result<Value, CKError>? {
        guard let place = state.withLock({ $0.places[key] }),
            let entry = try? PropertyListDecoder().decode(Entry<Value>.self, from: Data(file.bytes(place.count, at: place.lowerBound)))
        else { return nil }
        if let error = entry.error { return .failure(error.error) }
        return entry.value.map(Result.success)
    }

    /// Notes what a step came to. A cancellation is none: who takes the operation over does the step.
    func note<Value: Codable>(_ key: String, _ outcome: Result<Value, CKError>) {
        var entry = Entry<Value>()
        switch outcome {
        case .success(let value): entry.value = value
        case .failure(let error):
            guard error.code != .operationCancelled else { return }
            entry.error = KeptError(error)
        }
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .binary
        let name = Array(key.utf8)
        guard name.count <= Self.keyBytesMax, let value = try? encoder.encode(entry), value.count <= Self.valueBytesMax else { return }
        let body = name + value
        let bytes = Self.bytes(UInt64(name.count), 4) + Self.bytes(UInt64(value.count), 4) + Self.bytes(Checksum.of(body), 8) + body
        state.withLock { state in
            guard !state.isFull else { return }
            do {
                try file.write(bytes, at: state.end)
                state.places[key] = state.end + bytes.count - value.count..<state.end + bytes.count
                state.end += bytes.count
            } catch {
                file.truncate(to: state.end)
                state.isFull = true
            }
        }
    }

    /// What the step came to before, or else what it comes to now. Blocks of the file system are waited for on other threads.
    func step<Value: Codable & Sendable>(_ key: String, _ body: () async throws(CKError) -> Value) async throws(CKError) -> Value {
        if let before = await FileWork.run({ self.outcome(key, as: Value.self) }) { return try before.get() }
        let outcome = await Conversation.result(body)
        await FileWork.run { self.note(key, outcome) }
        return try outcome.get()
    }

    /// Lets another process write.
    func release() { file.unlock() }

    /// Names the next change: the same in each process that runs the operation, so that the server does it once.
    func nextChange() -> String {
        state.withLock { state in
            state.changes += 1
            return "\(operationID)-\(state.changes)"
        }
    }

    /// A key for a request: the same bytes to the same path are the same question.
    static func key(of path: String, _ body: [UInt8]) -> String {
        "\(path) \(body.count) \(String(Checksum.of(body), radix: 16))"
    }

    // MARK: Files that came

    /// Keeps a file that was fetched, beside the app's own name for it.
    func keep(_ path: String) -> String? {
        let name = UUID().uuidString
        return Self.link(path, to: "\(files)/\(name)") ? name : nil
    }

    /// Gives a file that was kept the app's name. Whether it is there.
    func show(_ name: String, at path: String) -> Bool { Self.link("\(files)/\(name)", to: path) }

    /// The same bytes under a second name; a copy where the two are on different disks.
    private static func link(_ path: String, to second: String) -> Bool {
        if Foundation.link(path, second) == 0 { return true }
        guard errno == EXDEV || errno == EPERM || errno == EMLINK else { return false }
        return (try? FileManager.default.copyItem(atPath: path, toPath: second)) != nil
    }
}

/// FNV-1a: finds what a killed process wrote in part, and tells the requests of one operation apart. Against nobody who means harm: the files are their user's.
private enum Checksum {
    static func of(_ bytes: [UInt8]) -> UInt64 {
        bytes.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }
}
