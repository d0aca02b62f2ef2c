package import NacreCloudWire

/// The server's own limits. Limits that clients share are in `NacreCloudWire/SharedLimits.swift`.
extension Limits {
    /// Changes by which a page may exceed its limit to finish one commit. On this server: the largest request (400
    /// items, and the parents that they touch) is never split; a cascade may be.
    package static let changesPerUnsplitCommit = 1000
    /// Live zones of a database for which `zones/list` and a query of all zones are answered. On this server.
    package static let zonesPerList = 5000
    /// Live zones in a database. On this server: as many as `zones/list` answers; a zone is about a kilobyte that no
    /// quota counts.
    package static let zonesPerDatabase = 5000
    /// Participants of a share, its owner included. CloudKit: `CKShare`.
    package static let participantsPerShare = 100
    /// Participants of the zones that one request deletes. On this server: each gets a task, while other writes wait.
    package static let participantsTold = 4_000
    /// Unanswered requests for access to one share, and blocked identities. On this server: as many as participants.
    package static let accessRequestsPerShare = 100
    /// Shares to which an account has asked for access. Answered requests are found and dropped when there is no room.
    /// On this server.
    package static let accessRequestsPerAccount = 100
    /// Zones shared with one user. On this server: listing them reads each in its owner's database.
    package static let sharedZonesPerUser = 1000
    /// Shares of records in one zone. On this server: making a share reads the roots of all others.
    package static let recordSharesPerZone = 1000
    /// Shares of records in one zone that a user takes part in. On this server: each request of the user to the zone
    /// reads them.
    package static let sharesOfZonePerUser = 50
    /// Levels above a record that are read when its parent changes in a zone with shares. On this server.
    package static let parentLevels = 100
    /// Descendants that enter or leave a share in its transaction. On this server: the rest follow in portions.
    package static let subtreePerTransaction = 400
    /// Views of a zone that a record keeps: where it is, or has been. On this server: the oldest departures are
    /// forgotten first, and change tokens from before them expire.
    package static let sharedPlacesPerRecord = 16
    /// Bytes of `clientChangeTokenData`. On this server; CloudKit gives no number.
    package static let clientChangeTokenBytes = 1024
    /// Characters of an operation ID. On this server: a UUID has 36.
    package static let operationIDCharacters = 64
    /// Seconds that an operation's result is kept. On this server: utility and background work retries for 7 days.
    package static let operationSeconds: Double = 8 * 24 * 3600
    /// Logged operations of one caller in one database, the latest ones. On this server.
    package static let operationsPerCaller = 10_000
    /// Bytes of the results of one caller's logged operations in one database; the oldest go. On this server: 400 for
    /// each operation, since no quota counts them.
    package static let operationBytesPerCaller = 4_000_000
    /// Bytes of failure texts that a logged operation keeps; further failures keep only their codes. On this server:
    /// three or four different texts, as a request mostly fails for one reason.
    package static let operationTextBytes = 500
    /// Seconds that a logged operation is kept whatever its caller does. On this server: the framework gives a request
    /// up within five minutes, unless it rides out a bad network for days.
    package static let operationMinimumSeconds: Double = 15 * 60
    /// Seconds from a client's look at its clock to the arrival of its repeated request. On this server: the framework
    /// gives an attempt up after 60.
    package static let operationDelaySeconds: Double = 120
    /// Logged operations trimmed in one transaction. On this server.
    package static let operationTrimChunk = 500
    /// Roles that a schema declares, without CloudKit's own. On this server: each request to a public database reads
    /// their names and numbers.
    package static let rolesPerSchema = 50
    /// Record types of a container in one environment. On this server.
    package static let recordTypesPerSchema = 500
    /// Fields of a record type. On this server.
    package static let fieldsPerRecordType = 500
    /// Fields in all types of a schema up to which saves add fields; its text may declare more. On this server: each
    /// process holds them in memory, and a change of indexes reads all of them while other writes wait.
    package static let fieldsJustInTime = 20_000
    /// Types and fields that one transaction adds to a schema. On this server: two types of the largest size, and some
    /// ten milliseconds.
    package static let fieldsAddedAtOnce = 1_000
    /// Recorded queries of an environment, with what they need of its schema; further ones are ignored. On this server:
    /// an app has some dozens.
    package static let recordedQueriesKept = 200
    /// Bytes of a recorded query in words; a longer one is not recorded. On this server.
    package static let recordedQueryBytes = 1000
    /// Seconds that a recorded query is kept after it was last noted. On this server: a month.
    package static let recordedQuerySeconds: Double = 30 * 24 * 3600
    /// Seconds until a recorded query is noted again. On this server: a day.
    package static let recordedQueryPauseSeconds: Double = 24 * 3600
    /// Administrators' changes in the history of a schema, the latest ones, in each environment. On this server.
    package static let schemaChangesKept = 50
    /// Bytes of a change in a schema's history; a larger one keeps only its number of differences. On this server.
    package static let schemaChangeBytes = 64_000
    /// Entries in the audit log of administrators. On this server: years of a small team's work, some megabytes.
    package static let auditEntriesKept = 10_000
    /// Entries that one session of the console, or one management token, adds to it in an hour. On this server.
    package static let auditEntriesPerHour = 360
    /// Alert rules of the server. On this server: each is read every half minute.
    package static let alertRules = 100
    /// Bytes by which a save may grow a record despite a full quota, if its fields do not grow. On this server: other
    /// names and devices in its stamps, a few longer numbers.
    package static let bodyGrowthBytes: Int64 = 512
    /// Records whose missing index rows are added in one transaction. On this server.
    package static let indexBuildChunk = 200
    /// Index rows after which a transaction of an index build takes no further record. On this server: other writes
    /// wait some ten milliseconds.
    package static let indexBuildRows = 500
    /// The default quota of a user's private database in bytes; 0: no limit but the disk. On this server.
    package static let userQuotaBytes = 0
    /// The default quota of a public database in bytes; 0: no limit but the disk. On this server.
    package static let publicQuotaBytes = 0
    /// Bytes of the largest quota that can be set. On this server: JSON carries it exactly, and no disk is as large.
    package static let quotaBytes = 1 << 52
    /// Rows that one step of a check reads. On this server: some 40 milliseconds, in which pages and blocks of indexes
    /// serve several rows each.
    package static let checkRows = 2000
    /// Rows of a step that may repair. On this server: other writes wait for it.
    package static let checkRowsMended = 500
    /// Tasks on a page of their list. On this server.
    package static let tasksPerPage = 500
    /// Records reclaimed in one transaction, which keeps it short. On this server.
    package static let reclaimChunk = 500
    /// Bytes of the largest chunk of an asset; each download holds one in memory. On this server.
    package static let assetChunkBytes = ContentCutter.mostBytes
    /// Seconds that the URL of an upload is good. CloudKit: Web Services Reference, 15 minutes.
    package static let assetUploadSeconds: Double = 15 * 60
    /// Seconds that a `downloadURL` is good. On this server: a large file may come in parts, and an app may wait before
    /// it fetches one.
    package static let assetDownloadSeconds: Double = 3600
    /// Seconds that an asset without a record is kept, from its upload, its last save or the end of its last record.
    /// On this server: an app that ended between an upload and its save may go on.
    package static let assetGraceSeconds: Double = 24 * 3600
    /// Bytes of files that one user has sent into a database and not saved in a record. On this server: many times what
    /// an app sends before it saves, and a small part of a disk.
    package static let waitingAssetBytes: Int64 = 10_000_000_000
    /// Chunks of files that one user has announced for a database and not sent whole; further files are sent whole.
    /// On this server: some gigabytes, whose list takes a megabyte.
    package static let announcedChunks = 20_000
    /// Chunks of announced files of all users. On this server: their lists take some tens of megabytes.
    package static let announcedChunksInAll = 400_000
    /// Chunks that one `assets/rereference` copies, and that are removed in one transaction; a single file may have
    /// more. On this server: the framework's largest file. A copy writes a row per chunk, and other writes wait some
    /// tens of milliseconds.
    package static let chunksCopied = 4_000
    /// Bytes of small files that one `assets/rereference` copies. On this server: as much as a page.
    package static let bytesCopied = pageBytes
    /// Rows of a transaction without those of indexes and feeds; an engine refuses more. On this server: a file of 10
    /// GB in the smallest chunks has 150,000, and other transactions have far fewer.
    package static let transactionRows = 200_000
    /// Chunks of an announced file that are looked up at a time. On this server: a bucket answers slowly.
    package static let announcedReadsAtOnce = 8
    /// Rows of announced files that are read at a time. On this server: each may name thousands of chunks.
    package static let announcedRows = 10
    /// Seconds that an announced file is waited for after its last part. On this server: a device loses its network.
    package static let announcedSeconds: Double = 3600
    /// Seconds of a worker's lease on a task. On this server.
    package static let taskLeaseSeconds: Double = 60
    /// Seconds after which a long task stores its progress. On this server.
    package static let taskProgressSeconds: Double = 2
    /// Attempts of a task without progress before it is parked, over an hour with their pauses. On this server.
    package static let taskAttempts: Int64 = 16
    /// The longest pause before a failed task is tried again, in seconds. On this server.
    package static let taskPauseSeconds: Double = 600
    /// References with action DELETE_SELF to one record. CloudKit: Web Services Reference, "Data Size Limits".
    package static let owningReferences = 750
    /// Records deleted by a cascade in the transaction of the first deletion; the rest follow in further ones.
    /// On this server: other writes wait some 70 milliseconds.
    package static let cascadePerTransaction = 2_000
    /// Levels of a cascade followed in one transaction, with two calls of the store each. On this server.
    package static let cascadeLevels = 1000
    /// Names of holders that one call of the store looks up for a wide level of a cascade. On this server.
    package static let dependentsPerCall = 300_000
    /// Records deleted in one further transaction of a cascade. On this server: room for the dependents of one record.
    package static let cascadeChunk = 1000
    /// Seconds that tombstones of records and zones are kept; older change tokens expire. On this server: 90 days.
    package static let tombstoneSeconds: Double = 90 * 24 * 3600
    /// Tombstones purged in one transaction. On this server.
    package static let purgeChunk = 500
    /// Bytes of record bodies after which a page ends: a page of changes even inside a commit, a page of a query with a
    /// cursor. On this server: as much as a request may have.
    package static let pageBytes = 8_000_000
    /// Bytes of records in an answer without pages: a lookup, or a modify with its saves and conflicts. On this server:
    /// as much as a page; a larger request must be split, which the framework does.
    package static let answerBytes = 8_000_000
    /// Bytes of JSON that count as one of `pageBytes` and `answerBytes`, if a record's JSON exceeds its body: control
    /// characters take six times as much. An answer ends at 16 MB of JSON. On this server.
    package static let textPerAnswerByte = 2
    /// Bytes of a body up to which its size as JSON is ignored. On this server.
    package static let smallBodyBytes = 2048
    /// Bytes of records that one request reads without answering them: a lookup of some fields, or a modify's deleted
    /// and referenced records and their parents. On this server: half a page of a query, because a modify keeps them
    /// while other writes wait.
    package static let unansweredBytes = 32_000_000
    /// Bytes of records read to decide a modify while other writes wait; a larger one is first decided on a snapshot.
    /// On this server: one record with its overhead, whose save is then decided only once.
    package static var decidedAtWriterBytes: Int { recordBytes + recordBytes / 10 }
    /// Bytes of searched text, in all requests together, whose words are found before their transactions. Keys of short
    /// words take three and a half times as much. On this server: two requests of only text, or one that replaces as
    /// much.
    package static var foundTextBytes: Int { 2 * bodyBytes }
    /// Records that one request refers to by more than a pointer, in the fields that it sets. On this server: each is
    /// looked up, and kept as a link, while other writes wait.
    package static let targetsPerRequest = 10_000
    /// Bytes of records deleted by a cascade in the transaction of the first deletion; the rest follow in further ones.
    /// On this server: other writes wait some 50 milliseconds.
    package static let cascadeBytes = 2_000_000
    /// The cost of an address or number to look a user up by, which makes guessing expensive. On this server: a user
    /// looks up ten a second, and an address book of hundreds at once.
    package static let addressLookupCost = 1000
    /// Bytes of a given or a family name. On this server.
    package static let personNameBytes = 256
    /// The cost of checking or hashing a password. On this server: a tenth of a second of a core.
    package static let passwordCost = 10_000
    /// Bytes of a value in an index. On this server: longer texts are sorted by this prefix; filters compare all of it.
    package static let indexKeyBytes = 512
    /// Index rows and records that one page of a query reads before it ends with a cursor. On this server.
    package static let queryScanRows = 10_000
    /// Bytes that one page of a query reads or compares in filters before it ends with a cursor. On this server: half a
    /// second of work.
    package static let queryScanBytes = 64_000_000
    /// Values of a filter's list, and words of a token search. CloudKit: "Query filter exceeds the limit of values:
    /// 250".
    package static let valuesPerFilter = 250
    /// Filters of a query. On this server.
    package static let filtersPerQuery = 50
    /// Sorts of a query. On this server.
    package static let sortsPerQuery = 10
    /// Rows read by a page after which a missing index is made. On this server: reading them takes a few milliseconds.
    package static let rowsWithoutIndex = 500
    /// Bytes of rows and records read by a page after which a missing index is made. On this server.
    package static let bytesWithoutIndex = 4_000_000
    /// Records that one page reads in vain before its query gets an index of two fields. On this server: they take a
    /// third of a millisecond each time, and a row in one more index takes a few microseconds of each save.
    package static let recordsLookedAtInVain = 40
    /// Indexes of two fields per record type. On this server: each is another row of every save.
    package static let pairIndexesPerType = 3
    /// Portions in which a page of a query sorts its zones without an index, of `queryScanRows` each. On this server:
    /// 500,000 records, some three seconds of a core.
    package static let queryPortions = 50
    /// Seconds that a page of a query waits at most for an index that it cannot do without. On this server: the
    /// framework gives an attempt up after 60.
    package static let indexWaitSeconds: Double = 20
    /// Seconds after which a query whose index is being built may be tried again. CloudKit: `retryAfter` 30.
    package static let indexBuildRetrySeconds = 30
    /// Seconds that a request may wait for a change. On this server.
    package static let waitSeconds: Double = 30
    /// The default rate of a user per second, in units of about ten microseconds. A request costs `requestCost`, one
    /// unit per record that it names, and one per thousand bytes that it sends, is sent or has looked at.
    /// On this server: a tenth of a core.
    package static let requestRate = 10_000
    /// The cost of any request: reading, authenticating, answering and logging it. On this server: measured, 60 to 180
    /// µs of a core one by one, and less together.
    package static let requestCost = 6
    /// The cost of checking a signature on P-256. On this server: 50 µs of a core.
    package static let signatureCost = 5
    /// The cost of drawing a QR code. On this server: 50 to 100 µs of a core.
    package static let codeCost = 5
    /// The rate of an address, as a multiple of a user's. On this server: several users may share it.
    package static let requestRateOfAddress = 10
    /// The rate of a container, as a multiple of a user's. On this server: its users share it.
    package static let requestRateOfContainer = 40
    /// The divisor of a container's rate for all its guests, who have an API token and no user. On this server: half is
    /// left for users.
    package static let guestsPartOfRate = 2
    /// The divisor of a container's rate for guests at one address. On this server: ten can use up the guests' rate.
    package static let guestPartOfRate = 20
    /// The cost of an unknown credential, in the unit of `requestRate`. On this server: each is looked up in the store.
    package static let unknownCredentialCost = 10
    /// Absent names in a lookup that cost as much as one record. On this server.
    package static let absentNamesCountAsRow = 10
    /// Seconds' worth of its rate that a quiet caller may use at once. On this server.
    package static let requestBurstSeconds: Double = 60
    /// Requests of one user that wait for a change at the same time. On this server: one connection per device.
    package static let waitsPerUser = 100
    /// The largest rate that can be set, in units per second. On this server: no machine does as much.
    package static let ratePerSecond = 1_000_000_000
    /// Seconds that the answer to an administrator's request is kept under its idempotency key. On this server: a
    /// script that failed at night is run again in the morning.
    package static let idempotencyKeySeconds: Double = 24 * 3600
    /// Idempotency keys that are kept at the same time. On this server: one per minute and a half.
    package static let idempotencyKeysKept = 1000
    /// Bytes of an answer kept under an idempotency key. On this server: longer ones can be asked for again.
    package static let idempotentAnswerBytes = 64 * 1024
    /// Seconds that a web auth token is good without use. CloudKit: Web Services Reference, 30 minutes.
    package static let sessionSeconds: Double = 30 * 60
    /// Seconds that this token is good if the user asked to be kept signed in. CloudKit: Web Services Reference, two
    /// weeks.
    package static let keptSessionSeconds: Double = 14 * 24 * 3600
    /// Sessions on the web per account; the oldest end. On this server: an unused session is kept for two weeks, and
    /// users need not clear up before they sign in.
    package static let sessionsPerAccount = 100
    /// Devices with account tokens per account; a further one is refused. On this server: a device in use keeps its
    /// sign-in when others sign in.
    package static let devicesPerAccount = 100
    /// Seconds that an administrator's sign-in as a user is good, in development. On this server: one look for a fault.
    package static let actingSeconds: Double = 3600
    /// Characters of an e-mail address. On this server: RFC 5321, 4.5.3.1.3 (a path of 256 octets with its brackets).
    package static let emailCharacters = 254
    /// Bytes of a request's body. On this server: longer than any request within CloudKit's limits, which are measured
    /// on values.
    package static let bodyBytes = 8 * 1024 * 1024
    /// Bytes of a body about accounts, or of an administrator's. On this server: several times an address, a password
    /// and a few names.
    package static let accountBodyBytes = 16 * 1024
    /// Bytes of an app's icon. On this server: 128 by 128 pixels with room to spare; it is in each page that shows it.
    package static let iconBytes = 32 * 1024
    /// Pixels of an app's icon, in each direction. On this server: a browser has to decode it.
    package static let iconPixels = 1024
    /// Bytes of an administrator's body with a schema's text. On this server: the most types and fields, a line each.
    package static let schemaBodyBytes = 16 * 1024 * 1024
    /// The fewest characters of a password. On this server: NIST SP 800-63B, 5.1.1.1, "at least 8 characters in
    /// length"; it asks for no other rule of composition.
    package static let passwordCharacters = 8
    /// The most bytes of a password. On this server: it bounds the work of hashing.
    package static let passwordBytes = 1024
    /// Seconds that a code for a new password is good. On this server: an administrator passes it on to the user.
    package static let passwordResetSeconds: Double = 3600
    /// Seconds that a change of address may take before it is undone. On this server: three short transactions.
    package static let emailChangeSeconds: Double = 60
    /// Seconds from the end of a deleted account's sign-ins to the removal of its data. On this server: by then every
    /// process knows, and every request under way is done.
    package static let accountDeletionSeconds: Double = 60
    /// Seconds between a signature's date and the server's clock. On this server: clocks differ, and a signed request
    /// takes time; CloudKit prints no number.
    package static let signatureSeconds = 600.0
    /// Seconds after which the use of a session restarts its life. On this server: one write a day per session in use.
    package static let sessionProlongSeconds: Double = 24 * 3600
    /// Seconds that a sign-in page may stay open before its form is sent. On this server: a user is called away.
    package static let signInSeconds: Double = 3600
    /// Seconds from the password on the sign-in page to the click that grants. On this server: the question is short.
    package static let consentSeconds: Double = 600
    /// Seconds in which the page of a share opens. On this server: an app opens it at once.
    package static let shareGrantSeconds: Double = 60
    /// Seconds in which a printed link opens the page of a share. On this server: people pass it on by hand.
    package static let shareLinkSeconds: Double = 3600
    /// Seconds that the page of a share acts. On this server: a user is called away.
    package static let sharePageSeconds: Double = 1800
    /// Passkeys per account. On this server: a few devices, and their makers' password managers.
    package static let passkeysPerAccount = 20
    /// Bytes of a passkey's ID. On this server: WebAuthn level 2, 7.1, "1023 bytes or fewer".
    package static let passkeyIDBytes = 1023
    /// Characters of a passkey's name. On this server: a line in a list.
    package static let passkeyNameCharacters = 64
    /// Seconds that a user may spend at an OpenID issuer. On this server: a password, a second factor, a call for help.
    package static let openIDSeconds: Double = 900
    /// Seconds by which an issuer's clock may differ. On this server: OpenID Connect Core 1.0, 3.1.3.7, "no more than a
    /// few minutes".
    package static let openIDClockSeconds: Double = 120
    /// Bytes of an issuer's answer, and of a token in it. On this server: keys and claims take a few thousand.
    package static let openIDAnswerBytes = 64 * 1024
    /// Seconds that the issuer may take for an answer. On this server: a user waits for it.
    package static let openIDAnswerSeconds = 10
    /// Keys of the issuer that are read. On this server: those of today, of yesterday and of tomorrow.
    package static let openIDKeys = 32
    /// Seconds that the issuer's description and keys are remembered. On this server: an hour.
    package static let openIDMemorySeconds: Double = 3600
    /// Seconds between two requests for an unknown key. On this server: made-up key IDs cannot flood the issuer.
    package static let openIDKeySeconds: Double = 60
    /// Requests to the issuer that are under way. On this server: a slow issuer does not hinder other sign-ins.
    package static let openIDRequests = 16
    /// Seconds that a link in a mail sets a new password. On this server: mail takes minutes, and lies about for years.
    package static let passwordLinkSeconds: Double = 30 * 60
    /// Seconds that a link in a mail verifies an address. On this server: it opens no account; users read it in a day.
    package static let addressLinkSeconds: Double = 24 * 3600
    /// Seconds that a code verifies a phone number. On this server: ten minutes, the most that NIST SP 800-63B,
    /// 5.1.3.2, allows.
    package static let phoneCodeSeconds: Double = 10 * 60
    /// Digits of a phone code. On this server: six, the least that NIST SP 800-63B, 5.1.3.2, allows.
    package static let phoneCodeDigits = 6
    /// Wrong phone codes after which the right one is refused. On this server: a guesser's chance is 1 in 200,000.
    package static let phoneCodeAttempts = 5
    /// Phone codes sent for an account per day. On this server: each costs its operator money.
    package static let phoneCodesPerDay = 5
    /// Seconds that a service for texts may take. On this server: as for a mail server.
    package static let textSeconds = 30
    /// Seconds for which sending a notice is retried. On this server: a mail server is repaired within a day.
    package static let noticeSeconds: Double = 24 * 3600
    /// Mails that wait; a further one is refused. On this server: a megabyte, and half an hour of a small mail server.
    package static let lettersWaiting = 1000
    /// The cost of a mail in a rate. On this server: as a password.
    package static let letterCost = 10_000
    /// Seconds that the mail server may take for a mail. On this server: it looks names up meanwhile.
    package static let mailSeconds = 30
    /// Bytes of the `state` that an app gives the sign-in page. On this server: an identifier, signed if need be.
    package static let signInStateBytes = 512
    /// Characters of a token's name. On this server: a line in a list.
    package static let tokenNameCharacters = 200
    /// The longest grace of a rotated API token, in seconds. On this server: a release of an app has reached its users.
    package static let tokenGraceSeconds: Double = 30 * 24 * 3600
    /// Seconds that a management token is good, by default and at most. CloudKit: "1 year" is its console's default.
    package static let managementTokenSeconds: Double = 365 * 24 * 3600
    /// Seconds within which a further use of a token or key is not noted. On this server: reads hardly ever write.
    package static let lastUseSeconds: Double = 600
    /// Origins of an API token. On this server: an app's pages, its tests and its developers' machines.
    package static let originsPerToken = 50
    /// Characters of an origin. On this server: a host of 253, with its scheme and port.
    package static let originCharacters = 270
    /// Characters of the URL of a sign-in callback. On this server: room for a token, within what browsers take.
    package static let callbackCharacters = 1000
    /// Wrong passwords before pauses, for an account, or for one from a known device. On this server: people mistype.
    package static let wrongPasswordsPerAccount = 10
    /// Wrong passwords from an address before pauses. On this server: the address may be a school's.
    package static let wrongPasswordsPerAddress = 50
    /// The longest pause of sign-ins to an account, in seconds. On this server: a guesser has four tries an hour.
    package static let accountPauseSeconds: Double = 900
    /// The longest pause of sign-ins from an address or a known device, in seconds. On this server: others share it.
    package static let addressPauseSeconds: Double = 60
    /// Passwords of an account checked at the same time; others wait. On this server: parallel tries avoid no pause.
    package static let passwordChecksPerAccount = 4
    /// Passwords from an address checked at the same time; others wait. On this server: as for an account.
    package static let passwordChecksPerAddress = 8
    /// Passwords from unknown devices that wait for the hasher. On this server: a quarter of its 64 is for known ones.
    package static let strangersPasswordChecks = 48
    /// Sign-ins from an address, or to an account, that wait for their turn. On this server: an office at nine o'clock.
    package static let signInsWaitingTogether = 128
    /// Sign-ins that wait for their turn. On this server: several offices; each holds one request.
    package static let signInsWaiting = 512
    /// Seconds that a sign-in may wait. On this server: `signInsWaitingTogether` take nine, at 70 ms a password.
    package static let signInWaitSeconds: Double = 15
    /// Subscriptions of one user in a database. On this server: `subscriptions/list` answers all of them.
    package static let subscriptionsPerUser = 500
    /// Subscriptions of one user in a public database that no value selects, so each change of their type is matched
    /// with them. On this server: a millisecond for others' saves.
    package static let openSubscriptionsPerUser = 100
    /// Bytes of a subscription, as JSON. On this server: a predicate, and texts far longer than a notification.
    package static let subscriptionBytes = 16 * 1024
    /// Fields of a record whose values a notification carries. CloudKit: `CKSubscription.NotificationInfo.desiredKeys`.
    package static let fieldsPerNotification = 3
    /// Characters of a text that a notification takes from a record. CloudKit: such texts "may be truncated".
    package static let notificationTextCharacters = 100
    /// Bytes of a notification; parts of a larger one are left out. CloudKit: the limit of Apple's push services.
    package static let payloadBytes = 4096
    /// Subscriptions that are matched with changes at a time. On this server: some milliseconds.
    package static let firingChunk = 200
    /// Changes that one user has saved into their own database and devices are not told yet; a further save waits. In
    /// other databases only changes that keep more than 4 KB count. On this server: some seconds' work.
    package static let changesWaitingToBeTold = 4_000
    /// Bytes that a user's untold changes keep for filters; a further save waits. On this server: no quota counts them.
    package static let bytesWaitingToBeTold = 16_000_000
    /// Rows of queues, plus thousands of their bytes, that one transaction reads and writes; one queue may exceed it.
    /// On this server: other writes wait two milliseconds.
    package static let notifyingChunk = 200
    /// Bytes of a notification for a browser; parts of a larger one are left out. On this server: sealed, they are the
    /// 4,096 that every push service takes (RFC 8291, section 4).
    package static let webPushPayloadBytes = 3993
    /// Devices that notifications are sent to at the same time, over push services. On this server.
    package static let pushesAtOnce = 8
    /// Seconds that a push service has to take a notification. On this server.
    package static let pushSeconds: Double = 10
    /// Seconds that the push log of a device is kept, which explains what became of a notification. On this server.
    package static let pushLogSeconds: Double = 7 * 24 * 3600
    /// Rows of a device's push log, at least one per transaction that changed its queue; the oldest go. On this server.
    package static let pushLogRowsPerDevice = 100
    /// Bytes after which a row of the push log is full; the rest goes into another row. On this server: 50 lines.
    package static let pushLogBytes = 4000
    /// Lines of a device's push log in an explanation, the latest ones. On this server.
    package static let pushLogLinesTold = 50
    /// Seconds that a notification waits for its device; then the device is told to fetch everything. On this server:
    /// as long as background work is retried.
    package static let notificationSeconds: Double = 7 * 24 * 3600
    /// Notifications that wait for a device; beyond, it is told to fetch everything. On this server: 400 KB, and more
    /// than a user looks at.
    package static let notificationsPerDevice = 100
    /// Notifications to a user's devices per second, plus matches of the user's subscriptions with others' saves. A
    /// quiet user has a minute's worth at once; beyond, devices are told to fetch everything. On this server: a tenth
    /// of a core.
    package static let notificationsPerSecond = 3_000
    /// Devices of a user that are notified, those last heard of. On this server: as many sign-ins, and their clients.
    package static let notifiedDevicesPerUser = 100
    /// Seconds of silence after which a device is not notified. On this server: once back, it is told to fetch
    /// everything.
    package static let notifiedDeviceSeconds: Double = 30 * 24 * 3600
    /// Seconds that a push token is good. CloudKit: the `ttl` of a `webcourierURL`, 12 hours.
    package static let pushTokenSeconds: Double = 12 * 3600
    /// Bytes of a `clientId`. On this server: a UUID has 36.
    package static let clientIDCharacters = 64
    /// Seconds between heartbeats on an event stream. On this server: fewer than proxies allow an idle connection.
    package static let eventHeartbeatSeconds: Double = 15
    /// Seconds after which an event stream ends and its client reconnects. On this server: it authenticates again.
    package static let eventStreamSeconds: Double = 30 * 60
    /// Seconds that a listening device has to acknowledge a notification before a push. On this server: two heartbeats.
    package static let pushGraceSeconds: Double = 30
    /// Webhooks of a container in an environment. On this server: each commit is held against all of them.
    package static let webhooksPerEnvironment = 10
    /// Fields whose values a webhook is sent. On this server: what a receiver decides by; it reads the rest itself.
    package static let fieldsPerWebhook = 20
    /// Bytes of a webhook's URL. On this server: as those of a push service.
    package static let webhookURLBytes = 2000
    /// Bytes of a webhook's query. On this server: as a subscription's.
    package static let webhookQueryBytes = 16 * 1024
    /// Bytes of a value that a webhook is sent, or compares; larger ones are left out. On this server.
    package static let webhookValueBytes = 16 * 1024
    /// Changes of a delivery, at most; a commit's part may exceed it by its own. On this server.
    package static let changesPerDelivery = 100
    /// Bytes of kept changes after which a delivery is full; its last part may exceed it. On this server: 256 KB.
    package static let deliveryBytes = 256 * 1024
    /// Seconds that changes are kept for webhooks; later they are lost. On this server: as notifications.
    package static let webhookChangeSeconds: Double = 7 * 24 * 3600
    /// Changes that are kept for a webhook in a zone; the oldest go first. On this server: an outage of hours.
    package static let webhookChangesKept = 100_000
    /// Bytes of these changes. On this server: the disk that an outage costs. Commits may exceed it for a while.
    package static let webhookBytesKept = 64 * 1024 * 1024
    /// Seconds that a receiver has to answer a delivery. On this server: a worker's lease is six times as long.
    package static let webhookSeconds: Double = 10
    /// Seconds that a receiver may ask to wait with `Retry-After`, at most. On this server: far less than changes are
    /// kept.
    package static let webhookRetrySeconds: Double = 3600
    /// Deliveries to webhooks at the same time. On this server: a slow receiver leaves room for others.
    package static let webhooksAtOnce = 8
}
