package import NacreCloudStorage
package import NacreCloudWire

/// The part of an answer that a logged operation keeps: the change number of its commit, and the items that failed. A
/// retry's answer is made from it and the records.
///
/// The result is compact because no quota counts it. An operation that saved 400 records leaves twenty bytes. One with
/// 399 failed items leaves less than two thousand.
package struct OperationResult: Equatable, Sendable {
    package static let version: UInt8 = 2

    package struct Failure: Equatable, Sendable {
        package var index: Int
        package var error: ServerError
    }

    /// A name that the server made for a record that came without one.
    package struct MadeName: Hashable, Sendable {
        package var index: Int
        package var name: String
    }

    package var number: ChangeNumber
    package var madeNames: [MadeName]
    package var failures: [Failure]

    /// The bytes that replace a damaged result. A client that repeats the operation is told that its answer is lost.
    package static let lostBytes: [UInt8] = [0]

    package var bytes: [UInt8] {
        var writer = ByteWriter()
        writer.byte(Self.version)
        writer.write(number)
        writer.number(UInt64(madeNames.count))
        for made in madeNames {
            writer.number(UInt64(made.index))
            writer.string(made.name)
        }
        let kept = keptErrors
        writer.number(UInt64(kept.errors.count))
        for error in kept.errors { Self.write(error, to: &writer) }
        writer.number(UInt64(failures.count))
        for (failure, number) in zip(failures, kept.numbers) {
            writer.number(UInt64(failure.index))
            writer.number(UInt64(number))
        }
        return writer.bytes
    }

    /// The distinct errors of the failures, and for each failure the number of its error. Texts beyond
    /// `Limits.operationTextBytes` are left out.
    private var keptErrors: (errors: [ServerError], numbers: [Int]) {
        var errors: [ServerError] = []
        var numbers: [Int] = []
        var room = Limits.operationTextBytes
        for failure in failures {
            var error = failure.error
            (error.serverRecord, error.retryAfter, error.redirectURL) = (nil, nil, nil)
            if let known = errors.lastIndex(of: error) {
                numbers.append(known)
                continue
            }
            let texts = [error.reason, error.field ?? "", error.remedy ?? ""].reduce(0) { $0 + $1.utf8.count }
            if texts <= room {
                room -= texts
            } else {
                (error.reason, error.field, error.remedy) = (Self.lostReason, nil, Self.lostRemedy)
                if let known = errors.lastIndex(of: error) {
                    numbers.append(known)
                    continue
                }
            }
            numbers.append(errors.count)
            errors.append(error)
        }
        return (errors, numbers)
    }

    /// The texts that replace texts without room.
    private static let lostReason = "the item failed, and the reason is not kept for repetitions of a request"
    private static let lostRemedy = "Go by the error code, or send the item in a new request."

    private static func write(_ error: ServerError, to writer: inout ByteWriter) {
        writer.string(error.code.rawValue)
        writer.signed(Int64(error.nativeCode))
        writer.signed(Int64(error.internalCode ?? 0))
        writer.string(error.reason)
        writer.string(error.field ?? "")
        writer.string(error.remedy ?? "")
    }

    private static func error(_ reader: inout ByteReader) throws(MalformedBytes) -> ServerError {
        guard let code = ServerErrorCode(rawValue: try reader.string()) else { throw MalformedBytes() }
        let native = NativeErrorCode(rawValue: Int(try reader.signed()))
        let internalCode = Int(try reader.signed())
        let reason = try reader.string()
        let field = try reader.string()
        let remedy = try reader.string()
        return ServerError(
            code, reason, native: native, internalCode: internalCode == 0 ? nil : internalCode,
            field: field.isEmpty ? nil : field, remedy: remedy.isEmpty ? nil : remedy)
    }

    package init(number: ChangeNumber, madeNames: [MadeName], failures: [Failure]) {
        self.number = number
        // A refused record was not made, and needs no name.
        let refused = Set(failures.map(\.index))
        self.madeNames = madeNames.filter { !refused.contains($0.index) }
        self.failures = failures
    }

    package init(_ bytes: [UInt8]) throws(StoreError) {
        do {
            var reader = ByteReader(bytes)
            guard try reader.byte() == Self.version else { throw MalformedBytes() }
            number = try reader.changeNumber()
            madeNames = []
            for _ in 0..<(try reader.count()) {
                let index = try Self.readIndex(&reader)
                madeNames.append(MadeName(index: index, name: try reader.string()))
            }
            var errors: [ServerError] = []
            for _ in 0..<(try reader.count()) { errors.append(try Self.error(&reader)) }
            failures = []
            for _ in 0..<(try reader.count()) {
                let index = try Self.readIndex(&reader)
                let number = try Self.readIndex(&reader)
                guard errors.indices.contains(number) else { throw MalformedBytes() }
                failures.append(Failure(index: index, error: errors[number]))
            }
            guard reader.isAtEnd else { throw MalformedBytes() }
        } catch {
            throw StoreError(.corrupt, "A logged operation is malformed")
        }
    }

    private static func readIndex(_ reader: inout ByteReader) throws(MalformedBytes) -> Int {
        guard let index = Int(exactly: try reader.number()) else { throw MalformedBytes() }
        return index
    }
}
