package import NacreCloudWire

/// The server's limits of keys and of what is sealed with them.
extension Limits {
    /// Seconds by which the stamp of a manifest, of a record or a scope, may lie ahead of the server's clock. The next
    /// manifest has a later stamp, so that a wrong clock must not take all of them. On this server: a day.
    package static let manifestStampAheadSeconds: Double = 24 * 3600
    /// Bytes of the manifest of a record's encrypted values, beside those of `recordBytes`. On this server.
    package static let recordManifestBytes = 65_536
    /// Statements of an account about its keys, in all its logs. Removals of devices and a reset are taken above it,
    /// at most one for each device and one. On this server: two logs of the largest size.
    package static let keyStatementsPerAccount = 2_000
    /// Bytes of a manifest. On this server: a hundred participants, and some hundred versions of the key.
    package static let scopeManifestBytes = 32 * 1024
    /// Devices of an account that wait to be enrolled at the same time. On this server: a family's new devices in ten
    /// minutes.
    package static let enrolmentsPerAccount = 8
    /// Devices that wait to be enrolled by one sign-in. On this server: a device that tries again twice.
    package static let enrolmentsPerSignIn = 3
    /// Seconds that the messages of an enrolment are kept. On this server: time to fetch the other device.
    package static let enrolmentSeconds: Double = 600
    /// Bytes of a message. On this server: several times the longest.
    package static let enrolmentMessageBytes = 1024
}
