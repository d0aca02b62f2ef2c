import NacreCloudWire
import NacreLocks

/// One account's zone of one round, and those who meet in it.
struct Arena: Sendable {
    let zoneID: ZoneID
    /// Where records hang on each other.
    let familyZoneID: ZoneID
    /// Where records have files.
    let fileZoneID: ZoneID
    /// Where devices hear of what another saves.
    let toldZoneID: ZoneID
    /// Which the account shares with the guests.
    let sharedZoneID: ZoneID
    /// Which the account shares with guests who listen.
    let heardZoneID: ZoneID
    let sharing: Sharing
    /// Where notes are asked for by queries.
    let askedZoneID: ZoneID
    /// How many ask for notes at once; 0: nobody does, and there are none.
    let askers: Int
    /// Notes of each who saves them.
    let notes: Int
    /// nil: somebody else's arena changes them, or nobody.
    let indexes: TortureIndexes?
    let closures: IndexClosures
    let tellingPatience: Duration
    /// Makes a token of a new device of the account; nil: nobody knows how.
    let signIn: (@Sendable () async throws -> String)?
    /// A device in another container; nil: there is none.
    let stranger: Asker?
    /// The server is killed in between.
    let mayDie: Bool
    /// Among the arenas of a round.
    let place: Int
    /// The account's.
    let user: String
    /// Two other accounts; none where there are fewer than three.
    let guests: [Guest]
    /// One for each token of the account: its devices.
    let devices: [Asker]
    let board: Board
    let families = Locked(FamilyTree())
    /// Never the same again: operation IDs of another run must not be met again.
    let run: String

    struct Guest: Sendable {
        let user: String
        let asker: Asker
    }

    /// What the account and its guests do together.
    enum Sharing {
        case nothing
        /// `ShareTroupe`
        case allAtOnce
        /// `ShareTeller`
        case telling
    }

    func device(_ number: Int) -> Asker { devices[number % devices.count] }
}

/// How often what happened.
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
    /// Deletions of records on which others may hang.
    package var cascades = 0
    /// Pages of the feed that shows them.
    package var familyPages = 0
    package var filesSaved = 0
    /// Files that were fetched and compared.
    package var filesRead = 0
    /// Records of which other devices were told, by each of their subscriptions.
    package var recordsTold = 0
    /// Subscriptions that were deleted, and devices that were signed out, while others heard on.
    package var subscriptionsEnded = 0
    package var devicesSignedOut = 0
    /// Notifications of guests of changes of what is shared with them, and how often it was taken back from one who listened.
    package var guestsTold = 0
    package var guestsExcluded = 0
    /// Acceptances of shares, departures of guests, and what owners took back.
    package var shareJoins = 0
    package var shareLeaves = 0
    package var shareRevocations = 0
    /// Records of shared zones that got another parent, or none.
    package var shareMoves = 0
    /// Pages of shared zones that guests read.
    package var sharePages = 0
    /// Old tokens that were used again.
    package var tokensReplayed = 0
    /// Queries that were held against what was saved, from their first page to their last, and their pages.
    package var questions = 0
    package var questionPages = 0
    /// Queries that were refused while an option that they need was away.
    package var questionsRefused = 0
    /// Changes of indexes that were asked for and done.
    package var indexChanges = 0
    /// Tokens that the server said it no longer takes.
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

/// What one of those who took part brings home.
struct Testimony: Sendable {
    var history = History()
    var counts = TortureCounts()
    /// Nobody answered any more.
    var silence: String?
}
