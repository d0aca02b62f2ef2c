// As Objective-C has it: every object can be an argument.
// swift-format-ignore-file: AvoidRetroactiveConformances

public import CoreLocation
public import Foundation
import NacreLocks

// On Apple's platforms every object can be an argument of a format, and `as CVarArg` is how apps say so of a date. Foundation on Linux knows
// strings alone.

/// What `%@` in a predicate's format takes, written `x as CVarArg`. `String(format:)` prints its description.
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

/// Texts that a C function reads by their addresses, kept while it may.
private enum FormatTexts {
    /// Far more than one call has. Ours: the C function gets addresses alone, and nobody says when it is done.
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
