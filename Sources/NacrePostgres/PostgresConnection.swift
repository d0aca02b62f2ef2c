import CNacrePostgres
import Glibc
import NacreCloudStorage
import NacreCloudStore

/// One text of the catalogue, in PostgreSQL's dialect. Texts are never made at run time, so a connection prepares each
/// once and finds it by its address. Each names one database by `$1`, so that a cluster can route it; exceptions find
/// due or expired rows, the databases of a container, and rows for the check.
struct Statement: Sendable {
    let text: StaticString

    init(_ text: StaticString) {
        self.text = text
    }

    static let begin = Statement("BEGIN")
    static let beginRead = Statement("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    static let commit = Statement("COMMIT")
    static let rollback = Statement("ROLLBACK")
}

/// A connection in libpq's pipeline mode: statements are sent together, and answered together by `flush`.
///
/// Belongs to one thread, apart from `canceller`.
final class PostgresConnection {
    private struct Sent {
        var statement: Statement
        /// The name under which it is being prepared; nil if it is run.
        var preparing: String?
    }

    private let handle: OpaquePointer
    private var sent: [Sent] = []
    private var sentToRun = 0
    /// The number of statements that the last `flush` sent.
    private(set) var lastCount = 0
    /// Statements whose answers are not read yet and that nobody waits for.
    private var posted: [Sent] = []
    /// prepared[address of the text]: the name under which it is prepared.
    private var prepared: [UInt: String] = [:]
    private var beginning: Statement?
    private let preparesStatements: Bool
    /// The number of the run of the data on the server.
    var run: Int64 = Run.none
    let canceller: PostgresCanceller

    /// Connects, and blocks until it is done.
    /// - Parameters:
    ///   - settings: libpq's keywords with their values, later ones first in rank.
    ///   - preparesStatements: false where a pooler gives each transaction another session.
    init(_ settings: [(String, String)], preparesStatements: Bool) throws {
        self.preparesStatements = preparesStatements
        let texts = settings.map { (strdup($0.0), strdup($0.1)) }
        defer {
            for text in texts {
                free(text.0)
                free(text.1)
            }
        }
        let keywords = texts.map { UnsafePointer<CChar>($0.0) } + [nil]
        let values = texts.map { UnsafePointer<CChar>($0.1) } + [nil]
        guard let handle = PQconnectdbParams(keywords, values, 1) else {
            throw PostgresFailure(code: PostgresFailure.connectionFailure, message: "there is no memory for a connection")
        }
        guard PQstatus(handle) == CONNECTION_OK, let cancel = PQgetCancel(handle) else {
            let message = String(cString: PQerrorMessage(handle)).split(separator: "\n").joined(separator: "; ")
            PQfinish(handle)
            throw PostgresFailure(code: PostgresFailure.connectionFailure, message: message)
        }
        self.handle = handle
        canceller = PostgresCanceller(cancel)
        PQsetNoticeReceiver(handle, { _, _ in }, nil)
        PQenterPipelineMode(handle)
    }

    deinit {
        PQfinish(handle)
    }

    /// The version of the server: 150003 for 15.3.
    var serverVersion: Int { Int(PQserverVersion(handle)) }

    var isLost: Bool { PQstatus(handle) != CONNECTION_OK }

    /// Begins a transaction with the next statement that is sent.
    func begin(_ statement: Statement) {
        beginning = statement
    }

    /// Whether the transaction has sent nothing.
    var isUntouched: Bool { beginning != nil }

    /// Undoes the open transaction, whatever became of what was sent. A connection that fails here is lost.
    func rollBack() {
        guard !isUntouched, !isLost else { return }
        _ = try? flush()
        guard PQtransactionStatus(handle) != PQTRANS_IDLE else { return }
        _ = try? ask(.rollback)
    }

    /// Queues a statement for the next `flush`.
    /// - Returns: The index of its answer.
    @discardableResult
    func send(_ statement: Statement, _ values: [Value] = []) throws -> Int {
        let first = beginning
        beginning = nil
        if let first { try dispatch(first, []) }
        return try dispatch(statement, values)
    }

    @discardableResult
    private func dispatch(_ statement: Statement, _ values: [Value]) throws -> Int {
        let parameters = Parameters(values)
        let isSent =
            if preparesStatements {
                try prepare(statement).withCString { name in
                    parameters.withPointers { PQsendQueryPrepared(handle, name, $0, $1, $2, $3, 1) }
                }
            } else {
                parameters.withPointers { PQsendQueryParams(handle, Self.pointer(statement), $0, nil, $1, $2, $3, 1) }
            }
        guard isSent == 1 else { throw lost() }
        sent.append(Sent(statement: statement, preparing: nil))
        defer { sentToRun += 1 }
        return sentToRun
    }

    private func prepare(_ statement: Statement) throws -> String {
        let address = UInt(bitPattern: statement.text.utf8Start)
        if let name = prepared[address] { return name }
        let name = "nacre_\(prepared.count)"
        guard PQsendPrepare(handle, name, Self.pointer(statement), 0, nil) == 1 else { throw lost() }
        prepared[address] = name
        sent.append(Sent(statement: statement, preparing: name))
        return name
    }

    /// The text of a statement, which ends with a zero byte and stays for ever.
    private static func pointer(_ statement: Statement) -> UnsafePointer<CChar> {
        UnsafeRawPointer(statement.text.utf8Start).assumingMemoryBound(to: CChar.self)
    }

    /// Sends what is queued, and waits for all answers.
    /// - Throws: `PostgresFailure`, the first one. What was sent behind it is not done.
    func flush() throws -> [Answer] {
        try drain()
        guard !sent.isEmpty else { return [] }
        guard PQpipelineSync(handle) == 1 else { throw lost() }
        let queue = sent
        (sent, sentToRun) = ([], 0)
        lastCount = queue.count
        return try answers(to: queue)
    }

    /// Sends what is queued, and leaves the answers to be read before the next ones.
    func post() throws {
        try drain()
        guard !sent.isEmpty else { return }
        guard PQpipelineSync(handle) == 1 else { throw lost() }
        (posted, sent, sentToRun) = (sent, [], 0)
    }

    private func drain() throws {
        guard !posted.isEmpty else { return }
        let queue = posted
        posted = []
        _ = try answers(to: queue)
    }

    private func answers(to queue: [Sent]) throws -> [Answer] {
        var answers: [Answer] = []
        var failure: PostgresFailure?
        for (place, one) in queue.enumerated() {
            guard let result = PQgetResult(handle) else { throw failure ?? lost(place) }
            switch PQresultStatus(result) {
            case PGRES_TUPLES_OK, PGRES_COMMAND_OK:
                let answer = Answer(result)
                if one.preparing == nil { answers.append(answer) }
            case PGRES_PIPELINE_ABORTED:
                PQclear(result)
                if one.preparing != nil { forget(one.statement) }
            default:
                failure = failure ?? PostgresFailure(result, statement: "\(one.statement.text)", place: place)
                PQclear(result)
                if one.preparing != nil { forget(one.statement) }
            }
            // A statement's results end with nothing.
            while let more = PQgetResult(handle) { PQclear(more) }
        }
        guard let sync = PQgetResult(handle) else { throw failure ?? lost(queue.count) }
        PQclear(sync)
        if let failure { throw failure }
        return answers
    }

    private func forget(_ statement: Statement) {
        prepared[UInt(bitPattern: statement.text.utf8Start)] = nil
    }

    /// Sends what is queued and one statement more, and returns the answer of that.
    func ask(_ statement: Statement, _ values: [Value] = []) throws -> Answer {
        let index = try send(statement, values)
        return try flush()[index]
    }

    private func lost(_ place: Int = 0) -> PostgresFailure {
        var failure = PostgresFailure(code: PostgresFailure.connectionFailure, message: "the connection was lost")
        failure.place = place
        return failure
    }
}
