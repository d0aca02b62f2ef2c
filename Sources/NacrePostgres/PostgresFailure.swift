import CNacrePostgres
import NacreCloudStorage
import NacreCloudStore

/// An error of PostgreSQL or of the connection to it. The code decides what happens, never the text.
///
/// The text is PostgreSQL's first line. Its details are left out: they quote rows, and the name of an entry may be a
/// secret. libpq puts no password into its texts.
struct PostgresFailure: Error {
    /// The five characters of SQLSTATE. `08006` stands for a connection that failed without one.
    var code: String
    var message: String
    var statement: String?
    /// The number of the failed statement among those that were sent together.
    var place = 0
    /// PostgreSQL refused the statement: nothing that was sent after it is done.
    var isAnswer = false

    static let connectionFailure = "08006"
    static let uniqueViolation = "23505"
    /// A statement changed another number of rows than it must.
    static let divisionByZero = "22012"

    init(code: String, message: String) {
        (self.code, self.message) = (code, message)
    }

    /// Takes the error of a result.
    init(_ result: OpaquePointer, statement: String, place: Int) {
        let code = PQresultErrorField(result, Int32(UInt8(ascii: "C"))).map { String(cString: $0) }
        let message = PQresultErrorField(result, Int32(UInt8(ascii: "M"))).map { String(cString: $0) }
        self.code = code ?? Self.connectionFailure
        self.message = message ?? "the connection was lost"
        (self.statement, self.place, isAnswer) = (statement, place, code != nil)
    }

    /// Whether the same body may succeed when it is run again on another connection, or after others are done.
    var mayPass: Bool {
        code.hasPrefix("08") || losesConnection || isOfPooler
            || ["40001", "40P01", Self.uniqueViolation].contains(code)
    }

    /// Whether the server that the connection leads to is none that can be written to any more.
    var losesConnection: Bool { ["57P01", "57P02", "57P03", "25006"].contains(code) }

    /// Whether a pooler between here and PostgreSQL gave the session of another: named statements do not last there.
    var isOfPooler: Bool { ["26000", "42P05"].contains(code) }

    var storeError: StoreError {
        var values = ["sqlstate": code, "message": message]
        if let statement { values["statement"] = statement }
        switch code {
        case "53100": return StoreError(.full, "There is no room to write", values)
        case "25006": return StoreError(.readOnly, "PostgreSQL takes no writes", values)
        case "54000": return StoreError(.tooLarge, "A key is longer than PostgreSQL can index", values)
        case "XX001", "XX002": return StoreError(.corrupt, "The database is damaged", values)
        case Self.divisionByZero: return .contradiction("a change of a row that is not there", values)
        case Self.uniqueViolation: return .collision("a row of this key is there already", values)
        case "55P03", "57014": return StoreError(.unavailable, "A statement took longer than it may", values)
        default:
            if code.hasPrefix("23") { return .contradiction("a row lacks a value, or has one that cannot be", values) }
            return StoreError(.unavailable, "PostgreSQL could not be asked", values)
        }
    }
}

extension StoreError {
    /// Converts an error inside the engine to the one that its caller gets.
    init(postgres error: any Error) {
        switch error {
        case let error as StoreError: self = error
        case let error as PostgresFailure: self = error.storeError
        default: self.init(.unavailable, "The store failed", ["error": String(describing: error)])
        }
    }
}
