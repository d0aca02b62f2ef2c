import CloudKit

/// `nacre keys recovery`
enum KeysRecovery {
    private static let replace = Option.flag("replace", "Make another recovery key; the words before are of no use then.")

    static let command = Command(
        "recovery", "Show the 24 words that open the account's encrypted values without a device, once.",
        discussion: """
            Write them down. The device that began the account has them until they are shown. Whoever has them and the user's sign-in has all \
            encrypted values. Below them stands the fingerprint of the account that they are of. \(KeysCommands.credentials)
            """,
        options: [replace] + KeysCommands.options
    ) { call in
        try await KeysCommands.with(call) { keys in
            let isNew = call.has(replace)
            let note = isNew ? try await keys.replaceRecovery() : try await keys.recoveryWords()
            if call.has(SharedOptions.json) { try Output.json(note) } else { for line in note.lines { try Output.data(line) } }
            if !isNew { try await keys.forgetRecoveryWords() }
            Output.message("These words are shown once. Write them down, and keep them where no device is.")
        }
    }
}

extension UserKeys.RecoveryNote {
    /// Rows of six numbered words, then the fingerprint.
    fileprivate var lines: [String] {
        let numbered = words.enumerated().map { "\($0.offset + 1) \($0.element)" }
        let rows = stride(from: 0, to: numbered.count, by: 6).map { numbered[$0..<min($0 + 6, numbered.count)].joined(separator: "  ") }
        return rows + ["fingerprint \(fingerprint)"]
    }
}

/// `nacre keys reset`
enum KeysReset {
    private static let recovery = Option.flag("recovery", "Sign with the 24 recovery words, on a device without keys.")

    static let command = Command(
        "reset", "End the account's keys and begin new ones on this device. All encrypted values are lost.",
        discussion: """
            Asks for the container's name. The server then ends each zone that has keys, with all its records, and apps are told that its encrypted \
            data was reset; the default zone stays, and its encrypted values cannot be opened. Other devices have no keys until they are enrolled. \
            With --recovery the 24 words are read from standard input first. \(KeysCommands.credentials)
            """,
        options: [recovery] + KeysCommands.options
    ) { call in
        try await KeysCommands.with(call) { keys in
            let words = call.has(recovery) ? try await TypedLine.words() : nil
            let name = KeysCommands.named(call).containerIdentifier ?? ""
            guard try await TypedLine.ask("All encrypted values of the account in \(name) will be lost. Type the container's name:") == name else {
                throw CommandFailure(.failure, "nothing was reset")
            }
            try await keys.reset(words: words)
            let fingerprint = try await keys.fingerprint()
            if call.has(SharedOptions.json) { return try Output.json(fingerprint) }
            Output.message("Apps see the zones that had keys as reset, and save their data anew. Run 'nacre keys recovery' for the new words.")
        }
    }
}
