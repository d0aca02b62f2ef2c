import CloudKit
import Foundation

/// The files of a device, which outlive its process: its notes with the engine's state, and a journal for the driver.
struct Disk {
    /// The notes and the engine's state. They are written together.
    struct Kept: Codable {
        var launches = 0
        /// notes["zone/record name"].
        var notes: [String: Note] = [:]
        var state: CKSyncEngine.State.Serialization?
    }

    /// A line of the journal: a fact that must still be true at the end, or a broken promise.
    struct Fact: Encodable {
        enum Kind: String, Encodable {
            /// The server has acknowledged a save with this content.
            case saved
            /// The device is about to delete a note.
            case deletes
            /// The server has acknowledged a deletion.
            case deleted
            /// The server has acknowledged the deletion of a zone.
            case zoneDeleted
            /// A call returned this many seconds after it was cancelled.
            case cancelled
            /// The engine has broken a promise.
            case fault
        }

        var kind: Kind
        var key = ""
        var content = Note.Content()
        /// Seconds since 1970, by the server's clock in saves; seconds of a cancelled call.
        var seconds = 0.0
        var text = ""
    }

    private let notes: URL
    private let journal: FileHandle

    init(_ folder: URL) throws {
        notes = folder.appending(path: "notes.json")
        let path = folder.appending(path: "journal")
        if !FileManager.default.fileExists(atPath: path.path) { try Data().write(to: path) }
        journal = try FileHandle(forWritingTo: path)
        try journal.seekToEnd()
    }

    func read() throws -> Kept {
        guard FileManager.default.fileExists(atPath: notes.path) else { return Kept() }
        return try JSONDecoder().decode(Kept.self, from: try Data(contentsOf: notes))
    }

    func write(_ kept: Kept) throws {
        try JSONEncoder().encode(kept).write(to: notes, options: .atomic)
    }

    /// Writes a line that begins with its break, so that a line that a kill has torn takes no other along.
    func write(_ fact: Fact) throws {
        try journal.write(contentsOf: Data("\n".utf8) + (try JSONEncoder().encode(fact)))
    }
}
