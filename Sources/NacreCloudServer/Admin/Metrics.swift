import Glibc
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudTasks
import NacreCloudWire
import NacreHTTPServer
import NacreTelemetry

extension MetricKey {
    static let assetChunks = MetricKey("nacre_asset_chunks", help: "Chunks of assets that are kept.")
    static let assetBytes = MetricKey("nacre_asset_bytes", help: "Bytes of the chunks of assets, on the disk or in memory.", unit: .bytes)
    static let tasksDue = MetricKey("nacre_tasks_due", help: "Tasks that are due and not done, by lane; 1,000 at most in all.", label: "lane")
    static let oldestTask = MetricKey(
        "nacre_task_oldest_due_seconds", help: "Time since the task that waits longest in a lane became due.", labels: ["lane"], unit: .seconds)
    static let tasksParked = MetricKey("nacre_tasks_parked", help: "Tasks that failed too often and wait for an administrator; 1,000 at most.")
    static let webhookLag = MetricKey(
        "nacre_webhook_lag_seconds", help: "Time since the oldest change that a webhook's receiver has not acknowledged, by webhook.",
        labels: ["webhook"], unit: .seconds)
    static let diskFree = MetricKey(
        "nacre_disk_free_bytes", help: "Bytes that the server may still write to the disk of the data folder.", unit: .bytes)
    static let diskSize = MetricKey("nacre_disk_size_bytes", help: "Size of the disk of the data folder.", unit: .bytes)
    static let databaseBytes = MetricKey("nacre_database_bytes", help: "Bytes of the database's files, by file.", labels: ["file"], unit: .bytes)
    static let buildInfo = MetricKey("nacre_build_info", help: "1, with the version of the server.", label: "version")
    // Metrics of any process, under the names that Prometheus' own clients use.
    static let processCPU = MetricKey("process_cpu_seconds_total", help: "User and system CPU time in seconds.", unit: .seconds)
    static let processStart = MetricKey(
        "process_start_time_seconds", help: "Start time of the server since unix epoch in seconds.", unit: .seconds)
    static let processMemory = MetricKey("process_resident_memory_bytes", help: "Resident memory in bytes.", unit: .bytes)
    static let processDescriptors = MetricKey("process_open_fds", help: "Open file descriptors.")
    static let processDescriptorsMax = MetricKey("process_max_fds", help: "Most open file descriptors.")
}

/// `GET /metrics` on the admin listener: Prometheus' text format 0.0.4.
struct Metrics: Sendable {
    static let path = "/metrics"
    static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    let telemetry: Telemetry
    /// The public listener's budgets.
    let budgets: Budgets
    /// The start of the server.
    let started: Timestamp
    var dataFolder = ""
    /// Counts of the database; nil for a store in memory.
    var store: @Sendable () -> StoreFigures? = { nil }
    /// Storage of assets' files; nil until it has been counted.
    var assets: @Sendable () -> AssetUsage? = { nil }
    /// Tasks of the outbox; throws if the store cannot be read.
    var tasks: @Sendable () async throws -> TaskFigures = { TaskFigures() }
    /// Seconds since the oldest change that each webhook's receiver has not acknowledged, by the IDs of the webhooks.
    var webhookLags: @Sendable () async throws -> [String: Double] = { [:] }

    func addRoute(to router: inout Router) {
        router.get(Self.path, isAlwaysAnswered: true) { _, _ in
            await refresh()
            return HTTPResponse(.ok, headers: ["Content-Type": Self.contentType], body: .bytes(Array(telemetry.prometheusText().utf8)))
        }
    }

    /// Brings the metrics up to date that no part counts by itself. A part that cannot be asked keeps its last values.
    func refresh() async {
        telemetry.gauge(.httpBodyBytes).set(budgets.bodies.taken)
        telemetry.gauge(.httpAnswerBytes).set(budgets.answers.taken)
        store()?.publish(to: telemetry)
        if let usage = assets() {
            telemetry.gauge(.assetChunks).set(Int(clamping: usage.chunks))
            telemetry.gauge(.assetBytes).set(Int(clamping: usage.bytes))
        }
        publishDisk()
        publishProcess()
        if let lags = try? await webhookLags() { telemetry.setGauges(.webhookLag, Self.levels(ofLags: lags)) }
        guard let tasks = try? await tasks() else { return }
        telemetry.gauge(.tasksParked).set(tasks.parked)
        for lane in TaskLane.allCases {
            let figures = tasks.lanes[lane] ?? TaskFigures.Lane()
            telemetry.gauge(.tasksDue, "\(lane)").set(figures.due)
            telemetry.gauge(.oldestTask, "\(lane)").set(Int(figures.oldestSeconds * 1e9))
        }
    }

    /// Webhooks that have a series of their own.
    private static let webhooksTold = 16

    /// Returns the levels of the webhooks that lag most, in nanoseconds. `other` has the largest of the rest.
    static func levels(ofLags lags: [String: Double]) -> [String: Int] {
        let sorted = lags.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { ($0.key, Int(exactly: ($0.value * 1e9).rounded()) ?? .max) }
        let told = Dictionary(uniqueKeysWithValues: sorted.prefix(webhooksTold))
        return told.merging(["other": sorted.dropFirst(webhooksTold).first?.1 ?? 0]) { own, _ in own }
    }

    private func publishDisk() {
        guard !dataFolder.isEmpty else { return }
        var disk = statvfs()
        if statvfs(dataFolder, &disk) == 0 {
            telemetry.gauge(.diskFree).set(Int(clamping: disk.f_bavail &* disk.f_frsize))
            telemetry.gauge(.diskSize).set(Int(clamping: disk.f_blocks &* disk.f_frsize))
        }
        for (label, name) in [("database", "nacre.sqlite"), ("log", "nacre.sqlite-wal")] {
            var file = stat()
            if stat(dataFolder + "/" + name, &file) == 0 { telemetry.gauge(.databaseBytes, label).set(file.st_size) }
        }
    }

    private func publishProcess() {
        telemetry.gauge(.buildInfo, ServerVersion.current).set(1)
        telemetry.gauge(.processStart).set(Int(started.secondsSince1970) * 1_000_000_000)
        var usage = timespec()
        if clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &usage) == 0 {
            telemetry.counter(.processCPU).follow(UInt64(clamping: usage.tv_sec * 1_000_000_000 + usage.tv_nsec))
        }
        if let bytes = Self.residentBytes { telemetry.gauge(.processMemory).set(bytes) }
        if let count = Self.openDescriptors { telemetry.gauge(.processDescriptors).set(count) }
        var limit = rlimit()
        if getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 {
            telemetry.gauge(.processDescriptorsMax).set(Int(clamping: limit.rlim_cur))
        }
    }

    /// Resident memory: the second number of `/proc/self/statm` (proc(5)), in pages there, in bytes here.
    private static var residentBytes: Int? {
        guard let file = fopen("/proc/self/statm", "re") else { return nil }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 128)
        guard fgets(&line, Int32(line.count), file) != nil else { return nil }
        let numbers = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self).split(separator: " ")
        return numbers.dropFirst().first.flatMap { Int($0) }.map { $0 * Int(sysconf(Int32(_SC_PAGESIZE))) }
    }

    /// The number of entries of `/proc/self/fd`, without `.`, `..` and the descriptor that reads the folder.
    private static var openDescriptors: Int? {
        guard let folder = opendir("/proc/self/fd") else { return nil }
        defer { closedir(folder) }
        var count = 0
        while readdir(folder) != nil { count += 1 }
        return max(count - 3, 0)
    }
}
