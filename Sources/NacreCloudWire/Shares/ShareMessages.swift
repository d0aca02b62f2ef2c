/// `POST records/resolve`, `POST records/accept` and `POST records/request-access`: all name shares by the last part
/// of their URLs.
package struct SharesRequest: Equatable, Sendable {
    package struct Item: Equatable, Sendable {
        /// The short GUID, or the last part of a one-time URL: see `ShareKey`.
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

/// A share's metadata for its caller: `CKShare.Metadata`.
package struct ShareMetadata: Equatable, Sendable {
    /// The share's name in the request.
    package var shortGUID: String
    package var containerIdentifier: String
    /// `PRIVATE` for the owner, `SHARED` for all others.
    package var databaseScope: String
    package var environment: String
    package var zoneID: ZoneID
    /// The record of type `cloudkit.share`.
    package var share: Record
    package var ownerIdentity: UserIdentity
    /// The caller's permission; status and type below are the caller's too.
    package var participantPermission: SharePermission
    package var participantStatus: ParticipantAcceptance
    package var participantType: ParticipantRole
    /// The root record of the share; nil: the whole zone is shared.
    package var rootRecordName: String?
    /// The root record, where the request asked for it.
    package var rootRecord: Record?
    /// The URL of a page about the app, which the container's administrator has set.
    package var webpageURL: String?
    /// The invitations for the caller's addresses, where there is more than one.
    package var potentialMatches: [PotentialMatch]

    /// One invitation of several. CloudKit: an element of `potentialMatchList`.
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

/// The answer to `records/resolve` and `records/accept`: one result for each short GUID, in the order of the request.
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

/// The answer to `records/request-access`, an endpoint of ours: one result for each short GUID, in the order of the
/// request.
package struct AccessRequestsResponse: Equatable, Sendable {
    package struct Result: Equatable, Sendable {
        package var shortGUID: String
        /// nil: the request is or was passed on to the users who decide.
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
