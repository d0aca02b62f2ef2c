package import NacreCloudAccounts
import NacreCloudStorage
package import NacreCloudWire

/// Alert rules, their states and their silences, kept under the names of rules.
extension Registry {
    /// The rules that the operator gave, in the order of their names.
    package func alertRules() async throws -> [AlertRule] { try await alertEntries(AlertRule.self).map(\.entry) }

    /// states[rule]
    package func alertStates() async throws -> [String: AlertState] { try await byRule(AlertState.self) }

    /// silences[rule]: those that are not over.
    package func alertSilences() async throws -> [String: AlertSilence] {
        let now = clock()
        return try await byRule(AlertSilence.self).filter { $0.value.isHeld(at: now) }
    }

    /// Adds a rule, or puts it in the place of the one of its name.
    /// - Returns: whether there was none of its name.
    package func set(_ rule: AlertRule) async throws -> Bool {
        try await write(.server) { database, now, transaction in
            let isNew = try transaction.entry(AlertRule.self, rule.name, in: database, at: now) == nil
            if isNew, try transaction.entries(in: database, .alertRule, after: nil, limit: Limits.alertRules).count >= Limits.alertRules {
                throw ServerError.tooManyAlertRules
            }
            try transaction.put([try rule.row(rule.name, in: database)])
            return .commit(isNew)
        }
    }

    /// Removes a rule with its silence.
    /// - Returns: nil: there is none of that name.
    package func removeAlertRule(_ name: String) async throws -> AlertRule? {
        try await write(.server) { database, now, transaction in
            guard let rule = try transaction.entry(AlertRule.self, name, in: database, at: now) else { return .rollback(nil) }
            try transaction.remove([EntryKey(database, .alertRule, name), EntryKey(database, .alertSilence, name)])
            return .commit(rule)
        }
    }

    /// Sets the silence of a rule; nil ends it.
    package func setAlertSilence(_ silence: AlertSilence?, of name: String) async throws {
        try await write(.server) { database, _, transaction in
            if let silence {
                let row = try silence.row(name, in: database, expires: Timestamp(secondsSince2001: silence.until))
                try transaction.put([row])
            } else {
                try transaction.remove([EntryKey(database, .alertSilence, name)])
            }
            return .commit(())
        }
    }

    /// The messages that are still to be sent.
    package func untoldAlerts() async throws -> UntoldAlerts { try await alertEntries(UntoldAlerts.self).first?.entry ?? UntoldAlerts() }

    /// Keeps the states of rules; one that is fine, or nil, is removed.
    /// - Parameter untold: all messages that are still to be sent; nil: those that are kept.
    package func keepAlertStates(_ states: [String: AlertState?], untold: UntoldAlerts? = nil) async throws {
        try await write(.server) { database, _, transaction in
            var plan = WritePlan()
            for (name, state) in states.sorted(by: { $0.key < $1.key }) {
                if let state, state.phase != .fine {
                    plan.entries.append(try state.row(name, in: database))
                } else {
                    plan.entriesRemoved.append(EntryKey(database, .alertState, name))
                }
            }
            if let untold, !untold.deliveries.isEmpty {
                plan.entries.append(try untold.row(UntoldAlerts.key, in: database))
            } else if untold != nil {
                plan.entriesRemoved.append(EntryKey(database, .untoldAlerts, UntoldAlerts.key))
            }
            try transaction.apply(plan)
            return .commit(())
        }
    }

    private func byRule<Entry: RegistryEntry>(_ type: Entry.Type) async throws -> [String: Entry] {
        Dictionary(try await alertEntries(type).map { ($0.rule, $0.entry) }, uniquingKeysWith: { first, _ in first })
    }

    private func alertEntries<Entry: RegistryEntry>(_ type: Entry.Type) async throws -> [(rule: String, entry: Entry)] {
        let database = try await databaseID(Part.server.key)
        let rows = try await stored { try await self.store.read { try $0.allEntries(Entry.kind, in: database) } }
        return try rows.map { ($0.key.key, try Entry($0)) }
    }
}

extension ServerError {
    package static let tooManyAlertRules = ServerError(
        .badRequest, "there are as many alert rules as there may be (\(Limits.alertRules))", field: "name",
        remedy: "Remove one that is not needed: nacre alert remove.")

    package static func noAlertRule(_ name: String) -> ServerError {
        ServerError(.notFound, "no such alert rule", field: "name", remedy: "See the names: nacre alert list.")
    }
}
