import NacreCloudServer
import NacreCloudWire

/// `nacre schema validate`
enum SchemaValidate {
    private static let container = Option.value(
        "container", "name", "Also ask the server whether an import into this container's development would be refused.")

    static let command = Command(
        "validate", "Say whether a file is a schema that can be imported.",
        discussion: """
            Without --container it needs no server: it reads the language, and what every container asks for. With --container the server says \
            what an import would refuse, such as a type that goes while production has it. Ends with 2 where the file is not valid, and says the \
            line, the column and what to write instead. Nothing is changed.
            """,
        arguments: [SchemaArgument.file], options: [container] + AdminServer.options + [SharedOptions.json]
    ) { call in
        // A server is named, but no container: the user expects the server to be asked.
        if !call.isGiven(container), AdminServer.options.contains(where: call.isGiven) {
            throw UsageError(.missingOption(container.spelling), path: call.path)
        }
        let path = try call.require(SchemaArgument.file, at: 0)
        let text = try TextFile.read(path)
        let fault = try await fault(of: text, call)
        if call.has(SharedOptions.json) { try Output.json(SchemaValidation(isValid: fault == nil, fault: fault)) }
        guard let fault else {
            if !call.has(SharedOptions.json) { Output.message("The schema is valid.") }
            return
        }
        throw CommandFailure(.damaged, "\(path == "-" ? "standard input" : path): \(fault.text)", remedy: fault.remedy)
    }

    private static func fault(of text: String, _ call: Call) async throws -> SchemaFault? {
        if let error = SchemaFile.fault(in: text) { return SchemaFault(error) }
        guard let container = call.value(container) else { return nil }
        return try await AdminClient.connect(call).fault(of: AdminMessages.NewImport(container: container, text: text, isDryRun: true))
    }
}

/// The output of `nacre schema validate --json`.
struct SchemaValidation: Encodable {
    var isValid: Bool
    /// Absent where the schema is valid.
    var fault: SchemaFault?
}

/// Why a schema cannot be imported.
struct SchemaFault: Codable {
    /// The reason, with the line and the column where the text is at fault.
    var reason: String
    /// The type or the field at fault; `schema` where it is the text.
    var field: String?
    var remedy: String?

    /// A text for people: the reason, with the type or field at fault.
    var text: String { field.map { $0 == "schema" ? reason : "\(reason) (\($0))" } ?? reason }

    init(_ error: ServerError) {
        (reason, field, remedy) = (error.reason, error.field, error.remedy)
    }

    init(_ problem: AdminMessages.Problem) {
        (reason, field, remedy) = (problem.detail, problem.field, problem.remedy)
    }
}
