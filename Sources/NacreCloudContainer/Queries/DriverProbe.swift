/// How many rows a driver has, counted only as far as it matters.
struct DriverProbe {
    let driver: QueryDriver
    private(set) var count = 0
    /// Its records were found to be too large to be collected.
    var isTooMuch = false
    /// What was not counted yet.
    private(set) var scan: IndexScan
    private(set) var isWhole = false
    /// Of the records that were counted; one may stand there twice.
    private(set) var names: [String] = []

    init(_ driver: QueryDriver, of zone: ZoneAddress) {
        self.driver = driver
        scan = IndexScan(zone: zone, spans: driver.spans, limit: 0)
    }

    /// Whether it is to be counted on to know whether it has more than so many; its scan asks for that.
    mutating func wants(_ reach: Int) -> Bool {
        scan.limit = reach - count + 1
        return !isTooMuch && !isWhole && count <= reach
    }

    mutating func count(_ portion: IndexPortion) {
        count += portion.hits.count
        names += portion.hits.lazy.map(\.place.name)
        isWhole = portion.isWhole
        if let last = portion.hits.last { scan.goOn(behind: last) }
    }
}
