import NacreCloudServer

/// `nacre rate`
enum RateCommands {
    static let command = Command(
        "rate", "Say how much work users and containers may have done.",
        discussion: """
            In units of about ten microseconds a second, as for nacre serve --request-rate: one for a request, one for each record that it names, and one for \
            each thousand bytes that it sends, is sent or has looked at. Addresses and API tokens keep to the server's rate in any case.
            """,
        subcommands: [RateShow.command, RateSet.command])

    fileprivate static let user = Option.value(
        "user", "units", "What each user of the container may have done a second; none; or server, for what the server has for all.")
    fileprivate static let all = Option.value("all", "units", "What all who use the container may have done together, likewise.")

    /// Returns what an option sets: a rate in units, or that the container uses the server's rate again.
    fileprivate static func choice(_ option: Option, _ call: Call) throws -> (rate: Int?, resets: Bool?) {
        switch call.value(option) {
        case nil: return (nil, nil)
        case "none": return (0, nil)
        case "server": return (nil, true)
        case let text?:
            guard let rate = Int(text), (1...AdminMessages.largestRate).contains(rate) else {
                throw UsageError(.invalid("--\(option.name)", "give a number of units a second, none or server"), path: call.path)
            }
            return (rate, nil)
        }
    }
}

/// `nacre rate show`
enum RateShow {
    static let command = Command(
        "show", "Show the rates of a container.",
        discussion: "A line for user and one for all: units a second or none, and whether that is the container's own or the server's.",
        options: [SharedOptions.container] + AdminServer.options + [SharedOptions.json]
    ) { call in
        try await AdminClient.connect(call).rates(of: try call.require(SharedOptions.container)).show(call)
    }
}

/// `nacre rate set`
enum RateSet {
    static let command = Command(
        "set", "Set the rates of a container.",
        discussion: "It counts within five seconds, in all environments. What is not given stays. Prints what holds now.",
        options: [SharedOptions.container, RateCommands.user, RateCommands.all] + AdminServer.options + [SharedOptions.json]
    ) { call in
        guard call.isGiven(RateCommands.user) || call.isGiven(RateCommands.all) else {
            throw UsageError(.missingOption(RateCommands.user.spelling), path: call.path)
        }
        let (user, all) = (try RateCommands.choice(RateCommands.user, call), try RateCommands.choice(RateCommands.all, call))
        let rates = try await AdminClient.connect(call).set(
            AdminMessages.NewRates(
                container: try call.require(SharedOptions.container), userRate: user.rate, containerRate: all.rate, resetsUserRate: user.resets,
                resetsContainerRate: all.resets))
        try rates.show(call)
    }
}

extension AdminMessages.Rates {
    fileprivate func show(_ call: Call) throws {
        if call.has(SharedOptions.json) { return try Output.json(self) }
        for (name, rate, isOwn) in [("user", userRate, isUserRateOwn), ("all", containerRate, isContainerRateOwn)] {
            try Output.data("\(name) \(rate > 0 ? String(rate) : "none") \(isOwn ? "own" : "server")")
        }
    }
}
