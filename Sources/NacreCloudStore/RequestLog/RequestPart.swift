import NacreCloudStorage

/// One part of the request log: a file with rows of consecutive numbers. The newest part grows, and the oldest is
/// deleted as a whole, with its texts. Confined to the log's thread.
final class RequestPart {
    /// Bytes of a page: large, since most reads walk over all rows.
    private static let pageBytes = 16_384
    /// Pages in the write-ahead log from which on they are copied into the file.
    private static let pagesBeforeCheckpoint: Int32 = 128
    /// The most texts whose numbers are kept in memory: mostly users, of some 100 bytes each.
    private static let textsKnown = 8192

    /// nil: the part is in memory.
    let path: String?
    private let connection: Connection
    /// The number of the first row that the part may have.
    let first: Int64
    var last: Int64 { block.last }
    /// The block that gets the next row. Its row in the file is written anew with each batch.
    private var block: RequestBlock
    /// The times of the oldest and newest row, in milliseconds since 1970; nil without a row.
    private(set) var times: ClosedRange<Int64>?
    private var numbers: [String: Int64] = [:]

    /// Opens a part, and makes it if it is not there or its making was cut short.
    /// - Parameter first: the number of the first row of a new part.
    /// - Throws: `StoreError` `.corrupt` for a damaged file, and for one of another kind, version or server.
    init(path: String?, vfs: String?, first: Int64, server: String) throws {
        self.path = path
        connection = try Self.kind.open(path, vfs: vfs) { connection in
            try connection.use(.addAboutRequests) { statement in
                statement.bind(server)
                statement.bind(first)
                _ = try statement.step()
            }
        }
        do {
            connection.watchLog { _ in }
            let about = try connection.use(.aboutRequests) { try $0.step() ? (server: $0.string(), first: $0.integer()) : nil }
            guard let about, about.server == server else {
                throw StoreError(.corrupt, "The file is of another server, or of a restored one", ["path": path ?? ""])
            }
            self.first = about.first
            let span: (last: Int64, times: ClosedRange<Int64>)? = try connection.use(.requestSpan) { statement in
                guard try statement.step(), !statement.isNull else { return nil }
                let (last, oldest) = (statement.integer(), statement.integer())
                return (last, oldest...max(oldest, statement.integer()))
            }
            times = span?.times
            block = RequestBlock(first: (span?.last ?? about.first - 1) + 1)
        } catch {
            connection.close()
            throw error
        }
    }

    /// "NcLg" as a number marks the file. One connection has it, so there is no memory to share with others.
    private static let kind = SideFile(
        mark: 1_315_130_471, version: 2, tables: Statement.requestTables,
        settings: ["locking_mode = EXCLUSIVE", "page_size = \(pageBytes)", "journal_mode = WAL"])

    func close() { connection.close() }

    /// Copies the write-ahead log into the file, because no more rows come.
    func finish() {
        if (try? connection.checkpoint(.truncate).wasBlocked) == false { connection.logBeganAnew() }
    }

    /// The bytes of the file with its log.
    var bytes: Int {
        get throws {
            let pages = try connection.execute("PRAGMA page_count").flatMap { Int($0) } ?? 0
            return (pages + Int(connection.pagesInLog)) * Self.pageBytes
        }
    }

    // MARK: Writing

    /// Makes rows, numbers them, and writes them and traces in one transaction.
    func write(_ rows: [@Sendable () -> RequestRow], _ traces: [RequestTrace]) throws {
        let before = (block, times)
        do {
            try connection.run(.beginWrite)
            for row in rows {
                if block.isFull {
                    try put(block)
                    block = RequestBlock(first: block.last + 1)
                }
                try block.append(row(), number)
            }
            if !rows.isEmpty { try put(block) }
            for trace in traces { try add(trace) }
            try connection.run(.commit)
        } catch {
            connection.abandonTransaction()
            // Some of these texts are gone with the transaction.
            (block, times) = before
            numbers = [:]
            throw error
        }
        if connection.pagesInLog >= Self.pagesBeforeCheckpoint { _ = try connection.checkpoint(.passive) }
    }

    private func put(_ block: RequestBlock) throws {
        try connection.use(.putRequests) { statement in
            for number in [block.first, block.last, block.times.lowerBound, block.times.upperBound] { statement.bind(number) }
            statement.bind(copied: block.bytes)
            _ = try statement.step()
        }
        times = min(times?.lowerBound ?? .max, block.times.lowerBound)...max(times?.upperBound ?? .min, block.times.upperBound)
    }

    private func add(_ trace: RequestTrace) throws {
        let texts = try [trace.subscription, trace.user, trace.device, trace.event].map(number)
        try connection.use(.addTrace) { statement in
            Self.bind(trace.telling, to: statement)
            Self.bind(trace.notification, to: statement)
            statement.bind(trace.time)
            for text in texts { statement.bind(text) }
            _ = try statement.step()
        }
    }

    private static func bind(_ id: String, to statement: PreparedStatement) { statement.bind(copied: CompactID.bytes(of: id)) }

    /// The number of a text, which is added where it is new. The empty text is 0.
    private func number(of text: String) throws -> Int64 {
        if text.isEmpty { return 0 }
        if let number = numbers[text] { return number }
        var number = try connection.use(.textNumber) { statement in
            statement.bind(text)
            return try statement.step() ? statement.integer() : nil
        }
        if number == nil {
            number = try connection.use(.addText) { statement in
                statement.bind(text)
                guard try statement.step() else { return nil }
                let number = statement.integer()
                while try statement.step() {}
                return number
            }
        }
        guard let number else { throw StoreError(.unavailable, "A text got no number") }
        if numbers.count >= Self.textsKnown { numbers = [:] }
        numbers[text] = number
        return number
    }

    // MARK: Reading

    /// Returns the rows that a filter admits, at most `limit`: the newest first, or the oldest where it follows a row.
    func rows(_ filter: RequestFilter, since: Int64, limit: Int) throws -> [RequestRow] {
        let until = filter.until ?? .max
        guard let times, since <= until, times.overlaps(since...until), let question = try question(filter, since...until) else { return [] }
        var known: [Int64: String] = [:]
        return try connection.use(filter.following == nil ? .newestRequests : .oldestRequests) { statement in
            for number in [question.numbers.lowerBound, question.numbers.upperBound, since, until] { statement.bind(number) }
            var rows: [RequestRow] = []
            while rows.count < limit, try statement.step() {
                let first = statement.integer()
                let found = try block(statement.bytes(), first, question, &known)
                rows += filter.following == nil ? found.reversed() : found
            }
            return Array(rows.prefix(limit))
        }
    }

    private func block(_ bytes: [UInt8], _ first: Int64, _ question: RequestQuestion, _ known: inout [Int64: String]) throws -> [RequestRow] {
        do {
            return try RequestBlock.rows(bytes, first: first, question) { try text($0, &known) }
        } catch is MalformedBytes {
            throw StoreError(.corrupt, "The request log is damaged", ["path": path ?? ""])
        }
    }

    /// The filter in numbers of this part; nil if none of its rows is admitted.
    private func question(_ filter: RequestFilter, _ times: ClosedRange<Int64>) throws -> RequestQuestion? {
        typealias Column = RequestBlock.Column
        var conditions: [(column: Column, ranges: [ClosedRange<Int64>])] = [(.ended, [times])]
        if let status = filter.status { conditions.append((.status, [Int64(status.lowerBound)...Int64(status.upperBound)])) }
        if let slower = filter.slowerThan { conditions.append((.took, [min(Int64(slower), .max - 1) + 1 ... .max])) }
        let texts: [(Column, String?, Statement)] = [
            (.container, filter.container, .textNumber), (.environment, filter.environment, .textNumber),
            (.database, filter.database, .textNumber), (.zone, filter.zone, .textNumber), (.user, filter.user, .textNumber),
            (.operation, filter.operation, .textNumber), (.code, filter.code, .textNumber), (.client, filter.client, .textNumbersOfKind),
        ]
        for case (let column, let text?, let statement) in texts {
            let numbers = try numbers(statement, text)
            if numbers.isEmpty { return nil }
            conditions.append((column, numbers.map { $0...$0 }))
        }
        let (above, below) = (filter.following ?? .min, filter.after ?? .max)
        guard above < .max, above + 1 < below else { return nil }
        return RequestQuestion(
            numbers: above + 1..<below, conditions: conditions, id: filter.id.map { CompactID.bytes(of: $0) },
            isRefused: filter.isRefused)
    }

    private func numbers(_ statement: Statement, _ text: String) throws -> [Int64] {
        try connection.use(statement) { prepared in
            prepared.bind(text)
            return try prepared.integers()
        }
    }

    private func text(_ number: Int64, _ known: inout [Int64: String]) throws -> String {
        if number == 0 { return "" }
        if let text = known[number] { return text }
        let text = try connection.use(.textOfNumber) { statement in
            statement.bind(number)
            return try statement.step() ? statement.string() : ""
        }
        known[number] = text
        return text
    }

    /// Returns the traces of a task, or of a notification.
    func traces(_ statement: Statement, _ key: String) throws -> [RequestTrace] {
        var known: [Int64: String] = [:]
        return try connection.use(statement) { statement in
            Self.bind(key, to: statement)
            var traces: [RequestTrace] = []
            while try statement.step() {
                let (telling, notification) = (CompactID.text(of: statement.bytes()), CompactID.text(of: statement.bytes()))
                traces.append(
                    RequestTrace(
                        telling: telling, notification: notification, time: statement.integer(),
                        subscription: try text(statement.integer(), &known), user: try text(statement.integer(), &known),
                        device: try text(statement.integer(), &known), event: try text(statement.integer(), &known)))
            }
            return traces
        }
    }
}
