import NacreCloudWire

/// A page of the objects of a bucket, read from a few elements of S3's XML. Also reads the code of an error.
struct S3Listing: Equatable, Sendable {
    struct Object: Equatable, Sendable {
        var key: String
        var size: Int
    }

    var objects: [Object] = []
    /// The token of the next page; nil if there is none.
    var next: String?

    /// Parses a listing. Returns nil for other bytes.
    init?(_ bytes: [UInt8]) {
        let text = String(decoding: bytes, as: UTF8.self)
        guard text.contains("<ListBucketResult") else { return nil }
        var rest = text[...]
        var outside = ""
        while let start = rest.firstRange(of: "<Contents>"), let end = rest[start.upperBound...].firstRange(of: "</Contents>") {
            let content = rest[start.upperBound..<end.lowerBound]
            guard let key = Self.value(of: "Key", in: content), let size = Self.value(of: "Size", in: content).flatMap({ Int($0) })
            else { return nil }
            objects.append(Object(key: key, size: size))
            outside += rest[..<start.lowerBound]
            rest = rest[end.upperBound...]
        }
        outside += rest
        guard Self.value(of: "IsTruncated", in: outside[...]) == "true" else { return }
        guard let token = Self.value(of: "NextContinuationToken", in: outside[...]), !token.isEmpty else { return nil }
        next = token
    }

    /// Returns the code of an error, for example `NoSuchKey`; nil if the bytes are no error.
    static func errorCode(_ bytes: [UInt8]) -> String? {
        let text = String(decoding: bytes.prefix(4096), as: UTF8.self)
        guard text.contains("<Error") else { return nil }
        return value(of: "Code", in: text[...]).map { String($0.prefix(64)) }
    }

    private static func value(of element: String, in text: Substring) -> String? {
        guard let start = text.firstRange(of: "<\(element)>"), let end = text[start.upperBound...].firstRange(of: "</\(element)>") else { return nil }
        return plain(text[start.upperBound..<end.lowerBound])
    }

    /// Replaces XML's five named entities and numeric ones; nil for any other entity.
    private static func plain(_ text: Substring) -> String? {
        var result = ""
        var rest = text
        while let start = rest.firstIndex(of: "&") {
            guard let end = rest[start...].firstIndex(of: ";"), let character = character(rest[rest.index(after: start)..<end]) else { return nil }
            result += rest[..<start]
            result.unicodeScalars.append(character)
            rest = rest[rest.index(after: end)...]
        }
        return result + rest
    }

    private static func character(_ entity: Substring) -> Unicode.Scalar? {
        switch entity {
        case "amp": "&"
        case "lt": "<"
        case "gt": ">"
        case "quot": "\""
        case "apos": "'"
        case _ where entity.hasPrefix("#x"): UInt32(entity.dropFirst(2), radix: 16).flatMap(Unicode.Scalar.init)
        case _ where entity.hasPrefix("#"): UInt32(entity.dropFirst()).flatMap(Unicode.Scalar.init)
        default: nil
        }
    }
}
