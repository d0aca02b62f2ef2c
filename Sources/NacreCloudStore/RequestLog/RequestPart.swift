import NacreCloudStorage

/// One part of the request log: a file with rows of consecutive numbers. The newest part grows, and the oldest is
/// deleted as a whole, with its texts. Confined to the log's thread.
final class RequestPart {
    /// Bytes of a page: large, since most reads walk over all rows.
    private static let pageBytes = 16_384
    /// Pages in the write-ahead log from which on they are copied into the file.
    private static let pagesBeforeCheckpoint: Int32 = 128
    /// The most texts whose numbers are kept in memory.
    private static let textsKnown = 20_000

    /// nil: the part is in memory.
    let path: String?
    private let connection: Connection
    /// The number of the first row that the part may have.
    let first: Int64
    private(set) var last: Int64
    /// The times of the oldest and newest row, in milliseconds since 1970; nil without a row.
    private(set) var times: ClosedRange<Int64>?
    private var numbers: [String: Int64] = [:]

    /// Creates a part. The file must not be there.
    init(path: String?, vfs: String?, first: Int64, server: String) throws {
        if let path { try FolderLock.makeFile(path) }
        self.path = path
        connection = try Self.connect(path, vfs)
        (self.first, last) = (first, first - 1)
        do {
            try connection.run(.beginWrite)
            for table in Statement.requestTables { try connection.run(table) }
            try connection.use(.addAboutRequests) { statement in
                statement.bind(server)
                statement.bind(first)
                _ = try statement.step()
            }
            try connection.execute("PRAGMA application_id = \(Statement.requestLogID)")
            try connection.run(.commit)
        } catch {
            connection.close()
            throw error
        }
    }

    /// Opens a part; nil for a file whose making was cut short.
    /// - Throws: `StoreError` `.corrupt` for a damaged file, and for one of another kind, version or server.
    init?(opening path: String, vfs: String?, server: String) throws {
        self.path = path
        connection = try Self.connect(path, vfs)
        do {
            if try connection.execute("SELECT count(*) FROM sqlite_schema") == "0" {
                connection.close()
                return nil
            }
            guard try connection.execute("PRAGMA application_id") == Statement.requestLogID else {
                throw StoreError(.corrupt, "The file is no part of a request log", ["path": path])
            }
            let about = try connection.use(.aboutRequests) { try $0.step() ? (server: $0.string(), first: $0.integer()) : nil }
            guard let about, about.server == server else {
                throw StoreError(.corrupt, "The file is of another server, or of a restored one", ["path": path])
            }
            first = about.first
            last = first - 1
            try connection.use(.requestSpan) { statement in
                guard try statement.step(), !statement.isNull else { return }
                last = statement.integer()
                let oldest = statement.integer()
                times = oldest...max(oldest, statement.integer())
            }
        } catch {
            connection.close()
            throw error
        }
    }

    private static func connect(_ path: String?, _ vfs: String?) throws -> Connection {
        let connection = try Connection(path: path ?? ":memory:", vfs: vfs, cacheKibibytes: 512, busyTimeoutMilliseconds: 0)
        do {
            // One connection has the file, so there is no memory to share with others.
            try connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            try connection.execute("PRAGMA page_size = \(pageBytes)")
            try connection.execute("PRAGMA journal_mode = WAL")
            // A power cut may take the last rows, and no more.
            try connection.sync(false)
            connection.watchLog { _ in }
            return connection
        } catch {
            connection.close()
            throw error
        }
    }

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

    /// Writes rows and traces in one transaction, and numbers the rows.
    func write(_ rows: [RequestRow], _ traces: [RequestTrace]) throws {
        do {
            try connection.run(.beginWrite)
            var number = last
            for row in rows {
                number += 1
                try add(row, number)
            }
            for trace in traces { try add(trace) }
            try connection.run(.commit)
            last = number
        } catch {
            connection.abandonTransaction()
            // Some of these texts are gone with the transaction.
            numbers = [:]
            throw error
        }
        for row in rows { times = min(times?.lowerBound ?? row.ended, row.ended)...max(times?.upperBound ?? row.ended, row.ended) }
        if connection.pagesInLog >= Self.pagesBeforeCheckpoint { _ = try connection.checkpoint(.passive) }
    }

    private func add(_ row: RequestRow, _ number: Int64) throws {
        let texts = try [
            row.container, row.environment, row.database, row.zone, row.user, row.operation, row.client, row.code,
        ].map(self.number)
        let further = try [row.groupName, row.field, row.reason, row.remedy, row.index].map(self.number)
        try connection.use(.addRequest) { statement in
            statement.bind(number)
            statement.bind(row.ended)
            statement.bind(row.status)
            statement.bind(row.took)
            for text in texts { statement.bind(text) }
            Self.bind(row.id, to: statement)
            for count in [
                row.waited, row.stored, row.encoded, row.bytesIn, row.bytesOut, row.asked, row.answered, row.refused,
            ] {
                statement.bind(count)
            }
            Self.bind(row.operationID, to: statement)
            Self.bind(row.group, to: statement)
            for text in further { statement.bind(text) }
            Self.bind(row.telling, to: statement)
            _ = try statement.step()
        }
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
        guard let conditions = try conditions(filter, since: since) else { return [] }
        let order = filter.following == nil ? "DESC" : "ASC"
        let text = "SELECT * FROM requests WHERE \(conditions.joined(separator: " AND ")) ORDER BY number \(order) LIMIT \(limit)"
        var known: [Int64: String] = [:]
        return try connection.use(assembled: text, as: "SELECT FROM requests") { statement in
            var rows: [RequestRow] = []
            while try statement.step() { rows.append(try row(statement, &known)) }
            return rows
        }
    }

    /// The conditions as SQL of constants and numbers; nil if no row of the part can hold them.
    private func conditions(_ filter: RequestFilter, since: Int64) throws -> [String]? {
        guard let times, times.upperBound >= since, times.lowerBound <= filter.until ?? .max else { return nil }
        var conditions = ["ended >= \(since)", "ended <= \(filter.until ?? .max)"]
        if let after = filter.after { conditions.append("number < \(after)") }
        if let following = filter.following { conditions.append("number > \(following)") }
        if let status = filter.status { conditions.append("status BETWEEN \(status.lowerBound) AND \(status.upperBound)") }
        // Number 0 is the empty text. A refusal of HTTP has a status alone.
        if filter.isRefused { conditions.append("(code != 0 OR status >= 400)") }
        if let slower = filter.slowerThan { conditions.append("took > \(slower)") }
        if let id = filter.id { conditions.append("id = x'\(Self.hexadecimal(CompactID.bytes(of: id)))'") }
        guard try add("container", filter.container, to: &conditions), try add("environment", filter.environment, to: &conditions),
            try add("db", filter.database, to: &conditions), try add("zone", filter.zone, to: &conditions),
            try add("user", filter.user, to: &conditions), try add("operation", filter.operation, to: &conditions),
            try add("code", filter.code, to: &conditions), try add("client", filter.client, .textNumbersOfKind, to: &conditions)
        else { return nil }
        return conditions
    }

    /// Adds the condition that a column has a text, or another of its kind.
    /// - Returns: false if no row of the part has it.
    private func add(_ column: String, _ text: String?, _ statement: Statement = .textNumber, to conditions: inout [String]) throws -> Bool {
        guard let text else { return true }
        let numbers = try numbers(statement, text)
        if numbers.isEmpty { return false }
        conditions.append("\(column) IN (\(numbers.map(String.init).joined(separator: ", ")))")
        return true
    }

    private static func hexadecimal(_ bytes: [UInt8]) -> String {
        bytes.map { String(UInt16($0) + 0x100, radix: 16).dropFirst() }.joined()
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

    private func row(_ statement: PreparedStatement, _ known: inout [Int64: String]) throws -> RequestRow {
        var row = RequestRow()
        row.number = statement.integer()
        row.ended = statement.integer()
        row.status = Int(statement.integer())
        row.took = Int(statement.integer())
        row.container = try text(statement.integer(), &known)
        row.environment = try text(statement.integer(), &known)
        row.database = try text(statement.integer(), &known)
        row.zone = try text(statement.integer(), &known)
        row.user = try text(statement.integer(), &known)
        row.operation = try text(statement.integer(), &known)
        row.client = try text(statement.integer(), &known)
        row.code = try text(statement.integer(), &known)
        row.id = CompactID.text(of: statement.bytes())
        row.waited = Int(statement.integer())
        row.stored = Int(statement.integer())
        row.encoded = Int(statement.integer())
        row.bytesIn = Int(statement.integer())
        row.bytesOut = Int(statement.integer())
        row.asked = Int(statement.integer())
        row.answered = Int(statement.integer())
        row.refused = Int(statement.integer())
        row.operationID = CompactID.text(of: statement.bytes())
        row.group = CompactID.text(of: statement.bytes())
        row.groupName = try text(statement.integer(), &known)
        row.field = try text(statement.integer(), &known)
        row.reason = try text(statement.integer(), &known)
        row.remedy = try text(statement.integer(), &known)
        row.index = try text(statement.integer(), &known)
        row.telling = CompactID.text(of: statement.bytes())
        return row
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
