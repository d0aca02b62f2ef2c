import NacreCloudServer

/// A tool that agents call: a plain value. The table of tools lists them all (`ToolTable.all`).
struct Tool: Sendable {
    typealias Action = @Sendable (ToolArguments, ToolContext) async throws -> ToolAnswer

    enum Access: Sendable {
        case reads
        /// Adds to the data or the schema, or replaces parts of them. Offered with `--allow-writes` alone.
        case writes
    }

    /// In snake_case: an agent's name for it.
    let name: String
    let title: String
    /// The description for an agent: what it answers, and when to call it.
    let description: String
    let parameters: [ToolParameter]
    let access: Access
    let action: Action

    init(
        _ name: String, _ title: String, _ description: String, _ parameters: [ToolParameter], access: Access = .reads, action: @escaping Action
    ) {
        (self.name, self.title, self.description) = (name, title, description)
        (self.parameters, self.access, self.action) = (parameters, access, action)
    }

    /// Calls the tool. A failure is a result that names the field and the remedy, so that an agent can mend its call.
    func result(of given: [String: JSONValue], _ context: ToolContext) async -> ToolResult {
        do {
            let answer = try await action(try ToolArguments(given, of: self), context)
            return ToolResult(value: answer.json(allowsPrivate: context.allowsPrivate), isError: false)
        } catch {
            let fault = ToolFault(error)
            let answer = ToolAnswer(["error": .string(fault.message), "field": .text(fault.field), "remedy": .text(fault.remedy)])
            return ToolResult(value: answer.json(allowsPrivate: context.allowsPrivate), isError: true)
        }
    }

    /// The tool in a list.
    func json(for version: MCPVersion) -> JSONValue {
        let annotations: JSONValue = .object([
            "title": .string(title), "readOnlyHint": .boolean(access == .reads), "destructiveHint": .boolean(access == .writes),
            "idempotentHint": .boolean(true), "openWorldHint": .boolean(false),
        ])
        return .members([
            "name": .string(name), "title": version.hasStructure ? .string(title) : nil, "description": .string(description),
            "inputSchema": inputSchema, "annotations": version.hasAnnotations ? annotations : nil,
        ])
    }

    private var inputSchema: JSONValue {
        .object([
            "type": .string("object"), "additionalProperties": .boolean(false),
            "properties": .object(Dictionary(parameters.map { ($0.name, $0.schema) }, uniquingKeysWith: { $1 })),
            "required": .texts(parameters.filter(\.isRequired).map(\.name)),
        ])
    }
}

/// The surroundings of a call: the server, and what the operator allows.
struct ToolContext: Sendable {
    /// Connects to the server. A call connects anew, because a server that was started again has another token, and
    /// perhaps another port.
    let connect: @Sendable () async throws -> AdminClient
    /// Whether tools may look into private databases.
    var allowsPrivate = false
    /// The cursors of the session's answers.
    let cursors = ToolCursors()

    /// Returns the position of a list at which a call begins.
    func page(_ arguments: ToolArguments) throws(ToolFault) -> ToolPage { try ToolPage(arguments.text(.after), cursors) }

    /// - Throws: A fault that names the flag, unless private data is allowed.
    func requirePrivate(_ what: String, field: String) throws(ToolFault) {
        guard !allowsPrivate else { return }
        throw ToolFault(
            "\(what) is private", field: field, remedy: "The operator allows it with nacre mcp --allow-private; each look is then in the audit log.")
    }

    /// Checks a user that a call names. An e-mail address is private; a user record name says nothing about a person.
    func require(user: String?) throws(ToolFault) {
        guard let user, user.contains("@") else { return }
        try requirePrivate("the user of an e-mail address", field: ToolParameter.user.name)
    }
}

/// The reason why a tool did nothing.
struct ToolFault: Error {
    var message: String
    /// The argument at fault.
    var field: String?
    var remedy: String?

    init(_ message: String, field: String? = nil, remedy: String? = nil) {
        (self.message, self.field, self.remedy) = (message, field, remedy)
    }

    init(_ error: any Error) {
        switch error {
        case let fault as ToolFault: self = fault
        case let failure as CommandFailure: self.init(failure.message, remedy: failure.remedy)
        case let error as PrivateFileError: self.init(CommandFailure(error))
        case let error as UsageError: self.init(error.message)
        case is CancellationError: self.init("the call was cancelled")
        default: self.init("the tool failed", remedy: "Look at the standard error of nacre mcp and at nacre logs.")
        }
    }
}

/// The outcome of a call.
struct ToolResult: Sendable {
    var value: JSONValue
    var isError: Bool

    /// The result in the revision's form. The text is the value as JSON, for clients that read no values.
    func json(for version: MCPVersion) -> JSONValue {
        .members([
            "content": .array([.object(["type": .string("text"), "text": .string(value.text)])]),
            "structuredContent": version.hasStructure ? value : nil, "isError": .boolean(isError),
        ])
    }
}
