public import Foundation

/// Share metadata, accepting shares, requesting access and looking up participants.
extension CKContainer {
    // MARK: Share metadata

    /// Calls back with the current user's metadata of the share behind a URL, or with `unknownItem` or
    /// `participantMayNeedVerification`.
    @preconcurrency
    public func fetchShareMetadata(with url: URL, completionHandler: @escaping @Sendable (CKShare.Metadata?, (any Error)?) -> Void) {
        fetchingMetadata([url]) { result in
            let result = result.one(url)
            completionHandler(result.value, result.error)
        }.start()
    }

    /// Returns the current user's metadata of the share behind a URL.
    /// - Throws: `CKError`: `unknownItem` if there is none for the user, `participantMayNeedVerification` if an address
    ///   is not verified yet.
    public func shareMetadata(for url: URL) async throws -> CKShare.Metadata {
        try await SingleCall.result { self.fetchingMetadata([url], $0) }.one(url).get()
    }

    /// Calls back with a result for each URL.
    @preconcurrency
    public func fetchShareMetadatas(
        for urls: [URL], completionHandler: @escaping @Sendable (Result<[URL: Result<CKShare.Metadata, any Error>], any Error>) -> Void
    ) {
        fetchingMetadata(urls) { completionHandler($0.mapError { $0 as any Error }) }.start()
    }

    /// Returns a result for each URL.
    public func shareMetadatas(for urls: [URL]) async throws -> [URL: Result<CKShare.Metadata, any Error>] {
        try await SingleCall.result { self.fetchingMetadata(urls, $0) }.get()
    }

    // MARK: Accepting

    /// Calls back with the accepted share, or with the reason why it could not be accepted.
    @preconcurrency
    public func accept(_ metadata: CKShare.Metadata, completionHandler: @escaping @Sendable (CKShare?, (any Error)?) -> Void) {
        accepting([metadata]) { result in
            let result = result.one(metadata)
            completionHandler(result.value, result.error)
        }.start()
    }

    /// Accepts a share. Its zone is in the shared database from then on.
    @discardableResult
    public func accept(_ metadata: CKShare.Metadata) async throws -> CKShare {
        try await SingleCall.result { self.accepting([metadata], $0) }.one(metadata).get()
    }

    /// Calls back with a result for each share.
    @preconcurrency
    public func accept(
        _ metadatas: [CKShare.Metadata],
        completionHandler: @escaping @Sendable (Result<[CKShare.Metadata: Result<CKShare, any Error>], any Error>) -> Void
    ) {
        accepting(metadatas) { completionHandler($0.mapError { $0 as any Error }) }.start()
    }

    /// Returns a result for each share.
    public func accept(_ metadatas: [CKShare.Metadata]) async throws -> [CKShare.Metadata: Result<CKShare, any Error>] {
        try await SingleCall.result { self.accepting(metadatas, $0) }.get()
    }

    // MARK: Asking for access

    /// Asks the owners and administrators of shares to let the current user in: see `CKShareRequestAccessOperation`.
    /// Apple: iOS 26.
    /// - Returns: a result for each URL.
    public func requestShareAccess(for urls: [URL]) async throws -> [URL: Result<Void, any Error>] {
        try await SingleCall.result { self.requestingAccess(urls, $0) }.get()
    }

    // MARK: One participant

    /// Calls back with a participant for `CKShare.addParticipant`, whether or not an account has the address.
    @preconcurrency
    public func fetchShareParticipant(
        withEmailAddress emailAddress: String, completionHandler: @escaping @Sendable (CKShare.Participant?, (any Error)?) -> Void
    ) {
        fetchParticipant(CKUserIdentity.LookupInfo(emailAddress: emailAddress), completionHandler)
    }

    /// Calls back with a participant for a phone number.
    @preconcurrency
    public func fetchShareParticipant(
        withPhoneNumber phoneNumber: String, completionHandler: @escaping @Sendable (CKShare.Participant?, (any Error)?) -> Void
    ) {
        fetchParticipant(CKUserIdentity.LookupInfo(phoneNumber: phoneNumber), completionHandler)
    }

    /// Calls back with a participant for a user record ID.
    @preconcurrency
    public func fetchShareParticipant(
        withUserRecordID userRecordID: CKRecord.ID, completionHandler: @escaping @Sendable (CKShare.Participant?, (any Error)?) -> Void
    ) {
        fetchParticipant(CKUserIdentity.LookupInfo(userRecordID: userRecordID), completionHandler)
    }

    /// Returns a participant for `CKShare.addParticipant`, whether or not an account has the address.
    public func shareParticipant(forEmailAddress email: String) async throws -> CKShare.Participant {
        try await participant(CKUserIdentity.LookupInfo(emailAddress: email))
    }

    /// Returns a participant for a phone number.
    public func shareParticipant(forPhoneNumber phoneNumber: String) async throws -> CKShare.Participant {
        try await participant(CKUserIdentity.LookupInfo(phoneNumber: phoneNumber))
    }

    /// Returns a participant for a user record ID.
    public func shareParticipant(forUserRecordID userRecordID: CKRecord.ID) async throws -> CKShare.Participant {
        try await participant(CKUserIdentity.LookupInfo(userRecordID: userRecordID))
    }

    // MARK: Several participants

    /// Calls back with a result for each address.
    @preconcurrency
    public func fetchShareParticipants(
        forEmailAddresses emails: [String],
        completionHandler: @escaping @Sendable (Result<[String: Result<CKShare.Participant, any Error>], any Error>) -> Void
    ) {
        fetchingParticipants(CKUserIdentity.LookupInfo.lookupInfos(withEmails: emails)) { completionHandler($0.keyed { $0.emailAddress }) }.start()
    }

    /// Calls back with a result for each phone number.
    @preconcurrency
    public func fetchShareParticipants(
        forPhoneNumbers phoneNumbers: [String],
        completionHandler: @escaping @Sendable (Result<[String: Result<CKShare.Participant, any Error>], any Error>) -> Void
    ) {
        fetchingParticipants(CKUserIdentity.LookupInfo.lookupInfos(withPhoneNumbers: phoneNumbers)) {
            completionHandler($0.keyed { $0.phoneNumber })
        }.start()
    }

    /// Calls back with a result for each user record ID.
    @preconcurrency
    public func fetchShareParticipants(
        forUserRecordIDs userRecordIDs: [CKRecord.ID],
        completionHandler: @escaping @Sendable (Result<[CKRecord.ID: Result<CKShare.Participant, any Error>], any Error>) -> Void
    ) {
        fetchingParticipants(CKUserIdentity.LookupInfo.lookupInfos(with: userRecordIDs)) { completionHandler($0.keyed { $0.userRecordID }) }
            .start()
    }

    /// Returns a result for each address.
    public func shareParticipants(forEmailAddresses emails: [String]) async throws -> [String: Result<CKShare.Participant, any Error>] {
        try await participants(CKUserIdentity.LookupInfo.lookupInfos(withEmails: emails)).keyed { $0.emailAddress }.get()
    }

    /// Returns a result for each phone number.
    public func shareParticipants(forPhoneNumbers phoneNumbers: [String]) async throws -> [String: Result<CKShare.Participant, any Error>] {
        try await participants(CKUserIdentity.LookupInfo.lookupInfos(withPhoneNumbers: phoneNumbers)).keyed { $0.phoneNumber }.get()
    }

    /// Returns a result for each user record ID.
    public func shareParticipants(
        forUserRecordIDs userRecordIDs: [CKRecord.ID]
    ) async throws -> [CKRecord.ID: Result<CKShare.Participant, any Error>] {
        try await participants(CKUserIdentity.LookupInfo.lookupInfos(with: userRecordIDs)).keyed { $0.userRecordID }.get()
    }

    /// Returns a result for each lookup info. Apple: iOS 26.
    public func shareParticipants(
        for lookupInfos: [CKUserIdentity.LookupInfo]
    ) async throws -> [CKUserIdentity.LookupInfo: Result<CKShare.Participant, any Error>] {
        try await participants(lookupInfos).get()
    }

    // MARK: The operations underneath

    private typealias Participants = CKFetchShareParticipantsOperation.Results

    private func fetchingMetadata(
        _ urls: [URL], _ done: @escaping @Sendable (Result<CKFetchShareMetadataOperation.Results, CKError>) -> Void
    ) -> CKOperation {
        let operation = prepare(CKFetchShareMetadataOperation(shareURLs: urls))
        operation.whenDone = done
        return operation
    }

    private func accepting(
        _ metadatas: [CKShare.Metadata], _ done: @escaping @Sendable (Result<CKAcceptSharesOperation.Results, CKError>) -> Void
    ) -> CKOperation {
        let operation = prepare(CKAcceptSharesOperation(shareMetadatas: metadatas))
        operation.whenDone = done
        return operation
    }

    private func requestingAccess(
        _ urls: [URL], _ done: @escaping @Sendable (Result<CKShareRequestAccessOperation.Results, CKError>) -> Void
    ) -> CKOperation {
        let operation = prepare(CKShareRequestAccessOperation(shareURLs: urls))
        operation.whenDone = done
        return operation
    }

    private func fetchingParticipants(
        _ infos: [CKUserIdentity.LookupInfo], _ done: @escaping @Sendable (Result<Participants, CKError>) -> Void
    ) -> CKOperation {
        let operation = prepare(CKFetchShareParticipantsOperation(userIdentityLookupInfos: infos))
        operation.whenDone = done
        return operation
    }

    private func participants(_ infos: [CKUserIdentity.LookupInfo]) async -> Result<Participants, CKError> {
        await SingleCall.result { self.fetchingParticipants(infos, $0) }
    }

    private func participant(_ info: CKUserIdentity.LookupInfo) async throws -> CKShare.Participant {
        try await participants([info]).one(info).get()
    }

    private func fetchParticipant(
        _ info: CKUserIdentity.LookupInfo, _ handler: @escaping @Sendable (CKShare.Participant?, (any Error)?) -> Void
    ) {
        fetchingParticipants([info]) { result in
            let result = result.one(info)
            handler(result.value, result.error)
        }.start()
    }
}

extension Result where Failure == CKError {
    /// Returns the result for the only key of a request.
    fileprivate func one<Key: Hashable, Value>(_ key: Key) -> Result<Value, any Error> where Success == [Key: Result<Value, any Error>] {
        switch self {
        case .success(let results): results[key] ?? .failure(CKError.unexpectedAnswer)
        case .failure(let error): .failure(error)
        }
    }
}
