import NacreHTTPServer

/// Descriptions of the endpoints of accounts for `/openapi.json`.
extension AccountAPI {
    static let descriptions: [EndpointDescription] = [
        post("sign-up", "Makes an account.", AccountMessages.SignUp.self, AccountMessages.SignedUp.self),
        post("sign-in", "Gives a web auth token or an account token.", AccountMessages.SignIn.self, AccountMessages.SignedIn.self),
        signOut,
        post(
            "sessions/list", "What an account is signed in with.", AccountMessages.SessionsQuestion.self, AccountMessages.Sessions.self,
            by: byTokenOrPassword, example: "{}"),
        post(
            "sessions/end", "Ends a session or a device.", AccountMessages.SessionEnd.self, AccountMessages.SessionsEnded.self,
            by: byTokenOrPassword),
        post(
            "sessions/end-others", "Ends all sessions and devices but the one that asks.", AccountMessages.OthersEnd.self,
            AccountMessages.SessionsEnded.self, by: byTokenOrPassword, example: "{}"),
        post("change-password", "Sets a new password.", AccountMessages.PasswordChange.self, AccountMessages.SessionsEnded.self),
        post(
            "reset-password", "Sets a new password with an administrator's code.", AccountMessages.PasswordByCode.self,
            AccountMessages.SessionsEnded.self),
        post("change-email", "Gives the account another address.", AccountMessages.EmailChange.self, AccountMessages.EmailChanged.self),
        post(
            "verify-email", "Says whether the account's address is verified, and sends a link.", AccountMessages.AddressQuestion.self,
            AccountMessages.AddressState.self),
        post(
            "verify-phone", "Says whether a number is the account's, and sends a code.", AccountMessages.PhoneQuestion.self,
            AccountMessages.PhoneState.self),
        post(
            "confirm-phone", "Gives the account the number that a code was sent to.", AccountMessages.PhoneCode.self,
            AccountMessages.PhoneState.self),
        post("remove-phone", "Takes the account's number away.", AccountMessages.PhoneRemoval.self, AccountMessages.PhoneRemoved.self),
        post("delete", "Deletes the account.", AccountMessages.Deletion.self, AccountMessages.Deleted.self),
        post("change-name", "Sets the names that others are shown.", AccountMessages.NameChange.self, AccountMessages.NameChanged.self),
        post(
            "discoverability", "Says whether others of a container may find the user.", AccountMessages.DiscoverabilityAnswer.self,
            AccountMessages.DiscoverabilityAnswered.self),
        post(
            "usage", "What the account's private databases hold.", AccountMessages.UsageQuestion.self, AccountMessages.AccountUsage.self,
            by: byTokenOrPassword, example: "{}"),
        post("passkeys/list", "The account's passkeys.", AccountMessages.PasskeysQuestion.self, AccountMessages.Passkeys.self),
        post("passkeys/remove", "Takes a passkey away.", AccountMessages.PasskeyRemoval.self, AccountMessages.Passkey.self),
    ]

    private static let byTokenOrPassword: [[AskingCredential]] = [[]] + AskingCredential.user
    private static let errors = [400, 401, 403, 404, 409, 413, 421, 429]

    private static let signOut = EndpointDescription(
        method: .post, pattern: "/account/1/sign-out", summary: "Ends what the request's own credential allows.", group: "Accounts",
        credentials: AskingCredential.user, answers: [.init(status: 200, schema: MessageSchema.of(AccountMessages.SignedOut.self, isClosed: true))],
        errors: errors)

    private static func post<Asked: Decodable, Given: Decodable>(
        _ path: String, _ summary: String, _ asked: Asked.Type, _ given: Given.Type, by credentials: [[AskingCredential]] = [],
        example: StaticString? = nil
    ) -> EndpointDescription {
        EndpointDescription(
            method: .post, pattern: "/account/1/" + path, summary: summary, group: "Accounts", credentials: credentials,
            body: MessageSchema.of(asked, isClosed: false), example: example,
            answers: [.init(status: 200, schema: MessageSchema.of(given, isClosed: true))], errors: errors)
    }
}
