import NacreCloudAccounts
import NacreCloudStorage
import NacreCloudWire
import NacreEncryptionForms

/// The keys of the entries that an account's logs of keys and its enrolments consist of, in the user's private
/// database.
enum KeyEntries {
    /// Returns the key of a statement, by its place among those of all logs.
    static func statement(at place: Int, in database: DatabaseID) -> EntryKey {
        EntryKey(database, .keyStatement, HexText.encode(UInt64(place)))
    }

    /// Returns the key of the newest account key that is sealed for a device; nil: for the recovery key.
    static func wrap(for device: DeviceID?, in database: DatabaseID) -> EntryKey {
        EntryKey(database, .accountKeyWrap, HexText.encode(device?.bytes ?? DeviceID.zeros))
    }

    /// Returns the key of an enrolment, by the hash of its commitment.
    static func enrolment(_ commitment: Digest, in database: DatabaseID) -> EntryKey {
        EntryKey(database, .enrolment, HexText.encode(commitment.bytes))
    }

    /// Returns the key of the older account key that is sealed under a generation.
    static func olderKey(under generation: UInt32, in database: DatabaseID) -> EntryKey {
        EntryKey(database, .olderAccountKey, HexText.encode(UInt64(generation)))
    }
}

extension EntryRow {
    /// Reads a form that the row keeps.
    func form<Value: Form>(_: Value.Type = Value.self) throws(StoreError) -> Value {
        do throws(FormFault) {
            return try Value(value)
        } catch {
            throw StoreError(.corrupt, "A kept form of keys is malformed", ["key": key.key, "fault": "\(error)"])
        }
    }
}

extension ReadTransaction {
    /// Returns the statements of all logs of the account whose private database it is.
    func keyStatements(in database: DatabaseID) throws -> [KeyStatement] {
        try allEntries(.keyStatement, in: database).map { try $0.form() }
    }
}

extension WritePlan {
    /// Adds the rows of a statement that was decided to be kept.
    /// - Parameters:
    ///   - keys: the logs before it.
    ///   - after: the newest log with it.
    mutating func put(_ addition: KeyAddition, after keys: AccountKeys, _ log: KeyLog, in database: DatabaseID) {
        entries.append(EntryRow(key: KeyEntries.statement(at: keys.count, in: database), value: addition.statement.bytes))
        for wrap in addition.wraps {
            guard case .accountKey(let device) = wrap.subject else { continue }
            entries.append(EntryRow(key: KeyEntries.wrap(for: device, in: database), value: wrap.bytes))
        }
        if let older = addition.olderKey {
            entries.append(EntryRow(key: KeyEntries.olderKey(under: log.generation, in: database), value: older.bytes))
        }
        // A removed device, or after a reset all of them and the recovery key.
        let (before, enrolled) = (keys.log?.enrolled ?? [:], log.enrolled)
        entriesRemoved += before.keys.filter { enrolled[$0] == nil }.map { KeyEntries.wrap(for: $0, in: database) }
        guard log.isReset, log.generation > 0 else { return }
        entriesRemoved.append(KeyEntries.wrap(for: nil, in: database))
        if log.generation > 1 { entriesRemoved += (2...log.generation).map { KeyEntries.olderKey(under: $0, in: database) } }
    }
}
