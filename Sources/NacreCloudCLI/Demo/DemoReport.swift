/// The results of the demo, for `--json`.
struct DemoReport: Encodable, Sendable {
    var url: String
    var container: String
    var environment: String
    var user: String
    /// Counts the runs over this user's data.
    var run = 0
    var timeZones = 0
    var languages = 0
    /// Records saved in batches, how many batches, and how long that took with the other device following.
    var recordsSaved = 0
    var batches = 0
    var saveSeconds = 0.0
    /// Changes that the other device fetched meanwhile, and in how many pages.
    var changesFollowed = 0
    var pagesFollowed = 0
    /// Records that both devices hold at the end, every field of them alike.
    var recordsCompared = 0
    var conflictsResolved = 0
    var deletionsFollowed = 0
    /// The time zone nearest to one place.
    var nearest = ""
    /// Languages that the query for one word finds.
    var languagesByWord = 0
    /// Notifications that the other device got when a record changed that it subscribed to.
    var notificationsHeard = 0
    /// Records deleted because the record they belong to was.
    var deletionsCascaded = 0
    /// User records that another user read and could not change.
    var userRecordsRead = 0
    /// Shares accepted: a record tree that a user wrote into until he was removed, and a zone that a third reads.
    var sharesAccepted = 0
    /// Bytes that the server keeps of a value which one device encrypted and the other read.
    var sealedBytes = 0
    /// Bytes of the picture that one device saved and the other fetched.
    var pictureBytes = 0
    /// Bytes of a larger picture that was saved again with a ring drawn on it, and the bytes that were sent then.
    var changedPictureBytes = 0
    var changedPictureBytesSent = 0
    var seconds = 0.0
}
