import Foundation
import NacreCloudWire

/// The result of `NSPredicate(format:)`: a predicate with the syntax tree of its format.
///
/// `NSCompoundPredicate` keeps its parts unchanged, so the tree survives inside it.
final class FormatPredicate: NSPredicate {
    let tree: PredicateTree

    init(_ tree: PredicateTree) {
        self.tree = tree
        super.init(value: false)
    }

    override func copy(with zone: NSZone? = nil) -> Any { self }

    /// Evaluates records, dictionaries and record values. If evaluation is impossible, the result is false, with a line
    /// on standard error.
    override func evaluate(with object: Any?, substitutionVariables bindings: [String: Any]?) -> Bool {
        LocalUse.matches(bindings.map { tree.substituting($0.mapValues { PredicateOperand(argument: $0) }) } ?? tree, object)
    }

    override func isEqual(_ object: Any?) -> Bool { (object as? FormatPredicate)?.tree == tree }
    /// The hash of the format without minus signs: 0 and -0 are equal, but are written differently.
    override var hash: Int { predicateFormat.filter { $0 != "-" }.hashValue }
    override var predicateFormat: String { PredicateFormat.text(tree) }
    override var description: String { PredicateFormat.text(tree) }
}

extension PredicateTree {
    /// Makes the tree of any predicate. A block predicate is a fault: it cannot be sent to a server.
    init(_ predicate: NSPredicate) {
        self.init(predicate, depth: 0)
    }

    private init(_ predicate: NSPredicate, depth: Int) {
        guard depth < Self.maximumDepth else {
            self = .fault(PredicateFault(problem: "Too many parts inside each other", part: "NSCompoundPredicate"))
            return
        }
        switch predicate {
        case let predicate as FormatPredicate: self = predicate.tree
        case let compound as NSCompoundPredicate:
            let parts = compound.subpredicates.map { PredicateTree($0, depth: depth + 1) }
            switch compound.compoundPredicateType {
            case .and: self = .and(parts)
            case .or: self = .or(parts)
            case .not: self = .not(parts.first ?? .constant(true))
            }
        case _ where NSPredicate(value: true).isEqual(predicate): self = .constant(true)
        case _ where NSPredicate(value: false).isEqual(predicate): self = .constant(false)
        default:
            self = .fault(PredicateFault(problem: "A block predicate cannot be sent: use a format", part: "\(type(of: predicate))"))
        }
    }
}

// MARK: - Arguments

extension PredicateOperand {
    /// Makes an operand from an app's argument. Records and their IDs stand for references to them.
    init(argument: Any?) {
        guard let argument else {
            self = .null
            return
        }
        switch argument {
        case let optional as any OptionalArgument: self = optional.content.map { PredicateOperand(argument: $0) } ?? .null
        case is NSNull: self = .null
        case let record as CKRecord: self = .reference(record.recordID)
        case let recordID as CKRecord.ID: self = .reference(recordID)
        case let reference as CKRecord.Reference: self = .reference(reference.recordID)
        case let set as Set<AnyHashable>: self = .list(set.map { PredicateOperand(argument: $0.base) })
        case let set as NSSet: self = .list(set.map { PredicateOperand(argument: $0) })
        case let array as [Any]: self = .list(array.map { PredicateOperand(argument: $0) })
        case let array as NSArray: self = .list(array.map { PredicateOperand(argument: $0) })
        case is CKAsset: self = .unusable(.unsupportedType, "CKAsset")
        case let value as any __CKRecordObjCValue:
            do throws(ValueFault.Reason) {
                let field = try FieldValue(setting: value, in: .default)
                guard field.hasFiniteNumbers else { throw .notFinite }
                self = .value(field)
            } catch {
                self = .unusable(error, "\(value)")
            }
        // Types of C that no field takes.
        case let number as any BinaryFloatingPoint: self.init(argument: Double(number))
        case let text as UnsafePointer<CChar>: self = .value(.string(String(cString: text)))
        case let text as UnsafeMutablePointer<CChar>: self = .value(.string(String(cString: text)))
        default: self = .unusable(.unsupportedType, "\(type(of: argument))")
        }
    }

    /// Makes an operand. CloudKit: predicates compare only the record ID of a reference.
    private static func reference(_ recordID: CKRecord.ID) -> PredicateOperand {
        .value(.reference(Reference(recordName: recordID.recordName, action: .none)))
    }
}

/// An optional inside an `Any`.
private protocol OptionalArgument {
    var content: Any? { get }
}

extension Optional: OptionalArgument {
    fileprivate var content: Any? { map { $0 } }
}
