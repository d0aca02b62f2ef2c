import NacreCloudWire

/// A record while a query's filters look at it. A list is made ready once, however many filters look for however many values in it, and so are the
/// words of a text.
struct TestedRecord {
    /// The elements of a list.
    enum Members {
        /// So few that looking at each is less work than making a set.
        case few([ValueKey])
        case many(Set<ValueKey>)

        func contains(_ key: ValueKey) -> Bool {
            switch self {
            case .few(let keys): keys.contains(key)
            case .many(let keys): keys.contains(key)
            }
        }

        fileprivate static let fewAtMost = 16
    }

    private let fields: RecordFields
    /// The values that are not among the fields, by name.
    private let others: ((String) throws -> FieldValue?)?
    private var members: [String: Members] = [:]
    private var texts: [String: [String]] = [:]
    private var words: [String: Set<String>] = [:]
    /// What the filters have cost so far, in bytes looked at; see `Limits.queryScanBytes`.
    private(set) var work = 0

    /// - Parameter read: the record's values, by the name of a field; asked more than once.
    init(_ read: @escaping (String) throws -> FieldValue?) {
        self.init(RecordFields(), others: read)
    }

    /// - Parameter others: what is not among the fields, by name; nil: nothing of it is looked at. Asked more than once.
    init(_ fields: RecordFields, others: ((String) throws -> FieldValue?)?) {
        self.fields = fields
        self.others = others
    }

    /// The value of a field, which is not counted.
    func read(_ field: String) throws -> FieldValue? {
        try fields[field] ?? others?(field)
    }

    mutating func value(of field: String) throws -> FieldValue? {
        work += Self.workOfTest
        return try read(field)
    }

    /// The elements of the field's list, which `found` is.
    mutating func members(of field: String, in found: FieldValue) -> Members {
        if let known = members[field] { return known }
        let keys = found.elements.compactMap(ValueKey.init)
        work += keys.count * Self.workOfElement
        let made = keys.count <= Members.fewAtMost ? Members.few(keys) : .many(Set(keys))
        members[field] = made
        return made
    }

    /// The texts of the field's list in the order of their bytes, to be searched by halves.
    mutating func texts(of field: String, in found: FieldValue) -> [String] {
        if let known = texts[field] { return known }
        guard case .stringList(let list) = found else { return [] }
        work += list.count * Self.workOfElement
        let sorted = list.sorted { ByteOrder.compare($0, $1) < 0 }
        texts[field] = sorted
        return sorted
    }

    /// The words of a text or of a list of them; none where the record has no value.
    mutating func words(of field: String) throws -> Set<String> {
        if let known = words[field] { return known }
        let found = try value(of: field).map(SearchWords.of) ?? []
        work += found.reduce(0) { $0 + $1.utf8.count + Self.workOfElement }
        let made = Set(found)
        words[field] = made
        return made
    }

    /// So many bytes were compared, or so many values looked for.
    mutating func compared(bytes: Int = 0, values: Int = 0) {
        work += bytes + values * Self.workOfLook
    }

    /// Bytes that could be looked at instead. Measured roughly: a test of a number, an element put into a set, a value looked for in one.
    private static let workOfTest = 16
    private static let workOfElement = 64
    private static let workOfLook = 16
}
