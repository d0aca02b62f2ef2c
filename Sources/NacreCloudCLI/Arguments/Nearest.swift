/// Finds the name that was probably meant.
enum Nearest {
    /// Returns the nearest candidate, with at most a slip for every three letters, or one that begins with `word`.
    static func match(_ word: String, among candidates: [String]) -> String? {
        let ranked = candidates.map { (name: $0, distance: distance(word, $0)) }
        // The first of equally near candidates wins: they come in the order of the help.
        guard let best = ranked.min(by: { $0.distance < $1.distance }) else { return nil }
        if best.distance <= max(1, best.name.count / 3) { return best.name }
        return candidates.first { word.count >= 3 && $0.hasPrefix(word) }
    }

    /// Counts the slips between two words: letters left out, put in, changed, or swapped with their neighbour
    /// (optimal string alignment).
    static func distance(_ one: String, _ other: String) -> Int {
        let one = Array(one)
        let other = Array(other)
        var beforeLast = [Int](repeating: 0, count: other.count + 1)
        var last = Array(0...other.count)
        for (row, letter) in one.enumerated() {
            var current = [row + 1]
            for (column, candidate) in other.enumerated() {
                var best = min(last[column + 1] + 1, current[column] + 1, last[column] + (letter == candidate ? 0 : 1))
                if row > 0, column > 0, letter == other[column - 1], one[row - 1] == candidate { best = min(best, beforeLast[column - 1] + 1) }
                current.append(best)
            }
            (beforeLast, last) = (last, current)
        }
        return last[other.count]
    }
}
