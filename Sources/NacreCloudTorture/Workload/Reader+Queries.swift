import NacreCloudWire
import NacreRandom

extension Reader {
    /// Queries the records of one shelf, sorted by batch: one moment of the zone, as a lookup shows it.
    ///
    /// A save never changes the shelf of a record. A known record that the query for its shelf does not return is
    /// therefore deleted. A record as it was before an answered save means that the index is behind the records.
    mutating func query() async throws {
        // Before the first save the type does not exist.
        guard !known.isEmpty else { return }
        let shelf = Int64(random.next() % RecordForm.shelves)
        let isAscending = random.happens(onceIn: 2)
        let expected = Set(known.filter { RecordForm.shelf(of: $0) == shelf })
        let query = Query(
            recordType: RecordForm.recordType, filters: [QueryFilter(.equals, fieldName: RecordForm.shelfField, value: .int64(shelf))],
            sorts: [QuerySort(RecordForm.batchField, isAscending: isAscending)])
        let request = RecordsQueryRequest(query: query, zoneID: arena.zoneID, extension: RequestExtension(wantsDetails: true))
        let asked = try await arena.device(number).ask("records/query", request.json(), as: RecordsQueryResponse.self)
        testimony.counts.retries += asked.attempts - 1
        testimony.counts.queries += 1
        guard asked.answer.continuationMarker == nil else {
            throw Violation(.unexpectedAnswer, "a shelf of a few records has a second page")
        }
        var sights: [History.Sight] = []
        for record in asked.answer.records {
            let sight = try RecordForm.sight(record)
            guard RecordForm.shelf(of: sight.record) == shelf else { throw Violation(.wrongContent, "\(sight.record) is not on shelf \(shelf)") }
            sights.append(sight)
        }
        guard Set(sights.map(\.record)).count == sights.count else { throw Violation(.wrongContent, "a query shows a record twice") }
        let numbers = sights.map { isAscending ? $0.version.rawValue : .max - $0.version.rawValue }
        guard numbers == numbers.sorted() else { throw Violation(.wrongContent, "a query's records are not in the order asked for") }
        sights += expected.subtracting(sights.map(\.record)).map { History.Sight($0, .deleted) }
        guard !sights.isEmpty else { return }
        testimony.history.read(.query, asked.span, sights)
    }
}
