import NacreCloudContainer
import NacreCloudServerWire
import NacreCloudWire

/// The public keys of accounts, and what is sealed with them. docs/encryption.md has the forms. These endpoints are
/// this server's own.
extension API {
    /// `POST keys/append`
    var keysAppend: Endpoint<KeysAppendRequest, KeysAppendResponse> {
        Endpoint(
            cost: { request, bytes in RequestCost(rows: 1 + request.wraps.count, bytes: bytes) },
            ask: { request, call in try await cloud.appendKeyStatement(request, in: call.target, by: call.caller) })
    }

    /// `POST keys/log`
    var keysLog: Endpoint<KeysLogRequest, KeysLogResponse> {
        Endpoint(ask: { request, call in try await cloud.keyLog(request, in: call.target, by: call.caller) })
    }

    /// `POST keys/scopes/modify`
    var keysScopesModify: Endpoint<KeysScopesModifyRequest, KeysScopesModifyResponse> {
        Endpoint(
            cost: { request, bytes in RequestCost(rows: 1 + request.wraps.count + (request.links?.count ?? 0), bytes: bytes) },
            ask: { request, call in try await cloud.modifyScope(request, in: call.target, by: call.caller) })
    }

    /// `POST keys/scopes/list`
    var keysScopesList: Endpoint<KeysScopesListRequest, KeysScopesListResponse> {
        Endpoint(ask: { request, call in try await cloud.listScope(request, in: call.target, by: call.caller) })
    }

    /// `POST keys/scopes/join`
    var keysScopesJoin: Endpoint<KeysScopesJoinRequest, KeysScopesJoinResponse> {
        Endpoint(
            cost: { _, bytes in RequestCost(rows: 2, bytes: bytes) },
            ask: { request, call in try await cloud.joinScope(request, in: call.target, by: call.caller) })
    }

    /// `POST keys/enrolment/post`
    var keysEnrolmentPost: Endpoint<KeysEnrolmentPostRequest, KeysEnrolmentPostResponse> {
        Endpoint(
            cost: { _, bytes in RequestCost(rows: 1, bytes: bytes) },
            ask: { request, call in try await cloud.postEnrolment(request, in: call.target, by: call.caller) })
    }

    /// `POST keys/enrolment/list`
    var keysEnrolmentList: Endpoint<KeysEnrolmentListRequest, KeysEnrolmentListResponse> {
        Endpoint(ask: { request, call in try await cloud.listEnrolments(request, in: call.target, by: call.caller) })
    }
}
