import CoreLocation
import Foundation
import NacreCloudWire
import Testing

@testable import CloudKit

/// A format with its arguments, and the filters or the error that it gives.
struct PredicateRow: Sendable, CustomTestStringConvertible {
    enum Outcome: Hashable, Sendable {
        /// Filters as `text` writes them.
        case filters([String])
        case nothing
        case error(String)
    }

    let format: String
    let tree: PredicateTree
    let outcome: Outcome

    var testDescription: String { format }

    private init(_ format: String, _ arguments: [Any?], _ outcome: Outcome) {
        self.format = format
        tree = PredicateTree(NSPredicate(format: format, argumentArray: arguments.map { $0 as Any }))
        self.outcome = outcome
    }

    static func gives(_ format: String, _ arguments: Any?..., filters: String...) -> PredicateRow {
        PredicateRow(format, arguments, .filters(filters))
    }

    static func nothing(_ format: String, _ arguments: Any?...) -> PredicateRow {
        PredicateRow(format, arguments, .nothing)
    }

    /// Makes a row with an error.
    /// - Parameter text: The error's text without "Invalid predicate: ", with which all begin.
    static func fails(_ format: String, _ arguments: Any?..., text: String) -> PredicateRow {
        PredicateRow(format, arguments, .error("Invalid predicate: \(text)"))
    }

    /// The value of `now()` in tables: a number that is easy to see.
    static let now = Timestamp(secondsSince2001: 7777)

    static func outcome(of tree: PredicateTree) -> Outcome {
        do throws(PredicateFault) {
            let predicate = try PredicateFilters(tree, now: now)
            return predicate.matchesNothing ? .nothing : .filters(predicate.filters.map(text))
        } catch {
            return .error(error.text)
        }
    }

    static func text(_ filter: QueryFilter) -> String {
        let distance = filter.distance.map { " within \($0)" } ?? ""
        return "\(filter.fieldName ?? "*") \(filter.comparator.rawValue) \(text(filter.value))\(distance)"
    }

    private static func text(_ value: FieldValue) -> String {
        switch value {
        case .string(let value): "'\(value)'"
        case .int64(let value): "\(value)"
        case .double(let value): "\(value)"
        case .timestamp(let value): "t\(value.secondsSince2001)"
        case .bytes(let value): "\(value.count) bytes"
        case .location(let value): "(\(value.latitude), \(value.longitude))"
        case .reference(let value): "->\(value.recordName)\(value.zoneID == nil && value.action == .none ? "" : "!")"
        case .stringList(let list): "['\(list.joined(separator: "', '"))']"
        case .int64List(let list): "\(list)"
        case .doubleList(let list): "\(list)"
        case .timestampList(let list): "t\(list.map(\.secondsSince2001))"
        case .bytesList(let list): "\(list.map(\.count)) bytes"
        case .locationList(let list): "\(list.map { [$0.latitude, $0.longitude] })"
        case .referenceList(let list): "->\(list.map(\.recordName).joined(separator: ","))"
        case .emptyList: "[]"
        default: "\(value)"
        }
    }
}
