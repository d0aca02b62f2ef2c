import NacreCloudStorage

/// The number of requests of each duration, in buckets that are merged by addition.
///
/// Durations below 8 µs have a bucket each. Above, each power of two is cut into eight buckets. A value that is read
/// from the histogram is the middle of a bucket, and differs from the true one by at most 1/16 (6.25 %).
package struct LatencyHistogram: Hashable, Sendable {
    /// The largest relative difference between a value of the histogram and the true one.
    package static let relativeError = 1.0 / 16

    /// counts[bucket], up to the last bucket that is used.
    fileprivate var counts: [UInt64] = []

    package init() {}

    package var count: UInt64 { counts.reduce(0, +) }

    /// - Parameter microseconds: longer ones than 71 minutes count as that.
    package mutating func record(microseconds: Int64) {
        let bucket = Self.bucket(of: UInt32(clamping: microseconds))
        if bucket >= counts.count { counts.append(contentsOf: repeatElement(0, count: bucket + 1 - counts.count)) }
        counts[bucket] += 1
    }

    package mutating func merge(_ other: LatencyHistogram) {
        if other.counts.count > counts.count { counts.append(contentsOf: repeatElement(0, count: other.counts.count - counts.count)) }
        for bucket in other.counts.indices { counts[bucket] &+= other.counts[bucket] }
    }

    /// The duration in microseconds that a part of the requests does not exceed, by nearest rank; nil without requests.
    /// - Parameter part: 0.95 for the 95th percentile.
    package func percentile(_ part: Double) -> Double? {
        let all = count
        guard all > 0 else { return nil }
        let rank = min(max(UInt64((part * Double(all)).rounded(.up)), 1), all)
        var seen: UInt64 = 0
        for bucket in counts.indices {
            seen += counts[bucket]
            if seen >= rank { return Self.middle(of: bucket) }
        }
        return nil
    }

    fileprivate static let lastBucket = bucket(of: .max)

    static func bucket(of value: UInt32) -> Int {
        guard value >= 8 else { return Int(value) }
        let exponent = 31 - value.leadingZeroBitCount
        return (exponent - 2) * 8 + Int(value >> UInt32(exponent - 3)) & 7
    }

    static func middle(of bucket: Int) -> Double {
        guard bucket >= 8 else { return Double(bucket) }
        let shift = bucket / 8 - 1
        return Double((8 + bucket % 8) << shift) + Double(1 << shift) / 2
    }
}

extension ByteWriter {
    mutating func write(_ histogram: LatencyHistogram) { sparse(histogram.counts) }

    /// Writes the values that are not 0, each with the distance of its index to the one before.
    mutating func sparse(_ values: [UInt64]) {
        let used = values.indices.filter { values[$0] > 0 }
        number(UInt64(used.count))
        var last = 0
        for index in used {
            number(UInt64(index - last))
            number(values[index])
            last = index
        }
    }
}

extension ByteReader {
    mutating func histogram() throws(MalformedBytes) -> LatencyHistogram {
        LatencyHistogram(try sparse(below: LatencyHistogram.lastBucket + 1))
    }

    /// Reads values as `ByteWriter.sparse` writes them.
    /// - Parameter bound: the number of indexes.
    mutating func sparse(below bound: Int) throws(MalformedBytes) -> [(index: Int, value: UInt64)] {
        var used: [(index: Int, value: UInt64)] = []
        var last = 0
        for _ in 0..<(try count()) {
            let step = try number()
            guard step < bound, last + Int(step) < bound else { throw MalformedBytes() }
            last += Int(step)
            used.append((last, try number()))
        }
        return used
    }
}

extension LatencyHistogram {
    fileprivate init(_ used: [(index: Int, value: UInt64)]) {
        counts = [UInt64](repeating: 0, count: (used.last?.index ?? -1) + 1)
        for (bucket, count) in used { counts[bucket] = count }
    }
}
