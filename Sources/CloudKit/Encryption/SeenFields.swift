#if canImport(NacreEncryption)
    import Foundation
    import NacreCrypto
    import NacreLocks

    /// The fields of record types that this device has seen encrypted, as a file beside the keys has them. A field is
    /// encrypted for ever, so a later process refuses one that arrives plain.
    ///
    /// The file is of an environment of a container on a server, and of no user: the fields are those of the schema.
    struct SeenFields: Codable, Equatable, Sendable {
        /// The most fields of a file. Further ones are known to the process alone that has seen them.
        static let fieldsMax = 2_000

        private var version = 1
        private let server: String
        private let container: String
        private let environment: String
        /// The names of fields by their record types.
        private(set) var types: [String: Set<String>] = [:]

        init(_ settings: ServerSettings) {
            server = settings.url.absoluteString
            container = settings.container
            environment = settings.environment.rawValue
        }

        /// Reads a file. No file is one without fields.
        /// - Parameter path: the file's path, for the error.
        init(_ bytes: [UInt8]?, _ settings: ServerSettings, at path: String) throws(CKError) {
            self.init(settings)
            guard let bytes else { return }
            let file = try? JSONDecoder().decode(SeenFields.self, from: Data(bytes))
            guard let file, file.version == 1, file.fileName == fileName else { throw .keysUnreadable(at: path) }
            types = file.types
        }

        var fileName: String {
            let parts = [server, container, environment].map { "\($0.utf8.count):\($0)" }
            return "fields-" + Hex.encode(Array(SHA256.digest(Array(parts.joined().utf8)).prefix(16)))
        }

        /// Notes a field, if there is room.
        mutating func note(_ field: String, of type: String) {
            guard types[type]?.contains(field) != true, types.values.reduce(0, { $0 + $1.count }) < Self.fieldsMax else { return }
            types[type, default: []].insert(field)
        }

        fileprivate func bytes() throws(CKError) -> [UInt8] {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
            do {
                return [UInt8](try encoder.encode(self))
            } catch {
                throw .keysNotKept(error as NSError, at: fileName)
            }
        }
    }

    extension KeyStore {
        func seenFields(_ settings: ServerSettings) async throws(CKError) -> SeenFields {
            let name = SeenFields(settings).fileName
            return try await read(name) { [self] bytes throws(CKError) in try SeenFields(bytes, settings, at: path(of: name)) }
        }

        func note(_ fields: [SeenRecords.FieldName], _ settings: ServerSettings) async throws(CKError) {
            let name = SeenFields(settings).fileName
            try await update(name) { [self] bytes throws(CKError) in
                let before = try SeenFields(bytes, settings, at: path(of: name))
                var after = before
                for field in fields { after.note(field.field, of: field.type) }
                return (after == before ? nil : try after.bytes(), ())
            }
        }
    }

    extension Conversation {
        /// Has this process know the fields that the device has seen encrypted. Reads a file, once.
        func recallFields(_ settings: ServerSettings) async {
            guard line.seenRecords.withLock({ $0.mustRecall(settings) }) else { return }
            do throws(CKError) {
                let seen = try await line.keyStore.seenFields(settings)
                line.seenRecords.withLock { $0.recall(seen, settings) }
            } catch {
                line.log("CloudKit: the fields that this device has seen encrypted cannot be read: \(error)")
            }
        }

        /// Keeps the fields that this process was the first to see encrypted.
        func keepFields(_ settings: ServerSettings) async {
            let new = line.seenRecords.withLock { $0.takeNewFields() }
            if new.isEmpty { return }
            do throws(CKError) {
                try await line.keyStore.note(new, settings)
            } catch {
                line.log("CloudKit: the fields that this device has seen encrypted cannot be kept: \(error)")
            }
        }
    }
#endif
