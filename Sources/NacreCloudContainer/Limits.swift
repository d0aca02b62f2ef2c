package import NacreCloudWire

/// The server's own limits. Those that clients share are in `NacreCloudWire/SharedLimits.swift`.
extension Limits {
    /// How far a page may exceed its limit to finish one commit. On this server: the largest request (400 items, and the parents that
    /// they touch) is never split; a cascade may be.
    package static let changesPerUnsplitCommit = 1000
    /// Live zones of a database for which `zones/list` and a query of all zones are answered. On this server.
    package static let zonesPerList = 5000
    /// Live zones that may be made in a database. On this server: as many as `zones/list` answers; a zone is about a kilobyte that no quota counts.
    package static let zonesPerDatabase = 5000
    /// Participants of a share, its owner among them. CloudKit: `CKShare`.
    package static let participantsPerShare = 100
    /// Participants of the zones that one request deletes. On this server: each is told by a task, and others' writes wait while these are written.
    package static let participantsTold = 4_000
    /// Requests for access to one share that wait for an answer; as many identities may be blocked. On this server: as many as participants.
    package static let accessRequestsPerShare = 100
    /// Shares to which an account has asked for access, until it is looked which have answered. On this server.
    package static let accessRequestsPerAccount = 100
    /// Zones that are shared with one user. On this server: each is looked at in its owner's database when they are listed.
    package static let sharedZonesPerUser = 1000
    /// Shares of records of one zone. On this server: a share is made after a look at the roots of the others.
    package static let recordSharesPerZone = 1000
    /// Shares of records of one zone that a user takes part in. On this server: each request of theirs to the zone reads them.
    package static let sharesOfZonePerUser = 50
    /// Levels above a record that are looked at where its parent changes in a zone with shares. On this server.
    package static let parentLevels = 100
    /// Records that come into a share or leave it in one transaction with the record that they hang on. On this server: the rest follow in portions.
    package static let subtreePerTransaction = 400
    /// Views of a zone in which a record is told to be, or to have been. On this server: of more, the oldest are forgotten, with the tokens before them.
    package static let sharedPlacesPerRecord = 16
    /// Bytes of `clientChangeTokenData`. On this server; CloudKit gives no number.
    package static let clientChangeTokenBytes = 1024
    /// Characters of an operation ID. On this server: a UUID has 36.
    package static let operationIDCharacters = 64
    /// Seconds that an operation's result is kept. On this server: retries of utility and background work run for 7 days.
    package static let operationSeconds: Double = 8 * 24 * 3600
    /// Logged operations of one caller in one database; of more, the oldest go. On this server.
    package static let operationsPerCaller = 10_000
    /// Bytes of their results; of more, the oldest go. On this server: 400 for each of them, since no quota counts these.
    package static let operationBytesPerCaller = 4_000_000
    /// Bytes of the texts of failures that a logged operation keeps; of others it keeps the codes. On this server: three or four different ones, as a request
    /// mostly fails for one reason.
    package static let operationTextBytes = 500
    /// Seconds for which a logged operation is kept whatever its caller does. On this server: our framework, where it does not ride out a bad
    /// network for days, gives a request up within five minutes.
    package static let operationMinimumSeconds: Double = 15 * 60
    /// Seconds that a repeated request may be under way after its client looked at its clock. On this server: the framework gives an attempt up
    /// after 60.
    package static let operationDelaySeconds: Double = 120
    /// Logged operations trimmed in one transaction. On this server.
    package static let operationTrimChunk = 500
    /// Roles that a schema declares, beside CloudKit's own. On this server: each request to a public database reads their names and numbers.
    package static let rolesPerSchema = 50
    /// Record types of a container in one environment. On this server.
    package static let recordTypesPerSchema = 500
    /// Fields of a record type. On this server.
    package static let fieldsPerRecordType = 500
    /// Fields of all record types of a schema up to which saves bring more; its text may declare more. On this server: the memory of each process holds them,
    /// and a change that concerns indexes looks at all of them while others' writes wait.
    package static let fieldsJustInTime = 20_000
    /// Types and fields that one transaction brings to a schema. On this server: two types as large as may be, and some ten milliseconds.
    package static let fieldsAddedAtOnce = 1_000
    /// Queries of an environment of which is kept what they want of its schema; a further one is not. On this server: an app has some dozens.
    package static let recordedQueriesKept = 200
    /// Bytes of such a query in words. On this server: of one that names more nothing is kept.
    package static let recordedQueryBytes = 1000
    /// Seconds for which it is kept after it was noted last. On this server: a month.
    package static let recordedQuerySeconds: Double = 30 * 24 * 3600
    /// Seconds until it is noted again. On this server: a day.
    package static let recordedQueryPauseSeconds: Double = 24 * 3600
    /// Changes of a schema by administrators that its history keeps in each environment; of more, the oldest go. On this server.
    package static let schemaChangesKept = 50
    /// Bytes of a change in the history of a schema. On this server: of a larger one only the number of its differences is kept.
    package static let schemaChangeBytes = 64_000
    /// Entries that the log of what administrators did keeps. On this server: years of a small team's work, some megabytes.
    package static let auditEntriesKept = 10_000
    /// By which a save may let a record grow beside a full quota, if its fields take no more than before. On this server: other names and devices in its
    /// stamps, a few longer numbers.
    package static let bodyGrowthBytes: Int64 = 512
    /// Records whose missing index rows are put in one transaction. On this server.
    package static let indexBuildChunk = 200
    /// Index rows after which such a transaction takes no further record. On this server: others' writes wait for it, some ten milliseconds.
    package static let indexBuildRows = 500
    /// Bytes that a user's private database holds at most, where the operator says nothing; 0: as much as the disk. On this server.
    package static let userQuotaBytes = 0
    /// Bytes that a public database holds at most, where the operator says nothing; 0: as much as the disk. On this server.
    package static let publicQuotaBytes = 0
    /// Bytes of the largest quota that can be set. On this server: a number that JSON carries exactly, and far beyond any disk.
    package static let quotaBytes = 1 << 52
    /// Rows that one step of a check looks at. On this server: a read of some 40 milliseconds, in which pages and blocks of indexes serve several rows each.
    package static let checkRows = 2000
    /// Rows of a step that may mend. On this server: others' writes wait for what is mended.
    package static let checkRowsMended = 500
    /// Tasks on a page of their list. On this server.
    package static let tasksPerPage = 500
    /// Records reclaimed in one transaction, so that none is long. On this server.
    package static let reclaimChunk = 500
    /// Bytes of the largest chunk in which an asset is kept; one of each download lies in memory. On this server.
    package static let assetChunkBytes = ContentCutter.mostBytes
    /// Seconds for which the URL of an upload is good. CloudKit: Web Services Reference, 15 minutes.
    package static let assetUploadSeconds: Double = 15 * 60
    /// Seconds for which a `downloadURL` is good. On this server: a large file may come in parts, and an app may wait before it fetches one.
    package static let assetDownloadSeconds: Double = 3600
    /// Seconds for which an asset is kept that no record has: from its upload, its last save and the end of its last record. On this server: an app that
    /// was ended between an upload and its save may go on.
    package static let assetGraceSeconds: Double = 24 * 3600
    /// Bytes of files that one user has sent into a database and that no record has. On this server: what an app sends before it saves, many times over, and
    /// a small part of a disk.
    package static let waitingAssetBytes: Int64 = 10_000_000_000
    /// Chunks of the files that one user has announced for a database and not sent whole. On this server: some gigabytes, whose list takes a megabyte; further
    /// files are sent whole.
    package static let announcedChunks = 20_000
    /// The same of all users. On this server: their lists take some tens of megabytes.
    package static let announcedChunksInAll = 400_000
    /// Chunks of the files that one `assets/rereference` copies, and that go in one transaction; one file may have more. On this server: as many as the
    /// framework's largest file has at most. A copy keeps a row for each, so that others' writes wait for some tens of milliseconds.
    package static let chunksCopied = 4_000
    /// Bytes of small files that one `assets/rereference` copies. On this server: as much as a page.
    package static let bytesCopied = pageBytes
    /// Rows of a transaction, those of indexes and feeds not counted; an engine refuses more. On this server: a file of 10 GB whose content cuts it as small as can
    /// be has 150,000 chunks, and all else is far below.
    package static let transactionRows = 200_000
    /// Chunks of an announced file that are read at a time, to see which of them are there. On this server: as a bucket is a while away.
    package static let announcedReadsAtOnce = 8
    /// Rows of announced files that are read at once. On this server: each may name thousands of chunks.
    package static let announcedRows = 10
    /// Seconds for which an announced file is waited for after something of it came. On this server: a device is without a network for a while.
    package static let announcedSeconds: Double = 3600
    /// Seconds for which a worker has a task to itself. On this server.
    package static let taskLeaseSeconds: Double = 60
    /// Seconds after which a long task's row says how far it is. On this server.
    package static let taskProgressSeconds: Double = 2
    /// Attempts of a task without progress before it is parked; with their pauses they take more than an hour. On this server.
    package static let taskAttempts: Int64 = 16
    /// Seconds that a task which failed waits at most before it is tried again. On this server.
    package static let taskPauseSeconds: Double = 600
    /// References with action DELETE_SELF to one record. CloudKit: Web Services Reference, "Data Size Limits".
    package static let owningReferences = 750
    /// Records that go in the transaction of the deletion that they follow; the rest goes in transactions of its own. On this server: others' writes wait for
    /// some 70 milliseconds meanwhile.
    package static let cascadePerTransaction = 2_000
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
    /// Bytes of records that one request may look through and does not answer: a lookup that wants some fields of them; or a modify of several
    /// operations, of the records that it deletes, that its records refer to, and their parents. On this server: half as many as a page of a query, because
    /// a modify keeps them and others' writes wait for it.
    package static let unansweredBytes = 32_000_000
    /// Bytes of records that a modify is decided with where others' writes wait for it; what would look at more is decided beside the writer first. On this
    /// server: as much as one record may have, and what stands around its values, so that a save of one record is decided once.
    static let decidedAtWriterBytes = recordBytes + recordBytes / 10
    /// Bytes of searched text whose words are found before their transactions, of all requests together: keys of short words take three and a half times as
    /// much. On this server: two requests of texts alone, or one that replaces as much.
    static let foundTextBytes = 2 * bodyBytes
    /// Records that those of one request may refer to with more than a pointer, those counted that it sets. On this server: each is looked up, and kept as a
    /// link, while others' writes wait.
    package static let targetsPerRequest = 10_000
    /// Bytes of records that go in the transaction of the deletion that they follow; the rest goes in transactions of its own. On this server: others' writes
    /// wait for some 50 milliseconds meanwhile.
    package static let cascadeBytes = 2_000_000
    /// What an address or a number that somebody is looked up by counts for in a rate, so that guessing them costs. On this server: a user looks up ten a
    /// second, and an address book of hundreds at once.
    package static let addressLookupCost = 1000
    /// Bytes of a given or a family name. On this server.
    package static let personNameBytes = 256
    /// What a check or a making of a password counts for in a rate. On this server: a tenth of a second of a core.
    package static let passwordCost = 10_000
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
    /// Rows after which a page that lacks an index has it made. On this server: to read as many takes a few milliseconds.
    package static let rowsWithoutIndex = 500
    /// Bytes of rows and records, likewise. On this server.
    package static let bytesWithoutIndex = 4_000_000
    /// Records that one page looks at and does not answer before an index of two fields is made for its query. On this server: as many take a third of a
    /// millisecond each time, and a row in one more index a few microseconds of each save.
    package static let recordsLookedAtInVain = 40
    /// Indexes of two fields that a record type has at most. On this server: each is another row of every save.
    package static let pairIndexesPerType = 3
    /// Portions in which a page of a query sorts its zones without an index, each of as many rows as a page may look at. On this server: 500,000 records,
    /// some three seconds of a core.
    package static let queryPortions = 50
    /// The longest that a page of a query waits for an index without which it gets nowhere, in seconds. On this server: our framework gives an attempt up
    /// after 60.
    package static let indexWaitSeconds: Double = 20
    /// Seconds after which a query whose index is being built may be tried again. CloudKit: `retryAfter` 30.
    package static let indexBuildRetrySeconds = 30
    /// The longest that a request may wait for a change, in seconds. On this server.
    package static let waitSeconds: Double = 30
    /// What one user may have done a second, where the server is not told otherwise: units of about ten microseconds, `requestCost` for a request, one
    /// for each record that it names, and one for each thousand bytes that it sends, is sent or has looked at. On this server: a tenth of a core.
    package static let requestRate = 10_000
    /// Cost of any request in a rate: reading it, finding its sender, answering and logging it. On this server: measured, 60 to 180 µs of a core where
    /// requests come one by one, and less where they come together.
    package static let requestCost = 6
    /// Cost of a try of a signature on P-256 in a rate. On this server: 50 µs of a core.
    package static let signatureCost = 5
    /// Cost of the drawing of a QR code in a rate. On this server: 50 to 100 µs of a core.
    package static let codeCost = 5
    /// An address and a container may have as many times that. On this server: others are behind them.
    package static let requestRateOfAddress = 10
    /// As for an address. On this server.
    package static let requestRateOfContainer = 40
    /// All who have an API token of a container and no user may have together one such part of its rate. On this server: a half is left for its users.
    package static let guestsPartOfRate = 2
    /// Guests at one address may have one such part. On this server: ten addresses can have all that guests may have.
    package static let guestPartOfRate = 20
    /// Cost of a credential that shows nobody, in the unit of `requestRate`. On this server: it is looked up in the store each time.
    package static let unknownCredentialCost = 10
    /// Absent names in a lookup that cost as much as one record. On this server.
    package static let absentNamesCountAsRow = 10
    /// Seconds' worth of it that a caller who was quiet may use at once. On this server.
    package static let requestBurstSeconds: Double = 60
    /// Requests of one user that wait for a change at the same time. On this server: each is a connection, and a device needs one.
    package static let waitsPerUser = 100
    /// The largest rate that can be set, in units a second. On this server: no machine does as much.
    package static let ratePerSecond = 1_000_000_000
    /// Seconds for which the answer to an administrator's request is kept under its idempotency key. On this server: a script that failed at night is run again
    /// in the morning.
    package static let idempotencyKeySeconds: Double = 24 * 3600
    /// Idempotency keys that are kept together. On this server: one a minute and a half.
    package static let idempotencyKeysKept = 1000
    /// Bytes of an answer that is kept under an idempotency key. On this server: a schema's history is longer, and can be asked for again.
    package static let idempotentAnswerBytes = 64 * 1024
    /// Seconds that a web auth token is good for without use. CloudKit: Web Services Reference, 30 minutes.
    package static let sessionSeconds: Double = 30 * 60
    /// The same where the user asked to be kept signed in. CloudKit: Web Services Reference, two weeks.
    package static let keptSessionSeconds: Double = 14 * 24 * 3600
    /// Sessions on the web that an account has at most; of more, the oldest end. On this server: a session that is not used any more is kept for two weeks,
    /// and nobody has to clear up before signing in.
    package static let sessionsPerAccount = 100
    /// Devices, by their account tokens, that an account has at most; another one is refused. On this server: a device that is in use does not fall silent
    /// because others sign in.
    package static let devicesPerAccount = 100
    /// Characters of an e-mail address. On this server: RFC 5321, 4.5.3.1.3 (a path of 256 octets with its brackets).
    package static let emailCharacters = 254
    /// Bytes of a request's body. On this server: more than any request within CloudKit's limits, which are measured on values, is long.
    package static let bodyBytes = 8 * 1024 * 1024
    /// Bytes of a body that is about accounts, or an administrator's. On this server: an address, a password and a few names, several times over.
    package static let accountBodyBytes = 16 * 1024
    /// Bytes of an administrator's body that holds a schema's text. On this server: as many types with as many fields as there may be, a line each.
    package static let schemaBodyBytes = 16 * 1024 * 1024
    /// The fewest characters of a password. On this server: NIST SP 800-63B, 5.1.1.1, "at least 8 characters in length"; it asks for no other rule
    /// of composition, and so do we.
    package static let passwordCharacters = 8
    /// The most bytes of a password. On this server: what a hash takes in, so that nobody makes it hash a book.
    package static let passwordBytes = 1024
    /// Seconds for which a code for a new password is good. On this server: it travels from an administrator to the user meanwhile.
    package static let passwordResetSeconds: Double = 3600
    /// Seconds that the change of an account's address may take, before it is undone. On this server: three short transactions.
    package static let emailChangeSeconds: Double = 60
    /// Seconds between the end of an account's sign-ins and that of its data. On this server: every process has heard of the one, and every request that was
    /// under way is done, before the other begins.
    package static let accountDeletionSeconds: Double = 60
    /// Seconds between a signature's date and the server's clock. On this server: clocks differ, and a signed request waits on its way; CloudKit prints no
    /// number.
    package static let signatureSeconds = 600.0
    /// Seconds after which the use of a session counts its life anew. On this server: a write a day for a session that is in use.
    package static let sessionProlongSeconds: Double = 24 * 3600
    /// Seconds for which a sign-in page may lie open before its form is sent. On this server: a user is called away.
    package static let signInSeconds: Double = 3600
    /// Seconds between a password on the sign-in page and the click that grants. On this server: the question is short.
    package static let consentSeconds: Double = 600
    /// Passkeys of an account. On this server: a few devices, and what their makers keep.
    package static let passkeysPerAccount = 20
    /// Bytes of a passkey's ID. On this server: as WebAuthn level 2, 7.1, has it, "1023 bytes or fewer".
    package static let passkeyIDBytes = 1023
    /// Characters of a passkey's name. On this server: a line in a list.
    package static let passkeyNameCharacters = 64
    /// Seconds for which a user may be away at the issuer of a team's accounts. On this server: a password, a second factor, a call for help.
    package static let openIDSeconds: Double = 900
    /// Seconds by which an issuer's clock may differ. On this server: OpenID Connect Core 1.0, 3.1.3.7, "no more than a few minutes".
    package static let openIDClockSeconds: Double = 120
    /// Bytes of an answer of the issuer, and of a token in it. On this server: keys and claims take a few thousand.
    package static let openIDAnswerBytes = 64 * 1024
    /// Seconds that the issuer may take for an answer. On this server: a user waits for it.
    package static let openIDAnswerSeconds = 10
    /// Keys of the issuer that are looked at. On this server: those of today, of yesterday and of tomorrow.
    package static let openIDKeys = 32
    /// Seconds for which the issuer's description and keys are remembered. On this server: an hour.
    package static let openIDMemorySeconds: Double = 3600
    /// Seconds between two looks for a key that is not known. On this server: a token that names any does not make the issuer answer again and again.
    package static let openIDKeySeconds: Double = 60
    /// Requests to the issuer that may be under way. On this server: a slow one takes nothing from those who sign in otherwise.
    package static let openIDRequests = 16
    /// Seconds for which a link in a mail sets a new password. On this server: mail takes minutes, and lies about for years.
    package static let passwordLinkSeconds: Double = 30 * 60
    /// Seconds for which a link in a mail verifies an address. On this server: it opens no account, and who signed up looks at the mail within a day.
    package static let addressLinkSeconds: Double = 24 * 3600
    /// Seconds for which a code verifies a phone number. On this server: ten minutes, the most that NIST SP 800-63B, 5.1.3.2, allows.
    package static let phoneCodeSeconds: Double = 10 * 60
    /// Digits of such a code. On this server: six, the least that NIST SP 800-63B, 5.1.3.2, allows.
    package static let phoneCodeDigits = 6
    /// Wrong codes after which the right one is none any more. On this server: a guesser has one chance in 200,000.
    package static let phoneCodeAttempts = 5
    /// Codes that an account may have sent in a day. On this server: each costs its operator money.
    package static let phoneCodesPerDay = 5
    /// Seconds for which a service that sends texts is waited for. On this server: as for a mail server.
    package static let textSeconds = 30
    /// Seconds for which a notice is tried to be sent. On this server: a mail server is mended within a day.
    package static let noticeSeconds: Double = 24 * 3600
    /// Mails that wait to be sent; beyond, none is asked for. On this server: a megabyte, and half an hour of a small mail server.
    package static let lettersWaiting = 1000
    /// What a mail counts for in a rate. On this server: as a password.
    package static let letterCost = 10_000
    /// Seconds that the mail server may take for a mail. On this server: it looks names up meanwhile.
    package static let mailSeconds = 30
    /// Bytes of the `state` that an app gives the sign-in page and gets back with its redirect. On this server: an identifier, signed if need be.
    package static let signInStateBytes = 512
    /// Characters of a token's name. On this server: a line in a list.
    package static let tokenNameCharacters = 200
    /// Seconds that an API token may go on for when another takes its place. On this server: a release of an app has reached who uses it.
    package static let tokenGraceSeconds: Double = 30 * 24 * 3600
    /// Seconds for which a management token is good where nothing else is said, and at most. CloudKit: "1 year" is the default of its console.
    package static let managementTokenSeconds: Double = 365 * 24 * 3600
    /// Seconds within which a token or key that is used again is not noted again. On this server: reads hardly ever write.
    package static let lastUseSeconds: Double = 600
    /// Origins of an API token. On this server: an app's pages, its tests and its developers' machines.
    package static let originsPerToken = 50
    /// Characters of an origin. On this server: a host of 253, with its scheme and port.
    package static let originCharacters = 270
    /// Characters of the URL of an API token's sign-in callback. On this server: room for a token behind it, within what browsers take.
    package static let callbackCharacters = 1000
    /// Wrong passwords for an account, or for one from a known device, before there are pauses. On this server: people mistype.
    package static let wrongPasswordsPerAccount = 10
    /// Wrong passwords from an address before there are pauses. On this server: the address may be a school's.
    package static let wrongPasswordsPerAddress = 50
    /// The longest pause in seconds of sign-ins to an account. On this server: it is guessed at four times an hour then.
    package static let accountPauseSeconds: Double = 900
    /// The longest pause in seconds of sign-ins from an address or a known device. On this server: others who share it are not shut out for long.
    package static let addressPauseSeconds: Double = 60
    /// Passwords of an account that are checked at the same time; others wait. On this server: many at once are no way round the pauses.
    package static let passwordChecksPerAccount = 4
    /// Passwords from an address that are checked at the same time; others wait. On this server: as for an account.
    package static let passwordChecksPerAddress = 8
    /// Passwords from unknown devices that may wait to be checked. On this server: of the hasher's 64, a quarter is left for known devices.
    package static let strangersPasswordChecks = 48
    /// Sign-ins from an address, or to an account, that may wait for their turn. On this server: an office at nine o'clock.
    package static let signInsWaitingTogether = 128
    /// Sign-ins that may wait for their turn. On this server: several offices; each holds one request.
    package static let signInsWaiting = 512
    /// Seconds for which a sign-in may wait for its turn. On this server: as many as wait together take nine, at 70 ms a password.
    package static let signInWaitSeconds: Double = 15
    /// Subscriptions of one user in a database. On this server: `subscriptions/list` answers all of them.
    package static let subscriptionsPerUser = 500
    /// Subscriptions of one user in a public database that no value finds: each change of their type is held against them. On this server: a
    /// millisecond for others' saves.
    package static let openSubscriptionsPerUser = 100
    /// Bytes of a subscription, as JSON. On this server: a predicate, and texts far longer than a notification.
    package static let subscriptionBytes = 16 * 1024
    /// Fields of a record whose values a notification carries. CloudKit: `CKSubscription.NotificationInfo.desiredKeys`.
    package static let fieldsPerNotification = 3
    /// Characters of a text that a notification takes from a record. CloudKit: `desiredKeys` and localization arguments, "may be truncated".
    package static let notificationTextCharacters = 100
    /// Bytes of a notification; of a larger one parts are left out. CloudKit: as much as Apple's push services take.
    package static let payloadBytes = 4096
    /// Subscriptions that are held against changes at a time. On this server: some milliseconds.
    package static let firingChunk = 200
    /// Changes that one user has saved into a database of its own and of which devices are not told yet; who saves more waits. Elsewhere only those count that
    /// keep more than 4 KB. On this server: some seconds' work.
    package static let changesWaitingToBeTold = 4_000
    /// Bytes of what filters compare that wait with them; who has saved so many waits. On this server: they count for no quota.
    package static let bytesWaitingToBeTold = 16_000_000
    /// Rows of queues, and thousands of their bytes, that one transaction reads and writes, and what one queue takes beyond. On this server: two milliseconds
    /// for which others' writes wait.
    package static let notifyingChunk = 200
    /// Bytes of a notification that is sent to a browser; of a larger one parts are left out. On this server: sealed, they are the 4,096 that
    /// every push service takes (RFC 8291, section 4).
    package static let webPushPayloadBytes = 3993
    /// Devices that notifications are sent to at the same time, over push services. On this server.
    package static let pushesAtOnce = 8
    /// Seconds that a push service has to take a notification. On this server.
    package static let pushSeconds: Double = 10
    /// Seconds for which it is kept what became of a notification, for who asks why. On this server.
    package static let pushLogSeconds: Double = 7 * 24 * 3600
    /// Rows of it that a device has, one for each transaction that changed its queue; of more, the oldest go. On this server.
    package static let pushLogRowsPerDevice = 100
    /// Bytes of such a row; what finds no room is left out. On this server: 50 lines.
    package static let pushLogBytes = 4000
    /// Lines of it that are told of a device. On this server.
    package static let pushLogLinesTold = 50
    /// Seconds for which a notification waits for its device; then the device is told to fetch everything. On this server: as retries of work in the
    /// background go on.
    package static let notificationSeconds: Double = 7 * 24 * 3600
    /// Notifications that wait for a device; of more, it is told to fetch everything. On this server: 400 KB, and more than anybody looks at.
    package static let notificationsPerDevice = 100
    /// Notifications of a user's devices a second, with the user's subscriptions that others' saves are held against, and a minute's worth at once after a
    /// quiet time; of more, they are told to fetch everything. On this server: a tenth of a core.
    package static let notificationsPerSecond = 3_000
    /// Devices of a user that are told of changes; of more, those go that were heard of longest ago. On this server: as many sign-ins, and their clients.
    package static let notifiedDevicesPerUser = 100
    /// Seconds after which a device that was not heard of is told nothing more. On this server: it comes back, and is told to fetch everything.
    package static let notifiedDeviceSeconds: Double = 30 * 24 * 3600
    /// Seconds for which a push token is good. CloudKit: the `ttl` of a `webcourierURL`, 12 hours.
    package static let pushTokenSeconds: Double = 12 * 3600
    /// Bytes of a `clientId`. On this server: a UUID has 36.
    package static let clientIDCharacters = 64
    /// Seconds between two signs of life on an event stream. On this server: less than what lies between closes idle connections after.
    package static let eventHeartbeatSeconds: Double = 15
    /// Seconds after which an event stream ends, and its client connects again. On this server: it is asked again who it is.
    package static let eventStreamSeconds: Double = 30 * 60
    /// Seconds that a device which listens has to acknowledge a notification, before it is pushed to its address too. On this server: two heartbeats.
    package static let pushGraceSeconds: Double = 30
}
