import NacreCloudStorage

/// The count of a driver's rows, counted only as far as it matters.
struct DriverProbe {
    package let driver: QueryDriver
    package private(set) var count = 0
    /// Whether its records turned out too large to be collected.
    var isTooMuch = false
    /// The scan of the rows that are not counted yet.
    package private(set) var scan: IndexScan
    package private(set) var isWhole = false
    /// The names of the counted records, in which a record may occur twice.
    package private(set) var names: [String] = []

    package init(_ driver: QueryDriver, of zone: ZoneAddress) {
        self.driver = driver
        scan = IndexScan(zone: zone, spans: driver.spans, limit: 0)
    }

    /// Whether to count on, to learn if it has more than `reach` rows. Sets the scan's limit for that.
    package mutating func wants(_ reach: Int) -> Bool {
        scan.limit = reach - count + 1
        return !isTooMuch && !isWhole && count <= reach
    }

    package mutating func count(_ portion: IndexPortion) {
        count += portion.hits.count
        names += portion.hits.lazy.map(\.position.name)
        isWhole = portion.isWhole
        if let last = portion.hits.last { scan.goOn(behind: last) }
    }
}
