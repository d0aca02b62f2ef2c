extension AdminMessages {
    /// `POST /admin/1/containers/delete`
    package struct NewContainerDeletion: Codable, Hashable, Sendable {
        package var name: String

        package init(name: String) {
            self.name = name
        }
    }

    /// The numbers of the things that went with a container.
    package struct ContainerDeletion: Codable, Hashable, Sendable {
        package var name: String
        /// The number of API tokens, server-to-server keys and management tokens.
        package var credentials: Int
        /// The number of accounts that had a name in it; the accounts stay.
        package var accounts: Int
        /// The number of public and private databases with records, zones or subscriptions.
        package var databases: Int
    }
}
