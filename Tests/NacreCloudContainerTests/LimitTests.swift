import FoundationEssentials
import NacreCloudWire
import Testing

@testable import NacreCloudContainer
@testable import NacreCloudStorage

/// Tests that the table of limits equals the constants, which are read from their source.
@Suite struct LimitTests {
    private struct Defined: Hashable {
        var name: String
        var source: Limit.Source
    }

    private static let sources = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3).joined(separator: "/") + "/Sources/"

    private func text(of file: String) throws -> String {
        String(decoding: try Data(contentsOf: URL(filePath: Self.sources + file)), as: UTF8.self)
    }

    /// Returns the constants with the source that each one's comment names.
    private func defined() throws -> [Defined] {
        var comment = ""
        let files = ["NacreCloudWire/SharedLimits.swift", "NacreCloudStorage/Limits.swift", "NacreCloudStorage/KeyLimits.swift"]
        return try files.map(text).joined().split(separator: "\n").compactMap { line in
            let line = line.drop { $0 == " " }
            if line.hasPrefix("///") {
                comment += line
                return nil
            }
            defer { comment = "" }
            guard line.hasPrefix("package static let ") else { return nil }
            let name = line.dropFirst("package static let ".count).prefix { $0 != ":" && $0 != " " }
            #expect(comment.contains("CloudKit:") || comment.contains("On this server"), "\(name) names no source")
            return Defined(name: String(name), source: comment.contains("CloudKit:") ? .cloudKit : .server)
        }
    }

    @Test func `every constant is in the table, once, in its order and with the source of its comment`() throws {
        let defined = try defined()
        #expect(defined.count > 20)
        #expect(Limits.table.map { Defined(name: $0.name, source: $0.source) } == defined)
    }

    @Test func `each row of the table holds the constant that it names`() throws {
        let rows = try text(of: "NacreCloudStorage/LimitTable.swift").split(separator: "\n").filter { $0.contains("Limit(\"") }
        #expect(rows.count == Limits.table.count)
        for row in rows {
            let parts = row.split(separator: "\"")
            let name = try #require(parts.dropFirst().first)
            let value = try #require(parts.last?.split(separator: ",").first).filter { $0 != " " }
            #expect(value == name || value == "Int(\(name))", "\(row)")
        }
        #expect(Set(Limits.table.map(\.name)).count == rows.count)
        let seconds = try #require(Limits.table.first { $0.name == "operationSeconds" })
        #expect(Double(seconds.value) == Limits.operationSeconds)
    }

    /// Bounds that no client meets: of a value's own form, of memory that restarts, of files that the server or the
    /// framework writes itself, of telemetry, of the console, and of orders of an administrator.
    private static let ofItself: Set = [
        "NacreCloudWire/JSON/JSONPosition.swift maximumPathLength", "NacreCloudWire/Records/Timestamp.swift maximumMillisecondsSince1970",
        "NacreCloudWire/Users/PhoneNumber.swift digitsMax",
        "NacreCloudServer/API/API+JSON.swift decodedOnLoopBytesMax", "NacreCloudServer/API/API+JSON.swift encodedOnLoopBytesMax",
        "NacreCloudServer/API/RequestRates.swift bucketsMax", "NacreCloudServer/Admin/PrivateFile.swift bytesMax",
        "NacreCloudServer/Authentication/Authenticator.swift verifiedOnLoopBytesMax",
        "NacreCloudServer/Authentication/SignedRequest.swift signatureCharactersMax",
        "NacreCloudServer/Authentication/SignInGuard.swift entriesMax", "NacreCloudServer/Authentication/TokenSealer.swift textBytesMax",
        "CloudKit/Assets/AssetStaging.swift ageMax", "CloudKit/Assets/AssetStaging.swift bytesMax", "CloudKit/Assets/AssetUpload.swift transfersMax",
        "CloudKit/Assets/AssetUpload+Parts.swift surprisesMax", "CloudKit/LongLived/LongLivedAgent.swift runningMax",
        "CloudKit/LongLived/LongLivedOperations.swift operationsMax", "CloudKit/LongLived/OperationJournal.swift keyBytesMax",
        "CloudKit/LongLived/OperationJournal.swift valueBytesMax", "NacreCloudServer/Admin/AdminAPI+Faults.swift countMax",
        "NacreCloudServer/Admin/AdminAPI+Faults.swift secondsMax", "NacreCloudServer/Emulator/EmulatedFault.swift rulesMax",
        "CloudKit/SyncEngine/CKSyncEngine+Batch.swift itemsMax", "NacreCloudWire/OperationGroupNote.swift bytesMax",
        "CloudKit/Foundation/FormatArguments.swift maximum", "CloudKit/Foundation/LocalUse.swift maximumLines",
        "CloudKit/Predicates/PredicateTree.swift maximumDepth", "CloudKit/Queries/CKQueryOperation.swift maximumResults",
        "CloudKit/Transport/NetworkTransport.swift answerBytesMax", "NacreCloudContainer/Telemetry/TelemetryRow.swift seriesMax",
        "NacreCloudContainer/Telemetry/TelemetrySums.swift charactersMax", "NacreCloudServer/Telemetry/TelemetryQuestion.swift barsMax",
        "NacreCloudServer/Telemetry/TelemetryRecorder.swift bytesMax", "NacreCloudServer/Telemetry/OTLPSender.swift pauseMax",
        "NacreCloudServer/Admin/Metrics.swift processDescriptorsMax", "NacreCloudServer/Alerts/AlertWatch.swift waitingMax",
        "NacreCloudServer/Alerts/ServerReadings.swift parkedMax", "NacreCloudContainer/Alerts/AlertRule.swift addressesMax",
        "NacreCloudServer/Console/ConsoleDoor.swift connectionsMax",
        "NacreCloudServer/Console/ConsoleFiles.swift bytesMax", "NacreCloudServer/Console/ConsoleFiles.swift partsMax",
        "NacreCloudAccounts/Console/ConsoleSignIns.swift linksMax", "NacreCloudAccounts/Console/ConsoleSignIns.swift sessionsMax",
        "NacreCloudAccounts/Console/ConsoleSignIns.swift membersMax",
        "CloudKit/EncryptedValues/SeenRecords.swift entriesMax", "CloudKit/EncryptedValues/SeenRecords.swift notesMax",
        "CloudKit/Encryption/KeptKeys.swift scopesBeforeMax", "CloudKit/Encryption/KeptKeys.swift scopesMax",
        "CloudKit/Encryption/KeyExchange.swift manifestsMax", "CloudKit/Encryption/KeyExchange.swift statementsMax",
        "CloudKit/Encryption/KeyExchange.swift triesMax",
        "CloudKit/Encryption/KeyStore.swift fileBytesMax", "CloudKit/Encryption/KeyStore.swift lockWaitMax",
        "NacreCloudAccounts/Console/ConsoleSignIns.swift passkeysMax",
        "NacreCloudTasks/Subscriptions/FireSubscriptions+Firing.swift unreadableMax",
        "NacreCloudContainer/Alerts/AlertRule.swift secondsMax", "NacreCloudServer/Admin/AdminAPI+Alerts.swift secondsMax",
        "CloudKit/Encryption/KeptKeys.swift accountsMax", "CloudKit/Encryption/KeptKeys.swift wishesMax",
        "CloudKit/Encryption/KeptKeys.swift zonesWithWishesMax", "CloudKit/Encryption/KeyExchange.swift usersMax",
        "CloudKit/Encryption/OpenedKeys.swift zonesMax", "CloudKit/Encryption/SealingAnew.swift recordsAnewMax",
        "CloudKit/Encryption/SeenFields.swift fieldsMax",
        "CloudKit/EncryptedValues/Conversation+Scopes.swift parentsMax", "CloudKit/Encryption/SealingByShares.swift recordsMax",
        "CloudKit/Encryption/BackgroundPasses.swift passesMax", "CloudKit/Encryption/BackgroundPasses.swift passTokenMax",
    ]

    @Test func `no other file of the framework, the messages, the rules or the server has a limit of its own`() throws {
        var found: Set<String> = []
        for module in [
            "CloudKit", "NacreCloudWire", "NacreCloudStorage", "NacreCloudAccounts", "NacreCloudContainer", "NacreCloudTasks", "NacreCloudServer",
        ] {
            let files = try FileManager.default.subpathsOfDirectory(atPath: Self.sources + module)
            #expect(files.count > 15, "\(module)")
            for file in files where file.hasSuffix(".swift") && !["Limits.swift", "SharedLimits.swift"].contains(file) {
                for line in try text(of: "\(module)/\(file)").split(separator: "\n") {
                    guard let constant = line.firstMatch(of: #/static (?:let|var) (\w+)(?:: \w+)? = /#) else { continue }
                    let name = constant.1
                    if name.hasPrefix("max") || name.hasSuffix("Max") || name.hasSuffix("Maximum") { found.insert("\(module)/\(file) \(name)") }
                }
            }
        }
        #expect(found == Self.ofItself)
    }
}
