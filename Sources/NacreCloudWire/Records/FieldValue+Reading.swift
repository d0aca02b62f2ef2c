/// The context of a value. A field's encrypted value may lack its key: a client that was not told the key sends the
/// value back.
package enum ValueContext: Hashable, Sendable {
    case field
    case query
}

extension FieldValue {
    /// Reads `{"value": V, "type": "T"}`, its keys in any order; nil where the value or the whole is null, which
    /// clears the field.
    ///
    /// A value that does not fit its type throws `JSONError.Problem.value`: the record's fault, not the request's.
    package static func read(from reader: inout JSONReader, in place: ValueContext = .field) throws(JSONError) -> FieldValue? {
        var isTyped = false
        return try read(from: &reader, in: place, isTyped: &isTyped)
    }

    /// Reads a value.
    /// - Parameter isTyped: Set to whether the value named its type; otherwise the type is inferred.
    package static func read(
        from reader: inout JSONReader, in place: ValueContext = .field, isTyped: inout Bool
    ) throws(JSONError) -> FieldValue? {
        if try reader.takeNull() { return nil }
        var wrapper = Wrapper()
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "value": wrapper.value = try reader.passOver()
            case "type": wrapper.type = try reader.fieldType()
            case "isEncrypted": wrapper.isEncrypted = try reader.optionalBoolean() ?? false
            case "nacre": try wrapper.readExtension(from: &reader)
            default: try reader.skip()
            }
        }
        isTyped = wrapper.type != nil
        guard let value = wrapper.value else { return nil }
        let end = reader.checkpoint
        reader.restore(value)
        let result: FieldValue
        if wrapper.isEncrypted {
            result = .sealed(try wrapper.sealed(from: &reader, in: place, at: start))
        } else {
            result = try reader.fieldValue(wrapper.type, secondsAt: wrapper.seconds)
        }
        reader.restore(end)
        return result
    }

    /// The members around a value. The value itself is read when all of them are known.
    private struct Wrapper {
        var value: JSONReader.Checkpoint?
        var type: FieldType?
        var isEncrypted = false
        var keyID: String?
        var seconds: JSONReader.Checkpoint?

        mutating func readExtension(from reader: inout JSONReader) throws(JSONError) {
            if try reader.takeNull() { return }
            try reader.beginObject()
            while let key = try reader.nextKey() {
                switch key {
                case "keyID": keyID = try reader.optionalString()
                case "seconds": seconds = try reader.passOver()
                default: try reader.skip()
                }
            }
        }

        func sealed(from reader: inout JSONReader, in place: ValueContext, at start: Int) throws(JSONError) -> SealedValue {
            guard keyID == nil else {
                guard let type else { throw JSONError(.value(.sealedWithoutType), at: start) }
                return SealedValue(type: type, keyID: keyID, bytes: try reader.bytesValue())
            }
            guard place == .field, let type, let bytes = try? reader.bytesValue() else { throw JSONError(.value(.sealedWithoutKey), at: start) }
            return SealedValue(type: type, keyID: nil, bytes: bytes)
        }
    }
}

extension JSONReader {
    /// Skips a value and returns its position; nil where it is null.
    mutating func passOver() throws(JSONError) -> Checkpoint? {
        guard try kind() != .null else {
            try null()
            return nil
        }
        let place = checkpoint
        try skip()
        return place
    }

    fileprivate mutating func fieldType() throws(JSONError) -> FieldType? {
        if try takeNull() { return nil }
        try expect(.string)
        let start = offset
        guard let type = FieldType(try text()) else { throw JSONError(.unknownName, at: start) }
        return type
    }

    /// Reads a value of that type, or of the inferred type.
    ///
    /// - Parameter secondsAt: The position of the exact times that `nacre.seconds` gives beside the milliseconds.
    fileprivate mutating func fieldValue(
        _ type: FieldType?, secondsAt: Checkpoint?
    ) throws(JSONError) -> FieldValue {
        guard let type else { return try fieldValue(try inferredType(), secondsAt: secondsAt) }
        switch type {
        case .string: return .string(try stringValue())
        case .int64: return .int64(try int64Value())
        case .double: return .double(try doubleValue())
        case .bytes: return .bytes(try bytesValue())
        case .reference: return .reference(try referenceValue())
        case .asset: return .asset(try assetValue())
        case .timestamp: return .timestamp(try exact([try timestampValue()], secondsAt, isList: false) { $0 = $1 }[0])
        case .location: return .location(try exact([try locationValue()], secondsAt, isList: false) { $0.timestamp = $1 }[0])
        case .stringList: return .stringList(try list(type) { reader throws(JSONError) in try reader.stringValue() })
        case .int64List: return .int64List(try list(type) { reader throws(JSONError) in try reader.int64Value() })
        case .doubleList: return .doubleList(try list(type) { reader throws(JSONError) in try reader.doubleValue() })
        case .bytesList: return .bytesList(try list(type) { reader throws(JSONError) in try reader.bytesValue() })
        case .referenceList: return .referenceList(try list(type) { reader throws(JSONError) in try reader.referenceValue() })
        case .assetList: return .assetList(try list(type) { reader throws(JSONError) in try reader.assetValue() })
        case .timestampList:
            let moments = try list(type) { reader throws(JSONError) in try reader.timestampValue() }
            return .timestampList(try exact(moments, secondsAt, isList: true) { $0 = $1 })
        case .locationList:
            let locations = try list(type) { reader throws(JSONError) in try reader.locationValue() }
            return .locationList(try exact(locations, secondsAt, isList: true) { $0.timestamp = $1 })
        case .unknownList:
            try expect(.array, for: type)
            let inferred = try inferredType()
            guard inferred == .unknownList else { return try fieldValue(inferred, secondsAt: secondsAt) }
            try skip()
            return .emptyList
        }
    }

    private mutating func list<Element>(
        _ type: FieldType, _ element: (inout JSONReader) throws(JSONError) -> Element
    ) throws(JSONError) -> [Element] {
        try expect(.array, for: type)
        return try array(element)
    }

    /// Infers the type of a value: whole numbers and booleans are INT64, other numbers DOUBLE, objects by their keys,
    /// arrays by their first element.
    private mutating func inferredType() throws(JSONError) -> FieldType {
        let start = checkpoint
        defer { restore(start) }
        switch try kind() {
        case .string: return .string
        case .number: return try isInteger() ? .int64 : .double
        case .object: return try inferredObjectType()
        case .boolean: return .int64
        case .null: throw JSONError(.value(.untyped), at: offset)
        case .array:
            try beginArray()
            guard try nextElement() else { return .unknownList }
            guard let list = try inferredType().list else { throw JSONError(.value(.untyped), at: offset) }
            return list
        }
    }

    private mutating func inferredObjectType() throws(JSONError) -> FieldType {
        let start = try beginObject()
        while let key = try nextKey() {
            switch key {
            case "latitude": return .location
            case "recordName": return .reference
            case "fileChecksum", "receipt": return .asset
            default: try skip()
            }
        }
        throw JSONError(.value(.untyped), at: start)
    }

    /// Replaces times rounded to milliseconds by the exact ones, which only the framework sends.
    private mutating func exact<Element>(
        _ elements: [Element], _ secondsAt: Checkpoint?, isList: Bool, _ set: (inout Element, Timestamp) -> Void
    ) throws(JSONError) -> [Element] {
        guard let secondsAt else { return elements }
        restore(secondsAt)
        let start = offset
        var seconds: [Double?] = []
        if isList {
            seconds = try array { reader throws(JSONError) in try reader.optionalDouble() }
        } else {
            seconds = [try double()]
        }
        guard seconds.count == elements.count else { throw JSONError(.invalidNumberOfSeconds, at: start) }
        var exact = elements
        for index in exact.indices {
            if let moment = seconds[index] { set(&exact[index], Timestamp(secondsSince2001: moment)) }
        }
        return exact
    }
}
