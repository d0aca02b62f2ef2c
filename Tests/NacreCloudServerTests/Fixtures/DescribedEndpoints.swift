@testable import NacreCloudServer

/// An OpenAPI document as a test reads it: the answers of an endpoint, and a check of an answer.
struct DescribedEndpoints: Sendable {
    static let publicOnes = DescribedEndpoints(OpenAPIPage.documentJSON)
    static let administration = DescribedEndpoints(AdminAPI.documentJSON)
    static let emulator = DescribedEndpoints(AdminAPI.emulatorDocumentJSON)

    let document: JSON?

    init(_ json: [UInt8]) {
        document = try? JSON(json)
    }

    /// Methods and paths, such as `GET /database/1/{container}/…`.
    var all: Set<String> {
        guard case .object(let paths)? = document?["paths"] else { return [] }
        return Set(
            paths.flatMap { path, item -> [String] in
                guard case .object(let methods) = item else { return [] }
                return methods.keys.map { "\($0.uppercased()) \(path)" }
            })
    }

    /// Returns the document's entry for a method and the path of a request; nil where it has none.
    func endpoint(_ method: String, _ target: String) -> JSON? {
        guard case .object(let paths)? = document?["paths"] else { return nil }
        let parts = target.prefix { $0 != "?" }.split(separator: "/")
        let found = paths.filter { path, _ in
            let pattern = path.split(separator: "/")
            return pattern.count == parts.count && zip(pattern, parts).allSatisfy { $0 == $1 || $0.hasPrefix("{") }
        }
        return found.min { $0.key.count { $0 == "{" } < $1.key.count { $0 == "{" } }?.value[method == "HEAD" ? "get" : method.lowercased()]
    }

    /// Returns an undescribed or missing part of an answer; nil: it is as described, or its endpoint is not
    /// described.
    func fault(_ method: String, _ target: String, _ answer: Answer) -> String? {
        guard let endpoint = endpoint(method, target) else { return nil }
        guard let described = endpoint["responses"]?[String(answer.status)] else { return "status \(answer.status) is not described" }
        guard method != "HEAD", case .object(let content)? = resolved(described)["content"], let (type, body) = content.first else { return nil }
        guard answer.header("Content-Type")?.hasPrefix(type) == true else {
            return "type \(answer.header("Content-Type") ?? "none") and not \(type)"
        }
        guard let schema = body["schema"] else { return nil }
        guard let json = answer.json else { return "no JSON" }
        return fault(json, schema, "answer")
    }

    /// Returns the fault of a request's body.
    func bodyFault(_ method: String, _ target: String, _ body: [UInt8]) -> String? {
        guard let schema = endpoint(method, target)?.at("requestBody.content")?["application/json"]?["schema"] else { return nil }
        guard let json = try? JSON(body) else { return "no JSON" }
        return fault(json, schema, "body")
    }

    private func resolved(_ value: JSON) -> JSON {
        guard let reference = value["$ref"]?.text else { return value }
        return reference.split(separator: "/").dropFirst().reduce(document ?? .null) { $0[String($1)] ?? .null }
    }

    // MARK: JSON Schema

    /// Returns where and why a value does not match a schema; nil: it does. Covers the part of JSON Schema that the
    /// documents use: an unknown keyword is a fault.
    func fault(_ value: JSON, _ schema: JSON, _ place: String) -> String? {
        if schema["$ref"] != nil { return fault(value, resolved(schema), place) }
        guard case .object(let words) = schema else { return "\(place): the schema is none" }
        for (word, wanted) in words.sorted(by: { $0.key < $1.key }) {
            if let fault = fault(value, word, wanted, schema, place) { return fault }
        }
        return nil
    }

    private func fault(_ value: JSON, _ word: String, _ wanted: JSON, _ schema: JSON, _ place: String) -> String? {
        switch (word, wanted) {
        case ("type", .string(let type)): return value.isOf(type) ? nil : "\(place) is not of type \(type)"
        case ("enum", .array(let values)): return values.contains(value) ? nil : "\(place) is \(value)"
        case ("const", _): return value == wanted ? nil : "\(place) is not \(wanted)"
        case ("anyOf", .array(let schemas)):
            let faults = schemas.map { fault(value, $0, place) }
            return faults.contains(nil) ? nil : faults.compactMap(\.self).joined(separator: "; ")
        case ("items", _):
            guard case .array(let items) = value else { return nil }
            return items.enumerated().lazy.compactMap { fault($1, wanted, "\(place)[\($0)]") }.first
        case ("required", .array(let names)):
            return names.compactMap(\.text).first { value[$0] == nil }.map { "\(place).\($0) is missing" }
        case ("properties", .object(let properties)):
            return properties.lazy.compactMap { name, schema in value[name].flatMap { fault($0, schema, "\(place).\(name)") } }.first
        case ("additionalProperties", _):
            guard case .object(let members) = value else { return nil }
            let others = members.filter { schema["properties"]?[$0.key] == nil }
            if wanted == .bool(false) { return others.first.map { "\(place).\($0.key) is not described" } }
            return others.lazy.compactMap { fault($1, wanted, "\(place).\($0)") }.first
        case ("format", _), ("contentEncoding", _): return nil
        default: return "\(place): the schema says \(word)"
        }
    }
}

extension JSON {
    fileprivate func isOf(_ type: String) -> Bool {
        switch (type, self) {
        case ("object", .object), ("array", .array), ("string", .string), ("boolean", .bool), ("number", .number), ("null", .null): true
        case ("integer", .number(let number)): number == number.rounded()
        default: false
        }
    }
}
