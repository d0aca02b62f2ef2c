import NacreCloudWire
import NacreHTTPClient
import NacreTelemetry

/// The export of a server's traces and metrics.
struct OpenTelemetry: Sendable {
    /// nil: no traces are sent.
    let traces: TraceExporter?
    private let metrics: OTLPSender?
    private let configuration: OpenTelemetryConfiguration
    private let resource: OTLPResource
    private let telemetry: Telemetry
    private let clock: ServerClock
    private let started: UInt64
    private let work = BackgroundWork()

    /// - Parameter server: the configuration of the server whose telemetry is sent.
    init(_ configuration: OpenTelemetryConfiguration, of server: ServerConfiguration, _ telemetry: Telemetry) {
        let (clock, logger) = (server.clock, server.logger)
        (self.configuration, self.telemetry, self.clock) = (configuration, telemetry, clock)
        started = Self.nanoseconds(clock.now())
        let own: [(name: String, value: OTLPAttribute)] = [
            ("service.name", .text(configuration.service)), ("service.version", .text(ServerVersion.current)),
        ]
        let others = configuration.attributes.sorted { $0.key < $1.key }.map { (name: $0.key, value: OTLPAttribute.text($0.value)) }
        let resource = OTLPResource(
            attributes: own.filter { one in !others.contains { $0.name == one.name } } + others, version: ServerVersion.current)
        self.resource = resource
        let client = HTTPClient(HTTPClient.Configuration(authorityFile: configuration.authorityFile))
        func sender(_ destination: OpenTelemetryConfiguration.Destination, _ signal: String) -> OTLPSender {
            OTLPSender(destination, signal: signal, client: client, clock: clock, logger: logger, telemetry)
        }
        traces = configuration.traces.map { destination in
            TraceExporter(
                configuration, resource, scheme: server.publicURL?.hasPrefix("https://") == true ? "https" : "http", sender(destination, "traces"),
                clock: clock)
        }
        metrics = configuration.metrics.map { sender($0, "metrics") }
        for fault in configuration.faults {
            logger.log(.warning, "A variable of OpenTelemetry is not understood and counts as not set", [.reason: .string(fault)])
        }
    }

    /// Begins the export.
    /// - Parameter refresh: brings the metrics up to date before they are sent.
    func start(refresh: @escaping @Sendable () async -> Void) {
        traces?.start()
        guard let metrics else { return }
        work.start { [self] in
            while !Task.isCancelled {
                try? await clock.sleep(configuration.metricInterval)
                guard !Task.isCancelled else { return }
                await refresh()
                let message = resource.metrics(telemetry.snapshot, started: started, now: Self.nanoseconds(clock.now()))
                if case .refused(let reason) = await metrics.send(message) { metrics.drop(1, reason) }
            }
        }
    }

    /// Ends the export. Spans that wait are sent once more, for two seconds at most each batch.
    func stop() async {
        await work.stop()
        await traces?.stop()
    }

    private static func nanoseconds(_ time: Timestamp) -> UInt64 { UInt64(max(time.millisecondsSince1970, 0)) * 1_000_000 }
}
