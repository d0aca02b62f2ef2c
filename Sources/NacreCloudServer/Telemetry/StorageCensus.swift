import NacreCloudAccounts
import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire

/// Sums up the bytes that the databases of each container hold, from the sizes that the quotas go by.
struct StorageCensus: Sendable {
    let cloud: Cloud
    let recorder: TelemetryRecorder

    /// Reads all sizes, a page of databases at a time.
    /// - Throws: the error of the store. Containers that were read before it are summed up.
    func take() async throws {
        var next: String?
        repeat {
            let (page, following) = try await cloud.registry.containers(after: next)
            for container in page {
                for environment in DatabaseKey.Environment.allCases { try await take(container.name, environment) }
            }
            next = following
        } while next != nil
    }

    private func take(_ container: String, _ environment: DatabaseKey.Environment) async throws {
        var (ofPublic, ofUsers, owners) = (Int64(0), Int64(0), [String]())
        var next: DatabaseID?
        repeat {
            let page = try await cloud.usage(of: container, environment, after: next)
            ofPublic = page.ofPublic.bytes
            for user in page.users where user.usage.bytes > 0 {
                ofUsers += user.usage.bytes
                owners.append(user.userRecordName)
            }
            next = page.next
        } while next != nil
        if ofPublic > 0 { recorder.note(stored: ofPublic, of: .storage(.public, of: container, environment)) }
        if ofUsers > 0 { recorder.note(stored: ofUsers, of: .storage(.personal, of: container, environment), owners) }
    }
}

extension TelemetryRecorder {
    /// Sets the bytes that a container's databases hold, in the slot of the day.
    /// - Parameter owners: the users whose databases they are.
    fileprivate func note(stored bytes: Int64, of series: TelemetrySeries, _ owners: [String] = []) {
        let time = now
        add(series, at: time, tier: .days) { sums, _ in sums.stored = TelemetrySums.Stored(milliseconds: time.millisecondsSince1970, bytes: bytes) }
        for owner in owners { add(series, at: time, by: owner, tier: .days) { _, _ in } }
    }
}
