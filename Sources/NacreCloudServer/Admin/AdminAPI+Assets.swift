import NacreCloudContainer
import NacreCloudStorage
import NacreCloudWire
import NacreHTTPServer

extension AdminAPI {
    func addAssetRoutes(to router: inout Router) {
        let reviewing = AssetReviewing(cloud: cloud)
        router.post("/admin/1/assets/verify", bodyBytesMax: Limits.accountBodyBytes) { request, _ in
            try answer(try await reviewing.verify(try await body(AdminMessages.NewAssetVerification.self, of: request)))
        }
        router.post("/admin/1/assets/collect", bodyBytesMax: Limits.accountBodyBytes) { request, _ in
            try answer(try await reviewing.collect(try await body(AdminMessages.NewAssetCollection.self, of: request)))
        }
    }
}
