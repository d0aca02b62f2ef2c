import CloudKit
import Foundation
import NacreCloudServer

/// `nacre agent`
enum Agent {
    static let command = Command(
        "agent", "Finish the long-lived operations of apps that have ended.",
        discussion: """
            Apps start it by themselves: the nacre in PATH, or what CLOUDKIT_AGENT names. It takes over the operations that are kept in \
            $XDG_STATE_HOME/nacre when the app that runs them ends, keeps what comes of them until the app asks for it, at most 24 hours, and ends when \
            nothing is left to do. There is one for a user: a second one ends at once. It may be killed at any time; the next one goes on.
            """
    ) { _ in
        let agent = LongLivedAgent(LongLivedOperations(environment: ProcessInfo.processInfo.environment)) { Output.message($0) }
        // One write, since the app that started the agent waits for it.
        let isFirst = try await agent.run { FileHandle.standardOutput.write(Data(LongLivedAgent.readyText.utf8)) }
        if !isFirst { Output.message("Another agent runs.") }
    }
}
