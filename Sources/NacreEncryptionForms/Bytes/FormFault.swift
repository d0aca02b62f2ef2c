/// The reason why bytes are no form of docs/encryption.md.
package enum FormFault: Error, Equatable, Sendable {
    /// The bytes end within a part.
    case truncated
    /// Bytes follow the last part.
    case trailingBytes
    case unknownSuite(UInt8)
    /// A kind that is not known, or another one than was asked for.
    case otherKind(UInt8)
    /// A list that is not in its order, or has an element twice.
    case outOfOrder(String)
    /// A part with a value that it cannot have.
    case invalid(String)
}

extension FormFault: CustomStringConvertible {
    package var description: String {
        switch self {
        case .truncated: "The bytes end within a part"
        case .trailingBytes: "Bytes follow the last part"
        case .unknownSuite(let suite): "Suite \(suite) is not known: update this program"
        case .otherKind(let kind): "Kind \(kind) is not the kind of form that belongs here"
        case .outOfOrder(let part): "The list of \(part) is not in its order, or has one twice"
        case .invalid(let part): "The \(part) is not valid"
        }
    }
}
