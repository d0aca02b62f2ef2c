import NacreHTTPClient
import NacreLocks

/// Time that passes only when a test advances it.
final class ManualClock: Sendable {
    private let time = Locked(Duration.seconds(1000))

    var clock: TransferClock { TransferClock { [time] in time.withLock { $0 } } }

    func advance(_ duration: Duration, for client: HTTPClient) {
        time.withLock { $0 += duration }
        client.lookAtClock()
    }
}

extension HTTPClient {
    /// Returns the failure of a request; nil when it has an answer.
    func failure(_ request: Request) async -> Failure? {
        do {
            _ = try await send(request)
            return nil
        } catch {
            return error
        }
    }

    /// Returns when the client has this many transfers and this many waiting ones.
    func reaches(running: Int, queued: Int = 0) async {
        while true {
            let census = await census()
            if census.running == running && census.queued == queued { return }
            await Task.yield()
        }
    }
}
