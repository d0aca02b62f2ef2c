/// What writers and readers of one zone noted outside of the server, for a checker that knows nothing of how the server works.
struct History: Sendable {
    /// One record of a batch, as its writer knows it.
    struct Write: Hashable, Sendable {
        var record: String
        /// Nobody else writes this version; a deletion is a version too.
        var version: String
        /// The version that it replaces, by the record's change tag or because the record is the writer's own; nil makes the record.
        var follows: String?
        var isDeletion = false
    }

    /// A record as an answer showed it.
    struct Sighting: Hashable, Sendable {
        var record: String
        /// nil: deleted, or not there.
        var version: String?
        var tag: String?
    }

    enum Outcome: Sendable {
        /// With what the answer said of each record.
        case acknowledged([Sighting])
        /// All of it, by a conflict.
        case refused
    }

    /// One atomic request, with the moments of its first sending and of its answer, in ticks of one clock for all.
    struct Batch: Sendable {
        var id: String
        var writes: [Write]
        var begun: Int
        var ended: Int
        var outcome: Outcome
    }

    /// One answer of the zone's feed.
    struct Page: Sendable {
        /// The token that was sent; nil: from the beginning.
        var after: String?
        /// The token that came.
        var token: String
        var sightings: [Sighting]
        var moreComing: Bool
    }

    /// All records of a batch, looked up in one request while others write.
    struct Look: Sendable {
        var batch: String
        var sightings: [Sighting]
    }

    var zone: String
    var batches: [Batch] = []
    /// What each reader got, in order, each page after the last one's token.
    var readings: [[Page]] = []
    var looks: [Look] = []
    /// Every record that was ever written, when all was over.
    var final: [Sighting] = []
    /// When all was over: the page after each token that was ever given, and after each that those pages gave.
    var replays: [String: Page] = [:]
}

/// What a history shows that no history may.
enum HistoryFault: Hashable, Sendable {
    /// Two acknowledged writes replaced the same version.
    case forked(record: String, version: String)
    /// An acknowledged version, or a later one, is not there.
    case lost(record: String, version: String)
    /// A version is there that was never acknowledged.
    case phantom(record: String, version: String)
    /// Part of a batch shows without the rest.
    case split(batch: String)
    /// A reader got the same change twice, or an older one after a newer.
    case repeated(record: String)
    /// A reader that follows its tokens to the end does not have what the server has.
    case skipped(record: String)
    /// A change comes before another that was over when it began.
    case disordered(record: String)
    /// One change tag on two versions, or two tags on one.
    case tagReused(record: String, tag: String)
    /// A token leads nowhere, or round in a circle.
    case deadToken(String)
}
