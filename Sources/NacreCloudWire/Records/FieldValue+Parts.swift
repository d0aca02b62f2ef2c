// Reading of one value of each type, without its wrapper. A value of another kind is an error of the field.

extension JSONReader {
    mutating func expect(_ kind: JSONKind, for type: FieldType) throws(JSONError) {
        guard try self.kind() == kind else { throw JSONError(.value(.expected(type)), at: offset) }
    }

    mutating func stringValue() throws(JSONError) -> String {
        try expect(.string, for: .string)
        return try text().string
    }

    mutating func bytesValue() throws(JSONError) -> [UInt8] {
        try expect(.string, for: .bytes)
        let start = offset
        do throws(JSONError) {
            return try base64()
        } catch {
            throw error.problem == .invalidBase64 ? JSONError(.value(.expected(.bytes)), at: start) : error
        }
    }

    /// Reads an integer. A boolean is 1 or 0, and is answered as a number: the Web Services Reference lists booleans
    /// among the values, and the framework's `Bool` is an `NSNumber` that CloudKit keeps as an INT64.
    mutating func int64Value() throws(JSONError) -> Int64 {
        if try kind() == .boolean { return try boolean() ? 1 : 0 }
        return try wholeNumber(for: .int64)
    }

    /// Reads a number, its decimal form in a string, or one of the names of values without a JSON number.
    mutating func doubleValue() throws(JSONError) -> Double {
        let start = offset
        if try kind() == .string {
            let text = try text()
            if let name = Double(nonFiniteName: text) { return name }
            guard let value = Self.number(in: text, { reader throws(JSONError) in try reader.double() }) else {
                throw JSONError(.value(.expected(.double)), at: start)
            }
            return value
        }
        try expect(.number, for: .double)
        let number = try number()
        guard let value = double(of: number), value.isFinite else { throw JSONError(.value(.expected(.double)), at: start) }
        return value
    }

    /// Reads whole milliseconds since 1970, within the web's range of dates.
    mutating func timestampValue() throws(JSONError) -> Timestamp {
        let start = offset
        let milliseconds = try wholeNumber(for: .timestamp)
        guard milliseconds.magnitude <= Timestamp.maximumMillisecondsSince1970.magnitude else {
            throw JSONError(.value(.expected(.timestamp)), at: start)
        }
        return Timestamp(millisecondsSince1970: milliseconds)
    }

    private mutating func wholeNumber(for type: FieldType) throws(JSONError) -> Int64 {
        if try kind() == .string {
            let start = offset
            let text = try text()
            guard let value = Self.number(in: text, { reader throws(JSONError) in try reader.int64() }) else {
                throw JSONError(.value(.expected(type)), at: start)
            }
            return value
        }
        try expect(.number, for: type)
        let number = try number()
        guard number.isInteger, number.isExact, let value = Self.int64(number) else {
            throw JSONError(.value(.expected(type)), at: number.start)
        }
        return value
    }

    /// Reads the number in a string, by JSON's grammar of numbers.
    private static func number<Number>(
        in text: JSONText, _ read: (inout JSONReader) throws(JSONError) -> Number
    ) -> Number? {
        guard !text.hasEscapes, let first = text.bytes.first, first > UInt8(ascii: " ") else { return nil }
        var reader = JSONReader(text.bytes)
        do throws(JSONError) {
            let number = try read(&reader)
            return reader.offset == text.bytes.count ? number : nil
        } catch {
            return nil
        }
    }

    mutating func locationValue() throws(JSONError) -> Location {
        try expect(.object, for: .location)
        var latitude: Double?
        var longitude: Double?
        var location = Location(latitude: 0, longitude: 0)
        let start = try beginObject()
        while let key = try nextKey() {
            switch key {
            case "latitude": latitude = try optionalDoubleValue()
            case "longitude": longitude = try optionalDoubleValue()
            case "horizontalAccuracy": location.horizontalAccuracy = try optionalDoubleValue()
            case "verticalAccuracy": location.verticalAccuracy = try optionalDoubleValue()
            case "altitude": location.altitude = try optionalDoubleValue()
            case "speed": location.speed = try optionalDoubleValue()
            case "course": location.course = try optionalDoubleValue()
            case "timestamp": location.timestamp = try takeNull() ? nil : try timestampValue()
            default: try skip()
            }
        }
        guard let latitude, let longitude else { throw JSONError(.value(.expected(.location)), at: start) }
        location.latitude = latitude
        location.longitude = longitude
        return location
    }

    private mutating func optionalDoubleValue() throws(JSONError) -> Double? {
        try takeNull() ? nil : try doubleValue()
    }

    mutating func referenceValue() throws(JSONError) -> Reference {
        try expect(.object, for: .reference)
        let start = offset
        let (recordName, action, zoneID) = try referenceParts()
        guard let recordName else { throw JSONError(.value(.expected(.reference)), at: start) }
        return Reference(recordName: recordName, action: action ?? .none, zoneID: zoneID)
    }

    /// Reads a link beside the fields (`parent`, `share`), which has no action.
    package mutating func optionalLink() throws(JSONError) -> Reference? {
        if try takeNull() { return nil }
        try expect(.object)
        let start = offset
        let (recordName, action, zoneID) = try referenceParts()
        return Reference(recordName: try require(recordName, "recordName", at: start), action: action ?? .none, zoneID: zoneID)
    }

    private mutating func referenceParts() throws(JSONError) -> (recordName: String?, action: Reference.Action?, zoneID: ZoneID?) {
        var recordName: String?
        var action: Reference.Action?
        var zoneID: ZoneID?
        try beginObject()
        while let key = try nextKey() {
            switch key {
            case "recordName": recordName = try optionalString()
            case "action": action = try takeNull() ? nil : try name(of: Reference.Action.self)
            case "zoneID": zoneID = try optionalZoneID()
            default: try skip()
            }
        }
        return (recordName, action, zoneID)
    }

    package mutating func assetValue() throws(JSONError) -> Asset {
        try expect(.object, for: .asset)
        var fileChecksum: String?
        var size: Int64?
        var asset = Asset(fileChecksum: "", size: 0)
        let start = try beginObject()
        while let key = try nextKey() {
            switch key {
            case "fileChecksum": fileChecksum = try optionalString()
            case "size": size = try takeNull() ? nil : try wholeNumber(for: .asset)
            case "referenceChecksum": asset.referenceChecksum = try optionalString()
            case "wrappingKey": asset.wrappingKey = try optionalString()
            case "receipt": asset.receipt = try optionalString()
            case "downloadURL": asset.downloadURL = try optionalString()
            default: try skip()
            }
        }
        guard let fileChecksum, let size, size >= 0 else { throw JSONError(.value(.expected(.asset)), at: start) }
        asset.fileChecksum = fileChecksum
        asset.size = size
        return asset
    }
}

extension Double {
    /// The strings for values without a JSON number.
    static let nonFiniteNames: (nan: StaticString, positive: StaticString, negative: StaticString) = ("NaN", "Infinity", "-Infinity")

    fileprivate init?(nonFiniteName text: JSONText) {
        switch text {
        case Self.nonFiniteNames.nan: self = .nan
        case Self.nonFiniteNames.positive: self = .infinity
        case Self.nonFiniteNames.negative: self = -.infinity
        default: return nil
        }
    }
}
