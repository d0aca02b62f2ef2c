import NacreCloudServer

/// `nacre container list`
enum ContainerList {
    static let command = Command(
        "list", "List the containers of this server.",
        discussion: "Each line has the container's name and when it was made.",
        options: AdminServer.options + [SharedOptions.json]
    ) { call in
        let admin = try await AdminClient.connect(call)
        let isJSON = call.has(SharedOptions.json)
        var all = AdminMessages.Containers(containers: [])
        try await admin.eachPageOfContainers { page in
            if isJSON {
                all.containers += page.containers
            } else {
                for container in page.containers { try Output.data("\(container.name) \(UserTime.text(container.created))") }
            }
        }
        if isJSON { try Output.json(all) }
    }
}
