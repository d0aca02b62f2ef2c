import NacreCloudServer
import NacreCloudWire

/// `nacre schema types`
enum SchemaTypes {
    private static let file = Argument("file", "A file in CloudKit's schema language; - reads standard input.", isRequired: false)
    private static let typescript = Option.flag("typescript", isRequired: true, "Write TypeScript, for CloudKit JS.")
    private static let module = Option.value(
        "module", "name", fallback: "cloudkit", "The module with the declarations of CloudKit JS, as an import names it: ./cloudkit.mjs.")
    private static let container = Option.value("container", "name", "Take the schema of this container in place of a file.")
    private static let environment = Option.value(
        "environment", "env", oneOf: ["development", "production"], fallback: "development", "The environment of the container.")

    static let command = Command(
        "types", "Print the records of a schema as types of a programming language.",
        discussion: """
            Each record type becomes two interfaces: Note, a record of an answer, and NoteToSave. A name that TypeScript could not have, or that is \
            taken, gets a capital or a number. With --container the schema is the server's, and otherwise that of the file, which needs no server.
            """,
        arguments: [file], options: [typescript, module, container, environment] + AdminServer.options + [SharedOptions.json]
    ) { call in
        let text = try await schema(call)
        let types: String
        do {
            types = try SchemaFile.typeScript(of: text, module: try call.require(module))
        } catch let error as ServerError {
            throw CommandFailure(.damaged, "\(call.arguments.first ?? "the schema"): \(error.reason)", remedy: error.remedy)
        }
        if call.has(SharedOptions.json) { return try Output.json(TypesOfSchema(text: types)) }
        try Output.text(types)
    }

    private static func schema(_ call: Call) async throws -> String {
        guard let name = call.value(container) else {
            // A server or an environment is named, but no container: the user expects the server to be asked.
            if ([environment] + AdminServer.options).contains(where: call.isGiven) {
                throw UsageError(.missingOption(container.spelling), path: call.path)
            }
            return try TextFile.read(try call.require(file))
        }
        if !call.arguments.isEmpty { throw UsageError(.exclusive("<\(file.name)>", "--\(container.name)"), path: call.path) }
        return try await AdminClient.connect(call).schema(of: name, try call.require(environment)).text
    }
}

/// The output of `nacre schema types --json`.
struct TypesOfSchema: Encodable {
    var text: String
}
