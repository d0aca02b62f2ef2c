import NacreCloudStorage
package import NacreCloudWire

/// A record under test by a query's filters. A list, or the words of a text, are prepared once for all filters.
package struct TestedRecord {
    /// The elements of a list.
    package enum Members {
        /// Few elements: looking at each costs less than making a set.
        case few([ValueKey])
        case many(Set<ValueKey>)

        package func contains(_ key: ValueKey) -> Bool {
            switch self {
            case .few(let keys): keys.contains(key)
            case .many(let keys): keys.contains(key)
            }
        }

        fileprivate static let fewAtMost = 16
    }

    private let fields: RecordFields
    /// The values outside `fields`, by name.
    private let others: ((String) throws -> FieldValue?)?
    private var members: [String: Members] = [:]
    private var texts: [String: [String]] = [:]
    private var words: [String: Set<String>] = [:]
    /// The cost of the filters so far, in bytes looked at; see `Limits.queryScanBytes`.
    package private(set) var work = 0

    /// - Parameter read: returns the record's value of a field; may be called more than once.
    package init(_ read: @escaping (String) throws -> FieldValue?) {
        self.init(RecordFields(), others: read)
    }

    /// - Parameter others: returns a value outside `fields`, maybe more than once; nil: there are none to look at.
    package init(_ fields: RecordFields, others: ((String) throws -> FieldValue?)?) {
        self.fields = fields
        self.others = others
    }

    /// Returns the value of a field, without counting work.
    package func read(_ field: String) throws -> FieldValue? {
        try fields[field] ?? others?(field)
    }

    package mutating func value(of field: String) throws -> FieldValue? {
        work += Self.workOfTest
        return try read(field)
    }

    /// Returns the elements of the field's list `found`.
    package mutating func members(of field: String, in found: FieldValue) -> Members {
        if let known = members[field] { return known }
        let keys = found.elements.compactMap(ValueKey.init)
        work += keys.count * Self.workOfElement
        let made = keys.count <= Members.fewAtMost ? Members.few(keys) : .many(Set(keys))
        members[field] = made
        return made
    }

    /// Returns the texts of the field's list in the order of their bytes, for a binary search.
    package mutating func texts(of field: String, in found: FieldValue) -> [String] {
        if let known = texts[field] { return known }
        guard case .stringList(let list) = found else { return [] }
        work += list.count * Self.workOfElement
        let sorted = list.sorted { ByteOrder.compare($0, $1) < 0 }
        texts[field] = sorted
        return sorted
    }

    /// Returns the words of a text or of a list of texts; none if the record has no value.
    package mutating func words(of field: String) throws -> Set<String> {
        if let known = words[field] { return known }
        let found = try value(of: field).map(SearchWords.of) ?? []
        work += found.reduce(0) { $0 + $1.utf8.count + Self.workOfElement }
        let made = Set(found)
        words[field] = made
        return made
    }

    /// Counts compared bytes and looked-up values.
    package mutating func compared(bytes: Int = 0, values: Int = 0) {
        work += bytes + values * Self.workOfLook
    }

    /// Costs in bytes of a test of a number, of adding an element to a set, and of a lookup in one. Measured roughly.
    private static let workOfTest = 16
    private static let workOfElement = 64
    private static let workOfLook = 16
}
