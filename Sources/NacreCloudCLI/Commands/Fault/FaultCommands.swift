import NacreCloudServer

/// `nacre fault`
enum FaultCommands {
    static let command = Command(
        "fault", "Order failures of an emulator, for tests of apps.",
        discussion: """
            For nacre serve --emulator and nacre exec. To each request at most one fault happens: that which was ordered first. What CloudKitTesting does in \
            a test's process, this does over the network.
            """,
        subcommands: [FaultAdd.command, FaultList.command, FaultClear.command])
}

/// `nacre fault add`
enum FaultAdd {
    private static let fault = Argument("fault", "One of \(AdminMessages.FaultKind.allCases.map(\.rawValue).joined(separator: ", ")).")
    private static let count = Option.value("count", "number", fallback: "1", "How many requests it happens to; repetitions count.")
    private static let request = Option.value(
        "request", "kind", oneOf: AdminMessages.faultableRequests, "The requests that it happens to; by default any.")
    private static let user = Option.value("user", "email", "Only to this user's requests.")
    private static let zone = Option.value("zone", "name", "Only to requests that name this zone.")
    private static let record = Option.value(
        "record", "name", "This record fails, and not the whole request; may be given several times.")
    private static let retryAfter = Option.value("retry-after", "seconds", "After how many seconds the app may ask again; by default one.")
    private static let seconds = Option.value("seconds", "seconds", "How long a latency is.")

    static let command = Command(
        "add", "Let the next requests fail.",
        discussion: "  nacre fault add requestRateLimited --count 3 --request modifyRecords --zone Notes --retry-after 2",
        arguments: [fault], options: [count, request, user, zone, record, retryAfter, seconds] + AdminServer.options + [SharedOptions.json]
    ) { call in
        let records = call.all(record)
        let asked = AdminMessages.NewFault(
            fault: try call.require(fault), request: call.value(request), count: try whole(count, call), user: call.value(user),
            zone: call.value(zone), records: records.isEmpty ? nil : records, retryAfter: try whole(retryAfter, call),
            seconds: try call.value(seconds).map { text in
                guard let number = Double(text) else { throw UsageError(.invalid("--\(seconds.name)", "give a number of seconds"), path: call.path) }
                return number
            })
        try await AdminClient.connect(call).add(asked).show(call)
    }

    private static func whole(_ option: Option, _ call: Call) throws -> Int? {
        try call.value(option).map { text in
            guard let number = Int(text) else { throw UsageError(.invalid("--\(option.name)", "give a whole number"), path: call.path) }
            return number
        }
    }
}

/// `nacre fault list`
enum FaultList {
    static let command = Command(
        "list", "Show what was ordered and has not happened.", options: AdminServer.options + [SharedOptions.json]
    ) { call in
        try await AdminClient.connect(call).faults().show(call)
    }
}

/// `nacre fault clear`
enum FaultClear {
    static let command = Command(
        "clear", "Take back what was ordered and has not happened, and show it.", options: AdminServer.options + [SharedOptions.json]
    ) { call in
        try await AdminClient.connect(call).clearFaults().show(call)
    }
}

extension AdminMessages.Faults {
    fileprivate func show(_ call: Call) throws {
        if call.has(SharedOptions.json) { return try Output.json(self) }
        for fault in faults { try Output.data(Output.withoutControls(fault)) }
    }
}
