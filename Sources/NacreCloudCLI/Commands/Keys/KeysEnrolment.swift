import CloudKit

/// `nacre keys enrol`
enum KeysEnrol {
    private static let recovery = Option.flag("recovery", "Use the 24 recovery words.")

    static let command = Command(
        "enrol", "Give this device the keys of the account.",
        discussion: """
            Waits ten minutes at most for nacre keys approve on a device that has keys. Both show a code; type in on each what the other shows. With \
            --recovery the 24 words are read from standard input. \(KeysCommands.credentials)
            """,
        options: [recovery] + KeysCommands.options
    ) { call in
        try await KeysCommands.with(call) { keys in
            if call.has(recovery) {
                try await keys.enrol(words: try await TypedLine.words())
            } else {
                try await keys.enrol { name in
                    Output.error("This device waits as \(name). Run 'nacre keys approve' on a device that has keys.")
                } compare: { code in
                    try await TypedLine.ask(code: code)
                }
            }
            let fingerprint = try await keys.fingerprint()
            if call.has(SharedOptions.json) { return try Output.json(fingerprint) }
            Output.message("This device has the account's keys. Its fingerprint is \(fingerprint.fingerprint).")
        }
    }
}

/// `nacre keys approve`
enum KeysApprove {
    private struct Answer: Encodable {
        var added: String
    }

    private static let device = Argument("device", "The device that waits, by the name that it shows.", isRequired: false)

    static let command = Command(
        "approve", "Give a device that waits in nacre keys enrol the keys of the account.",
        discussion: """
            Asks whether the device is yours; then both show a code. Type in on each what the other shows. Another code means that somebody is in \
            between: nothing is added then. \(KeysCommands.credentials)
            """,
        arguments: [device], options: KeysCommands.options
    ) { call in
        try await KeysCommands.with(call) { keys in
            let device = try chosen(try await keys.waiting(), call)
            guard try await TypedLine.ask("Does a device of yours show that it waits as \(device.name)? Type yes:") == "yes" else {
                throw CommandFailure(.failure, "nothing was added")
            }
            let added = try await keys.approve(device) { code in try await TypedLine.ask(code: code) }
            if call.has(SharedOptions.json) { return try Output.json(Answer(added: added)) }
            Output.message("Added \(added).")
        }
    }

    private static func chosen(_ waiting: [UserKeys.Waiting], _ call: Call) throws -> UserKeys.Waiting {
        let named = call.arguments.first.map { name in waiting.filter { $0.name == name } } ?? waiting
        if let device = named.first, named.count == 1 { return device }
        let names = waiting.map(\.name).joined(separator: ", ")
        throw CommandFailure(
            .failure, names.isEmpty ? "no device waits" : "these devices wait: \(names)",
            remedy: names.isEmpty ? "Run nacre keys enrol on the new device first." : "Name yours: nacre keys approve DEVICE.")
    }
}
