import NacreCloudContainer
import NacreCloudStorage
import NacreTelemetry

/// The parts of a server that note what it does: the metrics, the sums of telemetry, the request log, the sender to an
/// OpenTelemetry collector, and the alerts.
struct Observation: Sendable {
    let telemetry: Telemetry
    let recorder: TelemetryRecorder
    /// The request log; nil if it is turned off.
    let recorded: RecordedRequests?
    /// nil without a collector.
    let openTelemetry: OpenTelemetry?
    let alerts: AlertWatch
    private let recording = BackgroundWork()

    init(
        telemetry: Telemetry, recorder: TelemetryRecorder, recorded: RecordedRequests?, openTelemetry: OpenTelemetry?, alerts: AlertWatch
    ) {
        (self.telemetry, self.recorder, self.recorded) = (telemetry, recorder, recorded)
        (self.openTelemetry, self.alerts) = (openTelemetry, alerts)
    }

    /// The observers of finished requests.
    var observers: [any RequestObserver] {
        var observers: [any RequestObserver] = [RequestMetrics(telemetry), recorder]
        if let recorded { observers.append(RequestRecorder(log: recorded.log, pseudonyms: recorded.pseudonyms)) }
        if let traces = openTelemetry?.traces { observers.append(traces) }
        return observers
    }

    func start(_ cloud: Cloud, _ metrics: Metrics) {
        recording.start { [recorder] in await recorder.run { try await StorageCensus(cloud: cloud, recorder: recorder).take() } }
        openTelemetry?.start { await metrics.refresh() }
    }

    /// Writes what is in memory, and ends. The server answers no request any more.
    func stop() async {
        await recording.stop()
        await recorder.close()
        await recorded?.log.close()
        await openTelemetry?.stop()
    }
}
