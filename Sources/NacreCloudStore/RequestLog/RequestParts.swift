import Glibc
import NacreCloudStorage

/// The parts of the request log in their order, within its bounds. Confined to the log's thread.
final class RequestParts {
    /// Parts in which the bytes are divided. One more is kept free for write-ahead logs.
    private static let partsOfBytes = 9
    private static let millisecondsOfDay: Int64 = 86_400_000
    private static let suffix = ".sqlite"
    private static let aside = "aside" + suffix

    private let folder: String?
    private let vfs: String?
    private let server: String
    private let bounds: RequestLogBounds
    private let now: @Sendable () -> Int64
    private let report: @Sendable (RequestLogEvent) -> Void
    /// nil: not opened yet, or it failed.
    private var parts: [RequestPart]?
    private var lost = 0
    /// The rows lost since the log was last well; nil while it is.
    private var lostNow: Int?

    init(
        _ folder: String?, vfs: String?, server: String, bounds: RequestLogBounds, now: @escaping @Sendable () -> Int64,
        report: @escaping @Sendable (RequestLogEvent) -> Void
    ) {
        (self.folder, self.vfs, self.server, self.bounds, self.now, self.report) = (folder, vfs, server, bounds, now, report)
    }

    func close() {
        for part in parts ?? [] { part.close() }
        parts = nil
    }

    // MARK: Writing

    /// Writes rows. If that fails they are lost.
    /// - Parameter dropped: rows that were lost before.
    func write(_ rows: [@Sendable () -> RequestRow], _ traces: [RequestTrace], lost dropped: Int) {
        do {
            if !rows.isEmpty || !traces.isEmpty { try newest().write(rows, traces) }
            trim()
            lost += dropped
            if dropped > 0 {
                if lostNow == nil { report(.overrun) }
                lostNow = (lostNow ?? 0) + dropped
            } else if let count = lostNow, !rows.isEmpty {
                lostNow = nil
                report(.recovered(lost: count))
            }
        } catch {
            let error = StoreError(error)
            let count = dropped + rows.count + traces.count
            lost += count
            if lostNow == nil { report(.failed(error)) }
            lostNow = (lostNow ?? 0) + count
            if error.code == .corrupt { setAsideNewest(error) }
        }
    }

    /// The part that grows. A new one is begun where the last has its share of the bytes or of the days.
    private func newest() throws -> RequestPart {
        let all = try opened()
        if let last = all.last {
            let isOld = last.times.map { now() - $0.lowerBound > span } ?? false
            if !isOld, try last.bytes < bounds.bytes / Self.partsOfBytes { return last }
        }
        let part = try made(first: (all.last?.last ?? 0) + 1)
        all.last?.finish()
        parts?.append(part)
        return part
    }

    /// The milliseconds that one part covers.
    private var span: Int64 { max(Int64(bounds.days) * Self.millisecondsOfDay / 7, 1) }

    private func made(first: Int64) throws -> RequestPart {
        try RequestPart(path: folder.map { "\($0)/\(Self.name(first))" }, vfs: vfs, first: first, server: server)
    }

    private static func name(_ first: Int64) -> String {
        let digits = String(first)
        return String(repeating: "0", count: max(0, 16 - digits.count)) + digits + suffix
    }

    /// Deletes the oldest parts until all are within the bounds. The times of rows may be wrong after the clock was
    /// set: then the bytes bound them.
    func trim() {
        guard let all = parts else { return }
        let oldest = now() - Int64(bounds.days) * Self.millisecondsOfDay
        var bytes = all.map { (try? $0.bytes) ?? 0 }.reduce(0, +)
        var gone = 0
        for part in all.dropLast() {
            let isOver = part.times.map { $0.upperBound < oldest } ?? true
            guard isOver || bytes > bounds.bytes * (Self.partsOfBytes - 1) / Self.partsOfBytes else { break }
            bytes -= (try? part.bytes) ?? 0
            part.close()
            if let path = part.path { SideFile.remove(path) }
            gone += 1
        }
        parts?.removeFirst(gone)
    }

    static func removeFiles(_ folder: String) {
        for name in (try? DataFolder.contents(folder)) ?? [] where name.contains(suffix) { unlink(folder + "/" + name) }
        rmdir(folder)
    }

    // MARK: Opening

    private func opened() throws -> [RequestPart] {
        if let parts { return parts }
        var found: [RequestPart] = []
        if let folder {
            if mkdir(folder, 0o700) != 0, errno != EEXIST { throw DataFolder.systemError("The folder of the request log could not be made", folder) }
            let names = try DataFolder.contents(folder).filter { $0.hasSuffix(Self.suffix) && $0 != Self.aside }
            for name in names {
                let path = folder + "/" + name
                do {
                    found.append(try RequestPart(path: path, vfs: vfs, first: Int64(name.dropLast(Self.suffix.count)) ?? 1, server: server))
                } catch {
                    let error = StoreError(error)
                    guard error.code == .corrupt else {
                        for part in found { part.close() }
                        throw error
                    }
                    setAside(path, error)
                }
            }
        }
        parts = found.sorted { $0.first < $1.first }
        return parts ?? []
    }

    private func setAsideNewest(_ error: StoreError) {
        guard let part = parts?.popLast() else { return }
        part.close()
        if let path = part.path { setAside(path, error) }
    }

    /// Keeps one damaged part, so that it can be looked at. It takes the place of an earlier one.
    private func setAside(_ path: String, _ error: StoreError) {
        guard let folder else { return }
        let target = folder + "/" + Self.aside
        SideFile.move(path, to: target)
        report(.setAside(path: target, reason: error.text))
    }

    // MARK: Reading

    func page(_ filter: RequestFilter) throws -> RequestPage {
        let all = try opened()
        let since = max(filter.since ?? .min, now() - Int64(bounds.days) * Self.millisecondsOfDay)
        let limit = min(max(filter.limit, 1), RequestLogBounds.pageRows)
        var rows: [RequestRow] = []
        for part in filter.following == nil ? all.reversed() : all {
            if let after = filter.after, part.first >= after { continue }
            if let following = filter.following, part.last <= following { continue }
            rows += try part.rows(filter, since: since, limit: limit + 1 - rows.count)
            if rows.count > limit { break }
        }
        return RequestPage(rows: Array(rows.prefix(limit)), hasMore: rows.count > limit, last: all.last?.last ?? 0, lost: lost)
    }

    /// The most notifications of one request whose further way is told.
    private static let notificationsTold = 100

    func traces(of telling: String) throws -> [RequestTrace] {
        let all = try opened()
        let causes = try all.flatMap { try $0.traces(.tracesOfTask, telling) }
        var told: Set<String> = [""]
        var found: [RequestTrace] = []
        for cause in causes {
            found.append(cause)
            guard told.count <= Self.notificationsTold, told.insert(cause.notification).inserted else { continue }
            found += try all.flatMap { try $0.traces(.tracesOfNotification, cause.notification) }.filter(\.telling.isEmpty)
        }
        return found
    }
}
