import CoreLocation
import Foundation
import NacreCloudWire

/// Evaluates a predicate from a format for an object of this process, for `evaluate(with:)`.
///
/// The evaluation takes records, their IDs and references, dictionaries, and record values. It throws if it cannot
/// evaluate; it never guesses.
struct PredicateEvaluation {
    let object: Any?
    let now: Timestamp

    func holds(_ tree: PredicateTree) throws(PredicateFault) -> Bool {
        switch tree {
        case .constant(let value): return value
        case .comparison(let comparison): return try holds(comparison)
        case .and(let parts):
            for part in parts where try !holds(part) { return false }
            return true
        case .or(let parts):
            for part in parts where try holds(part) { return true }
            return false
        case .not(let part): return try !holds(part)
        case .fault(let fault): throw fault
        }
    }

    // MARK: Comparisons

    private func holds(_ comparison: PredicateComparison) throws(PredicateFault) -> Bool {
        if let found = try findsWords(comparison) { return found }
        let (left, right) = (try value(comparison.left), try value(comparison.right))
        guard let quantifier = comparison.quantifier else { return try compare(left, comparison, right) }
        if left == .null { return quantifier == .all }
        guard case .list(let elements) = left else {
            throw PredicateFault(problem: "\(quantifier.rawValue) needs a list", part: PredicateFormat.text(comparison.left))
        }
        for element in elements where try compare(element, comparison, right) == (quantifier == .any) { return quantifier == .any }
        return quantifier == .all
    }

    private func compare(_ left: PredicateOperand, _ comparison: PredicateComparison, _ right: PredicateOperand) throws(PredicateFault) -> Bool {
        let options = TextOptions(comparison.options)
        switch comparison.operator {
        case .equal: return options.areEqual(left, right)
        case .notEqual: return !options.areEqual(left, right)
        case .less, .lessOrEqual, .greater, .greaterOrEqual:
            if left == .null || right == .null { return false }
            return comparison.operator.allows(try order(left, right, options, in: comparison))
        case .between:
            guard case .list(let bounds) = right, bounds.count == 2 else { throw refusal("BETWEEN needs a list of two values", comparison) }
            if left == .null || bounds.contains(.null) { return false }
            let (low, high) = (try order(bounds[0], left, options, in: comparison), try order(left, bounds[1], options, in: comparison))
            return low != .orderedDescending && high != .orderedDescending
        case .in: return try contains(right, left, options, comparison)
        case .contains: return try contains(left, right, options, comparison)
        case .beginsWith, .endsWith, .like, .matches:
            if left == .null || right == .null { return false }
            guard case .value(.string(let text)) = left, case .value(.string(let part)) = right else {
                throw refusal("\(comparison.operator.rawValue) needs two Strings", comparison)
            }
            switch comparison.operator {
            case .beginsWith: return options.range(of: part, in: text, [.anchored]) || part.isEmpty
            case .endsWith: return options.range(of: part, in: text, [.anchored, .backwards]) || part.isEmpty
            case .like: return try options.matches(text, TextOptions.pattern(like: part), comparison)
            default: return try options.matches(text, part, comparison)
            }
        case .tokenMatches: throw refusal("TOKENMATCHES is for the words of a record", comparison)
        }
    }

    private func contains(
        _ whole: PredicateOperand, _ part: PredicateOperand, _ options: TextOptions, _ comparison: PredicateComparison
    ) throws(PredicateFault) -> Bool {
        switch (whole, part) {
        case (.null, _): return false
        case (.list(let elements), _): return elements.contains { options.areEqual($0, part) }
        case (_, .null): return false
        case (.value(.string(let text)), .value(.string(let part))): return options.range(of: part, in: text, [])
        default: throw refusal("\(comparison.operator.rawValue) needs a list or two Strings", comparison)
        }
    }

    private func order(
        _ left: PredicateOperand, _ right: PredicateOperand, _ options: TextOptions, in comparison: PredicateComparison
    ) throws(PredicateFault) -> ComparisonResult {
        guard let order = options.order(left, right) else { throw refusal("These values have no order", comparison) }
        return order
    }

    private func refusal(_ problem: String, _ comparison: PredicateComparison) -> PredicateFault {
        PredicateFault(problem: problem, part: PredicateFormat.text(comparison))
    }

    // MARK: Words

    /// Evaluates a search for words, such as `self CONTAINS 'words'` of a record; nil for every other comparison.
    private func findsWords(_ comparison: PredicateComparison) throws(PredicateFault) -> Bool? {
        guard object is CKRecord, let search = try? PredicateFilters(.comparison(comparison), now: now).filters.first,
            search.comparator == .containsAllTokens || search.comparator == .containsAnyTokens, case .string(let text) = search.value
        else { return nil }
        let words = Words.of(text)
        let found: Set<String>
        if let field = search.fieldName {
            guard case .value(let value) = try value(.key(field)) else { return false }
            found = Set(value.texts.flatMap(Words.of))
        } else {
            found = Set((object as? CKRecord)?.allTokens() ?? [])
        }
        return search.comparator == .containsAllTokens ? words.allSatisfy(found.contains) : words.contains(where: found.contains)
    }

    // MARK: Operands

    /// Returns an operand's value: a value, a list of values, or null.
    func value(_ operand: PredicateOperand) throws(PredicateFault) -> PredicateOperand {
        switch operand {
        case .value, .null: return operand
        case .list(let parts):
            var values: [PredicateOperand] = []
            for part in parts { values.append(try value(part)) }
            return .list(values)
        case .itself: return try usable(PredicateOperand(argument: object))
        case .key(let path): return try usable(PredicateOperand(argument: try KeyPathValue.of(path, in: object)))
        case .function(let name, let parts):
            var values: [PredicateOperand] = []
            for part in parts { values.append(try value(part)) }
            guard let result = call(name, values) else {
                throw PredicateFault(problem: "The function cannot be applied here", part: PredicateFormat.text(operand))
            }
            return result
        case .variable: throw PredicateFault(problem: "The variable has no value", part: PredicateFormat.text(operand))
        case .unusable: throw operand.fault ?? PredicateFault(problem: "The value cannot be compared", part: PredicateFormat.text(operand))
        }
    }

    private func usable(_ operand: PredicateOperand) throws(PredicateFault) -> PredicateOperand {
        if let fault = operand.fault { throw fault }
        return operand
    }

    private func call(_ name: String, _ values: [PredicateOperand]) -> PredicateOperand? {
        switch (name, values.count) {
        case ("now", 0): return .value(.timestamp(now))
        case (_, 2) where values.contains(.null), (_, 1) where values == [.null]: return .null
        case ("distanceToLocation:fromLocation:", 2):
            let places = values.compactMap { value in
                if case .value(let value) = value { value.object(in: .default) as? CLLocation } else { nil }
            }
            return places.count == 2 ? .value(.double(places[0].distance(from: places[1]))) : nil
        case ("objectFrom:withIndex:", 2):
            guard case .list(let elements) = values[0], case .value(.int64(let index)) = values[1] else { return nil }
            return elements.indices.contains(Int(index)) ? elements[Int(index)] : .null
        case ("negate:", 1): return Arithmetic.call("from:subtract:", .value(.int64(0)), values[0])
        case (_, 2): return Arithmetic.call(name, values[0], values[1])
        default: return nil
        }
    }
}

extension PredicateComparison.Operator {
    fileprivate func allows(_ order: ComparisonResult) -> Bool {
        switch self {
        case .less: order == .orderedAscending
        case .lessOrEqual: order != .orderedDescending
        case .greater: order == .orderedDescending
        default: order != .orderedAscending
        }
    }
}

/// The arithmetic of `NSExpression`: two integers give an integer, as in C.
private enum Arithmetic {
    static func call(_ name: String, _ left: PredicateOperand, _ right: PredicateOperand) -> PredicateOperand? {
        if case .value(.int64(let left)) = left, case .value(.int64(let right)) = right {
            if let (result, isOver) = integers(name, left, right), !isOver { return .value(.int64(result)) }
            if name == "divide:by:" { return nil }
        }
        guard let left = left.number, let right = right.number, let result = doubles(name, left, right), result.isFinite else { return nil }
        return .value(.double(result))
    }

    private static func integers(_ name: String, _ left: Int64, _ right: Int64) -> (Int64, Bool)? {
        switch name {
        case "add:to:": left.addingReportingOverflow(right)
        case "from:subtract:": left.subtractingReportingOverflow(right)
        case "multiply:by:": left.multipliedReportingOverflow(by: right)
        case "divide:by:": left.dividedReportingOverflow(by: right)
        default: nil
        }
    }

    private static func doubles(_ name: String, _ left: Double, _ right: Double) -> Double? {
        switch name {
        case "add:to:": left + right
        case "from:subtract:": left - right
        case "multiply:by:": left * right
        case "divide:by:": left / right
        case "raise:toPower:": pow(left, right)
        default: nil
        }
    }
}

extension PredicateOperand {
    fileprivate var number: Double? {
        switch self {
        case .value(.int64(let value)): Double(value)
        case .value(.double(let value)): value
        default: nil
        }
    }
}

/// The options of text comparisons: `[c]` ignores case, `[d]` diacritics.
struct TextOptions {
    private let options: NSString.CompareOptions

    init(_ letters: String = "") {
        var options: NSString.CompareOptions = []
        if letters.contains("c") { options.insert(.caseInsensitive) }
        if letters.contains("d") { options.insert(.diacriticInsensitive) }
        self.options = options
    }

    func areEqual(_ left: PredicateOperand, _ right: PredicateOperand) -> Bool {
        switch (left, right) {
        case (.list(let left), .list(let right)): left.count == right.count && zip(left, right).allSatisfy { areEqual($0, $1) }
        case (.value(.location(let left)), .value(.location(let right))): left == right
        default: order(left, right).map { $0 == .orderedSame } ?? (left == right)
        }
    }

    /// Returns the order of two operands; nil if they have none.
    func order(_ left: PredicateOperand, _ right: PredicateOperand) -> ComparisonResult? {
        switch (left, right) {
        case (.value(.string(let left)), .value(.string(let right))):
            return left.compare(right, options: options.isEmpty ? [.literal] : options)
        case (.value(.timestamp(let left)), .value(.timestamp(let right))): return Self.order(left, right)
        case (.value(.int64(let left)), .value(.int64(let right))): return Self.order(left, right)
        default:
            guard let left = left.number, let right = right.number else { return nil }
            return Self.order(left, right)
        }
    }

    private static func order<Ordered: Comparable>(_ left: Ordered, _ right: Ordered) -> ComparisonResult {
        left == right ? .orderedSame : left < right ? .orderedAscending : .orderedDescending
    }

    func range(of part: String, in text: String, _ where: NSString.CompareOptions) -> Bool {
        text.range(of: part, options: options.union(`where`)) != nil
    }

    /// Returns whether the whole text matches a pattern, as `MATCHES` requires.
    func matches(_ text: String, _ pattern: String, _ comparison: PredicateComparison) throws(PredicateFault) -> Bool {
        let fold = { (text: String) in text.folding(options: options.intersection(.diacriticInsensitive), locale: nil) }
        let (text, pattern) = options.contains(.diacriticInsensitive) ? (fold(text), fold(pattern)) : (text, pattern)
        guard
            let expression = try? NSRegularExpression(
                pattern: "\\A(?:\(pattern))\\z", options: options.contains(.caseInsensitive) ? [.caseInsensitive] : [])
        else { throw PredicateFault(problem: "MATCHES needs a regular expression", part: PredicateFormat.text(comparison)) }
        return expression.firstMatch(in: text, range: NSRange(text.startIndex..., in: text)) != nil
    }

    /// Returns the regular expression of a pattern with `?` for one character and `*` for any number of them.
    static func pattern(like text: String) -> String {
        "(?s)"
            + text.map { character in
                switch character {
                case "?": "."
                case "*": ".*"
                default: NSRegularExpression.escapedPattern(for: String(character))
                }
            }.joined()
    }
}
