/// A command line that cannot be read. Never quotes a value, in case a secret stands there by mistake.
struct UsageError: Error, Equatable {
    enum Fault: Equatable {
        case unknownCommand(String, nearest: String?)
        case unknownOption(String, nearest: String?)
        case unexpectedArgument(String)
        case missingArgument(String)
        case missingOption(String)
        case missingValue(String)
        case unexpectedValue(String)
        case notOneOf(option: String, values: [String], nearest: String?)
        case invalid(String, String)
        case exclusive(String, String)
    }

    let fault: Fault
    /// The command whose usage is shown with the error.
    let path: [String]

    init(_ fault: Fault, path: [String]) {
        self.fault = fault
        self.path = path
    }

    var message: String {
        switch fault {
        case .unknownCommand(let name, let nearest): "Unknown command '\(name)'.\(Self.hint(nearest))"
        case .unknownOption(let name, let nearest): "Unknown option '\(name)'.\(Self.hint(nearest))"
        case .unexpectedArgument(let text): "Unexpected argument '\(text)'."
        case .missingArgument(let name): "Missing expected argument '<\(name)>'."
        case .missingOption(let spelling): "Missing expected option '\(spelling)'."
        case .missingValue(let spelling): "Missing value for '\(spelling)'."
        case .unexpectedValue(let name): "The flag '--\(name)' takes no value."
        case .notOneOf(let option, let values, let nearest):
            "The value of '--\(option)' must be \(values.joined(separator: " or ")).\(Self.hint(nearest))"
        case .invalid(let name, let expected): "The value of '\(name)' is not valid: \(expected)."
        case .exclusive(let one, let other): "'\(one)' and '\(other)' exclude each other."
        }
    }

    private static func hint(_ nearest: String?) -> String {
        nearest.map { " Did you mean '\($0)'?" } ?? ""
    }
}
