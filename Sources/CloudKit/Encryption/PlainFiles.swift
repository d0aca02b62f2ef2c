#if canImport(NacreEncryption)
    import NacreCloudWire
    import NacreEncryption
    import NacreEncryptionForms
    import NacreLocks

    /// The files of one field of a record that the server can read.
    package struct PlainFiles: Encodable, Equatable, Sendable {
        package let zone: String
        package let record: String
        package let field: String
        /// The number of files.
        package let files: Int
        /// The bytes of all of them.
        package let bytes: Int64
    }

    /// The number of a user's plain files.
    package struct PlainCount: Encodable, Equatable, Sendable {
        package let files: Int
        /// Whether all zones were read to their end: otherwise there may be more.
        package let isWhole: Bool
    }

    extension ZoneKeys {
        /// Returns the names of the fields whose files a record's manifest lists as sealed; none for a manifest that
        /// does not verify.
        /// - Parameter kept: the newest version of the record that this device has seen.
        fileprivate func sealedFiles(of record: Record, kept: RecordManifest.Version?) -> Set<String> {
            guard let bytes = record.manifest, let form = try? RecordManifest(bytes), (try? open(record, asked: nil, kept: kept)) != nil else {
                return []
            }
            return Set(form.parts.files.map(\.name))
        }
    }

    extension Record {
        /// Returns the files that are not known to be sealed.
        /// - Parameter sealed: the names of fields with sealed files.
        func plainFiles(inZone zone: String, sealed: Set<String>) -> [PlainFiles] {
            fields.entries.compactMap { field in
                guard let assets = field.value.assets, !assets.isEmpty, !sealed.contains(field.name) else { return nil }
                return PlainFiles(
                    zone: zone, record: recordName, field: field.name, files: assets.count,
                    bytes: assets.reduce(0) { sum, asset in sum + max(0, min(asset.size, .max - sum)) })
            }
        }

        fileprivate var hasFiles: Bool { fields.entries.contains { $0.value.assets?.isEmpty == false } }
    }

    extension UserKeys {
        /// The most pages of zones that `countPlainFiles` reads.
        private static let pagesCounted = 50

        /// Reads through the user's own zones, and tells the files that no verified manifest lists as sealed. The
        /// default zone is left out: it has no feed in which to find the records.
        /// - Parameters:
        ///   - zone: the name of the only zone to look through; nil: all.
        ///   - pagesMax: the most pages of feeds that are read.
        ///   - each: called with the files of each page, in the order of the names of zones.
        /// - Returns: whether all pages were read.
        @discardableResult package func plainFiles(
            zone: String? = nil, pagesMax: Int = .max, _ each: ([PlainFiles]) throws -> Void
        ) async throws -> Bool {
            let names: [String] = if let zone { [zone] } else { try await exchange.ownZones() }
            var left = pagesMax
            for name in names.sorted() where name != ZoneID.defaultZoneName {
                guard let place = Place(owner: exchange.account.name, zone: name) else { continue }
                var token: String?
                while true {
                    guard left > 0 else { return false }
                    left -= 1
                    let item = ChangesZoneRequest.Item(zoneID: ZoneID(zoneName: name), syncToken: token)
                    let answer = try await exchange.conversation.changes(ChangesZoneRequest(zones: [item]))
                    let page = try answer.page()
                    var found: [PlainFiles] = []
                    for case .record(let record) in page.records where record.hasFiles {
                        let kept = line.seenRecords.withLock {
                            $0.version(
                                of: CKRecord.ID(recordName: record.recordName, zoneID: CKRecordZone.ID(zoneName: name)), before: answer.moment)
                        }
                        let scope = record.manifest.flatMap { try? RecordManifest($0) }?.parts.keyID.scope
                        let keys = try await exchange.zoneKeys(at: place, holding: scope)
                        found += record.plainFiles(inZone: name, sealed: keys?.sealedFiles(of: record, kept: kept) ?? [])
                    }
                    try each(found)
                    token = page.syncToken
                    if !page.moreComing { break }
                }
            }
            return true
        }

        /// Counts the files that `plainFiles` tells, in its first pages.
        package func countPlainFiles() async throws -> PlainCount {
            var files = 0
            let isWhole = try await plainFiles(pagesMax: Self.pagesCounted) { page in
                files += page.reduce(0) { $0 + $1.files }
            }
            return PlainCount(files: files, isWhole: isWhole)
        }
    }
#endif
