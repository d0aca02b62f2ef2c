import Glibc
import NacreHTTPServer

/// The number of files and sockets that this process may have open.
enum DescriptorLimit {
    /// Raises the limit as far as the process may without privileges, and returns it. The usual limit is 1,024, for
    /// programs with `select`.
    static func raise() -> Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1024 }
        if limit.rlim_cur < limit.rlim_max {
            var raised = limit
            raised.rlim_cur = limit.rlim_max
            if setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &raised) == 0 { limit = raised }
        }
        return Int(clamping: limit.rlim_cur)
    }

    /// The connections to accept with so many descriptors, at most `wanted`. Some are kept for the store, the log and
    /// the admin listener, so that accepting stops before descriptors run out.
    static func connections(_ descriptors: Int, wanted: Int) -> Int {
        max(min(wanted, descriptors - ServerLimits.descriptorsKept), min(wanted, 16))
    }
}
