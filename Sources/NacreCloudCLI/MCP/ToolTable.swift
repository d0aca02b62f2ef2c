/// The tools that a session offers.
struct ToolTable: Sendable {
    /// Every tool, in the order of the list. A new tool is a value in the file of its group, and in the group's `all`.
    static let all = StatusTools.all + RequestTools.all + TelemetryTools.all + LogTools.all + SchemaTools.all + RecordTools.all + WhyTools.all

    /// Tools of one page of a list. Ours: more than there are, because some clients read the first page alone.
    static let pageSize = 50

    private let allowsWrites: Bool
    private let tools: [Tool]
    private let pageSize: Int

    init(allowsWrites: Bool, of all: [Tool] = Self.all, pageSize: Int = Self.pageSize) {
        self.allowsWrites = allowsWrites
        self.pageSize = pageSize
        tools = all.filter { allowsWrites || $0.access == .reads }
    }

    /// The text that an agent gets about all tools together.
    var instructions: String {
        """
        Tools of a Nacre server, a self-hosted CloudKit. Why a save or another request failed: search_requests with only_refused, then why_request \
        with its UUID, then explain_error, show_schema or why_permission. Lists are cut; next says how to go on. \(ToolAnswer.note)\(allowsWrites ? "" : " Nothing can be changed with these tools.")
        """
    }

    /// Returns a page of the list of tools.
    func page(after cursor: JSONValue?, for version: MCPVersion) throws(RPCFault) -> JSONValue {
        let start: Int
        switch cursor {
        case nil, .null: start = 0
        case .string(let text):
            guard let index = tools.firstIndex(where: { $0.name == text }) else { throw RPCFault(.invalidParams, "cursor is not one of this list") }
            start = index + 1
        default: throw RPCFault(.invalidParams, "cursor must be a string")
        }
        let page = tools.dropFirst(start).prefix(pageSize)
        let isLast = start + page.count >= tools.count
        return .members(["tools": .array(page.map { $0.json(for: version) }), "nextCursor": isLast ? nil : .text(page.last?.name)])
    }

    /// Returns the tool of a name.
    func tool(named name: String) throws(RPCFault) -> Tool {
        if let tool = tools.first(where: { $0.name == name }) { return tool }
        guard !Self.all.contains(where: { $0.name == name }) else {
            throw RPCFault(.invalidParams, "\(name) changes something: the operator allows it with nacre mcp --allow-writes")
        }
        let near = Nearest.match(String(name.prefix(100)), among: tools.map(\.name)).map { "; did you mean \($0)?" } ?? ""
        throw RPCFault(.invalidParams, "there is no tool of this name\(near)")
    }
}
