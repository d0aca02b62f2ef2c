import CloudKit
import Testing

/// Tests that `NSError` and `CKError` are one error in two forms, as app code assumes.
struct ErrorBridgeTests {
    private let cocoa = NSError(domain: CKErrorDomain, code: CKError.Code.zoneBusy.rawValue, userInfo: [CKErrorRetryAfterKey: NSNumber(value: 3)])

    @Test func `an NSError of CloudKit's domain is a CKError`() throws {
        let error = try #require(cocoa as Any as? CKError)
        #expect(error.code == .zoneBusy && error.retryAfterSeconds == 3)
        #expect((cocoa as any Error as? CKError)?.code == .zoneBusy)
    }

    @Test func `a CKError that became an NSError is one again, with all that it says`() throws {
        let error: any Error = CKError(.partialFailure, userInfo: [NSLocalizedDescriptionKey: "text"])
        let bridged = error as NSError
        #expect(bridged.domain == CKErrorDomain && bridged.code == CKError.Code.partialFailure.rawValue)
        let back = try #require(bridged as Any as? CKError)
        #expect(back.code == .partialFailure && back.localizedDescription == "text")
        #expect((bridged as any Error as? CKError) == back)
    }

    @Test func `an NSError that was thrown is caught as a CKError`() {
        func fail() throws { throw cocoa }
        do {
            try fail()
            Issue.record("it throws")
        } catch let error as CKError where error.code == .zoneBusy {
            #expect(error.retryAfterSeconds == 3)
        } catch {
            Issue.record("\(error) is no CKError")
        }
    }

    @Test func `errors of other domains are not`() {
        let other = NSError(domain: NSURLErrorDomain, code: CKError.Code.zoneBusy.rawValue, userInfo: [:])
        #expect(other as Any as? CKError == nil)
        #expect(other as any Error as? CKError == nil)
        struct Own: Error {}
        #expect(Own() as any Error as? CKError == nil)
    }

    @Test func `the errors of single items read as NSErrors, and as CKErrors`() throws {
        let id = CKRecord.ID(recordName: "a")
        let item = CKError(.unknownItem)
        let error = CKError(.partialFailure, userInfo: [CKPartialErrorsByItemIDKey: [AnyHashable(id): item as any Error]])
        let raw = try #require((error as NSError).userInfo[CKPartialErrorsByItemIDKey])
        let errors = try #require(raw as? [CKRecord.ID: NSError])
        #expect(errors[id]?.domain == CKErrorDomain && errors[id]?.code == CKError.Code.unknownItem.rawValue)
        #expect((raw as? [CKRecord.ID: any Error])?[id] as? CKError == item)
        #expect((raw as? NSDictionary)?[id] is NSError)
    }

    @Test func `a dictionary of NSErrors, as an app's own test double gives it, reads as errors of items`() {
        let id = CKRecord.ID(recordName: "a")
        let error = CKError(.partialFailure, userInfo: [CKPartialErrorsByItemIDKey: [id: cocoa]])
        #expect((error.partialErrorsByItemID?[id] as? CKError)?.code == .zoneBusy)
    }

    @Test func `a code is matched in either form`() {
        let forms: [any Error] = [CKError(.zoneBusy), cocoa]
        for error in forms {
            switch error {
            case CKError.zoneBusy: break
            default: Issue.record("\(error) has the code")
            }
        }
    }
}
