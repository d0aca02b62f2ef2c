import Foundation
import NacreLocks

/// The results of a long-lived operation's steps, in a file: a request's answer, a file's receipt, or an error.
///
/// A process that runs the operation again reads results here first. Finished steps are therefore not repeated, and all
/// blocks get the same results. Only the process with the file's lock writes to it.
///
/// An entry has a head with the lengths of key and value and their checksum, then the key and the value. An unreadable
/// entry was left by a killed process, and is cut off. See
/// docs/decisions/operations.md.
final class OperationJournal: Sendable {
    private static let headBytes = 16
    private static let keyBytesMax = 4096
    /// The most bytes of a value: an answer and its overhead in a property list.
    private static let valueBytesMax = NetworkTransport.answerBytesMax + 4096

    private struct State {
        var places: [String: Range<Int>] = [:]
        var end = 0
        /// Whether a value could not be written. Nothing is noted from then on, and the next process repeats later
        /// steps.
        var isFull = false
        var changes = 0
    }

    private struct Entry<Value: Codable>: Codable {
        var value: Value?
        var error: KeptError?
    }

    /// The time at which the operation was first kept.
    let began: Date
    /// Seconds from then until this process took the operation over; nil in the process that kept it.
    let takenOverAfter: Double?
    /// The folder of fetched files.
    let files: String
    private let operationID: String
    private let file: KeptFile
    private let state: Locked<State>

    /// Reads the existing entries. The caller has the file's lock.
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

    /// Returns the entry at an offset, if it is complete.
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

    /// Returns the earlier result of a step; nil if it has not ended.
    func outcome<Value: Codable>(_ key: String, as type: Value.Type = Value.self) -> Result<Value, CKError>? {
        guard let place = state.withLock({ $0.places[key] }),
            let entry = try? PropertyListDecoder().decode(Entry<Value>.self, from: Data(file.bytes(place.count, at: place.lowerBound)))
        else { return nil }
        if let error = entry.error { return .failure(error.error) }
        return entry.value.map(Result.success)
    }

    /// Notes the result of a step. A cancellation is not noted: the process that takes the operation over repeats the
    /// step.
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

    /// Returns the earlier result of a step, or runs the step now. File system calls block other threads, not the
    /// caller's.
    func step<Value: Codable & Sendable>(_ key: String, _ body: () async throws(CKError) -> Value) async throws(CKError) -> Value {
        if let before = await FileWork.run({ self.outcome(key, as: Value.self) }) { return try before.get() }
        let outcome = await Conversation.result(body)
        await FileWork.run { self.note(key, outcome) }
        return try outcome.get()
    }

    /// Releases the lock, so that another process can write.
    func release() { file.unlock() }

    /// Returns the ID of the next change. It is the same in each process that runs the operation, so that the server
    /// makes the change once.
    func nextChange() -> String {
        state.withLock { state in
            state.changes += 1
            return "\(operationID)-\(state.changes)"
        }
    }

    /// Returns the key of a request: equal bytes to the same path are the same request.
    static func key(of path: String, _ body: [UInt8]) -> String {
        "\(path) \(body.count) \(String(Checksum.of(body), radix: 16))"
    }

    // MARK: Fetched files

    /// Keeps a fetched file under a second name, which it returns.
    func keep(_ path: String) -> String? {
        let name = UUID().uuidString
        return Self.link(path, to: "\(files)/\(name)") ? name : nil
    }

    /// Links a kept file to the app's path; returns whether that succeeded.
    func show(_ name: String, at path: String) -> Bool { Self.link("\(files)/\(name)", to: path) }

    /// Links a file to a second path, or copies it if the two are on different disks.
    private static func link(_ path: String, to second: String) -> Bool {
        if Foundation.link(path, second) == 0 { return true }
        guard errno == EXDEV || errno == EPERM || errno == EMLINK else { return false }
        return (try? FileManager.default.copyItem(atPath: path, toPath: second)) != nil
    }
}

/// The FNV-1a hash. It finds partial writes of killed processes and distinguishes the requests of one operation. It is
/// not for security: the files are their user's own.
private enum Checksum {
    static func of(_ bytes: [UInt8]) -> UInt64 {
        bytes.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }
}
