import CloudKit
import Observation
import Testing

// View models as apps write them: on the main actor, with async functions, completion handlers and operations. It
// imports CloudKit and no other module that has its types, and is compiled in both language modes:
// `NacreCloudKitSwift5Tests` has a link to this file.

private struct Place: Identifiable, Hashable, Sendable {
    let id: CKRecord.ID
    var name: String
    var rating: Int
    var tags: [String]
    var visited: Date?
    var coordinate: CLLocationCoordinate2D?

    init(_ record: CKRecord) {
        id = record.recordID
        name = record["name"] as? String ?? "Untitled"
        rating = record["rating"] as? Int ?? 0
        tags = record["tags"] ?? []
        visited = record["visited"] as? Date
        coordinate = (record["location"] as? CLLocation)?.coordinate
    }

    static func == (left: Place, right: Place) -> Bool { left.id == right.id && left.name == right.name && left.rating == right.rating }
    func hash(into hasher: inout Hasher) { hasher.combine(id) }
}

@MainActor @Observable private final class PlacesViewModel {
    enum Phase: Equatable {
        case idle, loading, loaded
        case failed(String)
    }

    private(set) var places: [Place] = []
    private(set) var phase = Phase.idle
    private(set) var isSignedIn = false
    var search = ""
    private let container: CKContainer
    private var cursor: CKQueryOperation.Cursor?
    private var records: [CKRecord.ID: CKRecord] = [:]

    init(container: CKContainer = .default()) {
        self.container = container
    }

    private var database: CKDatabase { container.privateCloudDatabase }

    private var query: CKQuery {
        let predicate = search.isEmpty ? NSPredicate(value: true) : NSPredicate(format: "name BEGINSWITH %@ AND rating >= %d", search, 1)
        let query = CKQuery(recordType: "Place", predicate: predicate)
        query.sortDescriptors = [NSSortDescriptor(key: "rating", ascending: false)]
        return query
    }

    // MARK: async

    func load() async {
        phase = .loading
        do {
            async let status = container.accountStatus()
            async let page = database.records(matching: query, resultsLimit: 50)
            isSignedIn = try await status == .available
            let (results, next) = try await page
            cursor = next
            places = results.compactMap { try? Place($0.1.get()) }
            phase = .loaded
        } catch let error as CKError where error.code == .networkUnavailable || error.code == .networkFailure {
            phase = .failed("offline")
        } catch {
            phase = .failed(error.localizedDescription)
        }
    }

    func loadMore() async throws {
        guard let cursor else { return }
        let (results, next) = try await database.records(continuingMatchFrom: cursor)
        self.cursor = next
        places += results.compactMap { _, result in
            guard case .success(let record) = result else { return nil }
            records[record.recordID] = record
            return Place(record)
        }
    }

    func add(_ name: String, at location: CLLocation?, photo: URL?) async throws {
        let record = CKRecord(recordType: "Place")
        record["name"] = name
        record["rating"] = 3
        record["isNew"] = true
        record["tags"] = ["a", "b"]
        record["price"] = 12.5
        record["location"] = location
        record["visited"] = Date.now
        if let photo { record["photo"] = CKAsset(fileURL: photo) }
        record.setValuesForKeys(["note": "", "count": 1])
        places.append(Place(try await database.save(record)))
    }

    func remove(at offsets: IndexSet) async throws {
        let ids = offsets.map { places[$0].id }
        let (_, deleted) = try await database.modifyRecords(saving: [], deleting: ids)
        for (id, result) in deleted {
            if case .success = result { places.removeAll { $0.id == id } }
        }
    }

    func thumbnails() async -> [CKRecord.ID: Data] {
        await withTaskGroup(of: (CKRecord.ID, Data?).self) { group in
            for place in places {
                let database = database
                group.addTask {
                    let record = try? await database.records(for: [place.id], desiredKeys: ["photo"])[place.id]?.get()
                    let url = (record?["photo"] as? CKAsset)?.fileURL
                    return (place.id, url.flatMap { try? Data(contentsOf: $0) })
                }
            }
            var found: [CKRecord.ID: Data] = [:]
            for await (id, data) in group { found[id] = data }
            return found
        }
    }

    // MARK: Completion handlers

    func refresh() {
        phase = .loading
        database.fetch(withQuery: query, desiredKeys: ["name", "rating"]) { result in
            DispatchQueue.main.async {
                switch result {
                case .success(let (matches, cursor)):
                    self.cursor = cursor
                    self.places = matches.compactMap { try? Place($0.1.get()) }
                    self.phase = .loaded
                case .failure(let error): self.phase = .failed(error.localizedDescription)
                }
            }
        }
    }

    func rename(_ place: Place, to name: String, done: @escaping @MainActor ((any Error)?) -> Void) {
        database.fetch(withRecordID: place.id) { [weak self] record, error in
            guard let self, let record else {
                Task { @MainActor in done(error) }
                return
            }
            record["name"] = name as any CKRecordValue
            Task { @MainActor in
                self.database.save(record) { _, error in
                    Task { @MainActor in done(error) }
                }
            }
        }
    }

    // MARK: Operations

    func upload(_ changed: [CKRecord]) {
        let operation = CKModifyRecordsOperation(recordsToSave: changed, recordIDsToDelete: nil)
        operation.savePolicy = .changedKeys
        operation.qualityOfService = .userInitiated
        operation.perRecordSaveBlock = { recordID, result in
            if case .failure(let error) = result { print("\(recordID.recordName): \(error)") }
        }
        operation.modifyRecordsResultBlock = { result in
            DispatchQueue.main.async {
                switch result {
                case .success: self.phase = .loaded
                case .failure(let error): self.phase = .failed("\(error)")
                }
            }
        }
        database.add(operation)
    }

    func subscribe() async throws {
        let subscription = CKQuerySubscription(
            recordType: "Place", predicate: NSPredicate(value: true), subscriptionID: "places",
            options: [.firesOnRecordCreation, .firesOnRecordUpdate])
        let info = CKSubscription.NotificationInfo()
        info.shouldSendContentAvailable = true
        subscription.notificationInfo = info
        _ = try await database.save(subscription)
    }

    func follow() -> any NSObjectProtocol {
        NotificationCenter.default.addObserver(forName: .CKAccountChanged, object: nil, queue: .main) { _ in
            Task { @MainActor in await self.load() }
        }
    }
}

@Suite struct ViewModelCodeTests {
    @Test func `a view model of the usual shape compiles, and tells that it is not signed in`() async throws {
        let url = try #require(URL(string: "http://127.0.0.1:1"))
        let model = await PlacesViewModel(container: CKContainer(identifier: "iCloud.app", server: CloudKitServer(url: url, apiToken: "a")))
        await model.load()
        let phase = await model.phase
        #expect(phase != .loaded && phase != .loading)
        await #expect(throws: CKError.self) { try await model.add("Tower", at: CLLocation(latitude: 48.8584, longitude: 2.2945), photo: nil) }
        let error = await withCheckedContinuation { continuation in
            Task { @MainActor in
                model.rename(Place(CKRecord(recordType: "Place")), to: "x") { continuation.resume(returning: ($0 as? CKError)?.code) }
            }
        }
        #expect(error == .notAuthenticated)
        let places = await model.places
        #expect(places.isEmpty)
    }
}
