// `@inlinable` marks functions with a type or closure of the caller's, which modules above then run at the speed of
// this module's code. The type itself must be `@usableFromInline`; otherwise other modules do not get the bodies.
//
// A key whose value is null counts as absent, everywhere but in `fields`. CloudKit: Web Services Reference.

extension JSONReader {
    package mutating func optionalString() throws(JSONError) -> String? {
        try takeNull() ? nil : try string()
    }

    package mutating func optionalBoolean() throws(JSONError) -> Bool? {
        try takeNull() ? nil : try boolean()
    }

    package mutating func optionalDouble() throws(JSONError) -> Double? {
        try takeNull() ? nil : try double()
    }

    package mutating func optionalInteger() throws(JSONError) -> Int? {
        try takeNull() ? nil : Int(try int64())
    }

    package mutating func optionalBase64() throws(JSONError) -> [UInt8]? {
        try takeNull() ? nil : try base64()
    }

    package mutating func base64() throws(JSONError) -> [UInt8] {
        try expect(.string)
        let start = offset
        let text = try text()
        // Many clients escape the slash, which is frequent in base64.
        guard let bytes = text.hasEscapes ? Base64.decode(text.string) : Base64.decode(text.bytes) else {
            throw JSONError(.invalidBase64, at: start)
        }
        return bytes
    }

    /// Reads one of the names of an enum.
    @inlinable
    package mutating func name<Name: RawRepresentable<String>>(of type: Name.Type) throws(JSONError) -> Name {
        try expect(.string)
        let start = offset
        guard let name = Name(rawValue: try text().string) else { throw JSONError(.unknownName, at: start) }
        return name
    }

    /// Reads the elements of an array.
    @inlinable
    package mutating func array<Element>(
        _ element: (inout JSONReader) throws(JSONError) -> Element
    ) throws(JSONError) -> [Element] {
        var elements: [Element] = []
        try beginArray()
        while try nextElement() { elements.append(try element(&self)) }
        return elements
    }

    /// Reads the elements of an array, or the one object that a client sent in place of an array of one.
    @inlinable
    package mutating func arrayOrSingle<Element>(
        _ element: (inout JSONReader) throws(JSONError) -> Element
    ) throws(JSONError) -> [Element] {
        try kind() == .object ? [try element(&self)] : try array(element)
    }

    /// Reads `desiredKeys` or `desiredRecordTypes`: nil (all) where it is null; duplicates stay.
    package mutating func optionalNames() throws(JSONError) -> [String]? {
        if try takeNull() { return nil }
        var names: [String] = []
        try beginArray()
        while try nextElement() {
            guard names.count < Limits.desiredNames else { throw JSONError(.tooManyKeys, at: offset) }
            names.append(try string())
        }
        return names
    }

    /// Returns `value`, or throws an error that names the key missing in the object at `start`.
    @inlinable
    package func require<Value>(_ value: Value?, _ key: StaticString, at start: Int) throws(JSONError) -> Value {
        guard let value else { throw JSONError(.missingKey, at: start, missingKey: key.description) }
        return value
    }
}
