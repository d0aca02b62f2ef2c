/// `POST keys/enrolment/post`, an endpoint of this server's own: leaves a message for the other devices of the caller.
package struct KeysEnrolmentPostRequest: Equatable, Sendable {
    /// The commitment, the answer or the opening of an enrolment: a form of docs/encryption.md.
    package var message: [UInt8]
    package var `extension`: RequestExtension

    package init(message: [UInt8], extension: RequestExtension = RequestExtension()) {
        self.message = message
        self.extension = `extension`
    }
}

/// The answer to `keys/enrolment/post`, which says nothing.
package struct KeysEnrolmentPostResponse: Equatable, Sendable {
    package init() {}
}

/// `POST keys/enrolment/list`, an endpoint of this server's own: asks for the messages of the caller's devices.
package struct KeysEnrolmentListRequest: Equatable, Sendable {
    package var `extension`: RequestExtension

    package init(extension: RequestExtension = RequestExtension()) {
        self.extension = `extension`
    }
}

/// The answer to `keys/enrolment/list`.
package struct KeysEnrolmentListResponse: Equatable, Sendable {
    /// The messages of one new device and of the device that answers it.
    package struct Conversation: Equatable, Sendable {
        package var commitment: [UInt8]
        /// nil: no device has answered yet.
        package var answer: [UInt8]?
        /// nil: the new device has not opened its commitment yet.
        package var opening: [UInt8]?

        package init(commitment: [UInt8], answer: [UInt8]? = nil, opening: [UInt8]? = nil) {
            self.commitment = commitment
            self.answer = answer
            self.opening = opening
        }
    }

    /// Conversations in the order in which they began.
    package var conversations: [Conversation]

    package init(conversations: [Conversation]) {
        self.conversations = conversations
    }
}
