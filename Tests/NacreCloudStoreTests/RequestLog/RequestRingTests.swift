import CNacreSQLite
import Foundation
import NacreCloudStorage
import NacreCloudTestSupport
import NacreLocks
import Testing

@testable import NacreCloudStore

extension RequestRing {
    fileprivate func add(_ row: RequestRow) { add(bytes: 1000) { row } }
}

/// Tests of the request log's files: what it keeps, for how long, and what becomes of it when a disk or process fails.
struct RequestRingTests {
    private static let noon: Int64 = 1_800_000_000_000
    private static let day: Int64 = 86_400_000

    /// A log in a folder of its own, with a clock and the events that it told.
    private final class Scene: Sendable {
        let folder: String
        let time = Locked(noon)
        let events = Locked([String]())
        private let keeper: TemporaryFolder

        init() throws {
            keeper = try TemporaryFolder()
            folder = keeper.path
        }

        func open(_ bounds: RequestLogBounds = .usual, server: String = "one", disk: String? = nil, inMemory: Bool = false) throws -> RequestRing {
            try RequestRing(
                folder: inMemory ? nil : folder, vfs: disk, server: server, bounds: bounds, now: { [time] in time.withLock { $0 } },
                report: { [events] event in
                    let text =
                        switch event {
                        case .failed(let error): "failed \(error.code.rawValue)"
                        case .overrun: "overrun"
                        case .recovered(let lost): "recovered \(lost)"
                        case .setAside: "set aside"
                        }
                    events.withLock { $0.append(text) }
                })
        }

        var parts: [String] {
            (try? FileManager.default.contentsOfDirectory(atPath: folder + "/requests").filter { $0.hasSuffix(".sqlite") }.sorted()) ?? []
        }

        var bytes: Int {
            let names = (try? FileManager.default.contentsOfDirectory(atPath: folder + "/requests")) ?? []
            return names.reduce(0) { sum, name in
                sum + ((try? FileManager.default.attributesOfItem(atPath: "\(folder)/requests/\(name)")[.size] as? Int) ?? 0)
            }
        }
    }

    private static func row(_ index: Int, at ended: Int64 = noon, text: String = "") -> RequestRow {
        var row = RequestRow()
        row.ended = ended
        row.id = "00000000-0000-4000-8000-" + String(String(1_000_000_000_000 + index).dropFirst())
        row.took = index
        row.status = index % 10 == 0 ? 404 : 200
        row.code = index % 10 == 0 ? "NOT_FOUND" : ""
        row.operation = "records/modify"
        (row.container, row.environment, row.database) = ("iCloud.com.example.Notes", "development", "private")
        row.user = "u-\(index % 7)"
        row.client = "framework 0.1.0"
        row.operationID = "3F2504E0-4F89-41D3-9A0C-0305E82C33\(index % 90 + 10)"
        row.reason = text
        return row
    }

    @Test func `a row comes back as it was taken, and filters find it`() async throws {
        let ring = try Scene().open(inMemory: true)
        var row = Self.row(10)
        (row.waited, row.stored, row.encoded, row.bytesIn, row.bytesOut, row.asked, row.answered, row.refused) = (1, 2, 3, 4, 5, 6, 7, 8)
        (row.group, row.groupName, row.zone, row.field) = ("7F", "Upload", "z-1", "fields.title")
        (row.reason, row.remedy, row.index) = ("not there", "make it", "walk the index of title")
        ring.add(row)
        for index in 11..<20 { ring.add(Self.row(index)) }
        let all = try await ring.page(RequestFilter())
        row.number = 1
        #expect(all.rows.last == row && all.rows.count == 10 && all.last == 10 && !all.hasMore && all.lost == 0)
        #expect(all.rows.map(\.number) == Array((1...10).reversed()).map(Int64.init))
        func found(_ set: (inout RequestFilter) -> Void) async throws -> [Int64] {
            var filter = RequestFilter()
            set(&filter)
            return try await ring.page(filter).rows.map(\.number)
        }
        #expect(try await found { $0.status = 400...499 } == [1])
        #expect(try await found { $0.code = "NOT_FOUND" } == [1])
        #expect(try await found { $0.isRefused = true } == [1])
        #expect(try await found { $0.zone = "z-1" } == [1])
        #expect(try await found { $0.id = row.id } == [1])
        #expect(try await found { $0.slowerThan = 17 } == [10, 9])
        #expect(try await found { $0.user = "u-\(12 % 7)" } == [10, 3])
        #expect(try await found { $0.client = "framework" }.count == 10)
        #expect(try await found { $0.client = "framework 0.1.0" }.count == 10)
        #expect(try await found { $0.client = "frame" } == [])
        #expect(try await found { $0.operation = "records" } == [])
        #expect(try await found { ($0.after, $0.limit) = (5, 2) } == [4, 3])
        #expect(try await found { ($0.following, $0.limit) = (5, 2) } == [6, 7])
        #expect(try await found { $0.since = Self.noon + 1 } == [])
        #expect(try await found { $0.until = Self.noon - 1 } == [])
        #expect(try await found { $0.container = "' OR 1 --" } == [])
        await ring.close()
        await #expect(throws: StoreError.self) { try await ring.page(RequestFilter()) }
    }

    @Test func `rows of many blocks are found by their numbers, times and texts, although a clock went back`() async throws {
        let ring = try Scene().open(inMemory: true)
        let count = 300
        // Batches of several sizes, so that blocks are written anew and end within a batch.
        for index in 1...count {
            ring.add(Self.row(index, at: Self.noon + Int64(index % 2 == 0 ? index : -index), text: "text \(index % 3)"))
            if index % 37 == 0 || index < 4 { _ = try await ring.page(RequestFilter()) }
        }
        func found(_ set: (inout RequestFilter) -> Void) async throws -> [Int] {
            var filter = RequestFilter()
            filter.limit = count
            set(&filter)
            return try await ring.page(filter).rows.map(\.took)
        }
        #expect(try await found { _ in } == Array((1...count).reversed()))
        #expect(try await found { $0.following = 120 } == Array(121...count))
        #expect(try await found { ($0.after, $0.limit) = (120, 60) } == Array((60..<120).reversed()))
        #expect(try await found { ($0.since, $0.until) = (Self.noon - 51, Self.noon - 49) } == [51, 49])
        #expect(try await found { $0.since = Self.noon + 298 } == [300, 298])
        #expect(try await found { $0.until = Self.noon - 297 } == [299, 297])
        #expect(try await found { ($0.since, $0.until) = (Self.noon + 1, Self.noon - 1) } == [])
        #expect(try await found { $0.user = "u-3" } == (1...count).reversed().filter { $0 % 7 == 3 })
        #expect(try await found { $0.id = Self.row(200).id } == [200])
        #expect(try await found { ($0.following, $0.after) = (.max, .min) } == [])
        for row in try await ring.page(RequestFilter()).rows { #expect(row.reason == "text \(row.took % 3)" && row.number == Int64(row.took)) }
        await ring.close()
    }

    @Test func `a block whose bytes are damaged is told as damage, and read no further`() throws {
        var block = RequestBlock(first: 1)
        block.append(Self.row(1)) { text in Int64(text.utf8.count) }
        let question = RequestQuestion(numbers: .min ..< .max, conditions: [], id: nil, isRefused: false)
        #expect(try RequestBlock.rows(block.bytes, first: 1, question) { _ in "" }.map(\.took) == [1])
        for count in 1..<block.bytes.count {
            #expect(throws: MalformedBytes.self, "\(count) bytes") {
                try RequestBlock.rows(Array(block.bytes.prefix(count)), first: 1, question) { _ in "" }
            }
        }
    }

    @Test func `rows and their numbers outlive a restart, and a process that was killed loses the last batch at most`() async throws {
        let scene = try Scene()
        let first = try scene.open()
        for index in 0..<100 { first.add(Self.row(index)) }
        #expect(try await first.page(RequestFilter()).last == 100)
        // The files as a kill leaves them: the log of the open file, of which the last write is torn.
        let copy = try Scene()
        try FileManager.default.removeItem(atPath: copy.folder)
        try FileManager.default.copyItem(atPath: scene.folder, toPath: copy.folder)
        let log = try #require(FileManager.default.subpaths(atPath: copy.folder)?.first { $0.hasSuffix("-wal") })
        for index in 100..<200 { first.add(Self.row(index)) }
        _ = try await first.page(RequestFilter())
        let whole = try #require(FileManager.default.contents(atPath: "\(scene.folder)/\(log)"))
        try whole.dropLast(1000).write(to: URL(fileURLWithPath: "\(copy.folder)/\(log)"))
        await first.close()
        let again = try scene.open()
        again.add(Self.row(200))
        #expect(try await again.page(RequestFilter()).last == 201)
        await again.close()
        let killed = try copy.open()
        killed.add(Self.row(201))
        let last = try await killed.page(RequestFilter()).last
        // The rows before the torn write and the one after it.
        #expect((101...200).contains(last) && copy.events.withLock { $0 } == [])
        await killed.close()
    }

    @Test func `the files stay within their bytes, and the oldest rows go`() async throws {
        let scene = try Scene()
        let bounds = RequestLogBounds(days: 7, bytes: 4 << 20)
        let ring = try scene.open(bounds)
        for batch in 0..<80 {
            // Texts of their own fill the parts soon.
            for index in 0..<100 { ring.add(Self.row(batch * 100 + index, text: "\(batch) \(index) " + String(repeating: "x", count: 400))) }
            _ = try await ring.page(RequestFilter())
        }
        let page = try await ring.page(RequestFilter())
        #expect(page.last == 8000 && scene.bytes <= bounds.bytes && scene.parts.count > 2, "\(scene.bytes) bytes in \(scene.parts.count) parts")
        var filter = RequestFilter()
        (filter.following, filter.limit) = (0, 1)
        let oldest = try #require(try await ring.page(filter).rows.first)
        #expect(oldest.number > 1 && oldest.number < 7900)
        #expect(
            try await ring.page(
                {
                    filter.following = nil
                    filter.id = oldest.id
                    return filter
                }()
            ).rows == [oldest])
        await ring.close()
    }

    @Test func `rows are kept for their days, and a clock that is set back deletes none`() async throws {
        let scene = try Scene()
        let ring = try scene.open()
        for day in 0..<10 {
            scene.time.withLock { $0 = Self.noon + Int64(day) * Self.day }
            ring.add(Self.row(day, at: Self.noon + Int64(day) * Self.day))
            _ = try await ring.page(RequestFilter())
        }
        let kept = try await ring.page(RequestFilter()).rows
        #expect(kept.map(\.took) == [9, 8, 7, 6, 5, 4, 3, 2] && scene.parts.count <= 9, "\(scene.parts)")
        scene.time.withLock { $0 = Self.noon }
        ring.add(Self.row(10, at: Self.noon))
        #expect(try await ring.page(RequestFilter()).rows.map(\.took).prefix(9) == [10, 9, 8, 7, 6, 5, 4, 3, 2])
        scene.time.withLock { $0 = Self.noon + 30 * Self.day }
        ring.add(Self.row(11, at: Self.noon + 30 * Self.day))
        #expect(try await ring.page(RequestFilter()).rows.map(\.took) == [11])
        #expect(scene.parts.count == 1)
        await ring.close()
    }

    @Test func `a damaged part and one of another server are put aside, and another is begun`() async throws {
        let scene = try Scene()
        let ring = try scene.open()
        ring.add(Self.row(1))
        await ring.close()
        let other = try scene.open(server: "two")
        other.add(Self.row(2))
        #expect(try await other.page(RequestFilter()).rows.map(\.took) == [2])
        await other.close()
        #expect(scene.events.withLock { $0 } == ["set aside"] && scene.parts == ["0000000000000001.sqlite", "aside.sqlite"])
        try Data(repeating: 7, count: 40_000).write(to: URL(fileURLWithPath: scene.folder + "/requests/0000000000000001.sqlite"))
        let third = try scene.open(server: "two")
        third.add(Self.row(3))
        #expect(try await third.page(RequestFilter()).rows.map(\.took) == [3])
        await third.close()
        #expect(scene.events.withLock { $0 } == ["set aside", "set aside"])
    }

    @Test func `a full disk loses rows, is told once, and again only after rows were written`() async throws {
        let isFull = Locked(false)
        let disk = try #require(
            WatchedDisk { call in
                guard case .write = call, isFull.withLock({ $0 }) else { return .carryOut }
                return .fail(SQLITE_FULL)
            })
        let scene = try Scene()
        let ring = try scene.open(disk: disk.name)
        func add(_ index: Int) async throws -> RequestPage {
            ring.add(Self.row(index))
            return try await ring.page(RequestFilter())
        }
        #expect(try await add(1).rows.count == 1)
        isFull.withLock { $0 = true }
        for index in 2...4 { #expect(try await add(index).rows.map(\.took) == [1]) }
        isFull.withLock { $0 = false }
        let page = try await add(5)
        #expect(page.rows.map(\.took) == [5, 1] && page.lost == 3)
        isFull.withLock { $0 = true }
        _ = try await add(6)
        #expect(scene.events.withLock { $0 } == ["failed full", "recovered 3", "failed full"])
        isFull.withLock { $0 = false }
        await ring.close()
    }

    @Test func `rows that come faster than they are written are counted and told once`() async throws {
        let gate = DispatchSemaphore(value: 0)
        let isHeld = Locked(true)
        let disk = try #require(
            WatchedDisk { call in
                if case .write = call, isHeld.withLock({ $0 }) { gate.wait() }
                return .carryOut
            })
        let scene = try Scene()
        let ring = try scene.open(disk: disk.name)
        let count = 20_000
        for index in 0..<count { ring.add(Self.row(index)) }
        isHeld.withLock { $0 = false }
        gate.signal()
        let page = try await ring.page(RequestFilter())
        #expect(page.lost > 0 && page.last + Int64(page.lost) == count)
        // The page may come with the rows that follow the overrun, or after them.
        #expect([["overrun"], ["overrun", "recovered \(page.lost)"]].contains(scene.events.withLock { $0 }))
        await ring.close()
    }

    @Test func `a log that is turned off leaves no file`() async throws {
        let scene = try Scene()
        let ring = try scene.open()
        ring.add(Self.row(1))
        await ring.close()
        #expect(!scene.parts.isEmpty)
        RequestRing.remove(from: scene.folder)
        #expect(!FileManager.default.fileExists(atPath: scene.folder + "/requests"))
    }

    @Test func `IDs take 17 bytes if they are UUIDs, and come back as they were`() {
        for text in [
            "", "a", "0123456789abcdef0123456789abcdef", "3F2504E0-4F89-41D3-9A0C-0305E82C3301", "3f2504e0-4f89-41d3-9a0c-0305e82c3301",
            "3F2504E0-4f89-41D3-9A0C-0305E82C3301", "3F2504E04F89-41D3-9A0C-0305E82C3301-", "0123456789abcdefg",
        ] {
            #expect(CompactID.text(of: CompactID.bytes(of: text)) == text)
        }
        #expect(CompactID.bytes(of: "3F2504E0-4F89-41D3-9A0C-0305E82C3301").count == 17)
    }
}
