import CloudKit
import CloudKitPush

/// Runs a command line: words in, lines out.
struct NoteCommand {
    static let usage = """
        notes add FOLDER TITLE TEXT
        notes list
        notes show TITLE
        notes edit TITLE TEXT
        notes delete TITLE
        notes delete-folder TITLE
        notes sync
        notes watch [COUNT]   what other devices change, as they change it; ends after so many changes
        """

    let sync: NoteSync
    let container: CKContainer
    let say: (String) -> Void

    func run(_ words: [String]) async throws {
        let rest = Array(words.dropFirst())
        switch (words.first, rest.count) {
        case ("add", 3): try await sync.add(rest[1], text: rest[2], toFolder: rest[0])
        case ("list", 0):
            for folder in try await sync.folders() {
                say(folder.title)
                for note in try await sync.notes(in: folder) { say("  \(note.title)\(note.isUnsent ? " (not sent)" : "")") }
            }
        case ("show", 1): say(try await sync.note(titled: rest[0]).text)
        case ("edit", 2): try await sync.edit(rest[0], text: rest[1])
        case ("delete", 1): try await sync.deleteNote(rest[0])
        case ("delete-folder", 1): try await sync.deleteFolder(rest[0])
        case ("sync", 0): for line in try await sync.sync() { say(line) }
        case ("watch", 0): try await watch(count: .max)
        case ("watch", 1):
            guard let count = Int(rest[0]), count > 0 else { throw NotesError.usage("COUNT is a whole number above 0") }
            try await watch(count: count)
        default: throw NotesError.usage(Self.usage)
        }
    }

    /// Syncs when the connection is made, since changes may have come before, and at each push.
    private func watch(count: Int) async throws {
        let (hints, hint) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let container = container
        let pushes = Task {
            let notifications = RemoteNotifications(for: container, onStateChange: { if case .connected = $0 { hint.yield() } })
            for await userInfo in notifications where CKNotification(fromRemoteNotificationDictionary: userInfo) != nil { hint.yield() }
            hint.finish()
        }
        defer { pushes.cancel() }
        var left = count
        for await _ in hints {
            for line in try await sync.sync() where left > 0 {
                say(line)
                left -= 1
            }
            if left == 0 { return }
        }
    }
}
