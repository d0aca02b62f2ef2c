/// The comparison of an hour's requests with those of the same hour in the weeks before.
///
/// The middle is the median of the weeks, which one odd week does not move. The usual deviation is four times their
/// median absolute deviation, and half of the median at least, because a few weeks may be alike by chance.
package enum HourComparison {
    /// The weeks that are looked at, and those of them that are needed.
    package static let weeks = 4
    private static let weeksNeeded = 3

    /// - Parameters:
    ///   - requests: the requests of the hour.
    ///   - before: the requests in the same hour of each week before; nil: nothing is known of that hour.
    ///   - least: the number that the hour or the median must reach.
    /// - Returns: the deviation as a multiple of the usual one.
    package static func reading(_ requests: Int64, before: [Int64?], least: Int) -> AlertReading {
        let known = before.compactMap { $0.map(Double.init) }
        guard known.count >= weeksNeeded else { return .tooLittle }
        let middle = median(known)
        let usual = max(4 * median(known.map { abs($0 - middle) }), middle / 2)
        guard max(Double(requests), middle) >= Double(least), usual > 0 else { return .tooLittle }
        return .figure(abs(Double(requests) - middle) / usual)
    }

    private static func median(_ numbers: [Double]) -> Double {
        let sorted = numbers.sorted()
        let half = sorted.count / 2
        return sorted.count.isMultiple(of: 2) ? (sorted[half - 1] + sorted[half]) / 2 : sorted[half]
    }
}
