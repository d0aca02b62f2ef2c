/// Every limit of the cloud, each with its source. CloudKit's own numbers are described there as changeable: clients react to errors.
package enum Limits {
    /// Items of one modify or lookup from the framework. CloudKit: `CKError.limitExceeded`, and its message with "(400)".
    package static let itemsPerNativeRequest = 400
    /// Items of one request from a web client. CloudKit: Web Services Reference, "Data Size Limits".
    package static let itemsPerWebRequest = 200
    /// Bytes of one request's values from the framework, assets not counted. CloudKit: `CKError.limitExceeded`.
    package static let nativeRequestBytes = 2_000_000
    /// Bytes of one record's values, assets not counted. CloudKit: "no more than 1 MB".
    package static let recordBytes = 1_000_000
    /// Characters of a record name, zone name or field name; all ASCII. CloudKit: `CKRecord.ID`, `CKRecordZone.ID`.
    package static let nameCharacters = 255
    /// Changes or zones on a page, most and default. CloudKit: Web Services Reference, "resultsLimit".
    package static let resultsPerPage = 200
    /// How far a page may exceed its limit to finish one commit. On this server: the largest request (400 items, and the parents that
    /// they touch) is never split; a cascade may be.
    package static let changesPerUnsplitCommit = 1000
    /// Zones of one `changes/zone`, whoever asks. CloudKit: Web Services Reference, items of a request.
    package static let zonesPerRequest = 200
    /// Live zones of a database for which `zones/list` and a query of all zones are answered. On this server.
    package static let zonesPerList = 5000
    /// Bytes of `clientChangeTokenData`. On this server; CloudKit gives no number.
    package static let clientChangeTokenBytes = 1024
    /// Characters of an operation ID. On this server: a UUID has 36.
    package static let operationIDCharacters = 64
    /// Seconds that an operation's result is kept. On this server: retries of utility and background work run for 7 days.
    package static let operationSeconds: Double = 8 * 24 * 3600
    /// Logged operations of one caller in one database; of more, the oldest go. On this server.
    package static let operationsPerCaller = 10_000
    /// Seconds for which a logged operation is kept whatever its caller does. On this server: our framework, where it does not ride out a bad
    /// network for days, gives a request up within five minutes.
    package static let operationMinimumSeconds: Double = 15 * 60
    /// Seconds that a repeated request may be under way after its client looked at its clock. On this server: the framework gives an attempt up
    /// after 60.
    package static let operationDelaySeconds: Double = 120
    /// Logged operations trimmed in one transaction. On this server.
    package static let operationTrimChunk = 500
    /// Record types of a container in one environment. On this server.
    package static let recordTypesPerSchema = 500
    /// Fields of a record type. On this server.
    package static let fieldsPerRecordType = 500
    /// Records whose missing index rows are put in one transaction. On this server.
    package static let indexBuildChunk = 200
    /// Rows that one step of a check looks at. On this server.
    package static let checkRows = 500
    /// Records reclaimed in one transaction, so that none is long. On this server.
    package static let reclaimChunk = 500
    /// Seconds for which a worker has a task to itself. On this server.
    package static let taskLeaseSeconds: Double = 60
    /// Attempts of a task without progress before it is parked; with their pauses they take more than an hour. On this server.
    package static let taskAttempts: Int64 = 16
    /// Seconds that a task which failed waits at most before it is tried again. On this server.
    package static let taskPauseSeconds: Double = 600
    /// References with action DELETE_SELF to one record. CloudKit: Web Services Reference, "Data Size Limits".
    package static let owningReferences = 750
    /// Records that go in the transaction of the deletion that they follow; the rest goes in transactions of its own. On this server.
    package static let cascadePerTransaction = 10_000
    /// Levels of a cascade followed in one transaction, each of them two calls of the store. On this server.
    package static let cascadeLevels = 1000
    /// Names of holders that one call of the store is asked for, when a level of a cascade is wide. On this server.
    package static let dependentsPerCall = 300_000
    /// Records deleted in one transaction of a cascade that goes on. On this server: room for what hangs on one record.
    package static let cascadeChunk = 1000
    /// Seconds for which the tombstones of records and zones are kept; older change tokens expire. On this server: 90 days.
    package static let tombstoneSeconds: Double = 90 * 24 * 3600
    /// Tombstones purged in one transaction. On this server.
    package static let purgeChunk = 500
    /// Bytes of record bodies on a page, beyond which it ends early: of changes in the middle of a commit if need be, of a query with a
    /// cursor. On this server: as much as a request may have.
    package static let pageBytes = 8_000_000
    /// Bytes of records that one request may name, where its answer has no pages: a lookup, or a modify, which answers what it saves and what it
    /// conflicts with. On this server: as a page; beyond, the request is to be split, which the framework does.
    package static let answerBytes = 8_000_000
    /// Bytes of JSON that count as one of `pageBytes` and `answerBytes`, where a record takes more as JSON than as a body: text full of control
    /// characters takes six times as much. So an answer ends at 16 MB of JSON. On this server.
    package static let textPerAnswerByte = 2
    /// Bytes of a body up to which nobody looks at what it takes as JSON. On this server.
    package static let smallBodyBytes = 2048
    /// Bytes of a value in an index. On this server: longer texts are ordered by as many bytes; filters compare all of them.
    package static let indexKeyBytes = 512
    /// Index rows and records that one page of a query may look at; it then ends with a cursor. On this server.
    package static let queryScanRows = 10_000
    /// Bytes of rows and records, and of what filters compare in them, that one page of a query looks at; it then ends with a cursor. On this server:
    /// half a second of work.
    package static let queryScanBytes = 64_000_000
    /// Values of a filter's list, and words of a token search. CloudKit: "Query filter exceeds the limit of values: 250".
    package static let valuesPerFilter = 250
    /// Filters of a query. On this server.
    package static let filtersPerQuery = 50
    /// Sorts of a query. On this server.
    package static let sortsPerQuery = 10
    /// Seconds after which a query whose index is being built may be tried again. CloudKit: `retryAfter` 30.
    package static let indexBuildRetrySeconds = 30
    /// The longest that a request may wait for a change, in seconds. On this server.
    package static let waitSeconds: Double = 30
    /// What one user may have done a second, where the server is not told otherwise: units of about ten microseconds, one for a request, one for each
    /// record that it names, and one for each thousand bytes that it sends, is sent or has looked at. On this server: a tenth of a core.
    package static let requestRate = 10_000
    /// An address, an API token and a container may have as many times that. On this server: others are behind them.
    package static let requestRateOfAddress = 10
    /// As for an address. On this server.
    package static let requestRateOfAPIToken = 20
    /// As for an address. On this server.
    package static let requestRateOfContainer = 40
    /// Seconds for which who was quiet may have that at once. On this server.
    package static let requestBurstSeconds: Double = 60
    /// Requests of one user that wait for a change at the same time. On this server: each is a connection, and a device needs one.
    package static let waitsPerUser = 100
}
