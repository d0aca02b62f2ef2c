/// Texts for the parts of a history in evidence. Times are seconds since the history began.
extension History {
    private var origin: UInt64 { min(writes.first?.span.start ?? 0, streams.first?.pages.first?.span.start ?? .max) }

    private func seconds(_ time: UInt64) -> String {
        let milliseconds = Int64(bitPattern: time &- origin) / 1_000_000
        let rest = "\(abs(milliseconds % 1000))"
        return "\(milliseconds / 1000)." + String(repeating: "0", count: 3 - rest.count) + rest
    }

    private func text(_ span: Span) -> String { "\(seconds(span.start))–\(seconds(span.end)) s" }

    func text(ofWrite number: Int) -> String {
        let write = writes[number]
        let records = write.items.map { index in
            let item = items[index]
            return "\(item.record)\(item.isDeletion ? " deleted" : "") over \(item.before)"
        }
        let outcome =
            switch write.outcome {
            case .applied: "acknowledged"
            case .refused: "refused"
            case .unknown: "never answered"
            }
        return "\(write.batch) (\(outcome), \(text(write.span)): \(records.joined(separator: ", ")))"
    }

    func text(ofRead number: Int) -> String {
        let read = reads[number]
        return "a \(read.kind.rawValue) (\(text(read.span)): \(text(read.sights)))"
    }

    func text(ofPage page: Int, stream: Int) -> String {
        let name =
            switch streams[stream].origin {
            case .beginning: "follower \(stream)"
            case .token(let parent, let page): "follower \(parent) gone back to its page \(page)"
            }
        let told = streams[stream].pages[page]
        return "page \(page) of \(name) (\(text(told.span)): \(text(told.sights)))"
    }

    /// Records listed in one text at most.
    private static let sightsShown = 6

    private func text(_ sights: Range<Int>) -> String {
        let shown = sights.prefix(Self.sightsShown).map { "\(self.sights[$0].record) by \(self.sights[$0].version)" }
        let rest = sights.count - shown.count
        if shown.isEmpty { return "nothing" }
        return shown.joined(separator: ", ") + (rest > 0 ? " and \(rest) more" : "")
    }
}
