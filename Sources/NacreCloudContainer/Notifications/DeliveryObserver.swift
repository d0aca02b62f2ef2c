package import NacreCloudAccounts

/// A part of the server that learns how notifications reach the devices of users.
package protocol DeliveryObserver: Sendable {
    /// Takes the number of notifications that were put into queues of a user's devices, and of those that listening
    /// devices were told at once. Called on any thread after the commit: it must return at once, and must not fail.
    func queued(_ count: Int, told: Int, for user: AppUser)
    /// Takes the answer of a push service, under the same conditions.
    func pushed(_ report: PushReport, took duration: Duration, for user: AppUser)
}
