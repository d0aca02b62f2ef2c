/// The limits that clients and the server share, each once, with its source. The server's own are in
/// `NacreCloudStorage/Limits.swift`, and `GET /limits` shows all of them. CloudKit's own numbers are documented as
/// changeable: clients react to errors.
package enum Limits {
    /// Items of one modify or lookup from the framework. CloudKit: `CKError.limitExceeded`, and its message with
    /// "(400)".
    package static let itemsPerNativeRequest = 400
    /// Items of one request from a web client. CloudKit: Web Services Reference, "Data Size Limits".
    package static let itemsPerWebRequest = 200
    /// Bytes of one request's values from the framework, assets not counted. CloudKit: `CKError.limitExceeded`.
    package static let nativeRequestBytes = 2_000_000
    /// Bytes of one record's values, assets not counted. CloudKit: "no more than 1 MB".
    package static let recordBytes = 1_000_000
    /// Bytes of one file from a web client. CloudKit: Web Services Reference, "Data Size Limits".
    package static let webAssetBytes = 50 * 1024 * 1024
    /// Bytes of one file from the framework. On this server: CloudKit gives no number.
    package static let nativeAssetBytes = 250 * 1024 * 1024
    /// Assets in the records of one request. On this server: as many as are looked up at once.
    package static let assetsPerRequest = 1000
    /// Characters of a record name, zone name, record type or field name; all ASCII. CloudKit: `CKRecord.ID`,
    /// `CKRecordZone.ID`.
    package static let nameCharacters = 255
    /// Changes or zones on a page, both the maximum and the default. CloudKit: Web Services Reference,
    /// "resultsLimit".
    package static let resultsPerPage = 200
    /// Zones of one request. CloudKit: Web Services Reference, items of a request.
    package static let zonesPerRequest = 200
    /// Subscriptions of one request. CloudKit: Web Services Reference, items of a request.
    package static let subscriptionsPerRequest = 200
    /// Shares that one request resolves or accepts. On this server: each acceptance is a transaction.
    package static let sharesPerRequest = 50
    /// Names in `desiredKeys` or `desiredRecordTypes`. On this server: twice as many as a record type has fields, and
    /// few enough that the request's bytes are charged for the comparisons.
    package static let desiredNames = 1024
    /// Nesting depth of arrays and objects in a message. On this server: CloudKit's own messages need ten.
    package static let messageDepth = 64
    /// Bytes of one number in a message. On this server: 17 digits identify any double, 767 any decimal expansion of
    /// one.
    package static let numberBytes = 1024
}
