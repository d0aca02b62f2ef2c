import CloudKit
import NacreCloudWire
import NacreLocks

/// One account's zones in one round, and the clients that use them.
struct Arena: Sendable {
    let zoneID: ZoneID
    /// The zone of records that refer to each other.
    let familyZoneID: ZoneID
    /// The zone of records with files.
    let fileZoneID: ZoneID
    /// The zone of records with encrypted values.
    let sealedZoneID: ZoneID
    /// The zone of notifications between devices.
    let toldZoneID: ZoneID
    /// The zone that the account shares with the guests.
    let sharedZoneID: ZoneID
    /// The zone that the account shares with guests who listen.
    let heardZoneID: ZoneID
    let sharing: Sharing
    /// The zone of notes for queries.
    let askedZoneID: ZoneID
    /// Clients that query notes at once; 0: none, and there are no notes.
    let askers: Int
    /// Notes of each saver.
    let notes: Int
    /// nil: indexes are not changed, or another arena changes them.
    let indexes: TortureIndexes?
    let closures: IndexClosures
    let tellingPatience: Duration
    /// Makes a token of a new device of the account; nil: no device can be signed in.
    let signIn: (@Sendable () async throws -> String)?
    /// A device in another container; nil: there is none.
    let stranger: Asker?
    /// Starts an app on the account's first device anew; nil: no value is encrypted.
    let startApp: (@Sendable () -> CKContainer)?
    /// Whether the server is killed during the round.
    let mayDie: Bool
    /// The index among the arenas of a round.
    let place: Int
    /// The account's user record name.
    let user: String
    /// Two other accounts; none where there are fewer than three.
    let guests: [Guest]
    /// The account's devices, one for each of its tokens.
    let devices: [Asker]
    let board: Board
    let families = Locked(FamilyTree())
    /// A unique part of operation IDs, so that no run meets those of another.
    let run: String

    struct Guest: Sendable {
        let user: String
        let asker: Asker
    }

    /// The shared activity of the account and its guests.
    enum Sharing {
        case nothing
        /// `ShareTroupe`
        case allAtOnce
        /// `ShareNotifier`
        case telling
    }

    func device(_ number: Int) -> Asker { devices[number % devices.count] }
}

/// Counters of a run.
package struct TortureCounts: Sendable, Encodable {
    package var batchesApplied = 0
    package var batchesRefused = 0
    package var batchesUnanswered = 0
    package var recordsChanged = 0
    /// Attempts beyond the first.
    package var retries = 0
    /// Answers that were not waited for.
    package var answersAbandoned = 0
    /// Requests that were sent again after they had been acknowledged.
    package var repetitions = 0
    package var pages = 0
    package var changesRead = 0
    package var lookups = 0
    package var queries = 0
    /// Deletions of records on which others may depend.
    package var cascades = 0
    /// Pages of the feed with cascades.
    package var familyPages = 0
    package var filesSaved = 0
    /// Files that were fetched and compared.
    package var filesRead = 0
    /// Records that were saved with an encrypted value, and values that were read and compared.
    package var secretsSaved = 0
    package var secretsRead = 0
    /// Records of which other devices were notified, counted for each of their subscriptions.
    package var recordsTold = 0
    /// Subscriptions that were deleted, and devices that were signed out, while others still listened.
    package var subscriptionsEnded = 0
    package var devicesSignedOut = 0
    /// Notifications of guests about shared changes, and how often a listening guest was excluded.
    package var guestsTold = 0
    package var guestsExcluded = 0
    /// Acceptances of shares, departures of guests, and revocations by owners.
    package var shareJoins = 0
    package var shareLeaves = 0
    package var shareRevocations = 0
    /// Records of shared zones that got another parent, or none.
    package var shareMoves = 0
    /// Pages of shared zones that guests read.
    package var sharePages = 0
    /// Old tokens that were used again.
    package var tokensReplayed = 0
    /// Queries that were checked against the saves, from their first page to their last, and their pages.
    package var questions = 0
    package var questionPages = 0
    /// Queries that were refused while an option that they need was removed.
    package var questionsRefused = 0
    /// Changes of indexes that were requested and done.
    package var indexChanges = 0
    /// Tokens that the server declared expired.
    package var tokensExpired = 0

    package init() {}

    mutating func add(_ other: TortureCounts) {
        batchesApplied += other.batchesApplied
        batchesRefused += other.batchesRefused
        batchesUnanswered += other.batchesUnanswered
        recordsChanged += other.recordsChanged
        retries += other.retries
        answersAbandoned += other.answersAbandoned
        repetitions += other.repetitions
        pages += other.pages
        changesRead += other.changesRead
        lookups += other.lookups
        queries += other.queries
        cascades += other.cascades
        familyPages += other.familyPages
        filesSaved += other.filesSaved
        filesRead += other.filesRead
        secretsSaved += other.secretsSaved
        secretsRead += other.secretsRead
        recordsTold += other.recordsTold
        subscriptionsEnded += other.subscriptionsEnded
        devicesSignedOut += other.devicesSignedOut
        guestsTold += other.guestsTold
        guestsExcluded += other.guestsExcluded
        shareJoins += other.shareJoins
        shareLeaves += other.shareLeaves
        shareRevocations += other.shareRevocations
        shareMoves += other.shareMoves
        sharePages += other.sharePages
        tokensReplayed += other.tokensReplayed
        questions += other.questions
        questionPages += other.questionPages
        questionsRefused += other.questionsRefused
        indexChanges += other.indexChanges
        tokensExpired += other.tokensExpired
    }
}

/// The results of one client.
struct Testimony: Sendable {
    var history = History()
    var counts = TortureCounts()
    /// The reason why no server answered any more.
    var silence: String?
}
