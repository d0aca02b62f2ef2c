// With Objective-C, every object can be an argument.
// swift-format-ignore-file: AvoidRetroactiveConformances

public import CoreLocation
public import Foundation
import NacreLocks

// On Apple's platforms every object can be an argument of a format, and apps write `as CVarArg` behind a date.
// Foundation on Linux accepts only strings.

/// An argument for `%@` in a predicate's format, written `x as CVarArg`. `String(format:)` prints its description.
public protocol __CKFormatArgument: CVarArg {}

extension __CKFormatArgument {
    public var _cVarArgEncoding: [Int] { [FormatTexts.address(of: "\(self)")] }
}

extension Date: @retroactive CVarArg, __CKFormatArgument {}
extension UUID: @retroactive CVarArg, __CKFormatArgument {}
extension Data: @retroactive CVarArg, __CKFormatArgument {}
extension Array: @retroactive CVarArg, __CKFormatArgument {}
extension NSDate: @retroactive CVarArg, __CKFormatArgument {}
extension NSUUID: @retroactive CVarArg, __CKFormatArgument {}
extension NSData: @retroactive CVarArg, __CKFormatArgument {}
extension NSNumber: @retroactive CVarArg, __CKFormatArgument {}
extension NSArray: @retroactive CVarArg, __CKFormatArgument {}
extension CLLocation: __CKFormatArgument {}
extension CKRecordID: __CKFormatArgument {}
extension CKReference: __CKFormatArgument {}
extension CKRecord: __CKFormatArgument {}

/// Texts that a C function reads by address, kept alive while it may read them.
private enum FormatTexts {
    /// The most texts, far more than one call has. Own choice: the C function gets only addresses, and its end is
    /// unknown.
    private static let maximum = 1024

    private struct Texts {
        var kept: [NSString] = []
        var next = 0
    }

    private static let texts = Locked(Texts())

    static func address(of text: String) -> Int {
        let text = NSString(string: text)
        texts.withLock { texts in
            if texts.kept.count < maximum { texts.kept.append(text) } else { texts.kept[texts.next] = text }
            texts.next = (texts.next + 1) % maximum
        }
        return Int(bitPattern: Unmanaged.passUnretained(text).toOpaque())
    }
}
