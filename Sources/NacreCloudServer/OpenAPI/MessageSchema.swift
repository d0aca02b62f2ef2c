/// Derives the schema of a message from its own `Codable` conformance, so that the document cannot differ from what the
/// endpoint reads and writes.
///
/// A member is required if it is decoded without a check for its presence. A `CaseIterable` enumeration becomes a list
/// of its words.
enum MessageSchema {
    /// - Parameter isClosed: whether other members are excluded, as in an answer.
    static func of<Message: Decodable>(_ type: Message.Type, isClosed: Bool) -> Schema {
        let decoder = ShapeDecoder(isClosed: isClosed)
        // A message that refuses the sample values has no schema: a test names it.
        let isRead = (try? Message(from: decoder)) != nil
        return .titled(String(describing: type), isRead ? decoder.shape.schema(isClosed: isClosed) : .word([]))
    }
}

/// The members of one value that were read so far.
private final class Shape {
    var members: [Schema.Member] = []
    /// Keys that were checked for null.
    var optional: Set<String> = []
    /// The schema of a value that is no object.
    var bare: Schema?

    func note(_ name: String, _ schema: Schema) {
        members.append(Schema.Member(name: name, schema: schema, isRequired: !optional.contains(name)))
    }

    func schema(isClosed: Bool) -> Schema {
        bare ?? .object(members, isClosed: isClosed)
    }
}

/// A decoder that gives every reader a sample of the type it asks for, and records the request.
private struct ShapeDecoder: Decoder {
    var isClosed: Bool
    var shape = Shape()
    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy _: Key.Type) -> KeyedDecodingContainer<Key> {
        KeyedDecodingContainer(Members(decoder: self))
    }

    func unkeyedContainer() -> any UnkeyedDecodingContainer { Elements(decoder: self) }
    func singleValueContainer() -> any SingleValueDecodingContainer { Bare(decoder: self) }

    /// A sample of the type, and its schema.
    func example<Value: Decodable>(_ type: Value.Type) throws -> (Value, Schema) {
        if let words = type as? any CaseIterable.Type, let (value, schema) = Self.words(words), let value = value as? Value {
            return (value, schema)
        }
        switch type {
        case is String.Type: return (try Self.cast(""), .string)
        case is Bool.Type: return (try Self.cast(false), .boolean)
        case is Double.Type: return (try Self.cast(0.0), .number)
        case is Int.Type: return (try Self.cast(0), .integer)
        case is Int32.Type: return (try Self.cast(Int32(0)), .integer)
        case is Int64.Type: return (try Self.cast(Int64(0)), .integer)
        case is [String: String].Type: return (try Self.cast([String: String]()), .map(.string))
        default:
            let inner = ShapeDecoder(isClosed: isClosed)
            let value = try Value(from: inner)
            let schema = inner.shape.schema(isClosed: isClosed)
            if inner.shape.bare != nil { return (value, schema) }
            return (value, .titled(String(describing: type), schema))
        }
    }

    private static func cast<Value, Other>(_ other: Other) throws -> Value {
        guard let value = other as? Value else { throw Unread() }
        return value
    }

    private static func words<Word: CaseIterable>(_: Word.Type) -> (Word, Schema)? {
        let words = Word.allCases.compactMap { ($0 as? any RawRepresentable)?.rawValue as? String }
        guard let first = Word.allCases.first, words.count == Word.allCases.count else { return nil }
        return (first, .word(words))
    }

    struct Unread: Error {}
}

/// The compiler's decoding code asks for each member by its key.
private struct Members<Key: CodingKey>: KeyedDecodingContainerProtocol {
    var decoder: ShapeDecoder
    var codingPath: [any CodingKey] { [] }
    var allKeys: [Key] { [] }

    func contains(_: Key) -> Bool { true }

    func decodeNil(forKey key: Key) -> Bool {
        decoder.shape.optional.insert(key.stringValue)
        return false
    }

    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        let (value, schema) = try decoder.example(type)
        decoder.shape.note(key.stringValue, schema)
        return value
    }

    func nestedContainer<Nested: CodingKey>(keyedBy _: Nested.Type, forKey _: Key) throws -> KeyedDecodingContainer<Nested> {
        throw ShapeDecoder.Unread()
    }

    func nestedUnkeyedContainer(forKey _: Key) throws -> any UnkeyedDecodingContainer { throw ShapeDecoder.Unread() }
    func superDecoder() throws -> any Decoder { throw ShapeDecoder.Unread() }
    func superDecoder(forKey _: Key) throws -> any Decoder { throw ShapeDecoder.Unread() }
}

/// A list of one element.
private struct Elements: UnkeyedDecodingContainer {
    var decoder: ShapeDecoder
    var codingPath: [any CodingKey] { [] }
    var count: Int? { 1 }
    var currentIndex = 0
    var isAtEnd: Bool { currentIndex == 1 }

    init(decoder: ShapeDecoder) { self.decoder = decoder }

    func decodeNil() -> Bool { false }

    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        let (value, schema) = try decoder.example(type)
        decoder.shape.bare = .list(schema)
        currentIndex = 1
        return value
    }

    func nestedContainer<Nested: CodingKey>(keyedBy _: Nested.Type) throws -> KeyedDecodingContainer<Nested> { throw ShapeDecoder.Unread() }
    func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer { throw ShapeDecoder.Unread() }
    func superDecoder() throws -> any Decoder { throw ShapeDecoder.Unread() }
}

private struct Bare: SingleValueDecodingContainer {
    var decoder: ShapeDecoder
    var codingPath: [any CodingKey] { [] }

    func decodeNil() -> Bool { false }

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        let (value, schema) = try decoder.example(type)
        decoder.shape.bare = schema
        return value
    }
}
