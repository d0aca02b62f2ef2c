import NacreCloudServer
import NacreCloudWire

/// `nacre explain`
enum Explain {
    private static let code = Argument(
        "code", "A serverErrorCode such as BAD_REQUEST, an HTTP status, or a case of CKError.Code by name or number. Without it all are listed.",
        isRequired: false)
    private static let markdown = Option.flag("markdown", "Print all of them as a page of documentation.")

    static let command = Command(
        "explain", "Say what an error means and what to do.",
        discussion: "Asks no server. A running one says the same on its page /errors, to which the header X-Nacre-Help of an error leads.",
        arguments: [code], options: [markdown, SharedOptions.json]
    ) { call in
        if call.has(markdown), call.has(SharedOptions.json) { throw UsageError(.exclusive("--markdown", "--json"), path: call.path) }
        guard let asked = call.arguments.first else { return try list(call) }
        if call.has(markdown) { throw UsageError(.exclusive("--markdown", code.usage), path: call.path) }
        let guides = Int(asked).map(ErrorGuide.ofAnswers) ?? []
        if !guides.isEmpty { return try show(guides, call) }
        guard let guide = ErrorGuide.find(asked) else {
            let near = Nearest.match(asked.uppercased(), among: ErrorGuide.all.map(\.name))
            let hint = near.map { "there is no code \(asked); did you mean \($0)?" } ?? "nacre explain lists them"
            throw UsageError(.invalid(code.usage, hint), path: call.path)
        }
        try show([guide], call)
    }

    private static func show(_ guides: [ErrorGuide], _ call: Call) throws {
        for guide in guides {
            if call.has(SharedOptions.json) {
                try Output.json(Line(guide))
            } else {
                let status = guide.status.map { "HTTP \($0), " } ?? ""
                try Output.data("\(guide.name): \(status)\(guide.framework)\n  \(guide.cause)\n  \(guide.fix)")
            }
        }
    }

    private static func list(_ call: Call) throws {
        if call.has(markdown) { return try Output.text(page) }
        for guide in ErrorGuide.all {
            if call.has(SharedOptions.json) { try Output.json(Line(guide)) } else { try Output.data("\(guide.name): \(guide.cause)") }
        }
    }

    /// The page `docs/errors.md`.
    static var page: String {
        func table(_ guides: [ErrorGuide]) -> String {
            guides.map { guide in
                "| `\(guide.name)` | \(guide.status ?? guide.native.rawValue) | \(guide.cause) | \(guide.fix) |"
            }.joined(separator: "\n")
        }
        return """
            # Errors

            What each error means and what to do: printed by `nacre explain --markdown`, and the same as `nacre explain CODE` and the page `/errors` of a server.
            Every error answer has the headers `X-Nacre-Remedy`, what to do in this case, where there is more to say than here, and `X-Nacre-Help`, its place on
            that page. The answer's `uuid`, also in `X-Apple-Request-UUID`, finds the request's line in the server's log.

            ## CloudKit Web Services

            `serverErrorCode` of an answer, or of one item of an answer. The status is that of an answer which is the error as a whole.

            | code | status | when it comes | what to do |
            | --- | --- | --- | --- |
            \(table(ErrorGuide.all.filter { $0.status != nil }))

            ## The framework

            `CKError.Code`, by name and raw value.

            | code | value | when it comes | what to do |
            | --- | --- | --- | --- |
            \(table(ErrorGuide.all.filter { $0.status == nil }))

            """
    }

    private struct Line: Encodable {
        let code: String
        let status: Int?
        let ckError: String
        let ckErrorCode: Int
        let cause: String
        let fix: String

        init(_ guide: ErrorGuide) {
            (code, status, cause, fix) = (guide.name, guide.status, guide.cause, guide.fix)
            (ckError, ckErrorCode) = ("\(guide.native)", guide.native.rawValue)
        }
    }
}
