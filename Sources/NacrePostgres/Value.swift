import CNacrePostgres
import NacreCloudStorage
import NacreCloudWire

/// A parameter of a statement. Names are bytes for PostgreSQL: they may hold a NUL, and order by their UTF-8 whatever
/// the locale of the database is.
enum Value {
    case number(Int64)
    case numbers([Int64])
    case name(String)
    case names([String])
    case optionalNames([String?])
    case bytes([UInt8]?)
    case blocks([[UInt8]])
    case optionalBlocks([[UInt8]?])
    case time(Timestamp?)
    case times([Timestamp?])
    case flags([Bool])

    static func id(_ database: DatabaseID) -> Value { .number(database.rawValue) }
    /// A limit of 0 or less is nothing.
    static func limit(_ limit: Int) -> Value { .number(Int64(max(limit, 0))) }
}

/// The parameters of one statement in PostgreSQL's binary form, in one buffer.
struct Parameters {
    private var bytes: [UInt8] = []
    private var starts: [Int] = []
    /// The length of each; nil for NULL.
    private var lengths: [Int32?] = []

    // The numbers of PostgreSQL's types.
    private static let (int8, bytea, float8, bool): (Int32, Int32, Int32, Int32) = (20, 17, 701, 16)

    init(_ values: [Value]) {
        for value in values { add(value) }
    }

    /// Passes the parameters as libpq takes them. They are valid only during `body`.
    func withPointers<Result>(
        _ body: (_ count: Int32, UnsafePointer<UnsafePointer<CChar>?>?, _ lengths: [Int32], _ formats: [Int32]) throws -> Result
    ) rethrows -> Result {
        let (count, formats) = (Int32(lengths.count), Array(repeating: Int32(1), count: lengths.count))
        return try bytes.withUnsafeBytes { buffer in
            // An empty value needs an address too: NULL would be another value.
            try withUnsafeTemporaryAllocation(of: CChar.self, capacity: 1) { empty in
                empty.initialize(repeating: 0)
                let pointers: [UnsafePointer<CChar>?] = lengths.indices.map { index in
                    guard let length = lengths[index] else { return nil }
                    guard length > 0, let base = buffer.baseAddress else { return UnsafePointer(empty.baseAddress) }
                    return (base + starts[index]).assumingMemoryBound(to: CChar.self)
                }
                return try pointers.withUnsafeBufferPointer { try body(count, $0.baseAddress, lengths.map { $0 ?? 0 }, formats) }
            }
        }
    }

    private mutating func add(_ value: Value) {
        let start = bytes.count
        starts.append(start)
        switch value {
        case .number(let number): big(number)
        case .numbers(let numbers):
            array(Self.int8, numbers) { parameters, number in
                parameters.small(8)
                parameters.big(number)
            }
        case .name(let name): bytes.append(contentsOf: name.utf8)
        case .names(let names): array(Self.bytea, names) { $0.block($1.utf8) }
        case .optionalNames(let names): array(Self.bytea, names) { $0.optionalBlock($1?.utf8) }
        case .bytes(let block):
            guard let block else { return lengths.append(nil) }
            bytes.append(contentsOf: block)
        case .blocks(let blocks): array(Self.bytea, blocks) { $0.block($1) }
        case .optionalBlocks(let blocks): array(Self.bytea, blocks) { $0.optionalBlock($1) }
        case .time(let time):
            guard let time else { return lengths.append(nil) }
            big(Int64(bitPattern: time.secondsSince2001.bitPattern))
        case .times(let times):
            array(Self.float8, times) { parameters, time in
                guard let time else { return parameters.small(-1) }
                parameters.small(8)
                parameters.big(Int64(bitPattern: time.secondsSince2001.bitPattern))
            }
        case .flags(let flags):
            array(Self.bool, flags) { parameters, flag in
                parameters.small(1)
                parameters.bytes.append(flag ? 1 : 0)
            }
        }
        lengths.append(Int32(clamping: bytes.count - start))
    }

    private mutating func small(_ number: Int32) {
        withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
    }

    private mutating func big(_ number: Int64) {
        withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
    }

    private mutating func block(_ block: some Collection<UInt8>) {
        small(Int32(clamping: block.count))
        bytes.append(contentsOf: block)
    }

    private mutating func optionalBlock(_ block: (some Collection<UInt8>)?) {
        if let block { self.block(block) } else { small(-1) }
    }

    /// Writes an array of one dimension; an empty one has none.
    private mutating func array<Element>(_ type: Int32, _ elements: [Element], _ write: (inout Parameters, Element) -> Void) {
        small(elements.isEmpty ? 0 : 1)
        small(1)  // The array may hold NULLs.
        small(type)
        guard !elements.isEmpty else { return }
        small(Int32(clamping: elements.count))
        small(1)  // The number of the first element.
        for element in elements { write(&self, element) }
    }
}
