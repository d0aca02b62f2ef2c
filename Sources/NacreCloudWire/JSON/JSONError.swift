/// The reason why bytes are not the JSON that was expected, and the position.
///
/// Cheap to throw: `JSONPosition` finds line, column and path only when they are needed.
@usableFromInline
package struct JSONError: Error, Equatable, Sendable {
    @usableFromInline
    package enum Problem: Hashable, Sendable {
        case endOfInput
        case unexpectedByte
        case trailingBytes
        case tooDeep
        case controlCharacter
        case invalidEscape
        case loneSurrogate
        case invalidUTF8
        case invalidNumber
        case numberTooLong
        case numberOutOfRange
        case integerOutOfRange
        case expected(JSONKind)
        case expectedInteger
        case unknownName
        case missingKey
        case tooManyKeys
        case zonesDiffer
        case twoFieldNames
        case twoWaysToLookUp
        case listTypeExpected
        case invalidBase64
        case invalidNumberOfSeconds
        /// A value that is valid JSON but not valid for its field: it fails its record, not the request.
        case value(ValueProblem)
    }

    @usableFromInline
    package enum ValueProblem: Hashable, Sendable {
        case expected(FieldType)
        case untyped
        case sealedWithoutKey
        case sealedWithoutType
    }

    /// The byte offset of the fault; at most the document's byte count.
    package var offset: Int
    package var problem: Problem
    /// The key that is missing in the object at `offset`.
    package var missingKey: String?

    @usableFromInline
    package init(_ problem: Problem, at offset: Int, missingKey: String? = nil) {
        self.problem = problem
        self.offset = offset
        self.missingKey = missingKey
    }
}

extension JSONError.Problem {
    /// The whole reason of a request's refusal, where CloudKit's is another than the sentence on the position.
    var reason: String? {
        switch self {
        case .value(let problem): problem.reason
        case .listTypeExpected: "BadRequestException: Unexpected input"
        default: nil
        }
    }

    /// The problem in one line for people.
    package var text: String {
        switch self {
        case .endOfInput: "the document ends too early"
        case .unexpectedByte: "this byte cannot stand here"
        case .trailingBytes: "there is more after the document's value"
        case .tooDeep: "arrays and objects are nested too deeply"
        case .controlCharacter: "control characters must be escaped in a string"
        case .invalidEscape: "a backslash is followed by no known escape"
        case .loneSurrogate: "half of a surrogate pair stands alone"
        case .invalidUTF8: "a string is not valid UTF-8"
        case .invalidNumber: "this is not a JSON number"
        case .numberTooLong: "a number has too many digits"
        case .numberOutOfRange: "a number is beyond what a double can hold"
        case .integerOutOfRange: "an integer is beyond 64 bits"
        case .expected(let kind): kind.expectation
        case .expectedInteger: "an integer is expected here"
        case .unknownName: "this name is not one of those known here"
        case .missingKey: "a required key is missing"
        case .tooManyKeys: "desiredKeys has too many entries"
        case .zonesDiffer: "one request asks of one zone"
        case .twoFieldNames: "a field is named by fieldName or by systemFieldName, not by both"
        case .twoWaysToLookUp: "a lookup info names a user in one way: by emailAddress, phoneNumber or userRecordName"
        case .listTypeExpected: "this comparator takes a list, whose type is one of those that end in _LIST"
        case .invalidBase64: "standard base64 with padding is expected here"
        case .invalidNumberOfSeconds: "seconds must be finite, one for each moment of the value"
        case .value(let problem): problem.reason
        }
    }
}

extension JSONError.ValueProblem {
    /// The reason in the record's error; the first is CloudKit's own sentence.
    package var reason: String {
        switch self {
        case .expected(let type): "Invalid value, expected type \(type.rawValue)."
        case .untyped: "Invalid value, its type is neither given nor plain."
        case .sealedWithoutKey: "encrypted fields need a key: this server keeps sealed values only"
        case .sealedWithoutType: "encrypted fields need a type"
        }
    }
}
