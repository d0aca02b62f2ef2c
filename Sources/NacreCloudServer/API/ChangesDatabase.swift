import NacreCloudContainer
import NacreCloudServerWire
import NacreCloudStorage
import NacreCloudWire
import NacreHTTPServer

extension API {
    /// `POST changes/database`; with `waitSeconds` it answers as soon as there is a change.
    var changesDatabase: Endpoint<ChangesDatabaseRequest, ChangesDatabaseResponse> {
        Endpoint(ask: { request, call in
            let database = try await cloud.database(call.target, for: .changes, by: call.caller)
            let seconds = min(request.extension.waitSeconds ?? 0, Limits.waitSeconds)
            return try await hub.read(
                database.id, waiting: seconds, by: call.holder.name, ledger: call.request.ledger
            ) { (page: ChangesDatabaseResponse) in
                !page.zones.isEmpty || page.moreComing
            } _: {
                try await call.requireCaller()
                return try await cloud.databaseChanges(request, in: database)
            }
        })
    }
}
