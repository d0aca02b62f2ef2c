import NacreCloudWire

/// What a logged operation keeps of its answer: the change number of its commit, and the items that failed.
///
/// Compact on purpose: an operation that saved 400 records leaves twenty bytes. A retry's answer is made from it and the records.
struct OperationResult: Equatable, Sendable {
    static let version: UInt8 = 1

    struct Failure: Equatable, Sendable {
        var place: Int
        var error: ServerError
    }

    /// A name that the server made, for a record that came without one.
    struct MadeName: Hashable, Sendable {
        var place: Int
        var name: String
    }

    var number: ChangeNumber
    var madeNames: [MadeName]
    var failures: [Failure]

    /// In the place of a result that was found damaged: a client that repeats the operation is told that its answer is lost.
    static let lostBytes: [UInt8] = [0]

    var bytes: [UInt8] {
        var writer = ByteWriter()
        writer.byte(Self.version)
        writer.write(number)
        writer.number(UInt64(madeNames.count))
        for made in madeNames {
            writer.number(UInt64(made.place))
            writer.string(made.name)
        }
        writer.number(UInt64(failures.count))
        for failure in failures {
            writer.number(UInt64(failure.place))
            writer.string(failure.error.code.rawValue)
            writer.signed(Int64(failure.error.nativeCode))
            writer.signed(Int64(failure.error.internalCode ?? 0))
            writer.string(failure.error.reason)
            writer.string(failure.error.field ?? "")
            writer.string(failure.error.remedy ?? "")
        }
        return writer.bytes
    }

    init(number: ChangeNumber, madeNames: [MadeName], failures: [Failure]) {
        self.number = number
        self.madeNames = madeNames
        self.failures = failures
    }

    init(_ bytes: [UInt8]) throws(StoreError) {
        do {
            var reader = ByteReader(bytes)
            guard try reader.byte() == Self.version else { throw MalformedBytes() }
            number = try reader.changeNumber()
            madeNames = []
            for _ in 0..<(try reader.count()) {
                let place = try Self.place(&reader)
                madeNames.append(MadeName(place: place, name: try reader.string()))
            }
            failures = []
            for _ in 0..<(try reader.count()) {
                let place = try Self.place(&reader)
                guard let code = ServerErrorCode(rawValue: try reader.string()) else { throw MalformedBytes() }
                let native = NativeErrorCode(rawValue: Int(try reader.signed()))
                let internalCode = Int(try reader.signed())
                let reason = try reader.string()
                let field = try reader.string()
                let remedy = try reader.string()
                let error = ServerError(
                    code, reason, native: native, internalCode: internalCode == 0 ? nil : internalCode,
                    field: field.isEmpty ? nil : field, remedy: remedy.isEmpty ? nil : remedy)
                failures.append(Failure(place: place, error: error))
            }
            guard reader.isAtEnd else { throw MalformedBytes() }
        } catch {
            throw StoreError(.corrupt, "A logged operation is malformed")
        }
    }

    private static func place(_ reader: inout ByteReader) throws(MalformedBytes) -> Int {
        guard let place = Int(exactly: try reader.number()) else { throw MalformedBytes() }
        return place
    }
}
