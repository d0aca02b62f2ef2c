import assert from "node:assert/strict";
import { before, test } from "node:test";

import { ShareRecordType } from "../src/module.js";
import { refusal, startCloud } from "./support/cloud.mjs";

let cloud, ada, ben;
before(async () => {
    cloud = await startCloud();
    ada = await cloud.signedIn("ada@example.com", { names: { givenName: "Ada" } });
    ben = await cloud.signedIn("ben@example.com");
    await allowDiscovery("ada@example.com");
});

/** Lets others find a user, as an app's prompt does. */
async function allowDiscovery(email) {
    const token = encodeURIComponent(await cloud.webAuthToken(email));
    const answer = await fetch(`${cloud.url}/database/1/${ada.containerIdentifier}/development/public/users/permission?ckAPIToken=${cloud.apiToken}`
        + `&ckWebAuthToken=${token}`, { method: "POST", body: JSON.stringify({ userDiscoverability: "GRANTED" }) });
    assert.equal(answer.status, 200, await answer.text());
}

test("a signed-in user has an identity, and nobody else has one", async () => {
    assert.match((await ada.fetchCurrentUserIdentity()).userRecordName, /^_[0-9a-f]{32}$/);
    const error = await refusal(cloud.container().fetchCurrentUserIdentity());
    assert.equal(error.ckErrorCode, "AUTHENTICATION_REQUIRED");
    assert.match(error.redirectURL, /\/sign-in\?/);
});

test("a user signs in with a token, reads, and signs out; the token is worth nothing then", async () => {
    const puts = [];
    const authTokenStore = { getToken: () => puts.at(-1) ?? null, putToken: (_, token) => { puts.push(token); } };
    const container = cloud.container({ services: { authTokenStore } });
    assert.equal(await container.setUpAuth(), null);
    const waiting = container.whenUserSignsIn();
    const token = await cloud.webAuthToken("ada@example.com");
    const user = await container.signIn(token);
    assert.deepEqual(await waiting, user);
    assert.deepEqual(await container.setUpAuth(), user);
    const left = container.whenUserSignsOut();
    await container.signOut();
    assert.equal(await left, undefined);
    assert.deepEqual([puts[0], puts.at(-1)], [token, null]);
    const again = cloud.container({ services: { authTokenStore: { getToken: () => token, putToken() {} } } });
    assert.equal((await refusal(again.fetchCurrentUserIdentity())).ckErrorCode, "AUTHENTICATION_REQUIRED");
});

test("users who allow it are discovered by address and by name; others are left out", async () => {
    const { userRecordName } = await ada.fetchCurrentUserIdentity();
    const byAddress = await ben.discoverUserIdentityWithEmailAddress(["ada@example.com", "nobody@example.com"]);
    assert.ok(byAddress.isUserIdentitiesResponse);
    assert.deepEqual(byAddress.users.map((user) => [user.userRecordName, user.nameComponents.givenName]), [[userRecordName, "Ada"]]);
    assert.equal((await ben.discoverUserIdentityWithUserRecordName(userRecordName)).users.length, 1);
    assert.equal((await ben.discoverUserIdentities([{ emailAddress: "ada@example.com" }])).users.length, 1);
    assert.deepEqual((await ben.discoverUserIdentityWithPhoneNumber("+49301234567")).users, []);
    assert.deepEqual((await ben.discoverAllUserIdentities()).users, []);
});

test("a shared record is resolved, accepted and read by the other user", async () => {
    const zoneID = { zoneName: "Trips" };
    await ada.privateCloudDatabase.saveRecordZones("Trips");
    const [trip] = (await ada.privateCloudDatabase.saveRecords({
        recordType: "Note", recordName: "trip", fields: { text: "Rome" }, createShortGUID: true,
    }, { zoneID })).records;
    const shares = await ada.privateCloudDatabase.saveRecords({
        recordType: ShareRecordType.NAME, recordName: "share", forRecord: { recordName: "trip", recordChangeTag: trip.recordChangeTag },
        fields: { [ShareRecordType.TITLE_FIELD_NAME]: { value: "Our trip" } }, publicPermission: "NONE",
        participants: [{ type: "USER", permission: "READ_WRITE", userIdentity: { lookupInfo: { emailAddress: "ben@example.com" } } }],
    }, { zoneID });
    assert.deepEqual(shares.errors, []);
    const [{ shortGUID }] = shares.records;
    assert.equal(shortGUID, trip.shortGUID);

    const infos = await ben.fetchRecordInfos({ value: shortGUID, shouldFetchRootRecord: true });
    assert.ok(infos.isRecordInfosResponse);
    assert.deepEqual([infos.results[0].rootRecordName, infos.results[0].rootRecord.fields.text.value], ["trip", "Rome"]);
    const accepted = await ben.acceptShares(`${cloud.url}/share/${shortGUID}#Our trip`);
    assert.deepEqual(accepted.errors, []);
    const { zoneID: shared } = accepted.results[0];
    const [read] = (await ben.sharedCloudDatabase.fetchRecords("trip", { zoneID: shared })).records;
    assert.equal(read.fields.text.value, "Rome");
    const [written] = (await ben.sharedCloudDatabase.saveRecords({ ...read, fields: { text: "Venice" } })).records;
    assert.equal(written.fields.text.value, "Venice");
});

test("a short GUID that leads nowhere is among the errors", async () => {
    const { errors, results } = await ben.fetchRecordInfos("0a1b2c3d4e5f60718293a4b5c");
    assert.deepEqual([results, errors.map((error) => error.ckErrorCode)], [[], ["ACCESS_DENIED"]]);
});

test("a user asks for access to a share that takes requests, and its owner sees the request", async () => {
    const zoneID = { zoneName: "Asked" };
    await ada.privateCloudDatabase.saveRecordZones(zoneID);
    const [share] = (await ada.privateCloudDatabase.saveRecords({
        recordType: ShareRecordType.NAME, recordName: "cloudkit.zoneshare", publicPermission: "NONE", nacre: { allowsAccessRequests: true },
    }, { zoneID })).records;
    assert.deepEqual((await ben.requestShareAccess(share.shortGUID)).errors, []);
    const [seen] = (await ada.privateCloudDatabase.fetchRecords("cloudkit.zoneshare", { zoneID })).records;
    assert.deepEqual(seen.nacre.requesters.map((one) => one.lookupInfo.emailAddress), ["ben@example.com"]);
});
