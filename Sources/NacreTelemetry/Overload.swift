import NacreLocks

/// The limits of a server that may be reached. A refused client gets 503 or 429. The log tells the operator.
package enum Overload: String, Sendable, CaseIterable {
    case requests
    case bodies
    case answers
    case connections
    case waits
    case passwords
    case rates

    var message: StaticString {
        switch self {
        case .requests: "Requests are refused: too many are under way"
        case .bodies: "Requests are refused: the bodies that are being received fill their share of memory"
        case .answers: "Requests are refused: answers that are not being read fill their share of memory"
        case .connections: "Connections are short: those whose clients were awaited longest are closed"
        case .waits: "Requests are refused: one user waits for changes too many times at once"
        case .passwords: "Sign-ins are refused: too many passwords wait to be checked"
        case .rates: "Requests are refused: somebody asks for more work than the rate allows"
        }
    }

    var remedy: String {
        switch self {
        case .requests: "Look at nacre_http_request_duration_seconds: a slow disk, or more clients than one machine serves."
        case .bodies: "The log at level info shows who sends: limit that address in the proxy, or revoke its token."
        case .answers: "The log at level info shows who asks: clients that do not read are closed soon; limit their address in the proxy."
        case .connections: "Raise the limit of descriptors (LimitNOFILE= of systemd, ulimit -Hn), or limit connections for each address in the proxy."
        case .waits: "A client opens more than one wait for each device; if it is yours, close the one before."
        case .rates: "The log at level info shows who asks. Where that is honest work, raise --request-rate."
        case .passwords: "Somebody guesses or everybody signs in at once: limit /account/1/sign-in for each address in the proxy."
        }
    }
}

extension MetricKey {
    package static let overloaded = MetricKey(
        "nacre_overloaded_total", help: "What was refused, or closed early, because something was full, by what was full.", label: "kind")
}

/// Reports to the operator that a limit is reached: at once, and then once a minute with a count while it goes on. Any
/// thread.
package final class OverloadLog: Sendable {
    /// Seconds between two lines of one kind.
    private static let secondsBetweenLines = 60

    private struct Told {
        var at: Int
        var since = 0
    }

    private let logger: Logger
    private let counters: [Overload: Counter]
    private let told = Locked<[Overload: Told]>([:])

    package init(_ logger: Logger, _ telemetry: Telemetry = Telemetry()) {
        self.logger = logger
        counters = Dictionary(uniqueKeysWithValues: Overload.allCases.map { ($0, telemetry.counter(.overloaded, $0.rawValue)) })
    }

    package static let silent = OverloadLog(.silent)

    package func report(_ kind: Overload, count: Int = 1) {
        counters[kind]?.add(UInt64(max(count, 0)))
        let now = logger.now().milliseconds / 1000
        let total = told.withLock { told -> Int? in
            if let last = told[kind], abs(now - last.at) < Self.secondsBetweenLines {
                told[kind]?.since += count
                return nil
            }
            defer { told[kind] = Told(at: now) }
            return (told[kind]?.since ?? 0) + count
        }
        guard let total else { return }
        logger.log(.notice, kind.message, [.count: .int(total), .remedy: .string(kind.remedy)])
    }
}
