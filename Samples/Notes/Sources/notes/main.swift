import CloudKit

do {
    let container = CKContainer.default()
    let sync = try NoteSync(container, cache: ProcessInfo.processInfo.environment["NOTES_CACHE"] ?? "notes.db")
    // `print` would buffer lines in a pipe.
    let say = { (line: String) in FileHandle.standardOutput.write(Data("\(line)\n".utf8)) }
    try await NoteCommand(sync: sync, container: container, say: say).run(Array(CommandLine.arguments.dropFirst()))
} catch {
    FileHandle.standardError.write(Data("notes: \(error)\n".utf8))
    exit(1)
}
