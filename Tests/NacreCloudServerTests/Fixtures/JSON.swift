import Foundation

/// A JSON document for tests.
indirect enum JSON: Hashable, Sendable, Decodable {
    case null
    case bool(Bool)
    case number(Double)
    case string(String)
    case array([JSON])
    case object([String: JSON])

    init(_ bytes: [UInt8]) throws {
        self = try JSONDecoder().decode(JSON.self, from: Data(bytes))
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([JSON].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: JSON].self))
        }
    }

    subscript(key: String) -> JSON? {
        guard case .object(let members) = self else { return nil }
        return members[key]
    }

    /// Returns the value at a path such as `records[0].fields.title.value`; nil where there is none.
    func at(_ path: String) -> JSON? {
        var value: JSON? = self
        for part in path.split(whereSeparator: { $0 == "." || $0 == "[" }) {
            if part.hasSuffix("]") {
                guard case .array(let items) = value, let index = Int(part.dropLast()), items.indices.contains(index) else { return nil }
                value = items[index]
            } else {
                value = value?[String(part)]
            }
        }
        return value
    }

    /// Returns the texts of all members with these names, at any depth.
    func texts(named names: Set<String>) -> [String] {
        switch self {
        case .array(let items): items.flatMap { $0.texts(named: names) }
        case .object(let members):
            members.flatMap { name, value in (names.contains(name) ? [value.text].compactMap(\.self) : []) + value.texts(named: names) }
        default: []
        }
    }

    var text: String? {
        if case .string(let text) = self { text } else { nil }
    }

    var count: Int? {
        switch self {
        case .array(let items): items.count
        case .object(let members): members.count
        default: nil
        }
    }
}
