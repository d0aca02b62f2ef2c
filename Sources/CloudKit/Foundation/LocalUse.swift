import Foundation
import NacreCloudWire
import NacreLocks

/// Applies predicates and sort descriptors to objects of this process.
enum LocalUse {
    /// The most different lines that are logged. Own choice.
    private static let maximumLines = 100

    private static let told = Locked<Set<String>>([])

    /// Logs to standard error why the answer is false or "equal". The caller cannot throw, and silence would mislead.
    /// Each line is logged once.
    static func cannot(_ what: String, _ fault: PredicateFault) {
        let line = "CloudKit: \(what): \(fault.text)\n"
        let isNew = told.withLock { $0.count < maximumLines && $0.insert(line).inserted }
        if isNew { FileHandle.standardError.write(Data(line.utf8)) }
    }

    static func matches(_ tree: PredicateTree, _ object: Any?) -> Bool {
        do throws(PredicateFault) {
            return try PredicateEvaluation(object: object, now: .now).holds(tree)
        } catch {
            cannot("a predicate that cannot be evaluated here matches nothing", error)
            return false
        }
    }

    /// Compares objects by the values under a key; objects without a value come first.
    static func compare(_ left: Any, _ right: Any, by key: String?, isAscending: Bool) -> ComparisonResult {
        do throws(PredicateFault) {
            let values = (try value(key, in: left), try value(key, in: right))
            let order: ComparisonResult
            switch values {
            case (.null, .null): order = .orderedSame
            case (.null, _): order = .orderedAscending
            case (_, .null): order = .orderedDescending
            default:
                guard let found = TextOptions().order(values.0, values.1) else {
                    throw PredicateFault(problem: "These values have no order", part: key ?? "self")
                }
                order = found
            }
            return isAscending ? order : ComparisonResult(rawValue: -order.rawValue) ?? order
        } catch {
            cannot("a sort descriptor that cannot compare finds all equal", error)
            return .orderedSame
        }
    }

    static func value(_ key: String?, in object: Any) throws(PredicateFault) -> PredicateOperand {
        try PredicateEvaluation(object: object, now: .now).value(key.map { .key($0) } ?? .itself)
    }
}

extension Timestamp {
    fileprivate static var now: Timestamp { Timestamp(secondsSince2001: Date().timeIntervalSinceReferenceDate) }
}
