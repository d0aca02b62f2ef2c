import CloudKit

do {
    try await PartyCommand(planner: PartyPlanner(CKContainer.default()), say: { print($0) }).run(Array(CommandLine.arguments.dropFirst()))
} catch {
    FileHandle.standardError.write(Data("party: \(error)\n".utf8))
    exit(1)
}
