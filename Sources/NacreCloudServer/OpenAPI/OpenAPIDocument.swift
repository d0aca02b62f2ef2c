import NacreCloudWire
import NacreHTTPServer

/// An OpenAPI 3.1 document of one listener's endpoints.
struct OpenAPIDocument: Sendable {
    /// The form of errors on a listener.
    enum ErrorForm: Sendable {
        /// CloudKit's error dictionary.
        case dictionary
        /// RFC 9457.
        case problem
    }

    var title: String
    var summary: String
    var endpoints: [EndpointDescription]
    var errors: ErrorForm

    /// The document as JSON. Costs some milliseconds, so make it once.
    var json: [UInt8] {
        var writer = JSONWriter(capacity: 64 * 1024)
        writer.beginObject()
        writer.write("openapi", "3.1.1")
        writer.key("info")
        writer.beginObject()
        writer.write("title", title)
        writer.write("summary", summary)
        writer.write("version", ServerVersion.current)
        writer.endObject()
        writer.key("servers")
        writer.array(["/"]) { writer, url in
            writer.beginObject()
            writer.write("url", url)
            writer.endObject()
        }
        writePaths(to: &writer)
        writeComponents(to: &writer)
        writer.endObject()
        return writer.finish()
    }

    // MARK: Paths

    private func writePaths(to writer: inout JSONWriter) {
        var patterns: [String] = []
        for endpoint in endpoints where !patterns.contains(endpoint.pattern) { patterns.append(endpoint.pattern) }
        writer.key("paths")
        writer.beginObject()
        for pattern in patterns {
            writer.key(Self.path(pattern))
            writer.beginObject()
            for endpoint in endpoints where endpoint.pattern == pattern {
                writer.key(endpoint.method.rawValue.lowercased())
                write(endpoint, to: &writer)
            }
            writer.endObject()
        }
        writer.endObject()
    }

    /// The path of a pattern: `/a/:b` becomes `/a/{b}`.
    static func path(_ pattern: String) -> String {
        pattern.split(separator: "/").map { $0.hasPrefix(":") ? "/{\($0.dropFirst())}" : "/\($0)" }.joined()
    }

    /// The name of an endpoint in programs generated from the document: `POST /account/1/sign-in` is
    /// `postAccountSignIn`.
    static func operationID(_ endpoint: EndpointDescription) -> String {
        let parts = endpoint.pattern.split { $0 == "/" || $0 == "-" || $0 == "." }.filter { !$0.hasPrefix(":") && $0 != "1" }
        return endpoint.method.rawValue.lowercased() + parts.map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
    }

    private func write(_ endpoint: EndpointDescription, to writer: inout JSONWriter) {
        writer.beginObject()
        writer.write("operationId", Self.operationID(endpoint))
        writer.write("summary", endpoint.summary)
        writer.write("tags", [endpoint.group]) { $0.string($1) }
        writeSecurity(of: endpoint, to: &writer)
        writeParameters(of: endpoint, to: &writer)
        if let body = endpoint.body {
            writer.key("requestBody")
            writer.beginObject()
            writer.write("required", true)
            Self.writeContent("application/json", body, example: endpoint.example, to: &writer)
            writer.endObject()
        }
        writer.key("responses")
        writer.beginObject()
        for (number, answer) in endpoint.answers.enumerated() {
            Self.write(answer, links: number == 0 ? EndpointLink.table[Self.operationID(endpoint)] ?? [] : [], from: endpoint, to: &writer)
        }
        for status in endpoint.errorStatuses {
            writer.key(String(status))
            writer.beginObject()
            writer.write("$ref", "#/components/responses/Error\(status)")
            writer.endObject()
        }
        writer.endObject()
        writer.endObject()
    }

    private func writeSecurity(of endpoint: EndpointDescription, to writer: inout JSONWriter) {
        writer.write("security", endpoint.credentials) { writer, together in
            writer.beginObject()
            for credential in together {
                writer.key(credential.rawValue)
                writer.array([String]()) { $0.string($1) }
            }
            writer.endObject()
        }
    }

    private func writeParameters(of endpoint: EndpointDescription, to writer: inout JSONWriter) {
        func parameter(_ name: String, _ place: String, _ schema: Schema, isRequired: Bool) {
            writer.beginObject()
            writer.write("name", name)
            writer.write("in", place)
            writer.write("required", isRequired)
            writer.key("schema")
            schema.write(to: &writer)
            writer.endObject()
        }
        writer.key("parameters")
        writer.beginArray()
        for part in endpoint.pattern.split(separator: "/") where part.hasPrefix(":") {
            let name = String(part.dropFirst())
            parameter(name, "path", EndpointDescription.partsOfPaths[name] ?? .string, isRequired: true)
        }
        for value in endpoint.query { parameter(value.name, "query", value.schema, isRequired: value.isRequired) }
        writer.endArray()
    }

    private static func write(
        _ answer: EndpointDescription.Answer, links: [EndpointLink], from endpoint: EndpointDescription, to writer: inout JSONWriter
    ) {
        writer.key(String(answer.status))
        writer.beginObject()
        writer.write("description", "What was asked for.")
        writeContent(answer.type, answer.schema, to: &writer)
        if !links.isEmpty {
            writer.key("links")
            writer.beginObject()
            for link in links { write(link, from: endpoint, to: &writer) }
            writer.endObject()
        }
        writer.endObject()
    }

    /// Writes a link. Container, environment and database are those of the request.
    private static func write(_ link: EndpointLink, from endpoint: EndpointDescription, to writer: inout JSONWriter) {
        writer.key(link.name)
        writer.beginObject()
        writer.write("operationId", link.operation)
        writer.key("parameters")
        writer.beginObject()
        for part in endpoint.pattern.split(separator: "/") where part.hasPrefix(":") {
            writer.member("path.\(part.dropFirst())", "$request.path.\(part.dropFirst())")
        }
        for (name, expression) in link.query.sorted(by: { $0.key < $1.key }) { writer.member("query.\(name)", expression) }
        writer.endObject()
        if let body = link.body {
            writer.key("requestBody")
            writer.raw(body)
        }
        writer.endObject()
    }

    private static func writeContent(_ type: String, _ schema: Schema?, example: StaticString? = nil, to writer: inout JSONWriter) {
        writer.key("content")
        writer.beginObject()
        // The type without its charset, which clients do not match.
        writer.key(String(type.prefix { $0 != ";" }))
        writer.beginObject()
        if let schema {
            writer.key("schema")
            schema.write(to: &writer)
        }
        if let example {
            writer.key("example")
            writer.raw(example)
        }
        writer.endObject()
        writer.endObject()
    }

    // MARK: Components

    private func writeComponents(to writer: inout JSONWriter) {
        var titled: [String: Schema] = [:]
        for endpoint in endpoints {
            endpoint.body?.collectTitled(into: &titled)
            for answer in endpoint.answers { answer.schema?.collectTitled(into: &titled) }
        }
        let statuses = Set(endpoints.flatMap(\.errorStatuses)).sorted()
        for status in statuses { errorSchema(status).collectTitled(into: &titled) }
        writer.key("components")
        writer.beginObject()
        writer.key("schemas")
        writer.beginObject()
        for (title, schema) in titled.sorted(by: { $0.key < $1.key }) {
            writer.key(title)
            schema.write(to: &writer)
        }
        writer.endObject()
        writer.key("responses")
        writer.beginObject()
        for status in statuses {
            writer.key("Error\(status)")
            writer.beginObject()
            writer.write("description", Self.codes(status).joined(separator: ", "))
            Self.writeContent(
                errors == .problem ? AdminMessages.Problem.contentType : "application/json", errorSchema(status), to: &writer)
            writer.endObject()
        }
        writer.endObject()
        writeCredentials(to: &writer)
        writer.endObject()
    }

    private func writeCredentials(to writer: inout JSONWriter) {
        let used = Set(endpoints.flatMap { $0.credentials.joined() })
        writer.key("securitySchemes")
        writer.beginObject()
        for credential in AskingCredential.allCases where used.contains(credential) {
            writer.key(credential.rawValue)
            writer.beginObject()
            writer.write("description", credential.summary)
            switch credential.place {
            case .bearer:
                writer.write("type", "http")
                writer.write("scheme", "bearer")
            case .query(let name), .header(let name):
                writer.write("type", "apiKey")
                writer.write("name", name)
                if case .query = credential.place { writer.write("in", "query") } else { writer.write("in", "header") }
            }
            writer.endObject()
        }
        writer.endObject()
    }

    // MARK: Errors

    /// Codes of errors with this status; those of `ServerError(HTTPError)` are added for HTTP's own statuses.
    static func codes(_ status: Int) -> [String] {
        let codes = ServerErrorCode.allCases.filter { $0.status == status }
        let ofHTTP: [ServerErrorCode] = (400..<500).contains(status) && (codes.isEmpty || status == 413) ? [.badRequest] : []
        return (codes + ofHTTP).map(\.rawValue)
    }

    private func errorSchema(_ status: Int) -> Schema {
        let code = Schema.word(Self.codes(status))
        switch errors {
        case .dictionary:
            // A web user without a session is told the sign-in's URL.
            let isSignIn = status == ServerErrorCode.authenticationRequired.status
            let members = CloudKitSchemas.errorMembers.map { member in
                switch member.name {
                case "serverErrorCode": Schema.Member(name: member.name, schema: code, isRequired: true)
                case "redirectURL" where isSignIn: Schema.Member(name: member.name, schema: .string, isRequired: true)
                default: member
                }
            }
            return .titled("Error\(status)", .answer(["uuid": .string], members))
        case .problem:
            return .titled(
                "Problem\(status)",
                .answer([
                    "type": .string, "title": .string, "status": .integer, "detail": .string, "code": code, "field?": .string, "remedy?": .string,
                    "requestID": .string,
                ]))
        }
    }
}

extension JSONWriter {
    /// Writes a text under a composed name.
    fileprivate mutating func member(_ name: String, _ text: String) {
        key(name)
        string(text)
    }
}
