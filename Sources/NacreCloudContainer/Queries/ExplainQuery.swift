package import NacreCloudAccounts
package import NacreCloudServerWire
import NacreCloudStorage
package import NacreCloudWire

/// The way in which a query was answered, in lines for people, and the page that was answered.
package struct QueryExplanation: Sendable {
    package var lines: [String]
    package var answer: QueryAnswer
}

extension Cloud {
    /// Runs one page of a query and describes it: the indexes that it could use with their ranges, the way that it
    /// took, and the cost.
    /// - Parameter purpose: `.browsing` also takes fields that the schema does not mark.
    package func explainQuery(
        _ request: RecordsQueryRequest, in target: DatabaseTarget, by caller: Caller, for purpose: QueryShape.Purpose = .search,
        scanning rows: Int = Limits.queryScanRows, _ bytes: Int = Limits.queryScanBytes
    ) async throws -> QueryExplanation {
        let first = try await queryPage(request, in: target, by: caller, for: purpose, scanning: rows, bytes)
        // A look has all its portions read at once, because it has no index made that a next page could wait for.
        let portions = purpose == .browsing ? Limits.queryPortions : 1
        let last = try await lastPortion(
            after: first, of: request, in: target, by: caller, for: purpose, scanning: rows, bytes, portions: portions)
        if purpose == .browsing, last.page.waits {
            throw ServerError.badValue(
                "sortBy", "too many records to sort without an index", remedy: "Sort by a field that has an index, or by none.")
        }
        return QueryExplanation(lines: last.page.explanation, answer: try answer(of: last.page, damaged: last.damaged))
    }
}

extension QueryPage {
    fileprivate var explanation: [String] {
        var lines = ["records of type \(query.type.name), ordered by \(order.explanation)"]
        for (index, test) in query.tests.enumerated() {
            let ways = query.drivers.filter { $0.filter == index }.map(\.explanation)
            let fields = test.fields.joined(separator: ", ")
            lines.append("filter \(fields) \(test.comparator.rawValue): \(ways.isEmpty ? "no index is made" : ways.joined(separator: "; or "))")
        }
        lines += steps
        lines.append("every candidate is asked for all filters")
        lines.append(
            "read \(rowsRead) rows, \(recordsRead) of them with their records; answered \(records.count)\(cursor == nil ? "" : ", more to come")")
        return lines
    }
}

extension QueryOrder {
    fileprivate var explanation: String {
        let terms = terms.map { "\($0.from == nil ? "" : "distance of ")\($0.field) \($0.isAscending ? "ascending" : "descending")" }
        return (terms + ["name"]).joined(separator: ", ")
    }
}

extension QueryDriver {
    /// The first three spans. Keys are in hexadecimal; their first byte means "a value".
    fileprivate var explanation: String {
        let shown = spans.prefix(3).map { span in
            isPoints
                ? "index \(span.index.rawValue) at \(Self.text(span.lower))"
                : "index \(span.index.rawValue) from \(Self.text(span.lower)) to \(span.upper.map(Self.text) ?? "its end")"
        }
        return shown.joined(separator: ", ") + (spans.count > 3 ? " and \(spans.count - 3) more" : "")
    }

    private static func text(_ key: [UInt8]) -> String {
        let digits = key.prefix(16).map { String(UInt16($0) + 0x100, radix: 16).dropFirst() }
        return digits.joined() + (key.count > 16 ? "…" : "")
    }
}
