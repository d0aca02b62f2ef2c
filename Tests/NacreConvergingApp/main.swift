import CloudKit
import Foundation

// An app with a `CKSyncEngine`, for `Scripts/soak/converge.py`, which tells it what its user does, a line of the
// standard input each, and kills it. `share` shares a zone with the second user, and prints the first user's name.

func fatal(_ text: String) -> Never {
    FileHandle.standardError.write(Data((text + "\n").utf8))
    exit(1)
}

func say(_ answer: some Encodable) throws {
    FileHandle.standardOutput.write(try JSONEncoder().encode(answer) + Data("\n".utf8))
}

/// Signs in, or signs out with nil. The server and the app's token are in the environment.
func signIn(_ token: String?) {
    let variables = ProcessInfo.processInfo.environment
    guard let url = variables["CONVERGING_SERVER"].flatMap(URL.init), let apiToken = variables["CONVERGING_API_TOKEN"] else {
        fatal("CONVERGING_SERVER and CONVERGING_API_TOKEN are not set")
    }
    CloudKitServer.configure(CloudKitServer(url: url, environment: .development, apiToken: apiToken, accountToken: token))
}

/// Shares the zone that stays, and accepts the share as the second user.
func share(by firstToken: String, with secondToken: String) async throws -> String {
    signIn(firstToken)
    let owner = CKContainer.default()
    let share = CKShare(recordZoneID: CKRecordZone.ID(zoneName: Device.steady))
    share.publicPermission = .readWrite
    for zone in [Device.steady, Device.reborn] { try await owner.privateCloudDatabase.save(CKRecordZone(zoneName: zone)) }
    guard let url = (try await owner.privateCloudDatabase.save(share) as? CKShare)?.url else { fatal("The share has no URL") }
    let name = try await owner.userRecordID().recordName
    signIn(secondToken)
    let metadata = try await CKContainer.default().shareMetadata(for: url)
    try await CKContainer.default().accept(metadata)
    return name
}

let arguments = Array(CommandLine.arguments.dropFirst())
switch arguments.first {
case "share" where arguments.count == 3: try say(await share(by: arguments[1], with: arguments[2]))
case "device" where arguments.count == 6:
    signIn(arguments[5] == "-" ? nil : arguments[5])
    let container = CKContainer.default()
    let owner = arguments[3] == "-" ? nil : arguments[3]
    let device = try Device(
        arguments[1], in: URL(fileURLWithPath: arguments[2]), owner == nil ? container.privateCloudDatabase : container.sharedCloudDatabase,
        owner: owner, isAtomic: arguments[4] == "atomic")
    let (lines, feed) = AsyncStream.makeStream(of: String.self)
    Thread.detachNewThread {
        while let line = readLine() { feed.yield(line) }
        feed.finish()
    }
    await device.start()
    for await line in lines {
        let words = line.split(separator: " ").map(String.init)
        switch (words.first, words.dropFirst().first) {
        case ("edit", let count?): await device.edit(Int(count) ?? 0, words.last.flatMap { UInt64($0) } ?? 0)
        case ("fetch", let name?): await device.call(name, sends: false)
        case ("send", let name?): await device.call(name, sends: true)
        case ("cancel", let name?): await device.cancel(name)
        case ("cancel-all", nil): await device.cancelAll()
        case ("remake", let zone?): await device.remake(zone)
        case ("report", let name?): try say(await device.report(name))
        case ("sign-in", let token?): signIn(token)
        case ("sign-out", nil): signIn(nil)
        default: fatal("An unknown line: \(line)")
        }
    }
default: fatal("share TOKEN TOKEN | device ID FOLDER OWNER|- atomic|loose TOKEN|-")
}
