import Foundation
import NacreCloudServerWire
import NacreCloudWire
import Testing

@testable import CloudKit

/// Tests of errors: a row for each code, and the texts for developers.
@Suite struct ErrorTests {
    @Test(arguments: NativeErrorCode.allCases)
    func `each code of the server is the framework's, with a name for people`(native: NativeErrorCode) {
        let error = CKError(ServerError(.badRequest, "why", native: native, internalCode: 7, field: "f", remedy: "do this", retryAfter: 3))
        #expect(error.code.rawValue == native.rawValue)
        #expect("\(error.code)" == "\(native)")
        #expect(error.errorCode == native.rawValue && error.retryAfterSeconds == 3)
        #expect(error.localizedDescription == "why" && error.userInfo["ServerErrorDescription"] as? String == "why")
        #expect(CKError.malformed("why").userInfo["ServerErrorDescription"] == nil)
        let line = "<CKError: \"\(error.code.title)\" (\(native.rawValue)/7); \"why\"; CKErrorField = f; CKErrorRemedy = do this; retry after 3.0 s>"
        #expect(error.description == line)
    }

    @Test(arguments: [
        (ServerErrorCode.accessDenied, CKError.Code.permissionFailure), (.atomicError, .batchRequestFailed),
        (.authenticationFailed, .notAuthenticated), (.authenticationRequired, .notAuthenticated), (.badRequest, .invalidArguments),
        (.conflict, .serverRecordChanged), (.exists, .serverRecordChanged), (.internalError, .internalError), (.notFound, .unknownItem),
        (.quotaExceeded, .quotaExceeded), (.throttled, .requestRateLimited), (.tryAgainLater, .serviceUnavailable),
        (.validatingReferenceError, .referenceViolation), (.zoneNotFound, .zoneNotFound),
    ])
    func `a server that says only the web's code is understood`(web: ServerErrorCode, code: CKError.Code) throws {
        let bare = ErrorResponse(uuid: "u", error: ServerError(web, "why")).json(AnswerForm())
        #expect(CKError(try ErrorResponse(json: bare).error).code == code)
        var unknown = ServerError(web, "why")
        unknown.nativeCode = 4711
        #expect(CKError(unknown).code == code)
    }

    @Test(arguments: [
        (400, CKError.Code.serverRejectedRequest), (401, .notAuthenticated), (403, .permissionFailure), (404, .serverRejectedRequest),
        (413, .limitExceeded), (421, .notAuthenticated), (429, .requestRateLimited), (500, .internalError), (502, .serviceUnavailable),
        (503, .serviceUnavailable), (504, .serviceUnavailable), (301, .internalError),
    ])
    func `an answer that is not ours reads by its status`(status: Int, code: CKError.Code) {
        #expect(CKError.unreadable(status: status, retryAfter: nil).code == code)
    }

    @Test func `another web server's answer says what was found, and at which URL`() throws {
        let server = try #require(URL(string: "http://user:secret@www.example.com:8080/?token=secret"))
        let headers = ["content-type": "text/html", "server": "nginx"]
        let found = CKError.unreadable(status: 404, retryAfter: nil, headers: headers, at: server)
        let remedy = try #require(found.userInfo["CKErrorRemedy"] as? String)
        for text in ["404", "text/html", "nginx", "http://www.example.com:8080/", "CLOUDKIT_SERVER_URL"] { #expect(remedy.contains(text), "\(text)") }
        #expect(!remedy.contains("secret"))
        let gateway = CKError.unreadable(status: 503, retryAfter: 1, headers: headers, at: server)
        #expect((gateway.userInfo["CKErrorRemedy"] as? String)?.contains("CLOUDKIT_SERVER_URL") == false)
    }

    @Test func `a request that a server of another version does not know says both versions`() {
        func remedy(_ code: CKError.Code, _ version: String?) -> String {
            CKError(code, text: "why", details: [.remedy: "Do this."]).naming(version: version).userInfo["CKErrorRemedy"] as? String ?? ""
        }
        #expect(
            remedy(.serverRejectedRequest, "0.0.1").hasPrefix(
                "Do this. The server is of version 0.0.1 and this framework of \(ServerVersion.current)"))
        #expect(remedy(.internalError, "0.0.1").contains("0.0.1"))
        for (code, version) in [(.serverRejectedRequest, ServerVersion.current), (.serverRejectedRequest, nil), (.zoneNotFound, "0.0.1")]
            as [(CKError.Code, String?)]
        {
            #expect(remedy(code, version) == "Do this.")
        }
    }

    @Test(arguments: ["https://www.icloud.com/share/0abc#Trip", "https://icloud.com/share/0abc"])
    func `a share of iCloud is told as one, and asked of no server`(text: String) throws {
        let url = try #require(URL(string: text))
        #expect(ShareURL.shortGUID(in: url) == nil)
        let error = CKError.notShareURL(url)
        #expect(error.code == .invalidArguments && error.localizedDescription.contains("iCloud"))
        #expect((error.userInfo["CKErrorRemedy"] as? String)?.contains("icloud.com/share/0abc") == true)
        #expect(ShareURL.shortGUID(in: try #require(URL(string: "https://noticloud.com/share/0abc"))) == "0abc")
    }

    @Test func `errors can be caught by their code`() {
        func name(_ error: any Error) -> String {
            do {
                throw error
            } catch CKError.zoneBusy {
                return "busy"
            } catch let error as CKError where error.code == .zoneNotFound {
                return "no zone"
            } catch {
                return "other"
            }
        }
        #expect(name(CKError(.zoneBusy)) == "busy")
        #expect(name(CKError(.zoneNotFound)) == "no zone")
        #expect(name(CKError(.internalError)) == "other")
        #expect(name(NSError(domain: CKErrorDomain, code: 23)) == "busy")
    }

    @Test func `an error is an NSError with Apple's domain and keys`() throws {
        let error: any Error = CKError(.requestRateLimited, userInfo: [CKErrorRetryAfterKey: NSNumber(value: 2.5)])
        let cocoa = error as NSError
        #expect(cocoa.domain == "CKErrorDomain" && cocoa.code == 7)
        #expect((cocoa.userInfo["CKRetryAfter"] as? NSNumber)?.doubleValue == 2.5)
        #expect(CKError(_nsError: cocoa).retryAfterSeconds == 2.5)
        #expect(CKError(_nsError: NSError(domain: CKErrorDomain, code: 999)).code == .internalError)
    }

    @Test func `errors compare by code and user info`() {
        #expect(CKError(.zoneBusy) == CKError(.zoneBusy))
        #expect(CKError(.zoneBusy) != CKError(.zoneNotFound))
        #expect(Set([CKError(.zoneBusy), CKError(.zoneBusy), CKError(.internalError)]).count == 2)
    }

    @Test func `a partial failure prints its items`() {
        let error = CKError.partial(
            "Failed to modify some records",
            [
                CKRecord.ID(recordName: "b"): CKError.failedWithItsBatch,
                CKRecord.ID(recordName: "a"): CKError(ServerError(.conflict, "client oplock error updating record", internalCode: 2004)),
            ])
        let lines = error.description.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
        let item = { (name: String) in "\(name):(_defaultZone:__defaultOwner__) = <CKError: " }
        #expect(
            lines == [
                "<CKError: \"Partial Failure\" (2/1011); \"Failed to modify some records\"; partial errors: {",
                item("a") + "\"Server Record Changed\" (14/2004); \"client oplock error updating record\">",
                item("b") + "\"Batch Request Failed\" (22/2024); \"Another item of the atomic batch failed\">",
                "}>",
            ])
        #expect(error.partialErrorsByItemID?.count == 2)
        let zones = CKError.partial("Failed to modify some zones", [CKRecordZone.ID(zoneName: "Z"): CKError(.zoneBusy)])
        #expect(zones.description.contains("    Z:(__defaultOwner__) = <CKError: \"Zone Busy\" (23)>\n}>"))
    }
}
