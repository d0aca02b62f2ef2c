import Foundation

/// Users of the container who may be found. Apple: all of them deprecated in iOS 17.
extension CKContainer {
    // MARK: One user

    /// nil: nobody has the address, or its user has not allowed it. The address leaves the app hashed.
    @preconcurrency
    public func discoverUserIdentity(
        withEmailAddress email: String, completionHandler: @escaping @Sendable (CKUserIdentity?, (any Error)?) -> Void
    ) {
        discover(CKUserIdentity.LookupInfo(emailAddress: email), completionHandler)
    }

    /// nil: nobody has the number, or its user has not allowed it. The number leaves the app hashed; one without its country is nobody's.
    @preconcurrency
    public func discoverUserIdentity(
        withPhoneNumber phoneNumber: String, completionHandler: @escaping @Sendable (CKUserIdentity?, (any Error)?) -> Void
    ) {
        discover(CKUserIdentity.LookupInfo(phoneNumber: phoneNumber), completionHandler)
    }

    /// nil: there is no such user, or they have not allowed it.
    @preconcurrency
    public func discoverUserIdentity(
        withUserRecordID userRecordID: CKRecord.ID, completionHandler: @escaping @Sendable (CKUserIdentity?, (any Error)?) -> Void
    ) {
        discover(CKUserIdentity.LookupInfo(userRecordID: userRecordID), completionHandler)
    }

    /// nil: nobody has the address, or its user has not allowed it. The address leaves the app hashed.
    public func userIdentity(forEmailAddress email: String) async throws -> CKUserIdentity? {
        try await identity(CKUserIdentity.LookupInfo(emailAddress: email))
    }

    /// nil: nobody has the number, or its user has not allowed it. The number leaves the app hashed; one without its country is nobody's.
    public func userIdentity(forPhoneNumber phoneNumber: String) async throws -> CKUserIdentity? {
        try await identity(CKUserIdentity.LookupInfo(phoneNumber: phoneNumber))
    }

    /// nil: there is no such user, or they have not allowed it.
    public func userIdentity(forUserRecordID userRecordID: CKRecord.ID) async throws -> CKUserIdentity? {
        try await identity(CKUserIdentity.LookupInfo(userRecordID: userRecordID))
    }

    // MARK: Several users

    /// Those who were found, by the addresses as they were given.
    @preconcurrency
    public func discoverUserIdentities(
        forEmailAddresses emails: [String], completionHandler: @escaping @Sendable (Result<[String: CKUserIdentity], any Error>) -> Void
    ) {
        discovering(CKUserIdentity.LookupInfo.lookupInfos(withEmails: emails)) { completionHandler($0.keyed { $0.emailAddress }) }.start()
    }

    /// Those of the users whom these numbers find; numbers that find nobody are not in the answer.
    @preconcurrency
    public func discoverUserIdentities(
        forPhoneNumbers phoneNumbers: [String], completionHandler: @escaping @Sendable (Result<[String: CKUserIdentity], any Error>) -> Void
    ) {
        discovering(CKUserIdentity.LookupInfo.lookupInfos(withPhoneNumbers: phoneNumbers)) { completionHandler($0.keyed { $0.phoneNumber }) }
            .start()
    }

    /// Those of the users who can be found; the others are not in the answer.
    @preconcurrency
    public func discoverUserIdentities(
        forUserRecordIDs userRecordIDs: [CKRecord.ID],
        completionHandler: @escaping @Sendable (Result<[CKRecord.ID: CKUserIdentity], any Error>) -> Void
    ) {
        discovering(CKUserIdentity.LookupInfo.lookupInfos(with: userRecordIDs)) { completionHandler($0.keyed { $0.userRecordID }) }.start()
    }

    /// Those who were found, by the addresses as they were given.
    public func userIdentities(forEmailAddresses emails: [String]) async throws -> [String: CKUserIdentity] {
        try await identities(CKUserIdentity.LookupInfo.lookupInfos(withEmails: emails)).keyed { $0.emailAddress }.get()
    }

    /// Those of the users whom these numbers find; numbers that find nobody are not in the answer.
    public func userIdentities(forPhoneNumbers phoneNumbers: [String]) async throws -> [String: CKUserIdentity] {
        try await identities(CKUserIdentity.LookupInfo.lookupInfos(withPhoneNumbers: phoneNumbers)).keyed { $0.phoneNumber }.get()
    }

    /// Those of the users who can be found; the others are not in the answer.
    public func userIdentities(forUserRecordIDs userRecordIDs: [CKRecord.ID]) async throws -> [CKRecord.ID: CKUserIdentity] {
        try await identities(CKUserIdentity.LookupInfo.lookupInfos(with: userRecordIDs)).keyed { $0.userRecordID }.get()
    }

    // MARK: The address book

    /// On this server: there is no address book, and nobody is found in it.
    @preconcurrency
    public func discoverAllIdentities(completionHandler: @escaping @Sendable ([CKUserIdentity]?, (any Error)?) -> Void) {
        discoveringAll { result in
            switch result {
            case .success(let identities): completionHandler(identities, nil)
            case .failure(let error): completionHandler(nil, error)
            }
        }.start()
    }

    /// On this server: there is no address book, and nobody is found in it.
    public func allUserIdentitiesFromContacts() async throws -> [CKUserIdentity] {
        try await SingleCall.result { self.discoveringAll($0) }.get()
    }

    // MARK: The operations underneath

    private typealias Results = CKDiscoverUserIdentitiesOperation.Results

    private func discovering(
        _ infos: [CKUserIdentity.LookupInfo], _ done: @escaping @Sendable (Result<Results, CKError>) -> Void
    ) -> CKOperation {
        let operation = prepare(CKDiscoverUserIdentitiesOperation(userIdentityLookupInfos: infos))
        operation.whenDone = done
        return operation
    }

    private func discoveringAll(_ done: @escaping @Sendable (Result<[CKUserIdentity], CKError>) -> Void) -> CKOperation {
        let operation = prepare(CKDiscoverAllUserIdentitiesOperation())
        operation.whenDone = done
        return operation
    }

    /// CloudKit: functions of a container run as `userInitiated`.
    func prepare<Operation: CKOperation>(_ operation: Operation) -> Operation {
        var values = configuration ?? CKOperation.Configuration.Values()
        values.container = self
        if values.qualityOfService == nil, group?.defaultConfiguration.snapshot.qualityOfService == nil { values.qualityOfService = .userInitiated }
        operation.configuration = CKOperation.Configuration(values: values)
        operation.group = group
        return operation
    }

    private func identities(_ infos: [CKUserIdentity.LookupInfo]) async -> Result<Results, CKError> {
        await SingleCall.result { self.discovering(infos, $0) }
    }

    private func identity(_ info: CKUserIdentity.LookupInfo) async throws -> CKUserIdentity? {
        try await identities([info]).get()[info]
    }

    private func discover(_ info: CKUserIdentity.LookupInfo, _ handler: @escaping @Sendable (CKUserIdentity?, (any Error)?) -> Void) {
        discovering([info]) { result in
            switch result {
            case .success(let found): handler(found[info], nil)
            case .failure(let error): handler(nil, error)
            }
        }.start()
    }
}

extension Result where Failure == CKError {
    /// By what the app named each one with.
    func keyed<Key: Hashable, Value>(
        _ key: (CKUserIdentity.LookupInfo) -> Key?
    ) -> Result<[Key: Value], any Error> where Success == [CKUserIdentity.LookupInfo: Value] {
        map { found in
            var keyed: [Key: Value] = [:]
            for (info, value) in found {
                if let key = key(info) { keyed[key] = value }
            }
            return keyed
        }.mapError { $0 as any Error }
    }
}
