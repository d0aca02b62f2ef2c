import NacreCloudServer

/// `nacre quota`
enum QuotaCommands {
    static let command = Command(
        "quota", "Say how much users and containers may store.",
        discussion: """
            What is in a private database counts against its user, what is in a public one against the container. A save that finds no room is refused; a \
            deletion, or a save that makes a record no larger, never is. What is stored now: nacre usage.
            """,
        subcommands: [QuotaShow.command, QuotaSet.command])
}

/// Quotas as options give them and tables show them.
enum QuotaOptions {
    fileprivate static let user = Option.value(
        "user", "size",
        "What each user's private database may hold: bytes, with K, M, G or T of 1024; none; or server, for what the server has for all."
    )
    fileprivate static let ofPublic = Option.value("public", "size", "What the public database may hold, likewise.")

    /// Returns the bytes of an option; nil where it is not given.
    static func bytes(_ option: Option, _ call: Call) throws -> Int? {
        guard let text = call.value(option) else { return nil }
        guard let bytes = Quantity.bytes(text), bytes <= AdminMessages.largestQuota else {
            throw UsageError(.invalid("--\(option.name)", "give a number of bytes, or one with K, M, G or T, such as 500M"), path: call.path)
        }
        return bytes
    }

    /// Returns what an option sets: a number of bytes, or that the container uses the server's quota again.
    fileprivate static func choice(_ option: Option, _ call: Call) throws -> (bytes: Int64?, resets: Bool?) {
        switch call.value(option) {
        case "none": (0, nil)
        case "server": (nil, true)
        default: (try bytes(option, call).map(Int64.init), nil)
        }
    }

    static func text(_ bytes: Int64?) -> String { bytes.flatMap { $0 > 0 ? String($0) : nil } ?? "none" }
}

/// `nacre quota show`
enum QuotaShow {
    static let command = Command(
        "show", "Show what the databases of a container may hold.",
        discussion: "A line for user and one for public: bytes or none, and whether that is the container's own or the server's.",
        options: [SharedOptions.container, SharedOptions.environment] + AdminServer.options + [SharedOptions.json]
    ) { call in
        let quotas = try await AdminClient.connect(call).quotas(
            of: try call.require(SharedOptions.container), try call.require(SharedOptions.environment))
        try quotas.show(call)
    }
}

/// `nacre quota set`
enum QuotaSet {
    static let command = Command(
        "set", "Set what the databases of a container may hold.",
        discussion:
            "It counts from the next request on, and what is stored stays, however much it is. What is not given stays. Prints what holds now.",
        options: [SharedOptions.container, SharedOptions.environment, QuotaOptions.user, QuotaOptions.ofPublic] + AdminServer.options
            + [SharedOptions.json]
    ) { call in
        guard call.isGiven(QuotaOptions.user) || call.isGiven(QuotaOptions.ofPublic) else {
            throw UsageError(.missingOption(QuotaOptions.user.spelling), path: call.path)
        }
        let (user, ofPublic) = (try QuotaOptions.choice(QuotaOptions.user, call), try QuotaOptions.choice(QuotaOptions.ofPublic, call))
        let quotas = try await AdminClient.connect(call).set(
            AdminMessages.NewQuotas(
                container: try call.require(SharedOptions.container), environment: try call.require(SharedOptions.environment),
                userBytes: user.bytes, publicBytes: ofPublic.bytes, resetsUserBytes: user.resets, resetsPublicBytes: ofPublic.resets))
        try quotas.show(call)
    }
}

extension AdminMessages.Quotas {
    fileprivate func show(_ call: Call) throws {
        if call.has(SharedOptions.json) { return try Output.json(self) }
        for (name, bytes, isOwn) in [("user", userBytes, isUserBytesOwn), ("public", publicBytes, isPublicBytesOwn)] {
            try Output.data("\(name) \(QuotaOptions.text(bytes)) \(isOwn ? "own" : "server")")
        }
    }
}
