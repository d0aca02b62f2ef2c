import NacreCloudWire
import NacreRandom

/// Follows the zone of families, and checks cascades: they are atomic and leave no dependents behind.
struct FamilyFollower {
    private static let pageSizes = [1, 10, 200]
    /// The pause between two reads of the feed.
    private static let pause: Duration = .milliseconds(20)

    let number: Int
    let arena: Arena
    var random: SeededRandom
    private(set) var testimony = Testimony()
    private var check = FamilyCheck()

    init(number: Int, arena: Arena, random: SeededRandom) {
        self.number = number
        self.arena = arena
        self.random = random
    }

    /// Runs until the writers are done and everything is read, or a violation is found.
    mutating func run() async {
        do {
            var token: String?
            while true {
                let isLast = arena.board.writersAreDone
                repeat {
                    let page = try await page(after: token)
                    try check.take(page)
                    token = page.syncToken
                    if !page.moreComing { break }
                } while true
                if isLast { return }
                // Cancelled, the follower only asks sooner.
                try? await Task.sleep(for: Self.pause)
            }
        } catch AskFault.silent(let text) {
            testimony.silence = text
        } catch AskFault.refused(let error) {
            testimony.history.fault(.unexpected(error, asked: "family follower \(number)"))
        } catch {
            testimony.history.fault(error as? Violation ?? Violation(.unexpectedAnswer, "\(error)"))
        }
        arena.board.end()
    }

    private mutating func page(after token: String?) async throws -> ChangesZoneResponse.Page {
        let limit = Self.pageSizes.randomElement(using: &random)
        let request = ChangesZoneRequest(
            zones: [.init(zoneID: arena.familyZoneID, syncToken: token, resultsLimit: limit)], extension: RequestExtension(wantsDetails: true))
        let asked = try await arena.device(number).ask("changes/zone", request.json(), as: ChangesZoneResponse.self)
        testimony.counts.retries += asked.attempts - 1
        testimony.counts.familyPages += 1
        switch asked.answer.zones.first {
        case .page(let page)?: return page
        case .failure(_, let error)?: throw AskFault.refused(error)
        case nil: throw Violation(.unexpectedAnswer, "one zone was asked for, and none answered")
        }
    }
}
