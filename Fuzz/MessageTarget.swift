@testable import NacreCloudServerWire
@testable import NacreCloudWire

/// Fuzzes the messages: the first byte chooses one, the rest is its JSON. A message that can be read can be written,
/// and is then read as the same.
enum MessageTarget {
    static func runRequest(_ input: UnsafeRawBufferPointer) {
        guard let choice = input.first else { return }
        let json = UnsafeRawBufferPointer(rebasing: input.dropFirst())
        switch choice % 9 {
        case 0: check(RecordsModifyRequest.self, json)
        case 1: check(RecordsLookupRequest.self, json)
        case 2: check(ZonesModifyRequest.self, json)
        case 3: check(ZonesLookupRequest.self, json)
        case 4: check(ChangesZoneRequest.self, json)
        case 5: check(ChangesDatabaseRequest.self, json)
        case 6: check(RecordsQueryRequest.self, json)
        case 7: check(RecordsChangesRequest.self, json)
        default:
            check(ZonesChangesRequest.self, json)
            check(UsersDiscoverRequest.self, json)
            check(UsersLookupRequest.self, json)
            check(UsersPermissionRequest.self, json)
            check(SubscriptionsLookupRequest.self, json)
            check(SubscriptionsModifyRequest.self, json)
            check(KeysAppendRequest.self, json)
            check(KeysLogRequest.self, json)
            check(KeysScopesModifyRequest.self, json)
            check(KeysScopesListRequest.self, json)
            check(TokensCreateRequest.self, json)
            check(TokensRegisterRequest.self, json)
        }
    }

    static func runAnswer(_ input: UnsafeRawBufferPointer) {
        guard let choice = input.first else { return }
        let json = UnsafeRawBufferPointer(rebasing: input.dropFirst())
        let form = AnswerForm(details: true, numbersAsStrings: choice & 0x80 != 0)
        switch choice & 0x7F % 9 {
        case 0: check(RecordsResponse.self, json, form)
        case 1: check(ZonesResponse.self, json, form)
        case 2: check(ChangesZoneResponse.self, json, form)
        case 3: check(ChangesDatabaseResponse.self, json, form)
        case 4:
            check(UserIdentity.self, json, form)
            check(UsersDiscoverResponse.self, json, form)
            check(UsersLookupResponse.self, json, form)
        case 5: check(ErrorResponse.self, json, form)
        case 6: check(RecordsQueryResponse.self, json, form)
        case 7: check(RecordsChangesResponse.self, json, form)
        default:
            check(ZonesChangesResponse.self, json, form)
            check(SubscriptionsResponse.self, json, form)
            check(TokensCreateResponse.self, json, form)
        }
    }

    private static func check<Message: ReadableRequest>(_ type: Message.Type, _ json: UnsafeRawBufferPointer) {
        guard let read = try? Message(json: json) else { return }
        let written = read.json()
        guard let again = try? Message(json: written) else { return promise("a request that was written can be read", false) }
        promise("a request is written the same each time", again.json() == written)
    }

    private static func check<Message: WritableAnswer>(_ type: Message.Type, _ json: UnsafeRawBufferPointer, _ form: AnswerForm) {
        guard let read = try? Message(json: json) else { return }
        let written = read.json(form)
        guard let again = try? Message(json: written) else { return promise("an answer that was written can be read", false) }
        promise("an answer is written the same each time", again.json(form) == written)
    }
}
