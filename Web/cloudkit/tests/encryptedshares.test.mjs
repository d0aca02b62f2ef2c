import assert from "node:assert/strict";
import { before, test } from "node:test";

import { refusal, startCloud } from "./support/cloud.mjs";
import { deviceOf, fetched, invited, saved, secret, shared, zoneShare } from "./support/secrets.mjs";

let cloud;
before(async () => { cloud = await startCloud(); });

let people = 0;

/** A device of a new user, with the name of the user's record, a clock that the test moves, and a log. */
async function newPerson(name, services) {
    people += 1;
    const email = `${name}${people}@example.com`;
    await cloud.makeUser(email);
    const more = { email, clock: { minutes: 0 }, logged: [] };
    const logger = Object.fromEntries(["info", "warn", "error"].map((level) => [level, (text) => more.logged.push(text)]));
    const device = await deviceOf(cloud, email, { now: () => Date.now() + more.clock.minutes * 60_000, logger, ...services });
    Object.assign(device, more, { user: (await device.container.fetchCurrentUserIdentity()).userRecordName });
    return device;
}

const shareOf = (owner, zoneID) => fetched(owner, zoneShare, { zoneID });

/** Ada, who shares a zone with Ben by name, and Ben, who has accepted and has keys; a record of Ada's is in the zone. */
async function sharedZone({ permission, ...services } = {}) {
    const [ada, ben] = [await newPerson("ada", services), await newPerson("ben")];
    const zoneID = { zoneName: "Trip" };
    await ada.database.saveRecordZones(zoneID);
    const note = await saved(ada, { recordName: "note", fields: { title: "plain", diagnosis: secret("flu") } }, { zoneID });
    await ben.keys.begin();
    const share = await shared(ada, { participants: [invited(ben.user, permission)] }, zoneID);
    await ben.container.acceptShares(share.shortGUID);
    const theirs = { zoneID: { ...zoneID, ownerRecordName: ada.user } };
    return { ada, ben: inShared(ben), zoneID, theirs, note, share };
}

/** A person whose records are those of zones that others share. */
const inShared = (person) => Object.assign(person, { database: person.container.sharedCloudDatabase });

const diagnosis = async (person, name, options) => (await fetched(person, name, options)).fields.diagnosis?.value;

test("a participant who was invited by name reads and writes the encrypted values of a shared zone", async () => {
    const { ada, ben, zoneID, theirs } = await sharedZone();
    const note = await fetched(ben, "note", theirs);
    assert.deepEqual([note.fields.title.value, note.fields.diagnosis.value], ["plain", "flu"]);
    await saved(ben, { ...note, fields: { diagnosis: secret("a cold") } }, theirs);
    assert.equal(await diagnosis(ada, "note", { zoneID }), "a cold");
    await saved(ben, { recordName: "hers", fields: { count: secret(3, "INT64") } }, theirs);
    assert.equal((await fetched(ada, "hers", { zoneID })).fields.count.value, 3);
    const [page] = (await ben.database.fetchRecordZoneChanges(theirs)).zones;
    assert.deepEqual(page.records.filter(({ recordType }) => recordType === "Secret").map(({ recordName }) => recordName).sort(), ["hers", "note"]);
    assert.equal(page.records.find(({ recordName }) => recordName === "note").fields.diagnosis.value, "a cold");
    for (const { body } of ben.sent) assert.doesNotMatch(body ?? "", /a cold/);
});

test("files of a shared zone are sealed and opened by its participants, and by nobody else", async () => {
    const { ada, ben, zoneID, theirs } = await sharedZone();
    const text = async (person, asset, options) => (await person.database.fetchFile(asset, options)).text();
    const first = await saved(ada, { recordName: "scan", fields: { scan: new Blob(["a picture"]), diagnosis: secret("flu") } }, { zoneID });
    const scan = await fetched(ben, "scan", theirs);
    assert.deepEqual([await text(ben, scan.fields.scan.value, theirs), scan.fields.diagnosis.value], ["a picture", "flu"]);
    const bytes = new Uint8Array(1_048_576 * 2 + 3).fill(7);
    const list = [scan.fields.scan.value, new Blob([bytes])];
    await saved(ben, { recordName: "hers", fields: { scans: list.slice(1), diagnosis: secret("x") } }, theirs);
    await saved(ben, { ...scan, fields: { scan: new Blob(["another"]) } }, theirs);
    assert.equal(await text(ada, (await fetched(ada, "scan", { zoneID })).fields.scan.value, { zoneID }), "another");
    const [asset] = (await fetched(ada, "hers", { zoneID })).fields.scans.value;
    assert.deepEqual(new Uint8Array(await (await ada.database.fetchFile(asset, { zoneID })).arrayBuffer()), bytes);
    for (const value of [first.fields.scan.value, asset]) {
        const raw = Buffer.from(await (await fetch(value.downloadURL.replace("${f}", "a"))).arrayBuffer());
        assert.ok(!raw.includes("a picture") && !raw.includes(Buffer.from(bytes.subarray(0, 64))));
    }
});

/** Accepts a share, with keys of an account of the person's own. */
async function accept(person, { shortGUID }) {
    await person.container.acceptShares(shortGUID);
    await inShared(person).keys.begin();
}

test("a file stays plain in a shared zone without keys, and of one who came by the link; an invited one without keys sends none", async () => {
    const [ada, ben] = [await newPerson("ada"), await newPerson("ben")];
    const options = (zoneName, owner) => ({ zoneID: { zoneName, ...owner && { ownerRecordName: owner.user } } });
    const root = async (person, zoneName) => (
        (await saved(person, { fields: { scan: new Blob(["plain"]) } }, options(zoneName, ada))).fields.scan.value.encryptionRoot);
    await ada.database.saveRecordZones(["Invited", "Link"]);
    const share = await shared(ada, { participants: [invited(ben.user)] }, options("Invited").zoneID);
    await accept(ben, share);
    assert.equal(await root(ben, "Invited"), undefined);
    for (const zone of ["Invited", "Link"]) await saved(ada, { fields: { diagnosis: secret("flu") } }, options(zone));
    const [cara, dan] = [await newPerson("cara"), await newPerson("dan")];
    await accept(dan, await shared(ada, { publicPermission: "READ_WRITE" }, options("Link").zoneID));
    assert.equal(await root(dan, "Link"), undefined);
    const { participants, ...before } = await shareOf(ada, options("Invited").zoneID);
    await shared(ada, { ...before, participants: [...participants, invited(cara.user)] }, options("Invited").zoneID);
    await accept(cara, share);
    const error = await refusal(saved(cara, { recordName: "never", fields: { scan: new Blob(["x"]) } }, options("Invited", ada)));
    assert.deepEqual([error.ckErrorCode, error.errors[0].recordName], ["ENCRYPTION_KEYS_REQUIRED", "never"]);
    assert.ok(!cara.sent.some(({ endpoint }) => endpoint === "assets/upload"));
});

test("a participant without keys gets an account at the first look, and the zone's keys when the owner's page meets the share", async () => {
    const [ada, ben] = [await newPerson("ada"), await newPerson("ben")];
    const zoneID = { zoneName: "Trip" };
    await ada.database.saveRecordZones(zoneID);
    await saved(ada, { recordName: "note", fields: { diagnosis: secret("flu") } }, { zoneID });
    const { shortGUID } = await shared(ada, { participants: [invited(ben.user)] }, zoneID);
    await ben.container.acceptShares(shortGUID);
    const theirs = { zoneID: { ...zoneID, ownerRecordName: ada.user } };
    inShared(ben);
    assert.equal(await diagnosis(ben, "note", theirs), undefined);
    assert.equal((await ben.keys.status()).keys, "here");
    const error = await refusal(saved(ben, { recordName: "hers", fields: { diagnosis: secret("x") } }, theirs));
    assert.deepEqual([error.ckErrorCode, /has not given this user the keys/.test(error.reason)], ["ENCRYPTION_KEYS_REQUIRED", true]);
    await shareOf(ada, zoneID);
    assert.equal(await diagnosis(ben, "note", theirs), "flu");
});

test("whom the server's list names and no page has added gets no key, also when the share is saved back", async () => {
    const { ada, ben, zoneID, theirs } = await sharedZone();
    const eve = await newPerson("eve");
    await eve.keys.begin();
    ada.change = (endpoint, answer) => {
        const added = { ...invited(eve.user), participantId: "EVE", acceptanceStatus: "ACCEPTED" };
        for (const record of answer.records ?? []) if (record.recordName === zoneShare) record.participants.push(added);
        return answer;
    };
    const sent = ada.sent.length;
    const { participants, ...share } = await shareOf(ada, zoneID);
    assert.equal(participants.length, 3);
    // The server refuses the participant that it has never had. A hostile one takes it.
    ada.change = (endpoint, answer) => (answer.records?.[0]?.recordName === zoneShare ? { records: [{ ...share, participants }] } : answer);
    await saved(ada, { ...share, fields: { "cloudkit.title": "Our trip" }, participants }, { zoneID });
    ada.change = undefined;
    await saved(ada, { recordName: "later", fields: { diagnosis: secret("new") } }, { zoneID });
    assert.ok(!ada.sent.slice(sent).some(({ endpoint }) => endpoint === "keys/scopes/modify"));
    assert.equal(await diagnosis(ben, "later", theirs), "new");
});

test("a share of an answer that has a participant without an ID is refused: the page would add them", async () => {
    const { ada, zoneID } = await sharedZone();
    const eve = await newPerson("eve");
    await eve.keys.begin();
    ada.change = (endpoint, answer) => {
        const added = { ...invited(eve.user), acceptanceStatus: "ACCEPTED" };
        for (const record of answer.records ?? []) if (record.recordName === zoneShare) record.participants.push(added);
        return answer;
    };
    const error = await refusal(shareOf(ada, zoneID));
    assert.deepEqual([error.ckErrorCode, /participant of a share without an ID/.test(error.reason)], ["ENCRYPTION_REFUSED", true]);
    ada.change = undefined;
    assert.equal((await shareOf(ada, zoneID)).participants.length, 2);
});

test("whom two answers show with different permissions gets no key when the second list is saved back", async () => {
    const { ada, zoneID } = await sharedZone();
    const eve = await newPerson("eve");
    await eve.keys.begin();
    let permission = "READ_WRITE";
    ada.change = (endpoint, answer) => {
        const added = { ...invited(eve.user, permission), participantId: "EVE", acceptanceStatus: "ACCEPTED" };
        for (const record of answer.records ?? []) if (record.recordName === zoneShare) record.participants.push(added);
        return answer;
    };
    await shareOf(ada, zoneID);
    permission = "READ_ONLY";
    const share = await shareOf(ada, zoneID);
    const sent = ada.sent.length;
    const hostile = ada.change;
    // The server refuses the participant that it has never had. A hostile one takes it.
    ada.change = (endpoint, answer) => (answer.records?.[0]?.serverErrorCode ? { records: [share] } : hostile(endpoint, answer));
    await saved(ada, share, { zoneID });
    await saved(ada, { recordName: "later", fields: { diagnosis: secret("new") } }, { zoneID });
    assert.ok(!ada.sent.slice(sent).some(({ endpoint }) => endpoint === "keys/scopes/modify"));
});

test("a permission that the server raises in its list is not raised in the signed one", async () => {
    const { ada, ben, zoneID, theirs } = await sharedZone({ permission: "READ_ONLY" });
    ada.change = (endpoint, answer) => {
        for (const { recordName, participants } of answer.records ?? []) {
            if (recordName === zoneShare) participants.find((one) => one.userIdentity.userRecordName === ben.user).permission = "READ_WRITE";
        }
        return answer;
    };
    const share = await shareOf(ada, zoneID);
    ada.change = undefined;
    await shareOf(ada, zoneID);
    await saved(ada, share, { zoneID });
    const error = await refusal(saved(ben, { recordName: "hers", fields: { diagnosis: secret("x") } }, theirs));
    assert.deepEqual([error.ckErrorCode, /has not signed that this user may write/.test(error.reason)], ["ACCESS_DENIED", true]);
    // The page's own word does.
    const now = await shareOf(ada, zoneID);
    const [one] = now.participants.filter(({ type }) => type === "USER");
    await shared(ada, { ...now, participants: [{ ...one, permission: "READ_ONLY" }] }, zoneID);
    const { participants, ...lowered } = await shareOf(ada, zoneID);
    const other = participants.find(({ type }) => type === "USER");
    await shared(ada, { ...lowered, participants: [{ ...other, permission: "READ_WRITE" }] }, zoneID);
    await ben.container.signIn(await cloud.webAuthToken(ben.email));
    await saved(ben, { recordName: "hers", fields: { diagnosis: secret("x") } }, theirs);
    assert.equal(await diagnosis(ada, "hers", { zoneID }), "x");
});

test("the key is another one when a participant leaves, and what was written before still opens", async () => {
    const { ada, ben, zoneID, theirs } = await sharedZone();
    const cleo = await newPerson("cleo");
    await cleo.keys.begin();
    await saved(ben, { recordName: "hers", fields: { diagnosis: secret("from Ben") } }, theirs);
    const { participants, ...share } = await shareOf(ada, zoneID);
    const others = participants.filter(({ type }) => type !== "OWNER");
    const { shortGUID } = await shared(ada, { ...share, participants: [...others, invited(cleo.user)] }, zoneID);
    await inShared(cleo).container.acceptShares(shortGUID);
    assert.equal(await diagnosis(cleo, "hers", theirs), "from Ben");
    const three = await shareOf(ada, zoneID);
    const left = three.participants.filter(({ userIdentity: { userRecordName } }) => userRecordName !== ben.user && userRecordName !== ada.user);
    await shared(ada, { ...three, participants: left }, zoneID);
    await saved(ada, { recordName: "later", fields: { diagnosis: secret("new") } }, { zoneID });
    const keyID = async (name) => (await sealed(ada, name, zoneID)).fields.diagnosis.nacre.keyID;
    assert.notEqual(await keyID("later"), await keyID("note"));
    assert.equal(await diagnosis(cleo, "later", theirs), "new");
    assert.equal(await diagnosis(ada, "hers", { zoneID }), "from Ben");
    assert.equal(await diagnosis(cleo, "hers", theirs), "from Ben");
    assert.equal((await refusal(fetched(ben, "later", theirs))).ckErrorCode, "ZONE_NOT_FOUND");
});

/** A record as the server has it. */
async function sealed(person, recordName, zoneID) {
    const url = `${cloud.url}/database/1/iCloud.com.example.Notes/development/private/records/lookup`;
    const query = new URLSearchParams({ ckAPIToken: cloud.apiToken, ckWebAuthToken: await cloud.webAuthToken(person.email) });
    const body = JSON.stringify({ zoneID, records: [{ recordName }], nacre: { details: true } });
    return (await (await fetch(`${url}?${query}`, { method: "POST", body })).json()).records[0];
}

test("a participant who removes a device has the zone's key renewed before the owner's next save", async () => {
    const { ada, ben, zoneID, theirs } = await sharedZone();
    const { words } = await ben.keys.recoveryWords();
    const other = await deviceOf(cloud, ben.email);
    await other.keys.enrolWithRecoveryWords(words.join(" "));
    const id = (await ben.keys.devices()).find(({ isThis }) => !isThis).id;
    await ben.keys.remove(id);
    ada.clock.minutes = 2;
    await saved(ada, { recordName: "later", fields: { diagnosis: secret("new") } }, { zoneID });
    const keyID = async (name) => (await sealed(ada, name, zoneID)).fields.diagnosis.nacre.keyID;
    assert.notEqual(await keyID("later"), await keyID("note"));
    assert.equal(await diagnosis(ben, "later", theirs), "new");
});

test("a refused save of a share leaves no wish, and a wish is kept until the user has keys, also by another program", async () => {
    const texts = new Map();
    const keyStore = { getKeys: async (name) => texts.get(name), putKeys: async (name, text) => { texts.set(name, text); } };
    const [ada, ben] = [await newPerson("ada", { keyStore }), await newPerson("ben")];
    const zoneID = { zoneName: "Trip" };
    await ada.database.saveRecordZones(zoneID);
    await saved(ada, { recordName: "note", fields: { diagnosis: secret("flu") } }, { zoneID });
    const wishes = () => JSON.parse([...texts.values()][0]).wishes?.Trip ?? [];
    assert.ok(await refusal(shared(ada, { participants: [invited(ben.user), invited(ben.user)] }, zoneID)));
    assert.deepEqual(wishes(), []);
    const { shortGUID } = await shared(ada, { participants: [invited(ben.user)] }, zoneID);
    assert.deepEqual(wishes().map(({ user, permission }) => [user, permission]), [[ben.user, 3]]);
    await ben.container.acceptShares(shortGUID);
    await ben.keys.begin();
    const next = await deviceOf(cloud, ada.email, { keyStore });
    await saved(next, { recordName: "later", fields: { diagnosis: secret("new") } }, { zoneID });
    assert.deepEqual(wishes(), []);
    assert.equal(await diagnosis(inShared(ben), "later", { zoneID: { ...zoneID, ownerRecordName: ada.user } }), "new");
});

test("an invitation by an address leads to the user whom the server names, and the log tells the fingerprint", async () => {
    const [ada, ben] = [await newPerson("ada"), await newPerson("ben")];
    const zoneID = { zoneName: "Trip" };
    await ada.database.saveRecordZones(zoneID);
    await saved(ada, { recordName: "note", fields: { diagnosis: secret("flu") } }, { zoneID });
    await ben.keys.begin();
    const address = { type: "USER", permission: "READ_ONLY", userIdentity: { lookupInfo: { emailAddress: ben.email } } };
    const { shortGUID } = await shared(ada, { participants: [address] }, zoneID);
    await ben.container.acceptShares(shortGUID);
    await shareOf(ada, zoneID);
    const { fingerprint } = await ben.keys.fingerprint();
    assert.ok(ada.logged.some((text) => text.includes(ben.user) && text.includes(fingerprint.replaceAll(" ", ""))), ada.logged.join("\n"));
    assert.equal(await diagnosis(inShared(ben), "note", { zoneID: { ...zoneID, ownerRecordName: ada.user } }), "flu");
});

// A hostile server

test("another account for a participant, or for the owner, is refused", async () => {
    const { ada, ben, zoneID, theirs } = await sharedZone();
    const eve = await newPerson("eve");
    await eve.keys.begin();
    const logs = {};
    eve.change = (endpoint, answer, body) => {
        if (endpoint === "keys/log") logs[body.user ?? eve.user] = structuredClone(answer);
        return answer;
    };
    await eve.keys.status();
    const insteadOf = (user) => (endpoint, answer, body) => {
        if (endpoint !== "keys/log" || body.user !== user) return answer;
        return { ...answer, statements: logs[eve.user].statements, tree: { ...answer.tree, index: logs[eve.user].tree.index } };
    };
    ben.change = insteadOf(ada.user);
    await ben.container.signIn(await cloud.webAuthToken(ben.email));
    assert.equal((await refusal(fetched(ben, "note", theirs))).ckErrorCode, "ENCRYPTION_REFUSED");
    ada.change = insteadOf(ben.user);
    ada.clock.minutes = 2;
    const error = await refusal(saved(ada, { recordName: "later", fields: { diagnosis: secret("new") } }, { zoneID }));
    assert.equal(error.ckErrorCode, "ENCRYPTION_REFUSED");
});

test("the scope of a shared zone that is cut, or of another zone, is refused", async () => {
    const texts = new Map();
    const keyStore = { getKeys: async (name) => texts.get(name), putKeys: async (name, text) => { texts.set(name, text); } };
    const { ada, zoneID } = await sharedZone({ keyStore });
    const shown = [];
    const next = await deviceOf(cloud, ada.email, { keyStore });
    next.change = (endpoint, answer) => {
        if (endpoint === "keys/scopes/list") shown.push(structuredClone(answer));
        return answer;
    };
    assert.equal(await diagnosis(next, "note", { zoneID }), "flu");
    const attacks = {
        "a manifest less": (answer) => { answer.manifests.shift(); },
        "no manifest": (answer) => { answer.manifests = []; },
        "a bit": (answer) => { answer.manifests[0] = answer.manifests[0].replace(/.$/, (sign) => (sign === "A" ? "B" : "A")); },
        "no key": (answer) => { answer.wraps = []; },
    };
    for (const [attack, change] of Object.entries(attacks)) {
        const again = await deviceOf(cloud, ada.email, { keyStore });
        again.change = (endpoint, answer) => {
            if (endpoint === "keys/scopes/list") change(answer);
            return answer;
        };
        assert.equal((await refusal(fetched(again, "note", { zoneID }))).ckErrorCode, "ENCRYPTION_REFUSED", attack);
    }
});

test("a participant who has seen a shared zone's keys sends no plain file into it when the server shows none", async () => {
    const texts = new Map();
    const keyStore = { getKeys: async (name) => texts.get(name), putKeys: async (name, text) => { texts.set(name, text); } };
    const [ada, first] = [await newPerson("ada"), await newPerson("ben", { keyStore })];
    const zoneID = { zoneName: "Trip" };
    await ada.database.saveRecordZones(zoneID);
    await saved(ada, { recordName: "note", fields: { diagnosis: secret("flu") } }, { zoneID });
    await first.keys.begin();
    await first.container.acceptShares((await shared(ada, { participants: [invited(first.user)] }, zoneID)).shortGUID);
    const theirs = { zoneID: { ...zoneID, ownerRecordName: ada.user } };
    assert.equal(await diagnosis(inShared(first), "note", theirs), "flu");
    const ben = inShared(await deviceOf(cloud, first.email, { keyStore }));
    ben.change = (endpoint, answer) => (endpoint === "keys/scopes/list" ? { ...answer, manifests: [] } : answer);
    const error = await refusal(saved(ben, { recordName: "never", fields: { scan: new Blob(["a picture"]) } }, theirs));
    assert.deepEqual([error.ckErrorCode, /this device has seen some/.test(error.reason)], ["ENCRYPTION_REFUSED", true]);
    assert.ok(!ben.sent.some(({ endpoint }) => endpoint === "assets/upload"));
});

test("a record of another zone is not taken for one of the zone that was asked", async () => {
    const { ada, zoneID } = await sharedZone();
    await ada.database.saveRecordZones("Other");
    await saved(ada, { recordName: "note", fields: { diagnosis: secret("of the other") } }, { zoneID: "Other" });
    const { records: [other] } = await ada.database.fetchRecords("note", { zoneID: "Other" });
    const raw = await sealed(ada, "note", { zoneName: "Other" });
    assert.equal(other.fields.diagnosis.value, "of the other");
    ada.change = (endpoint, answer) => (endpoint === "records/lookup" ? { records: [{ ...raw, zoneID: { zoneName: "Other" } }] } : answer);
    assert.equal((await refusal(fetched(ada, "note", { zoneID }))).ckErrorCode, "ENCRYPTION_REFUSED");
});
