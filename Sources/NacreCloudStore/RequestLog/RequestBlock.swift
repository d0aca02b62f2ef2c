import NacreCloudStorage

/// Rows of consecutive numbers in the bytes in which a part of the request log keeps them: some 50 rows of 80 bytes. As
/// rows of SQLite they would cost several times the processor.
///
/// Texts are numbers of the part's table of texts. A time is the difference to that of the row before, and may be
/// negative.
struct RequestBlock {
    /// The numbers of a row, in their order in the bytes. IDs follow.
    enum Column: Int {
        case ended, status, took, container, environment, database, zone, user, operation, client, code
        case waited, stored, encoded, bytesIn, bytesOut, asked, answered, refused, groupName, field, reason, remedy, index
    }

    /// numbers[column]
    typealias Numbers = InlineArray<24, Int64>

    /// Bytes from which on a block gets no further row: four blocks fill a page.
    private static let bytesMax = 3900
    private static let idsOfRow = 4

    /// The number of the first row.
    let first: Int64
    /// The number of the last row; below `first` without a row.
    private(set) var last: Int64
    /// The times of the oldest and newest row, in milliseconds since 1970.
    private(set) var times: ClosedRange<Int64> = 0...0
    private var ended: Int64 = 0
    private var writer = ByteWriter()

    init(first: Int64) { (self.first, last) = (first, first - 1) }

    var bytes: [UInt8] { writer.bytes }
    var isFull: Bool { writer.bytes.count >= Self.bytesMax }

    /// Adds a row.
    /// - Parameter number: returns the number of a text.
    mutating func append(_ row: RequestRow, _ number: (String) throws -> Int64) rethrows {
        let numbers: Numbers = [
            row.ended &- ended, Int64(row.status), Int64(row.took), try number(row.container), try number(row.environment),
            try number(row.database), try number(row.zone), try number(row.user), try number(row.operation), try number(row.client),
            try number(row.code), Int64(row.waited), Int64(row.stored), Int64(row.encoded), Int64(row.bytesIn), Int64(row.bytesOut),
            Int64(row.asked), Int64(row.answered), Int64(row.refused), try number(row.groupName), try number(row.field),
            try number(row.reason), try number(row.remedy), try number(row.index),
        ]
        for column in numbers.indices { writer.signed(numbers[column]) }
        writer.block(CompactID.bytes(of: row.id))
        writer.block(CompactID.bytes(of: row.operationID))
        writer.block(CompactID.bytes(of: row.group))
        writer.block(CompactID.bytes(of: row.telling))
        last += 1
        ended = row.ended
        times = last == first ? ended...ended : min(times.lowerBound, ended)...max(times.upperBound, ended)
    }

    /// Returns the rows of a block that a question admits, the oldest first.
    /// - Parameters:
    ///   - first: the number of the first row.
    ///   - text: returns the text of a number.
    static func rows(_ bytes: [UInt8], first: Int64, _ question: RequestQuestion, _ text: (Int64) throws -> String) throws -> [RequestRow] {
        var reader = ByteReader(bytes)
        var (rows, numbers, number, ended): ([RequestRow], Numbers, Int64, Int64) = ([], Numbers(repeating: 0), first, 0)
        while !reader.isAtEnd {
            for column in numbers.indices { numbers[column] = try reader.signed() }
            ended &+= numbers[Column.ended.rawValue]
            numbers[Column.ended.rawValue] = ended
            let isAdmitted = question.admits(numbers, number)
            let ids = try ids(&reader, isAdmitted: isAdmitted, question.id)
            if let ids { rows.append(try row(number, numbers, ids, text)) }
            number += 1
        }
        return rows
    }

    /// Reads the IDs of a row; nil if it is not admitted, or has another first ID than the wanted one.
    private static func ids(_ reader: inout ByteReader, isAdmitted: Bool, _ wanted: [UInt8]?) throws -> [String]? {
        var isWanted = isAdmitted
        if isAdmitted, let wanted {
            var ahead = reader
            isWanted = try ahead.block { $0.elementsEqual(wanted) }
        }
        guard isWanted else {
            for _ in 0..<idsOfRow { try reader.skipBlock() }
            return nil
        }
        return try (0..<idsOfRow).map { _ in CompactID.text(of: try reader.block()) }
    }

    private static func row(_ number: Int64, _ numbers: Numbers, _ ids: [String], _ text: (Int64) throws -> String) throws -> RequestRow {
        func count(_ column: Column) -> Int { Int(numbers[column.rawValue]) }
        func word(_ column: Column) throws -> String { try text(numbers[column.rawValue]) }
        var row = RequestRow()
        (row.number, row.ended, row.status, row.took) = (number, numbers[Column.ended.rawValue], count(.status), count(.took))
        (row.id, row.operationID, row.group, row.telling) = (ids[0], ids[1], ids[2], ids[3])
        row.container = try word(.container)
        row.environment = try word(.environment)
        row.database = try word(.database)
        row.zone = try word(.zone)
        row.user = try word(.user)
        row.operation = try word(.operation)
        row.client = try word(.client)
        row.code = try word(.code)
        (row.waited, row.stored, row.encoded) = (count(.waited), count(.stored), count(.encoded))
        (row.bytesIn, row.bytesOut) = (count(.bytesIn), count(.bytesOut))
        (row.asked, row.answered, row.refused) = (count(.asked), count(.answered), count(.refused))
        row.groupName = try word(.groupName)
        row.field = try word(.field)
        row.reason = try word(.reason)
        row.remedy = try word(.remedy)
        row.index = try word(.index)
        return row
    }
}

/// A filter of the request log in the numbers of one part.
struct RequestQuestion {
    /// Rows below this number and above that one.
    let numbers: Range<Int64>
    /// The numbers that an admitted row has, each in one of several ranges.
    let conditions: [(column: RequestBlock.Column, ranges: [ClosedRange<Int64>])]
    /// The first ID of an admitted row; nil: any.
    let id: [UInt8]?
    /// Whether refused requests alone are admitted.
    let isRefused: Bool

    func admits(_ row: RequestBlock.Numbers, _ number: Int64) -> Bool {
        guard numbers.contains(number) else { return false }
        for condition in conditions {
            let value = row[condition.column.rawValue]
            if !condition.ranges.contains(where: { $0.contains(value) }) { return false }
        }
        // Number 0 is the empty text. A refusal of HTTP has a status alone.
        return !isRefused || row[RequestBlock.Column.code.rawValue] != 0 || row[RequestBlock.Column.status.rawValue] >= 400
    }
}
