import NacreCloudWire

/// Parses a predicate format, the grammar of `NSPredicate(format:)`. It takes any text and arguments, and never traps.
///
/// The parser also takes forms that CloudKit does not support (OR, LIKE, arithmetic and so on), so that the translation
/// can name it.
struct PredicateParser {
    private let bytes: [UInt8]
    private let tokens: [PredicateToken]
    private let arguments: [PredicateOperand]
    private var position = 0
    private var depth = 0
    /// The number of arithmetic operators so far, since each makes the tree deeper.
    private var operators = 0
    /// The index of each placeholder's argument, by the placeholder's token index.
    private let argumentPlaces: [Int: Int]

    static let tooDeep = "Too many parts inside each other"

    static func tree(_ format: String, _ arguments: [PredicateOperand] = []) -> PredicateTree {
        do throws(PredicateFault) {
            var parser = PredicateParser(try PredicateTokens.all(of: format), of: format, arguments)
            let tree = try parser.predicate()
            guard parser.token.kind == .end else { throw parser.expected("AND, OR or the end") }
            return tree
        } catch {
            return .fault(error)
        }
    }

    private init(_ tokens: [PredicateToken], of format: String, _ arguments: [PredicateOperand]) {
        bytes = Array(format.utf8)
        self.tokens = tokens
        self.arguments = arguments
        var places: [Int: Int] = [:]
        var next = 0
        for (index, token) in tokens.enumerated() {
            guard case .argument(_, let place) = token.kind else { continue }
            places[index] = place ?? next
            if place == nil { next += 1 }
        }
        argumentPlaces = places
    }

    // MARK: Tokens

    /// The current token. The last token is an end, which is never passed.
    private var token: PredicateToken { tokens[position] }

    private mutating func advance() {
        if position < tokens.count - 1 { position += 1 }
    }

    private mutating func take(_ sign: String) -> Bool {
        guard token.kind == .sign(sign) else { return false }
        advance()
        return true
    }

    /// The current keyword in upper case.
    private var keyword: String? {
        if case .word(let word) = token.kind { word.uppercased() } else { nil }
    }

    private mutating func take(keyword word: String) -> Bool {
        guard keyword == word else { return false }
        advance()
        return true
    }

    private func expected(_ what: String) -> PredicateFault {
        fault("Expected \(what)")
    }

    private func fault(_ problem: String) -> PredicateFault {
        PredicateFault(problem: problem, in: bytes, at: token.range)
    }

    private mutating func nested<Part>(
        _ read: (inout PredicateParser) throws(PredicateFault) -> Part
    ) throws(PredicateFault) -> Part {
        guard depth < PredicateTree.maximumDepth else { throw fault(Self.tooDeep) }
        depth += 1
        defer { depth -= 1 }
        return try read(&self)
    }

    // MARK: Predicates

    private mutating func predicate() throws(PredicateFault) -> PredicateTree {
        var parts = [try conjunction()]
        while take("||") || take(keyword: "OR") { parts.append(try conjunction()) }
        return parts.count == 1 ? parts[0] : .or(parts)
    }

    private mutating func conjunction() throws(PredicateFault) -> PredicateTree {
        var parts = [try negation()]
        while take("&&") || take(keyword: "AND") { parts.append(try negation()) }
        return parts.count == 1 ? parts[0] : .and(parts)
    }

    private mutating func negation() throws(PredicateFault) -> PredicateTree {
        guard take("!") || take(keyword: "NOT") else { return try term() }
        return .not(try nested { (parser) throws(PredicateFault) in try parser.negation() })
    }

    private mutating func term() throws(PredicateFault) -> PredicateTree {
        if take(keyword: "TRUEPREDICATE") { return .constant(true) }
        if take(keyword: "FALSEPREDICATE") { return .constant(false) }
        guard token.kind == .sign("(") else { return try comparison() }
        // A parenthesis opens a predicate or, rarely, the left side of a comparison.
        let start = position
        let inner: PredicateFault
        do throws(PredicateFault) {
            advance()
            let tree = try nested { (parser) throws(PredicateFault) in try parser.predicate() }
            guard take(")") else { throw expected("')'") }
            if !startsOperator { return tree }
            inner = expected("AND, OR or the end")
        } catch {
            inner = error
        }
        let reached = position
        position = start
        do throws(PredicateFault) {
            return try comparison()
        } catch {
            throw position > reached ? error : inner
        }
    }

    private static let comparisons: [String: PredicateComparison.Operator] = [
        "=": .equal, "==": .equal, "!=": .notEqual, "<>": .notEqual, "<": .less, "<=": .lessOrEqual, "=<": .lessOrEqual, ">": .greater,
        ">=": .greaterOrEqual, "=>": .greaterOrEqual, "BETWEEN": .between, "IN": .in, "CONTAINS": .contains, "BEGINSWITH": .beginsWith,
        "ENDSWITH": .endsWith, "LIKE": .like, "MATCHES": .matches, "TOKENMATCHES": .tokenMatches,
    ]

    private var comparisonOperator: PredicateComparison.Operator? {
        if case .sign(let sign) = token.kind { return Self.comparisons[sign] }
        return keyword.flatMap { Self.comparisons[$0] }
    }

    private var startsOperator: Bool {
        if case .sign(let sign) = token.kind { return ["+", "-", "*", "/", "**", "["].contains(sign) || comparisonOperator != nil }
        return comparisonOperator != nil
    }

    private mutating func comparison() throws(PredicateFault) -> PredicateTree {
        var quantifier: PredicateComparison.Quantifier?
        var isNone = false
        switch keyword {
        case "ANY", "SOME": quantifier = .any
        case "ALL": quantifier = .all
        case "NONE": (quantifier, isNone) = (.any, true)
        default: break
        }
        if quantifier != nil { advance() }
        let left = try sum()
        guard let comparisonOperator else { throw expected("a comparison such as '=' or 'CONTAINS'") }
        advance()
        let options = try options()
        let right = try sum()
        let comparison = PredicateTree.comparison(
            PredicateComparison(quantifier: quantifier, left: left, operator: comparisonOperator, options: options, right: right))
        return isNone ? .not(comparison) : comparison
    }

    /// Parses options such as `[cd]` after an operator.
    private mutating func options() throws(PredicateFault) -> String {
        guard take("[") else { return "" }
        guard case .word(let word) = token.kind, word.lowercased().allSatisfy("cdnl".contains) else {
            throw expected("options such as 'c', 'd' or 'cd'")
        }
        advance()
        guard take("]") else { throw expected("']'") }
        return word.lowercased()
    }

    // MARK: Expressions

    /// The names of operators in `NSExpression`.
    private static let sums = ["+": "add:to:", "-": "from:subtract:"]
    private static let products = ["*": "multiply:by:", "/": "divide:by:", "**": "raise:toPower:"]

    private mutating func sum() throws(PredicateFault) -> PredicateOperand {
        var left = try product()
        while let function = try arithmetic(Self.sums) { left = .function(function, [left, try product()]) }
        return left
    }

    private mutating func product() throws(PredicateFault) -> PredicateOperand {
        var left = try signed()
        while let function = try arithmetic(Self.products) { left = .function(function, [left, try signed()]) }
        return left
    }

    private mutating func arithmetic(_ functions: [String: String]) throws(PredicateFault) -> String? {
        guard case .sign(let sign) = token.kind, let function = functions[sign] else { return nil }
        try countOperator()
        advance()
        return function
    }

    private mutating func countOperator() throws(PredicateFault) {
        operators += 1
        if operators > PredicateTree.maximumDepth { throw fault(Self.tooDeep) }
    }

    private mutating func signed() throws(PredicateFault) -> PredicateOperand {
        guard take("-") else { return try indexed() }
        switch token.kind {
        case .integer(let magnitude):
            guard let value = Int64(exactly: -Int128(magnitude)) else { throw fault("The number does not fit 64 bits with a sign") }
            advance()
            return .value(.int64(value))
        case .double(let value):
            advance()
            return .value(.double(-value))
        default:
            return .function("negate:", [try nested { (parser) throws(PredicateFault) in try parser.signed() }])
        }
    }

    private mutating func indexed() throws(PredicateFault) -> PredicateOperand {
        var expression = try simple()
        while take("[") {
            try countOperator()
            let index = try nested { (parser) throws(PredicateFault) in try parser.sum() }
            guard take("]") else { throw expected("']'") }
            expression = .function("objectFrom:withIndex:", [expression, index])
        }
        return expression
    }

    private mutating func simple() throws(PredicateFault) -> PredicateOperand {
        switch token.kind {
        case .string(let text):
            advance()
            return .value(.string(text))
        case .integer(let magnitude):
            guard let value = Int64(exactly: magnitude) else { throw fault("The number does not fit 64 bits with a sign") }
            advance()
            return .value(.int64(value))
        case .double(let value):
            advance()
            return .value(.double(value))
        case .argument(let kind, _):
            let expression = try argument(kind)
            advance()
            if case .key(let key) = expression { return try path(from: key) }
            return expression
        case .variable(let name):
            advance()
            return .variable(name)
        case .escapedWord(let word):
            advance()
            return try path(from: word)
        case .word(let word): return try named(word)
        case .sign("("):
            advance()
            let inner = try nested { (parser) throws(PredicateFault) in try parser.sum() }
            guard take(")") else { throw expected("')'") }
            return inner
        case .sign("{"):
            advance()
            return .list(try list(closedBy: "}"))
        case .sign, .end: throw expected("a key or a value")
        }
    }

    /// Parses a list up to its closing sign, which is consumed.
    private mutating func list(closedBy sign: String) throws(PredicateFault) -> [PredicateOperand] {
        var parts: [PredicateOperand] = []
        if take(sign) { return parts }
        repeat {
            parts.append(try nested { (parser) throws(PredicateFault) in try parser.sum() })
        } while take(",")
        guard take(sign) else { throw expected("',' or '\(sign)'") }
        return parts
    }

    /// Parses a key, a function or a reserved word.
    private mutating func named(_ word: String) throws(PredicateFault) -> PredicateOperand {
        switch word.uppercased() {
        case "TRUE", "YES":
            advance()
            return .value(.int64(1))
        case "FALSE", "NO":
            advance()
            return .value(.int64(0))
        case "NULL", "NIL":
            advance()
            return .null
        case "SELF":
            advance()
            return token.kind == .sign(".") ? try path(from: word) : .itself
        case "SUBQUERY": throw fault("SUBQUERY is not supported")
        case let upper where PredicateKeyword.all.contains(upper): throw fault("A key that is a reserved word is written with '#'")
        default: break
        }
        advance()
        if take("(") { return Self.function(word, try list(closedBy: ")")) }
        guard !word.contains(":") else { throw expected("'(' after a function's name") }
        return try path(from: word)
    }

    /// Returns a function call, or a date if it has the printed form of a date: `CAST(12.5, "NSDate")`.
    private static func function(_ name: String, _ parts: [PredicateOperand]) -> PredicateOperand {
        guard name == "CAST", parts.count == 2, parts[1] == .value(.string("NSDate")) else { return .function(name, parts) }
        switch parts[0] {
        case .value(.int64(let seconds)): return .value(.timestamp(Timestamp(secondsSince2001: Double(seconds))))
        case .value(.double(let seconds)): return .value(.timestamp(Timestamp(secondsSince2001: seconds)))
        default: return .function(name, parts)
        }
    }

    private mutating func path(from first: String) throws(PredicateFault) -> PredicateOperand {
        var path = first
        while take(".") {
            switch token.kind {
            case .word(let word), .escapedWord(let word): path += ".\(word)"
            default: throw expected("a key after '.'")
            }
            advance()
        }
        return .key(path)
    }

    // MARK: Arguments

    private func argument(_ kind: PredicateToken.Argument) throws(PredicateFault) -> PredicateOperand {
        let index = argumentPlaces[position] ?? 0
        guard index < arguments.count else { throw fault("The format has more placeholders than arguments") }
        let argument = arguments[index]
        switch (kind, argument) {
        case (.value, _), (.integer, .value(.int64)), (.double, .value(.double)), (.text, .value(.string)): return argument
        case (.double, .value(.int64(let value))): return .value(.double(Double(value)))
        case (.integer, .value(.double(let value))):
            guard let value = Int64(exactly: value.rounded(.towardZero)) else { throw fault("The number does not fit 64 bits with a sign") }
            return .value(.int64(value))
        case (.key, .value(.string(let key))): return key.uppercased() == "SELF" ? .itself : .key(key)
        // A number that is not finite has a fault of its own.
        case (.integer, .unusable(.notFinite, _)), (.double, .unusable(.notFinite, _)): return argument
        case (.key, _): throw fault("The argument of a key must be a String")
        case (.integer, _), (.double, _): throw fault("The argument must be a number")
        case (.text, _): throw fault("The argument must be a text of C or a String")
        }
    }
}

/// The words that a format can use as keys only behind a `#`.
enum PredicateKeyword {
    static let all: Set<String> = [
        "AND", "OR", "NOT", "IN", "LIKE", "MATCHES", "CONTAINS", "BEGINSWITH", "ENDSWITH", "BETWEEN", "TOKENMATCHES", "ANY", "SOME", "ALL", "NONE",
        "TRUEPREDICATE", "FALSEPREDICATE", "TRUE", "FALSE", "YES", "NO", "NULL", "NIL", "SELF", "ANYKEY", "SUBQUERY",
    ]
}
