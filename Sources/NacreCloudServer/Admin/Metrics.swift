import Glibc
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire
import NacreHTTPServer
import NacreTelemetry

/// `GET /metrics` on the admin listener: Prometheus' text format 0.0.4.
struct Metrics: Sendable {
    static let path = "/metrics"
    static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    let telemetry: Telemetry
    /// The public listener's budgets.
    let budgets: Budgets
    /// Storage of assets' files; nil until it has been counted.
    var assets: @Sendable () -> AssetUsage? = { nil }

    func addRoute(to router: inout Router) {
        router.get(Self.path, isAlwaysAnswered: true) { _, _ in
            HTTPResponse(.ok, headers: ["Content-Type": Self.contentType], body: .bytes(Array(text.utf8)))
        }
    }

    private var text: String {
        telemetry.gauge(.httpBodyBytes).set(budgets.bodies.taken)
        telemetry.gauge(.httpAnswerBytes).set(budgets.answers.taken)
        return telemetry.prometheusText() + assetsText + Self.processText
    }

    private var assetsText: String {
        guard let usage = assets() else { return "" }
        return Self.metric("nacre_asset_chunks", "gauge", "Chunks of assets that are kept.", " \(usage.chunks)")
            + Self.metric("nacre_asset_bytes", "gauge", "Bytes of the chunks of assets, on the disk or in memory.", " \(usage.bytes)")
    }

    /// Metrics of any process, under the names that Prometheus' own clients use.
    private static var processText: String {
        var text = metric("nacre_build_info", "gauge", "1, with the version of the server.", "{version=\"\(ServerVersion.current)\"} 1")
        var usage = timespec()
        if clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &usage) == 0 {
            let seconds = Double(usage.tv_sec) + Double(usage.tv_nsec) / 1e9
            text += metric("process_cpu_seconds_total", "counter", "User and system CPU time in seconds.", " \(seconds)")
        }
        if let bytes = residentBytes { text += metric("process_resident_memory_bytes", "gauge", "Resident memory in bytes.", " \(bytes)") }
        if let count = openDescriptors { text += metric("process_open_fds", "gauge", "Open file descriptors.", " \(count)") }
        var limit = rlimit()
        if getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 {
            text += metric("process_max_fds", "gauge", "Most open file descriptors.", " \(limit.rlim_cur)")
        }
        return text
    }

    private static func metric(_ name: String, _ type: String, _ help: String, _ sample: String) -> String {
        "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n\(name)\(sample)\n"
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
