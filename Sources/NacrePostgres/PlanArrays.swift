import NacreCloudStorage

// The rows of a set, as the columns of an array parameter each.

struct FeedArrays {
    private var views: [Int64] = []
    private var numbers: [ChangeNumber] = []
    private var names: [String] = []
    private var entered: [ChangeNumber] = []
    private var departures: [Bool] = []

    mutating func add(_ row: FeedRow, _ name: String) {
        views.append(row.position.view.rawValue)
        numbers.append(row.position.number)
        names.append(name)
        entered.append(row.entered)
        departures.append(row.isDeparture)
    }

    var isEmpty: Bool { views.isEmpty }

    var values: [Value] {
        [
            .numbers(views), .numbers(numbers.map(\.run)), .numbers(numbers.map(\.seq)), .names(names), .numbers(entered.map(\.run)),
            .numbers(entered.map(\.seq)), .flags(departures),
        ]
    }
}

/// The positions of records in feeds.
struct PositionArrays {
    private var views: [Int64] = []
    private var numbers: [ChangeNumber] = []
    private var names: [String] = []

    mutating func add(_ position: ViewNumber, _ name: String) {
        views.append(position.view.rawValue)
        numbers.append(position.number)
        names.append(name)
    }

    var isEmpty: Bool { views.isEmpty }
    var values: [Value] { [.numbers(views), .numbers(numbers.map(\.run)), .numbers(numbers.map(\.seq)), .names(names)] }
}

struct LinkArrays {
    private var targets: [String] = []
    private var kinds: [Int64] = []
    private var names: [String] = []

    mutating func add(_ target: String, _ kind: Int64, _ name: String) {
        targets.append(target)
        kinds.append(kind)
        names.append(name)
    }

    var isEmpty: Bool { targets.isEmpty }
    var values: [Value] { [.names(targets), .numbers(kinds), .names(names)] }
}

struct IndexArrays {
    private var indexes: [Int64] = []
    private var keys: [[UInt8]] = []
    private var names: [String] = []

    mutating func add(_ index: IndexID, _ key: [UInt8], _ name: String) {
        indexes.append(index.rawValue)
        keys.append(key)
        names.append(name)
    }

    mutating func add(_ rows: [IndexKeys], _ name: String) {
        for row in rows {
            row.keys.each { add(row.index, Array($0), name) }
        }
    }

    var isEmpty: Bool { indexes.isEmpty }
    var values: [Value] { [.numbers(indexes), .blocks(keys), .names(names)] }
}
