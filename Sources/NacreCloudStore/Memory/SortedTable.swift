/// Rows in the order of their keys. A copy is cheap, and a change after it copies one chunk and the list of chunks. A
/// search is O(log n), a change O(chunk + n / chunk), a scan O(log n + visited rows).
struct SortedTable<Key: Comparable & Sendable, Value: Sendable>: Sendable {
    typealias Row = (key: Key, value: Value)

    /// The rows of a chunk before it is split. At 100,000 rows a copy of a chunk then costs about as much as one of the
    /// list.
    private static var chunkLimit: Int { 256 }

    /// The chunks, none of them empty.
    private var chunks: [[Row]] = []

    subscript(key: Key) -> Value? {
        get {
            let place = firstPlace { !($0 < key) }
            guard place.chunk < chunks.count else { return nil }
            let row = chunks[place.chunk][place.row]
            return row.key == key ? row.value : nil
        }
        set {
            let place = firstPlace { !($0 < key) }
            let isThere = place.chunk < chunks.count && chunks[place.chunk][place.row].key == key
            switch (newValue, isThere) {
            case (.some(let value), true): chunks[place.chunk][place.row].value = value
            case (.some(let value), false): insert((key, value), before: place)
            case (nil, true): remove(at: place)
            case (nil, false): break
            }
        }
    }

    /// Visits rows in order, from the first whose key `belongs`, until `visit` returns `.stop`. `belongs` must be false
    /// before some key, and true from it on.
    func scan(from belongs: (Key) -> Bool, _ visit: (Key, Value) -> ScanStep) {
        var place = firstPlace(where: belongs)
        while place.chunk < chunks.count {
            for row in chunks[place.chunk][place.row...] where visit(row.key, row.value) == .stop {
                return
            }
            place = (place.chunk + 1, 0)
        }
    }

    /// All rows, in order.
    var rows: [Row] { chunks.flatMap { $0 } }

    /// Returns the position of the first key that `belongs`; past the last chunk if there is none.
    private func firstPlace(where belongs: (Key) -> Bool) -> (chunk: Int, row: Int) {
        let chunk = chunks.partitioningIndex { belongs($0[$0.count - 1].key) }
        guard chunk < chunks.count else { return (chunk, 0) }
        return (chunk, chunks[chunk].partitioningIndex { belongs($0.key) })
    }

    private mutating func insert(_ row: Row, before place: (chunk: Int, row: Int)) {
        guard let last = chunks.indices.last else {
            chunks = [[row]]
            return
        }
        // A position past every key is the end of the last chunk.
        let chunk = min(place.chunk, last)
        chunks[chunk].insert(row, at: place.chunk > last ? chunks[chunk].count : place.row)
        guard chunks[chunk].count > Self.chunkLimit else { return }
        let half = chunks[chunk].count / 2
        let tail = Array(chunks[chunk][half...])
        chunks[chunk].removeSubrange(half...)
        chunks.insert(tail, at: chunk + 1)
    }

    private mutating func remove(at place: (chunk: Int, row: Int)) {
        chunks[place.chunk].remove(at: place.row)
        if chunks[place.chunk].isEmpty {
            chunks.remove(at: place.chunk)
        }
    }
}

enum ScanStep: Sendable {
    case goOn
    case stop
}

extension Array {
    /// Returns the index of the first element that `belongs`. All elements before it must not belong, and all after it
    /// must.
    fileprivate func partitioningIndex(where belongs: (Element) -> Bool) -> Int {
        var low = 0
        var high = count
        while low < high {
            let middle = low + (high - low) / 2
            if belongs(self[middle]) {
                high = middle
            } else {
                low = middle + 1
            }
        }
        return low
    }
}
