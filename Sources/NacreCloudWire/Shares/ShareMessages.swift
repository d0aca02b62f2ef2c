/// `POST records/resolve`, `POST records/accept` and `POST records/request-access`: all name shares by what stands in their URLs.
package struct SharesRequest: Equatable, Sendable {
    package struct Item: Equatable, Sendable {
        /// The short GUID, or what stands in a one-time URL: see `ShareKey`.
        package var value: String
        package var shouldFetchRootRecord: Bool
        package var rootRecordDesiredKeys: [String]?

        package init(value: String, shouldFetchRootRecord: Bool = false, rootRecordDesiredKeys: [String]? = nil) {
            self.value = value
            self.shouldFetchRootRecord = shouldFetchRootRecord
            self.rootRecordDesiredKeys = rootRecordDesiredKeys
        }
    }

    package var shortGUIDs: [Item]
    package var `extension`: RequestExtension

    package init(shortGUIDs: [Item], extension: RequestExtension = RequestExtension()) {
        self.shortGUIDs = shortGUIDs
        self.extension = `extension`
    }
}

/// What a share is to its caller: `CKShare.Metadata`.
package struct ShareMetadata: Equatable, Sendable {
    /// As the request names the share.
    package var shortGUID: String
    package var containerIdentifier: String
    /// `PRIVATE` for the owner, `SHARED` for everybody else.
    package var databaseScope: String
    package var environment: String
    package var zoneID: ZoneID
    /// The record of type `cloudkit.share`.
    package var share: Record
    package var ownerIdentity: UserIdentity
    /// Of the caller; so are the next two.
    package var participantPermission: SharePermission
    package var participantStatus: ParticipantAcceptance
    package var participantType: ParticipantRole
    /// The record at the root of what is shared; nil: the whole zone is.
    package var rootRecordName: String?
    /// Where it was asked for.
    package var rootRecord: Record?
    /// A page about the app, as the container's administrator has said it.
    package var webpageURL: String?
    /// The invitations that are for the caller's addresses, where there is more than one.
    package var potentialMatches: [PotentialMatch]

    /// One invitation of several. CloudKit: of `potentialMatchList`.
    package struct PotentialMatch: Equatable, Sendable {
        package var participantID: String
        package var contact: UserLookupInfo

        package init(participantID: String, contact: UserLookupInfo) {
            (self.participantID, self.contact) = (participantID, contact)
        }
    }

    package init(
        shortGUID: String, containerIdentifier: String, databaseScope: String, environment: String, zoneID: ZoneID, share: Record,
        ownerIdentity: UserIdentity, participantPermission: SharePermission, participantStatus: ParticipantAcceptance,
        participantType: ParticipantRole, rootRecordName: String? = nil, rootRecord: Record? = nil, webpageURL: String? = nil,
        potentialMatches: [PotentialMatch] = []
    ) {
        self.shortGUID = shortGUID
        self.containerIdentifier = containerIdentifier
        self.databaseScope = databaseScope
        self.environment = environment
        self.zoneID = zoneID
        self.share = share
        self.ownerIdentity = ownerIdentity
        self.participantPermission = participantPermission
        self.participantStatus = participantStatus
        self.participantType = participantType
        self.rootRecordName = rootRecordName
        self.rootRecord = rootRecord
        self.webpageURL = webpageURL
        self.potentialMatches = potentialMatches
    }
}

/// The answer to `records/resolve` and `records/accept`: one result for each short GUID, in the order asked.
package struct SharesResponse: Equatable, Sendable {
    package enum Result: Equatable, Sendable {
        case share(ShareMetadata)
        case failure(shortGUID: String, ServerError)
    }

    package var results: [Result]

    package init(results: [Result]) {
        self.results = results
    }
}

/// The answer to `records/request-access`, an endpoint of ours: one result for each short GUID, in the order asked.
package struct AccessRequestsResponse: Equatable, Sendable {
    package struct Result: Equatable, Sendable {
        package var shortGUID: String
        /// nil: who decides will hear of it, or has heard already.
        package var error: ServerError?

        package init(shortGUID: String, error: ServerError?) {
            (self.shortGUID, self.error) = (shortGUID, error)
        }
    }

    package var results: [Result]

    package init(results: [Result]) {
        self.results = results
    }
}
