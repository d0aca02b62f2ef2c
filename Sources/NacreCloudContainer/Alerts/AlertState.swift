import NacreCloudAccounts
package import NacreCloudStorage
package import NacreCloudWire

/// The value of a rule's measure at a time.
package enum AlertReading: Hashable, Sendable {
    case figure(Double)
    /// Too little was seen for a figure: the threshold is not met.
    case tooLittle
    /// The measure could not be read: nothing changes.
    case unknown
}

/// The news of an alert for the operator.
package enum AlertNews: String, Codable, Hashable, Sendable {
    case began
    case goesOn
    case ended
}

/// The state of a rule. The registry keeps it unless it is fine, so that a restart tells nothing twice.
package struct AlertState: RegistryEntry {
    package static let kind = EntryKind.alertState

    package enum Phase: String, Codable, Hashable, Sendable {
        case fine
        /// The threshold is met, and has not been for as long as the rule wants.
        case pending
        case firing
    }

    package var phase = Phase.fine
    /// The time since which the threshold is met, in seconds since 2001; nil if fine.
    package var since: Double?
    /// While it fires: the time since which the threshold is not met; nil: it is met.
    package var fineSince: Double?
    /// The time at which the alert was last told; nil: its beginning was not told yet.
    package var told: Double?

    package init() {}

    /// Seconds that an alert must be fine at least, if it is not far from its threshold, before it ends.
    static let calmSeconds: Double = 300
    /// The part of the threshold below which an alert ends at once.
    private static let clearPart = 0.9

    /// Returns the state after a reading, and what is told.
    ///
    /// An alert is told when it begins, again after each `repeatSeconds`, and when it ends. A silence keeps the first
    /// two back; an alert that goes on is told when the silence is over. An end is told if the beginning was.
    package func next(_ reading: AlertReading, of rule: AlertRule, isSilenced: Bool, at now: Timestamp) -> (state: AlertState, news: AlertNews?) {
        let time = now.secondsSince2001
        var next = self
        let isMet = Self.isMet(reading, rule)
        switch (phase, isMet) {
        case (_, nil): break
        case (.fine, true?): (next.phase, next.since) = (.pending, time)
        case (.pending, false?): next = AlertState()
        case (.firing, true?): next.fineSince = nil
        case (.firing, false?):
            next.fineSince = fineSince ?? time
            let calm = max(rule.holdSeconds, Self.calmSeconds)
            if Self.isClear(reading, rule) || time - (fineSince ?? time) >= calm { return (AlertState(), told == nil ? nil : .ended) }
        case (.fine, false?), (.pending, true?): break
        }
        if next.phase == .pending, time - (next.since ?? time) >= rule.holdSeconds { next.phase = .firing }
        guard next.phase == .firing, !isSilenced, told.map({ time - $0 >= rule.repeatSeconds }) ?? true else { return (next, nil) }
        next.told = time
        return (next, told == nil ? .began : .goesOn)
    }

    /// Whether a reading meets the threshold; nil: it does not say.
    private static func isMet(_ reading: AlertReading, _ rule: AlertRule) -> Bool? {
        switch reading {
        case .unknown: nil
        case .tooLittle: false
        case .figure(let figure): rule.measure.badSide == .below ? figure < rule.limit : figure >= rule.limit
        }
    }

    /// Whether a figure is far from the threshold.
    private static func isClear(_ reading: AlertReading, _ rule: AlertRule) -> Bool {
        guard case .figure(let figure) = reading else { return false }
        return rule.measure.badSide == .below ? figure >= rule.limit / clearPart : figure < rule.limit * clearPart
    }
}

/// Messages about alerts that a way of telling has not taken yet. The registry keeps them over a restart.
package struct UntoldAlerts: RegistryEntry {
    package static let kind = EntryKind.untoldAlerts
    static let key = "all"

    package struct Delivery: Codable, Hashable, Sendable {
        package var rule: String
        /// The message as the rule's webhook gets it.
        package var message: String
        /// The mail address that it goes to; nil: the rule's webhook.
        package var mail: String?

        package init(rule: String, message: String, mail: String?) {
            (self.rule, self.message, self.mail) = (rule, message, mail)
        }
    }

    package var deliveries: [Delivery] = []

    package init(_ deliveries: [Delivery] = []) { self.deliveries = deliveries }
}

/// A time for which a rule's alerts are not told.
package struct AlertSilence: RegistryEntry {
    package static let kind = EntryKind.alertSilence

    /// Seconds since 2001.
    package var until: Double
    /// The person who silenced it, and why.
    package var by: String
    package var why: String

    package init(until: Timestamp, by: String, why: String) {
        (self.until, self.by, self.why) = (until.secondsSince2001, by, why)
    }

    package func isHeld(at now: Timestamp) -> Bool { now.secondsSince2001 < until }
}
