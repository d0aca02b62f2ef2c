import NacreCloudServerWire
import NacreCloudTestSupport
import NacreCloudWire

/// Random values, each of which can be sent exactly if the answer has details.
extension SeededRandom {
    mutating func name() -> String { "n" + String(next() % 100_000, radix: 36) }

    mutating func fieldName() -> String { (chance(2) ? "f" : "Z_") + String(next() % 1_000_000, radix: 36) }

    mutating func lookupInfo() -> UserLookupInfo {
        switch Int.random(in: 0..<4, using: &self) {
        case 0: .emailAddress(text())
        case 1: .phoneNumber(text())
        case 2: .userRecordName(text())
        default: .contactHash(text())
        }
    }

    mutating func user() -> UserIdentity {
        let names = maybe { seed in NameComponents(givenName: seed.maybe { $0.text() }, familyName: seed.maybe { $0.text() }) }
        return UserIdentity(userRecordName: text(), nameComponents: names, lookupInfo: maybe { $0.lookupInfo() })
    }

    mutating func timestamp() -> Timestamp {
        chance(2)
            ? Timestamp(secondsSince2001: .random(in: -1e10...1e10, using: &self))
            : Timestamp(millisecondsSince1970: .random(in: -62_135_769_600_000...4_000_000_000_000, using: &self))
    }

    mutating func zoneID() -> ZoneID {
        chance(4) ? .defaultZone : ZoneID(zoneName: text(upTo: 8) + name(), ownerRecordName: maybe { "_" + $0.name() })
    }

    mutating func link() -> Reference {
        Reference(recordName: name(), action: .none, zoneID: maybe { $0.zoneID() })
    }

    mutating func reference() -> Reference {
        Reference(recordName: text(upTo: 8), action: Reference.Action.allCases.randomElement(using: &self) ?? .none, zoneID: maybe { $0.zoneID() })
    }

    mutating func location() -> Location {
        Location(
            latitude: double(), longitude: double(), horizontalAccuracy: maybe { $0.double() }, verticalAccuracy: maybe { $0.double() },
            altitude: maybe { $0.double() }, speed: maybe { $0.double() }, course: maybe { $0.double() }, timestamp: maybe { $0.timestamp() })
    }

    mutating func asset() -> Asset {
        Asset(
            fileChecksum: name(), size: .random(in: 0...(.max), using: &self), referenceChecksum: maybe { $0.name() },
            wrappingKey: maybe { $0.name() }, receipt: maybe { $0.text() }, downloadURL: maybe { "https://x/" + $0.name() + "/${f}" })
    }

    /// Returns a value, never an empty typed list: the table of fragments has those.
    mutating func fieldValue() -> FieldValue {
        let infinity: [Double] = [.infinity, -.infinity]
        switch Int.random(in: 0..<18, using: &self) {
        case 0: return .string(text())
        case 1: return .int64(integer())
        case 2: return .double(chance(10) ? infinity.randomElement(using: &self) ?? 0 : double())
        case 3: return .timestamp(timestamp())
        case 4: return .bytes(bytes())
        case 5: return .location(location())
        case 6: return .reference(reference())
        case 7: return .asset(asset())
        case 8: return .stringList(list(upTo: 4) { $0.text() })
        case 9: return .int64List(list(upTo: 4) { $0.integer() })
        case 10: return .doubleList(list(upTo: 4) { $0.double() })
        case 11: return .timestampList(list(upTo: 4) { $0.timestamp() })
        case 12: return .bytesList(list(upTo: 4) { $0.bytes() })
        case 13: return .locationList(list(upTo: 3) { $0.location() })
        case 14: return .referenceList(list(upTo: 3) { $0.reference() })
        case 15: return .assetList(list(upTo: 3) { $0.asset() })
        case 16: return .emptyList
        default:
            return .sealed(SealedValue(type: FieldType.allCases.randomElement(using: &self) ?? .string, keyID: name(), bytes: bytes()))
        }
    }

    mutating func fields() -> RecordFields {
        RecordFields(list(upTo: 8) { RecordFields.Field($0.fieldName(), $0.fieldValue()) })
    }

    mutating func stamp() -> Record.Stamp {
        Record.Stamp(timestamp: timestamp(), userRecordName: "_" + name(), deviceID: maybe { $0.name() })
    }

    /// Returns a record.
    /// - Parameter zone: The zone that the record names.
    mutating func record(in zone: ZoneID?) -> Record {
        var record = Record(
            recordName: text(upTo: 12), recordType: name(), zoneID: zone, recordChangeTag: name(), created: stamp(), modified: stamp(),
            parent: maybe { $0.link() }, share: maybe { $0.link() }, sharing: chance(4) ? Box(shareDetails()) : nil, fields: fields())
        record.manifest = maybe { $0.bytes() }
        return record
    }

    mutating func error() -> ServerError {
        ServerError(
            ServerErrorCode.allCases.randomElement(using: &self) ?? .conflict, text(), native: NativeErrorCode.allCases.randomElement(using: &self),
            internalCode: maybe { .random(in: 1000...9999, using: &$0) }, field: maybe { $0.text() }, remedy: maybe { $0.text() },
            retryAfter: maybe { .random(in: 0...100, using: &$0) }, redirectURL: maybe { "https://x/" + $0.name() },
            serverRecord: maybe { $0.record(in: $0.maybe { $0.zoneID() }) })
    }

    mutating func tombstone(showsType: Bool) -> Tombstone {
        Tombstone(recordName: text(upTo: 12), recordType: showsType ? name() : nil)
    }

    mutating func result(in zone: ZoneID?, tombstonesShowType: Bool) -> RecordResult {
        switch Int.random(in: 0..<4, using: &self) {
        case 0: .deleted(tombstone(showsType: tombstonesShowType))
        case 1: .failure(recordName: maybe { $0.text() }, error())
        default: .record(record(in: zone))
        }
    }

    mutating func requestExtension() -> RequestExtension {
        RequestExtension(
            wantsDetails: .random(using: &self), operationID: maybe { $0.text() }, waitSeconds: maybe { $0.double() },
            wantsTokenOnly: .random(using: &self), clientChangeToken: maybe { $0.bytes() })
    }

    mutating func keys() -> [String]? { maybe { $0.list(upTo: 4) { $0.fieldName() } } }

    mutating func change() -> RecordChange {
        let set = fields()
        let cleared = Set(list(upTo: 3) { $0.fieldName() }).filter { set[$0] == nil }.sorted()
        let parent: RecordChange.ParentChange = [.keep, .clear, .set(link())].randomElement(using: &self) ?? .keep
        return RecordChange(
            recordName: maybe { $0.text() }, recordType: maybe { $0.name() }, recordChangeTag: maybe { $0.name() }, set: set, cleared: cleared,
            parent: parent, wantsShortGUID: chance(4),
            manifest: maybe { seed in RecordChange.Manifest(bytes: seed.bytes(), base: seed.maybe { $0.bytes() }) },
            sharing: chance(4)
                ? ShareChange(
                    publicPermission: permission(), participants: maybe { $0.list(upTo: 3) { $0.participant() } },
                    forRecord: maybe { $0.name() }, allowsAccessRequests: maybe { .random(using: &$0) },
                    requesters: maybe { $0.list(upTo: 3) { $0.identity() } }, blockedIdentities: maybe { $0.list(upTo: 3) { $0.identity() } }) : nil)
    }

    mutating func permission() -> SharePermission { SharePermission.allCases.randomElement(using: &self) ?? .readOnly }

    mutating func identity() -> ParticipantIdentity {
        // An invitation never has a hash.
        let info = maybe {
            [UserLookupInfo.emailAddress($0.text()), .phoneNumber($0.text()), .userRecordName($0.text())].randomElement(using: &$0)
                ?? .phoneNumber("")
        }
        return ParticipantIdentity(
            userRecordName: maybe { $0.text() }, nameComponents: maybe { NameComponents(givenName: $0.text(), familyName: $0.maybe { $0.text() }) },
            lookupInfo: info)
    }

    mutating func participant() -> ShareParticipant {
        ShareParticipant(
            participantID: maybe { $0.name() }, identity: identity(),
            role: ParticipantRole.allCases.randomElement(using: &self) ?? .privateUser, permission: permission(),
            acceptance: ParticipantAcceptance.allCases.randomElement(using: &self) ?? .invited, isOneTime: chance(4),
            oneTimeSecret: maybe { $0.text() }, isApprovedRequester: chance(4),
            added: maybe { Timestamp(secondsSince2001: Double.random(in: 0...1e9, using: &$0)) })
    }

    mutating func shareDetails() -> ShareDetails {
        ShareDetails(
            shortGUID: text(), publicPermission: permission(), participants: list(upTo: 4) { $0.participant() }, owner: participant(),
            currentUserParticipant: maybe { $0.participant() }, allowsAccessRequests: chance(3), requesters: list(upTo: 3) { $0.identity() },
            blockedIdentities: list(upTo: 3) { $0.identity() })
    }

    mutating func operation() -> RecordOperation {
        RecordOperation(OperationType.allCases.randomElement(using: &self) ?? .create, change(), desiredKeys: keys())
    }

    mutating func modifyRequest() -> RecordsModifyRequest {
        RecordsModifyRequest(
            operations: list(upTo: 6) { $0.operation() }, zoneID: zoneID(), atomic: maybe { .random(using: &$0) }, desiredKeys: keys(),
            numbersAsStrings: .random(using: &self), extension: requestExtension())
    }

    mutating func lookupRequest() -> RecordsLookupRequest {
        RecordsLookupRequest(
            records: list(upTo: 6) { RecordsLookupRequest.Item(recordName: $0.text(), desiredKeys: $0.keys()) }, zoneID: zoneID(),
            desiredKeys: keys(), numbersAsStrings: .random(using: &self), extension: requestExtension())
    }

    mutating func feedItem() -> ChangesZoneRequest.Item {
        ChangesZoneRequest.Item(
            zoneID: zoneID(), syncToken: maybe { $0.name() }, resultsLimit: maybe { .random(in: 1...200, using: &$0) }, desiredKeys: keys(),
            desiredRecordTypes: keys(), reverse: .random(using: &self), numbersAsStrings: .random(using: &self))
    }

    mutating func queryFieldName() -> String {
        chance(4) ? SystemField.allCases.randomElement(using: &self)?.rawValue ?? "" : chance(8) ? text(upTo: 8) : fieldName()
    }

    mutating func filter() -> QueryFilter {
        let comparator = QueryComparator.allCases.randomElement(using: &self) ?? .equals
        var value = fieldValue()
        switch comparator {
        case .in, .notIn, .listContainsAny, .notListContainsAny, .listContainsAll, .notListContainsAll:
            while !value.type.rawValue.hasSuffix("_LIST") { value = fieldValue() }
        default: break
        }
        let searchesAll = [.containsAllTokens, .containsAnyTokens].contains(comparator) && chance(2)
        return QueryFilter(comparator, fieldName: searchesAll ? nil : queryFieldName(), value: value, distance: maybe { $0.double() })
    }

    mutating func query() -> Query {
        Query(
            recordType: text(upTo: 6), filters: list(upTo: 4) { $0.filter() },
            sorts: list(upTo: 3) { seed in
                QuerySort(seed.queryFieldName(), isAscending: .random(using: &seed), relativeLocation: seed.maybe { $0.location() })
            })
    }

    mutating func queryRequest() -> RecordsQueryRequest {
        RecordsQueryRequest(
            query: query(), zoneID: maybe { $0.zoneID() }, zoneWide: .random(using: &self),
            resultsLimit: maybe { .random(in: 1...200, using: &$0) }, continuationMarker: maybe { $0.name() }, desiredKeys: keys(),
            numbersAsStrings: .random(using: &self), extension: requestExtension())
    }

    mutating func queryResponse() -> RecordsQueryResponse {
        RecordsQueryResponse(
            records: list(upTo: 4) { seed in seed.record(in: seed.zoneID()) }, continuationMarker: maybe { $0.name() },
            syncToken: maybe { $0.name() })
    }

    mutating func recordsChanges(in zone: ZoneID) -> RecordsChangesResponse {
        RecordsChangesResponse(
            records: list(upTo: 5) { $0.result(in: zone, tombstonesShowType: true) }, syncToken: name(), moreComing: .random(using: &self),
            reverse: .random(using: &self))
    }

    mutating func zonesChanges() -> ZonesChangesResponse {
        ZonesChangesResponse(zones: list(upTo: 5) { $0.zoneResult() }, metaSyncToken: name(), moreComing: .random(using: &self))
    }

    mutating func zoneResult() -> ZoneResult {
        switch Int.random(in: 0..<3, using: &self) {
        case 0: .deleted(zoneID())
        case 1: .failure(zoneID(), error())
        default:
            .zone(
                Zone(zoneID: zoneID(), syncToken: maybe { $0.name() }, atomic: .random(using: &self), isSharedWhole: .random(using: &self)))
        }
    }

    /// Returns a page.
    /// - Parameter showsZones: Whether the records name the page's zone.
    mutating func page() -> ChangesZoneResponse.Result {
        let zone = zoneID()
        guard !chance(4) else { return .failure(zone, error()) }
        return .page(
            ChangesZoneResponse.Page(
                zoneID: zone, records: list(upTo: 5) { $0.result(in: zone, tombstonesShowType: true) }, syncToken: name(),
                moreComing: .random(using: &self), isMidCommit: .random(using: &self), clientChangeToken: maybe { $0.bytes() }))
    }

    mutating func databaseChanges() -> ChangesDatabaseResponse {
        ChangesDatabaseResponse(
            zones: list(upTo: 5) { seed in
                ChangesDatabaseResponse.ChangedZone(
                    zoneID: seed.zoneID(), deletion: seed.maybe { ZoneDeletionReason.allCases.randomElement(using: &$0) ?? .deleted })
            }, syncToken: name(), moreComing: .random(using: &self))
    }

    mutating func notificationInfo() -> NotificationInfo {
        var info = NotificationInfo()
        info.alertBody = maybe { $0.text() }
        info.alertLocalizationKey = maybe { $0.text() }
        info.alertLocalizationArgs = keys()
        info.title = maybe { $0.text() }
        info.titleLocalizationKey = maybe { $0.text() }
        info.titleLocalizationArgs = keys()
        info.subtitle = maybe { $0.text() }
        info.subtitleLocalizationKey = maybe { $0.text() }
        info.subtitleLocalizationArgs = keys()
        info.alertActionLocalizationKey = maybe { $0.text() }
        info.alertLaunchImage = maybe { $0.text() }
        info.soundName = maybe { $0.text() }
        info.shouldBadge = .random(using: &self)
        info.shouldSendContentAvailable = .random(using: &self)
        info.shouldSendMutableContent = .random(using: &self)
        info.additionalFields = keys()
        info.category = maybe { $0.text() }
        info.collapseIDKey = maybe { $0.fieldName() }
        return info
    }

    mutating func subscription() -> Subscription {
        let kind: Subscription.Kind =
            switch Int.random(in: 0..<3, using: &self) {
            case 0: .zone(zoneID(), recordType: maybe { $0.name() })
            case 1: .database(recordType: maybe { $0.name() })
            default:
                .query(
                    SubscribedQuery(
                        query: query(), zoneID: maybe { $0.zoneID() }, firesOn: FiresOn(rawValue: .random(in: 0...7, using: &self)),
                        firesOnce: .random(using: &self)))
            }
        return Subscription(subscriptionID: text(), kind: kind, notificationInfo: maybe { $0.notificationInfo() })
    }

    mutating func subscriptionOperation() -> SubscriptionOperation {
        switch Int.random(in: 0..<3, using: &self) {
        case 0: .create(subscription())
        case 1: .update(subscription())
        default: .delete(text())
        }
    }

    mutating func subscriptionResult() -> SubscriptionResult {
        switch Int.random(in: 0..<3, using: &self) {
        case 0: .deleted(text())
        case 1: .failure(text(), error())
        default: .subscription(subscription())
        }
    }
}
