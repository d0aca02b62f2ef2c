public import Foundation
import NacreCloudWire
import NacreLocks

/// Operations that belong to one action of the user, for reports and planning; not a transaction. The server logs it
/// with each request. Apple: iOS 11.
open class CKOperationGroup: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
    // Sendable: the constant is a `let`, and mutable state is in `Locked`.

    /// An estimate of the bytes to transfer.
    public enum TransferSize: Int, Sendable {
        /// The size is not known.
        case unknown = 0
        /// Up to a megabyte.
        case kilobytes = 1
        /// Up to ten megabytes.
        case megabytes = 2
        /// From ten megabytes to a hundred.
        case tensOfMegabytes = 3
        /// From a hundred megabytes to a gigabyte.
        case hundredsOfMegabytes = 4
        /// Up to ten gigabytes.
        case gigabytes = 5
        /// From ten gigabytes to a hundred.
        case tensOfGigabytes = 6
        /// From a hundred gigabytes on.
        case hundredsOfGigabytes = 7
    }

    private struct State {
        var configuration = CKOperation.Configuration()
        var name: String?
        var quantity = 0
        var expectedSendSize = TransferSize.unknown
        var expectedReceiveSize = TransferSize.unknown
    }

    /// The identifier, unique to each group.
    public let operationGroupID: String
    private let state: Locked<State>

    public override init() {
        operationGroupID = UUID().uuidString
        state = Locked(State())
        super.init()
    }

    private init(operationGroupID: String, state: State) {
        self.operationGroupID = operationGroupID
        self.state = Locked(state)
        super.init()
    }

    /// The default configuration of the group's operations. It is copied when set; nil makes a new one.
    open var defaultConfiguration: CKOperation.Configuration! {
        get { state.withLock { $0.configuration } }
        set {
            let copy = newValue?.copied() ?? CKOperation.Configuration()
            state.withLock { $0.configuration = copy }
        }
    }

    /// The group's name in reports; it must not reveal the user.
    open var name: String? {
        get { state.withLock { $0.name } }
        set { state.withLock { $0.name = newValue } }
    }

    /// A number for the app's own use.
    open var quantity: Int {
        get { state.withLock { $0.quantity } }
        set { state.withLock { $0.quantity = newValue } }
    }

    /// The expected bytes to send.
    open var expectedSendSize: TransferSize {
        get { state.withLock { $0.expectedSendSize } }
        set { state.withLock { $0.expectedSendSize = newValue } }
    }

    /// The expected bytes to fetch.
    open var expectedReceiveSize: TransferSize {
        get { state.withLock { $0.expectedReceiveSize } }
        set { state.withLock { $0.expectedReceiveSize = newValue } }
    }

    /// Returns a copy with the same ID.
    open func copy(with zone: NSZone? = nil) -> Any {
        var copy = state.withLock { $0 }
        copy.configuration = copy.configuration.copied()
        return CKOperationGroup(operationGroupID: operationGroupID, state: copy)
    }

    /// The group in the form that requests carry.
    var note: OperationGroupNote {
        func size(_ size: TransferSize) -> OperationGroupNote.Size { OperationGroupNote.Size.allCases[size.rawValue] }
        let state = state.withLock { $0 }
        return OperationGroupNote(
            id: operationGroupID, name: state.name, quantity: state.quantity, sends: size(state.expectedSendSize),
            receives: size(state.expectedReceiveSize))
    }

    // MARK: NSSecureCoding

    /// Always true: archives are decoded by class.
    public static var supportsSecureCoding: Bool { true }

    /// Decodes a group, or makes a new one if the archive holds none. The configuration is not archived.
    public required init(coder aDecoder: NSCoder) {
        operationGroupID = aDecoder.strings(forKeys: "operationGroupID")?.first ?? UUID().uuidString
        var decoded = State()
        decoded.name = aDecoder.strings(forKeys: "name")?.first
        decoded.quantity = Int(aDecoder.decodeInt64(forKey: "quantity"))
        decoded.expectedSendSize = TransferSize(rawValue: Int(aDecoder.decodeInt64(forKey: "expectedSendSize"))) ?? .unknown
        decoded.expectedReceiveSize = TransferSize(rawValue: Int(aDecoder.decodeInt64(forKey: "expectedReceiveSize"))) ?? .unknown
        state = Locked(decoded)
        super.init()
    }

    open func encode(with coder: NSCoder) {
        let state = state.withLock { $0 }
        coder.encode(NSString(string: operationGroupID), forKey: "operationGroupID")
        if let name = state.name { coder.encode(NSString(string: name), forKey: "name") }
        coder.encode(Int64(state.quantity), forKey: "quantity")
        coder.encode(Int64(state.expectedSendSize.rawValue), forKey: "expectedSendSize")
        coder.encode(Int64(state.expectedReceiveSize.rawValue), forKey: "expectedReceiveSize")
    }
}
