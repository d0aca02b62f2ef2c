public import Foundation
import NacreCloudWire
import NacreLocks

/// Operations that one action of the user needs, for reports and planning; no transaction. The server's log has it beside each request. Apple: iOS 11.
open class CKOperationGroup: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
    // Sendable: the constant is a `let`, and what changes is in `Locked`.

    /// About how much travels.
    public enum TransferSize: Int, Sendable {
        /// Nobody can say.
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

    /// Unique to each group.
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

    /// For operations of the group where they set nothing themselves; copied when set, nil gives a new one.
    open var defaultConfiguration: CKOperation.Configuration! {
        get { state.withLock { $0.configuration } }
        set {
            let copy = newValue?.copied() ?? CKOperation.Configuration()
            state.withLock { $0.configuration = copy }
        }
    }

    /// For reports; must not tell who the user is.
    open var name: String? {
        get { state.withLock { $0.name } }
        set { state.withLock { $0.name = newValue } }
    }

    /// The app's own number.
    open var quantity: Int {
        get { state.withLock { $0.quantity } }
        set { state.withLock { $0.quantity = newValue } }
    }

    /// How much the group will send.
    open var expectedSendSize: TransferSize {
        get { state.withLock { $0.expectedSendSize } }
        set { state.withLock { $0.expectedSendSize = newValue } }
    }

    /// How much the group will fetch.
    open var expectedReceiveSize: TransferSize {
        get { state.withLock { $0.expectedReceiveSize } }
        set { state.withLock { $0.expectedReceiveSize = newValue } }
    }

    /// With the same ID.
    open func copy(with zone: NSZone? = nil) -> Any {
        var copy = state.withLock { $0 }
        copy.configuration = copy.configuration.copied()
        return CKOperationGroup(operationGroupID: operationGroupID, state: copy)
    }

    /// As requests tell it.
    var note: OperationGroupNote {
        func size(_ size: TransferSize) -> OperationGroupNote.Size { OperationGroupNote.Size.allCases[size.rawValue] }
        let state = state.withLock { $0 }
        return OperationGroupNote(
            id: operationGroupID, name: state.name, quantity: state.quantity, sends: size(state.expectedSendSize),
            receives: size(state.expectedReceiveSize))
    }

    // MARK: NSSecureCoding

    /// True: an archive is decoded by its class.
    public static var supportsSecureCoding: Bool { true }

    /// A new group when the archive holds none. The configuration is not archived.
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
