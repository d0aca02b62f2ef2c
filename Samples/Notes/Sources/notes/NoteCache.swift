import CloudKit

/// The cache of this device in an SQLite file: entries, and the state of the sync engine, which belongs to them.
struct NoteCache {
    private let database: Database

    init(path: String) throws {
        database = try Database(path: path)
        try database.run(
            """
            CREATE TABLE IF NOT EXISTS entry(
                name TEXT PRIMARY KEY, kind TEXT NOT NULL, title TEXT NOT NULL, text TEXT NOT NULL, folder TEXT,
                system BLOB, unsent INTEGER NOT NULL, gone INTEGER NOT NULL)
            """)
        try database.run("CREATE TABLE IF NOT EXISTS state(id INTEGER PRIMARY KEY CHECK (id = 1), bytes BLOB NOT NULL)")
    }

    // MARK: Entries

    /// Returns visible entries by title: all folders, or the notes of a folder.
    func entries(in folder: String?) throws -> [Entry] {
        try select("WHERE gone = 0 AND folder IS ? ORDER BY title, name", Database.Value(folder))
    }

    func entry(named name: String) throws -> Entry? { try select("WHERE name = ?", .text(name)).first }
    func entry(titled title: String, _ kind: Entry.Kind) throws -> Entry? {
        try select("WHERE gone = 0 AND title = ? AND kind = ? ORDER BY name", .text(title), .text(kind.rawValue)).first
    }

    /// Returns entries changed or deleted here and not sent yet: folders first, as notes refer to them.
    func unsent() throws -> [Entry] { try select("WHERE unsent = 1 ORDER BY kind, name") }

    func put(_ entry: Entry) throws {
        try database.run(
            "INSERT OR REPLACE INTO entry VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [
                .text(entry.name), .text(entry.kind.rawValue), .text(entry.title), .text(entry.text), .init(entry.folder), .init(entry.systemFields),
                .init(entry.isUnsent), .init(entry.isGone),
            ])
    }

    /// Removes an entry, and the notes in it.
    func remove(_ name: String) throws { try database.run("DELETE FROM entry WHERE name = ?1 OR folder = ?1", [.text(name)]) }
    func removeAll() throws { try database.run("DELETE FROM entry") }

    /// Marks all entries as unsent, once the server has lost them.
    func forgetServer() throws { try database.run("UPDATE entry SET system = NULL, unsent = 1") }

    private func select(_ rest: String, _ values: Database.Value...) throws -> [Entry] {
        try database.run(
            "SELECT name, kind, title, text, folder, system, unsent, gone FROM entry \(rest)", values
        ).compactMap { row in
            guard let name = row[0].text, let kind = row[1].text.flatMap(Entry.Kind.init), let title = row[2].text else { return nil }
            return Entry(
                name: name, kind: kind, title: title, text: row[3].text ?? "", folder: row[4].text, systemFields: row[5].blob,
                isUnsent: row[6].isTrue, isGone: row[7].isTrue)
        }
    }

    // MARK: The engine's state

    func state() throws -> CKSyncEngine.State.Serialization? {
        guard let bytes = try database.run("SELECT bytes FROM state").first?[0].blob else { return nil }
        return try JSONDecoder().decode(CKSyncEngine.State.Serialization.self, from: bytes)
    }

    func keep(_ state: CKSyncEngine.State.Serialization) throws {
        try database.run("INSERT OR REPLACE INTO state VALUES (1, ?)", [.blob(try JSONEncoder().encode(state))])
    }
}
