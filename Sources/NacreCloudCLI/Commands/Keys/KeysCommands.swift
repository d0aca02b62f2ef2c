import CloudKit

/// `nacre keys`
enum KeysCommands {
    static let command = Command(
        "keys", "Look after the keys of a user's encrypted values on this device, which no server has.",
        discussion: """
            The device is this machine's user: apps have their keys in the same folder, nacre/keys under XDG_DATA_HOME or ~/.local/share. \(credentials)
            """,
        subcommands: [
            KeysStatus.command, KeysDevices.command, KeysRemove.command, KeysReseal.command, KeysPlain.command, KeysFingerprint.command,
            KeysEnrol.command, KeysApprove.command, KeysRecovery.command, KeysReset.command, KeysTrustTree.command,
        ])

    static let credentials = #"Takes server, environment and account token from the variables of an app: eval "$(nacre env)"."#
    private static let container = Option.value("container", "name", "The container; by default that of CLOUDKIT_CONTAINER.")
    static let options = [container, SharedOptions.json]

    static func named(_ call: Call) -> CKContainer {
        call.value(container).map { CKContainer(identifier: $0) } ?? .default()
    }

    /// Runs the body of a command with the user's keys.
    static func with(_ call: Call, _ body: (UserKeys) async throws -> Void) async throws {
        do {
            try await body(try await named(call).userKeys())
        } catch let error as CKError {
            throw CommandFailure(error)
        }
    }
}

/// `nacre keys status`
private enum KeysStatus {
    private struct Answer: Encodable {
        let status: UserKeys.Status
        /// nil: they were not counted.
        let plainFiles: PlainCount?

        private enum CodingKeys: CodingKey { case plainFiles }

        func encode(to encoder: any Encoder) throws {
            try status.encode(to: encoder)
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encodeIfPresent(plainFiles, forKey: .plainFiles)
        }
    }

    static let command = Command(
        "status", "Say whether the account and this device have keys, and what to do next.",
        discussion: """
            On a device with the account's keys it also counts the files that the server can read, in 50 pages of records at most: nacre keys plain \
            lists all. \(KeysCommands.credentials)
            """,
        options: KeysCommands.options
    ) { call in
        try await KeysCommands.with(call) { keys in
            let status = try await keys.status()
            let plain = await plainFiles(status, keys)
            if call.has(SharedOptions.json) { return try Output.json(Answer(status: status, plainFiles: plain)) }
            for line in status.lines(plain) { try Output.data(line) }
        }
    }

    /// Counts the plain files of an account that is open here. The status is told also where they cannot be counted.
    private static func plainFiles(_ status: UserKeys.Status, _ keys: UserKeys) async -> PlainCount? {
        guard status.keys == .here else { return nil }
        do {
            return try await keys.countPlainFiles()
        } catch {
            Output.message("Plain files were not counted: \(error)")
            return nil
        }
    }
}

extension UserKeys.Status {
    /// - Parameter plain: the number of plain files; nil: they were not counted.
    fileprivate func lines(_ plain: PlainCount? = nil) -> [String] {
        let keys =
            switch self.keys {
            case .none: "the account has none"
            case .ended: "were reset; this device begins the next ones"
            case .here: "this device has the account's"
            case .elsewhere: "other devices have the account's, and this one has none"
            case .removed: "this device had the account's, and was removed"
            case .doubted: "the server shows another tree of logs than this device has seen"
            }
        var lines = ["account\t\(user) in \(container), \(environment)", "keys\t\(keys)"]
        if let generation { lines += ["generation\t\(generation)", "devices\t\(devices)"] }
        if self.keys == .here { lines.append("recovery words\t\(hasUnseenWords ? "not shown yet" : "not on this device")") }
        if !zones.isEmpty { lines.append("zones\t\(zones.map(Output.withoutControls).joined(separator: ", "))") }
        if let plain {
            let list = plain.files > 0 ? "; nacre keys plain lists them" : ""
            lines.append("plain files\t\(plain.isWhole ? "" : "at least ")\(plain.files)\(list)")
        }
        if let tree {
            lines.append("tree of logs\t\(tree.isProof ? "the server has signed two of one size" : "not shown to extend the one that was seen")")
            lines += ["seen\t\(tree.seen)", "shown\t\(tree.shown)"]
        }
        return lines + ["next\t\(next)"]
    }
}

/// `nacre keys devices`
private enum KeysDevices {
    private struct Answer: Encodable {
        var devices: [UserKeys.Device]
    }

    static let command = Command(
        "devices", "List the devices that open the account's encrypted values.",
        discussion:
            "Each line has the ID, the number of the statement of the account's log that added the device, and whether it is this one. "
            + KeysCommands.credentials,
        options: KeysCommands.options
    ) { call in
        try await KeysCommands.with(call) { keys in
            let devices = try await keys.devices()
            if call.has(SharedOptions.json) { return try Output.json(Answer(devices: devices)) }
            for device in devices { try Output.data("\(device.id)\t\(device.statement)" + (device.isThis ? "\tthis device" : "")) }
        }
    }
}

/// `nacre keys remove`
private enum KeysRemove {
    private struct Answer: Encodable {
        var removed: String
        /// The zones that have another key now.
        var renewed: [String]
    }

    private static let device = Argument("device", "The device, by its ID as nacre keys devices prints it.")

    static let command = Command(
        "remove", "Remove a device: it opens nothing that is saved from now on.",
        discussion: """
            Other devices get the next account key. Zones with keys get another one at once, or at their next save where that fails. What the device \
            has opened it may keep. Its sign-in stays: nacre session revoke ends that. \(KeysCommands.credentials)
            """,
        arguments: [device], options: KeysCommands.options
    ) { call in
        try await KeysCommands.with(call) { keys in
            let id = try call.require(device)
            let renewed = try await keys.remove(id)
            if call.has(SharedOptions.json) { return try Output.json(Answer(removed: id, renewed: renewed)) }
            Output.message("Removed. Zones with another key: \(renewed.count)")
        }
    }
}

/// `nacre keys reseal`
private enum KeysReseal {
    private struct Answer: Encodable {
        var zones: [SealedAnew]
    }

    private static let zone = Argument("zone", "The name of a zone; by default all of the user's own.", isRequired: false)

    static let command = Command(
        "reseal", "Seal values anew that removed participants and devices may open still.",
        discussion: """
            Reads the zones that have older keys, and saves their records and files anew under the newest one; then the older ones count no more. \
            Apps do so by themselves, in the background. Apps meet the records as changed. May be interrupted and begun again. Each line has the \
            zone, the records sealed anew, and those that could not be. \(KeysCommands.credentials)
            """,
        arguments: [zone], options: KeysCommands.options
    ) { call in
        try await KeysCommands.with(call) { keys in
            let zones = try await keys.sealAnew(zone: call.arguments.first)
            if call.has(SharedOptions.json) { return try Output.json(Answer(zones: zones)) }
            for zone in zones { try Output.data("\(Output.withoutControls(zone.zone))\t\(zone.records)\t\(zone.left)") }
            if zones.isEmpty { Output.message("No zone has older keys.") }
        }
    }
}

/// `nacre keys plain`
private enum KeysPlain {
    private struct Answer: Encodable {
        var plain: [PlainFiles]
    }

    private static let zone = Argument("zone", "The name of a zone; by default all of the user's own.", isRequired: false)

    static let command = Command(
        "plain", "List the files of records that the server can read.",
        discussion: """
            These are the files from before the account had keys, those that another program has sent, and those of records that do not verify. The \
            next save that puts the file into its field again seals it. The default zone is left out. Each line has the zone, the record, the field, \
            the number of files, and their bytes. \(KeysCommands.credentials)
            """,
        arguments: [zone], options: KeysCommands.options
    ) { call in
        try await KeysCommands.with(call) { keys in
            var (files, all): (Int, [PlainFiles]) = (0, [])
            let isJSON = call.has(SharedOptions.json)
            try await keys.plainFiles(zone: call.arguments.first) { page in
                files += page.count
                if isJSON { all += page }
                for one in page where !isJSON {
                    let names = [one.zone, one.record, one.field].map(Output.withoutControls).joined(separator: "\t")
                    try Output.data("\(names)\t\(one.files)\t\(one.bytes)")
                }
            }
            if isJSON { return try Output.json(Answer(plain: all)) }
            if files == 0 { Output.message("No file outside of the default zone is plain.") }
        }
    }
}

/// `nacre keys fingerprint`
private enum KeysFingerprint {
    private static let user = Argument("user", "A user record name; by default that of the account.", isRequired: false)

    static let command = Command(
        "fingerprint", "Print the fingerprint of an account, for two people or two devices to compare.",
        discussion: """
            The fingerprint stays until the account is reset. The head is the newest statement of the account's log: two devices that see the same \
            fingerprint and the same head see the same devices. \(KeysCommands.credentials)
            """,
        arguments: [user], options: KeysCommands.options
    ) { call in
        try await KeysCommands.with(call) { keys in
            let found = try await keys.fingerprint(of: call.arguments.first)
            if call.has(SharedOptions.json) { return try Output.json(found) }
            try Output.data("fingerprint\t\(found.fingerprint)")
            try Output.data("head\t\(found.statement): \(found.head)")
            if !found.isEnrolled { Output.message("This is what the server shows: compare it with a device of the account.") }
        }
    }
}

/// `nacre keys trust-tree`
private enum KeysTrustTree {
    static let command = Command(
        "trust-tree", "Take the tree of logs that the server shows now, in the place of the one that this device has seen.",
        discussion: """
            For a server that was put back from a backup, as its operator has told you. Any other server that shows another tree lies to some of its \
            users: nacre keys status prints what it has signed. Asks for the container's name. This device then forgets what it has seen of devices, \
            of zones' keys and of other users' accounts, and takes what the server shows: compare nacre keys fingerprint again, on your devices and \
            with the people with whom you share. Prints the status. If the backup is older than the account's keys, the next save of an encrypted \
            value makes new ones; if it is older than this device's, enrol the device again. \(KeysCommands.credentials)
            """,
        options: KeysCommands.options
    ) { call in
        try await KeysCommands.with(call) { keys in
            let name = KeysCommands.named(call).containerIdentifier ?? ""
            let question = "The server can then show older keys, devices and accounts in \(name) than this device has seen. "
            guard try await TypedLine.ask(question + "Type the container's name:") == name else {
                throw CommandFailure(.failure, "nothing was forgotten")
            }
            try await keys.trustTree()
            let status = try await keys.status()
            if call.has(SharedOptions.json) { return try Output.json(status) }
            for line in status.lines() { try Output.data(line) }
        }
    }
}
