package import NacreCloudWire

/// A limit as the server tells it: `GET /limits`.
package struct Limit: Hashable, Sendable, Codable {
    /// Who says so.
    package enum Source: String, Hashable, Sendable, Codable {
        case cloudKit = "CloudKit"
        case server = "Nacre"
    }

    package var name: String
    package var value: Int
    package var source: Source

    package init(_ name: String, _ value: Int, _ source: Source) {
        self.name = name
        self.value = value
        self.source = source
    }
}

extension Limits {
    /// All of them, in the order in which they are defined, where each one says what it means.
    package static let table: [Limit] = [
        Limit("itemsPerNativeRequest", itemsPerNativeRequest, .cloudKit),
        Limit("itemsPerWebRequest", itemsPerWebRequest, .cloudKit),
        Limit("nativeRequestBytes", nativeRequestBytes, .cloudKit),
        Limit("recordBytes", recordBytes, .cloudKit),
        Limit("webAssetBytes", webAssetBytes, .cloudKit),
        Limit("nativeAssetBytes", nativeAssetBytes, .server),
        Limit("assetsPerRequest", assetsPerRequest, .server),
        Limit("nameCharacters", nameCharacters, .cloudKit),
        Limit("resultsPerPage", resultsPerPage, .cloudKit),
        Limit("zonesPerRequest", zonesPerRequest, .cloudKit),
        Limit("desiredNames", desiredNames, .server),
        Limit("messageDepth", messageDepth, .server),
        Limit("numberBytes", numberBytes, .server),
        Limit("changesPerUnsplitCommit", changesPerUnsplitCommit, .server),
        Limit("zonesPerList", zonesPerList, .server),
        Limit("clientChangeTokenBytes", clientChangeTokenBytes, .server),
        Limit("operationIDCharacters", operationIDCharacters, .server),
        Limit("operationSeconds", Int(operationSeconds), .server),
        Limit("operationsPerCaller", operationsPerCaller, .server),
        Limit("operationMinimumSeconds", Int(operationMinimumSeconds), .server),
        Limit("operationDelaySeconds", Int(operationDelaySeconds), .server),
        Limit("operationTrimChunk", operationTrimChunk, .server),
        Limit("rolesPerSchema", rolesPerSchema, .server),
        Limit("recordTypesPerSchema", recordTypesPerSchema, .server),
        Limit("fieldsPerRecordType", fieldsPerRecordType, .server),
        Limit("schemaChangesKept", schemaChangesKept, .server),
        Limit("schemaChangeBytes", schemaChangeBytes, .server),
        Limit("auditEntriesKept", auditEntriesKept, .server),
        Limit("bodyGrowthBytes", Int(bodyGrowthBytes), .server),
        Limit("indexBuildChunk", indexBuildChunk, .server),
        Limit("userQuotaBytes", userQuotaBytes, .server),
        Limit("publicQuotaBytes", publicQuotaBytes, .server),
        Limit("quotaBytes", quotaBytes, .server),
        Limit("checkRows", checkRows, .server),
        Limit("reclaimChunk", reclaimChunk, .server),
        Limit("assetChunkBytes", assetChunkBytes, .server),
        Limit("assetUploadSeconds", Int(assetUploadSeconds), .cloudKit),
        Limit("assetDownloadSeconds", Int(assetDownloadSeconds), .server),
        Limit("assetGraceSeconds", Int(assetGraceSeconds), .server),
        Limit("taskLeaseSeconds", Int(taskLeaseSeconds), .server),
        Limit("taskAttempts", Int(taskAttempts), .server),
        Limit("taskPauseSeconds", Int(taskPauseSeconds), .server),
        Limit("owningReferences", owningReferences, .cloudKit),
        Limit("cascadePerTransaction", cascadePerTransaction, .server),
        Limit("cascadeLevels", cascadeLevels, .server),
        Limit("dependentsPerCall", dependentsPerCall, .server),
        Limit("cascadeChunk", cascadeChunk, .server),
        Limit("tombstoneSeconds", Int(tombstoneSeconds), .server),
        Limit("purgeChunk", purgeChunk, .server),
        Limit("pageBytes", pageBytes, .server),
        Limit("answerBytes", answerBytes, .server),
        Limit("textPerAnswerByte", textPerAnswerByte, .server),
        Limit("smallBodyBytes", smallBodyBytes, .server),
        Limit("unansweredBytes", unansweredBytes, .server),
        Limit("targetsPerRequest", targetsPerRequest, .server),
        Limit("cascadeBytes", cascadeBytes, .server),
        Limit("addressLookupCost", addressLookupCost, .server),
        Limit("personNameBytes", personNameBytes, .server),
        Limit("passwordCost", passwordCost, .server),
        Limit("indexKeyBytes", indexKeyBytes, .server),
        Limit("queryScanRows", queryScanRows, .server),
        Limit("queryScanBytes", queryScanBytes, .server),
        Limit("valuesPerFilter", valuesPerFilter, .cloudKit),
        Limit("filtersPerQuery", filtersPerQuery, .server),
        Limit("sortsPerQuery", sortsPerQuery, .server),
        Limit("rowsWithoutIndex", rowsWithoutIndex, .server),
        Limit("bytesWithoutIndex", bytesWithoutIndex, .server),
        Limit("indexWaitSeconds", Int(indexWaitSeconds), .server),
        Limit("indexBuildRetrySeconds", indexBuildRetrySeconds, .cloudKit),
        Limit("waitSeconds", Int(waitSeconds), .server),
        Limit("requestRate", requestRate, .server),
        Limit("requestRateOfAddress", requestRateOfAddress, .server),
        Limit("requestRateOfAPIToken", requestRateOfAPIToken, .server),
        Limit("requestRateOfContainer", requestRateOfContainer, .server),
        Limit("requestBurstSeconds", Int(requestBurstSeconds), .server),
        Limit("waitsPerUser", waitsPerUser, .server),
        Limit("sessionSeconds", Int(sessionSeconds), .cloudKit),
        Limit("keptSessionSeconds", Int(keptSessionSeconds), .cloudKit),
        Limit("sessionsPerAccount", sessionsPerAccount, .server),
        Limit("devicesPerAccount", devicesPerAccount, .server),
        Limit("emailCharacters", emailCharacters, .server),
        Limit("bodyBytes", bodyBytes, .server),
        Limit("accountBodyBytes", accountBodyBytes, .server),
        Limit("schemaBodyBytes", schemaBodyBytes, .server),
        Limit("passwordCharacters", passwordCharacters, .server),
        Limit("passwordBytes", passwordBytes, .server),
        Limit("passwordResetSeconds", Int(passwordResetSeconds), .server),
        Limit("emailChangeSeconds", Int(emailChangeSeconds), .server),
        Limit("accountDeletionSeconds", Int(accountDeletionSeconds), .server),
        Limit("signatureSeconds", Int(signatureSeconds), .server),
        Limit("sessionProlongSeconds", Int(sessionProlongSeconds), .server),
        Limit("signInSeconds", Int(signInSeconds), .server),
        Limit("consentSeconds", Int(consentSeconds), .server),
        Limit("signInStateBytes", signInStateBytes, .server),
        Limit("tokenNameCharacters", tokenNameCharacters, .server),
        Limit("originsPerToken", originsPerToken, .server),
        Limit("originCharacters", originCharacters, .server),
        Limit("callbackCharacters", callbackCharacters, .server),
        Limit("wrongPasswordsPerAccount", wrongPasswordsPerAccount, .server),
        Limit("wrongPasswordsPerAddress", wrongPasswordsPerAddress, .server),
        Limit("accountPauseSeconds", Int(accountPauseSeconds), .server),
        Limit("addressPauseSeconds", Int(addressPauseSeconds), .server),
        Limit("passwordChecksPerAccount", passwordChecksPerAccount, .server),
        Limit("passwordChecksPerAddress", passwordChecksPerAddress, .server),
        Limit("strangersPasswordChecks", strangersPasswordChecks, .server),
    ]
}
