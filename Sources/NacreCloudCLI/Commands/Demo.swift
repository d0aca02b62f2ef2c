import CloudKit
import NacreCloudServer

/// `nacre demo`
enum Demo {
    static let command = Command(
        "demo", "Show the framework and the server at work, on real data.",
        discussion: """
            Signs two devices of one user in to \(DemoSession.container) on the running server. One saves every time zone (tzdata) and every language \
            (iso-codes) into the zone \(DemoSession.zoneID.zoneName); the other follows its changes, and both must hold the same. Then they edit one \
            record at once, delete one, find the nearest time zones and the languages with a word, be told of a change of one, delete a record to which others belong, show \
            the user's record to another user, share a trip with one user, who edits it until he is removed, and a zone with another one, who only reads it, encrypt a value that only the user's devices can read, and meet \
            a device on which nobody is signed in. The data stays, and the next run works on it; with --token-file every run has a user of its own.
            """,
        options: AdminServer.options + [SharedOptions.json]
    ) { call in
        let timeline = Timeline(isSilent: call.has(SharedOptions.json))
        do {
            let report = try await run(call, timeline)
            if call.has(SharedOptions.json) { try Output.json(report) }
        } catch let failure as DemoFailure {
            throw CommandFailure(.failure, "the demo failed after \(elapsed(timeline)): \(failure)")
        } catch let error as CKError {
            let isGone = [.networkFailure, .networkUnavailable, .serviceUnavailable].contains(error.code)
            throw CommandFailure(isGone ? .unreachable : .failure, "the demo failed after \(elapsed(timeline)): \(error)")
        }
    }

    private static func elapsed(_ timeline: Timeline) -> String { "\(Timeline.text(timeline.seconds(), digits: 2)) s" }

    private static func run(_ call: Call, _ timeline: Timeline) async throws -> DemoReport {
        let (zones, languages) = try AtlasEntry.read()
        let folder = call.isGiven(AdminServer.tokenFile) ? nil : try call.require(SharedOptions.data)
        let session = try await DemoSession.begin(call, folder: folder)
        var report = DemoReport(
            url: session.address, container: DemoSession.container, environment: DemoSession.environment.rawValue, user: session.user)
        report.timeZones = zones.count
        report.languages = languages.count
        try timeline.say("devices A and B of \(session.user) are signed in to \(report.container), \(report.environment), at \(report.url)")
        try timeline.say("read \(zones.count) time zones and \(languages.count) languages")
        var demo = AtlasDemo(session: session, timeline: timeline, report: report, entries: zones + languages)
        try await demo.run()
        try await session.end()
        report = demo.report
        report.seconds = timeline.seconds()
        try timeline.say("done: everything was as it should be")
        return report
    }
}
