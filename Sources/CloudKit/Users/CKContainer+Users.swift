import Foundation

/// Discovery of users of the container who allow it. Apple: all functions deprecated in iOS 17.
extension CKContainer {
    // MARK: One user

    /// Calls back with the user of an address; nil if there is none, or the user has not allowed it. The address leaves
    /// the app hashed.
    @preconcurrency
    public func discoverUserIdentity(
        withEmailAddress email: String, completionHandler: @escaping @Sendable (CKUserIdentity?, (any Error)?) -> Void
    ) {
        discover(CKUserIdentity.LookupInfo(emailAddress: email), completionHandler)
    }

    /// Calls back with the user of a number; nil if there is none, or the user has not allowed it. The number leaves
    /// the app hashed; without its country code it finds no user.
    @preconcurrency
    public func discoverUserIdentity(
        withPhoneNumber phoneNumber: String, completionHandler: @escaping @Sendable (CKUserIdentity?, (any Error)?) -> Void
    ) {
        discover(CKUserIdentity.LookupInfo(phoneNumber: phoneNumber), completionHandler)
    }

    /// Calls back with a user; nil if there is none, or the user has not allowed it.
    @preconcurrency
    public func discoverUserIdentity(
        withUserRecordID userRecordID: CKRecord.ID, completionHandler: @escaping @Sendable (CKUserIdentity?, (any Error)?) -> Void
    ) {
        discover(CKUserIdentity.LookupInfo(userRecordID: userRecordID), completionHandler)
    }

    /// Returns the user of an address; nil if there is none, or the user has not allowed it. The address leaves the app
    /// hashed.
    public func userIdentity(forEmailAddress email: String) async throws -> CKUserIdentity? {
        try await identity(CKUserIdentity.LookupInfo(emailAddress: email))
    }

    /// Returns the user of a number; nil if there is none, or the user has not allowed it. The number leaves the app
    /// hashed; without its country code it finds no user.
    public func userIdentity(forPhoneNumber phoneNumber: String) async throws -> CKUserIdentity? {
        try await identity(CKUserIdentity.LookupInfo(phoneNumber: phoneNumber))
    }

    /// Returns a user; nil if there is none, or the user has not allowed it.
    public func userIdentity(forUserRecordID userRecordID: CKRecord.ID) async throws -> CKUserIdentity? {
        try await identity(CKUserIdentity.LookupInfo(userRecordID: userRecordID))
    }

    // MARK: Several users

    /// Calls back with the users who were found, by the given addresses.
    @preconcurrency
    public func discoverUserIdentities(
        forEmailAddresses emails: [String], completionHandler: @escaping @Sendable (Result<[String: CKUserIdentity], any Error>) -> Void
    ) {
        discovering(CKUserIdentity.LookupInfo.lookupInfos(withEmails: emails)) { completionHandler($0.keyed { $0.emailAddress }) }.start()
    }

    /// Calls back with the users who were found, by the given numbers.
    @preconcurrency
    public func discoverUserIdentities(
        forPhoneNumbers phoneNumbers: [String], completionHandler: @escaping @Sendable (Result<[String: CKUserIdentity], any Error>) -> Void
    ) {
        discovering(CKUserIdentity.LookupInfo.lookupInfos(withPhoneNumbers: phoneNumbers)) { completionHandler($0.keyed { $0.phoneNumber }) }
            .start()
    }

    /// Calls back with the users who were found, by the given IDs.
    @preconcurrency
    public func discoverUserIdentities(
        forUserRecordIDs userRecordIDs: [CKRecord.ID],
        completionHandler: @escaping @Sendable (Result<[CKRecord.ID: CKUserIdentity], any Error>) -> Void
    ) {
        discovering(CKUserIdentity.LookupInfo.lookupInfos(with: userRecordIDs)) { completionHandler($0.keyed { $0.userRecordID }) }.start()
    }

    /// Returns the users who were found, by the given addresses.
    public func userIdentities(forEmailAddresses emails: [String]) async throws -> [String: CKUserIdentity] {
        try await identities(CKUserIdentity.LookupInfo.lookupInfos(withEmails: emails)).keyed { $0.emailAddress }.get()
    }

    /// Returns the users who were found, by the given numbers.
    public func userIdentities(forPhoneNumbers phoneNumbers: [String]) async throws -> [String: CKUserIdentity] {
        try await identities(CKUserIdentity.LookupInfo.lookupInfos(withPhoneNumbers: phoneNumbers)).keyed { $0.phoneNumber }.get()
    }

    /// Returns the users who were found, by the given IDs.
    public func userIdentities(forUserRecordIDs userRecordIDs: [CKRecord.ID]) async throws -> [CKRecord.ID: CKUserIdentity] {
        try await identities(CKUserIdentity.LookupInfo.lookupInfos(with: userRecordIDs)).keyed { $0.userRecordID }.get()
    }

    // MARK: The address book

    /// Calls back with users in the address book. On this server: there is no address book, so the list is empty.
    @preconcurrency
    public func discoverAllIdentities(completionHandler: @escaping @Sendable ([CKUserIdentity]?, (any Error)?) -> Void) {
        discoveringAll { result in
            switch result {
            case .success(let identities): completionHandler(identities, nil)
            case .failure(let error): completionHandler(nil, error)
            }
        }.start()
    }

    /// Returns users in the address book. On this server: there is no address book, so the list is empty.
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

    /// Gives an operation this container and its settings. CloudKit: functions of a container run as `userInitiated`.
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
    /// Returns the values keyed by part of the lookup info.
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
