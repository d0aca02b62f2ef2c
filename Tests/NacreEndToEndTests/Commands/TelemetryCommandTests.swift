import Foundation
import NacreCloudServer
import Testing

@testable import NacreCloudCLI

/// Tests of `nacre telemetry`: what it prints, and that a running server sums up what was asked of it.
struct TelemetryCommandTests {
    private func view(width: Int, hasBlocks: Bool) throws -> [String] {
        let bars = (0..<60).map { #"{"start":\#($0 * 60_000),"requests":\#($0),"errors":0}"# }.joined(separator: ",")
        let line = #"{"operation":"records/query","database":"public","container":"iCloud.a","requests":1770,"errors":3,"p50":1.5,"users":"12"}"#
        let change =
            #"{"figure":"errorRate","before":0.01,"after":0.15,"causes":[{"property":"client","name":"1.1","share":0.98,"before":0,"after":0.148}]}"#
        let text =
            #"{"from":0,"to":3600000,"hasHidden":true,"total":\#(line),"lines":[\#(line)],"bars":[\#(bars)],"changes":[\#(change)]}"#
        let answer = try JSONDecoder().decode(AdminMessages.Telemetry.self, from: Data(text.utf8))
        return TelemetryView(answer: answer, width: width, hasBlocks: hasBlocks).lines
    }

    @Test(arguments: [20, 40, 61, 80, 300]) func `bars fit the terminal, and are plain characters where blocks are not shown`(width: Int) throws {
        for hasBlocks in [true, false] {
            let lines = try view(width: width, hasBlocks: hasBlocks)
            let chart = lines.filter { line in line.contains { "▁▂▃▄▅▆▇█─#".contains($0) } || line.hasPrefix("---") }
            #expect(chart.count == 6 && chart.allSatisfy { $0.count <= width }, "\(chart)")
            #expect(hasBlocks || lines.joined().allSatisfy(\.isASCII))
            #expect(lines.contains { $0.hasPrefix("Errors for each request rose from 0.01 to 0.15: client 1.1 makes 98 % of it") })
        }
    }

    @Test func `a running server tells what it was asked, for people, as JSON and as CSV`() async throws {
        try await RunningServer.with { server in
            let administrator = Administrator(server: server)
            #expect(try await administrator.run(["up", Administrator.container]).status == 0)
            let printed = try await Nacre.run(["env"], in: server.scratch).output
            let pairs = printed.split(separator: "\n").map { $0.dropFirst("export ".count).split(separator: "=", maxSplits: 1).map(String.init) }
            let variables = Dictionary(pairs.map { ($0[0], $0[1].trimmingCharacters(in: CharacterSet(charactersIn: "'"))) }, uniquingKeysWith: { $1 })
            for _ in 0..<3 {
                let asked = try await Nacre.run(
                    ["record", "query", "Nothing", "--database", "public", "--format", "json"], in: server.scratch, environment: variables)
                #expect(asked.status == 1)
            }
            let filter = ["telemetry", "--last", "hour", "--operation", "records/query", "--database", "public"]
            let json = try await administrator.run(filter + ["--json"])
            #expect(json.status == 0, "\(json.messages)")
            let object = try #require(try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any], "\(json.output)")
            #expect(object["requests"] as? Int == 3 && object["errors"] as? Int == 3 && object["users"] as? String == "fewer than 5")
            #expect(object["container"] as? String == Administrator.container)
            let csv = try await administrator.run(filter + ["--csv"]).output.split(separator: "\n")
            #expect(csv.count == 2 && csv[0].hasPrefix("operation,database,container,environment,code,client,index,requests,errors,"))
            let people = try await administrator.run(filter + ["--compare"])
            #expect(people.output.contains("requests: 3, errors: 3 (100 %)") && people.output.allSatisfy(\.isASCII), "\(people.output)")
        }
    }
}
