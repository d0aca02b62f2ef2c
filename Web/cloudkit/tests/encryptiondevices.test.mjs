import assert from "node:assert/strict";
import { before, test } from "node:test";

import { refusal, startCloud } from "./support/cloud.mjs";
import { commands } from "./support/commands.mjs";
import { deviceOf, enrolled, fetched, saved, secret } from "./support/secrets.mjs";

let cloud;
before(async () => { cloud = await startCloud(); });

/** The first device of a new user, with a record. */
async function firstDevice(email, services) {
    await cloud.makeUser(email);
    const device = await deviceOf(cloud, email, services);
    await saved(device, { recordName: "note", fields: { title: "plain", diagnosis: secret("flu") } });
    return device;
}

test("the first save makes the account's keys, and any number of saves at once make them once", async () => {
    await cloud.makeUser("first@example.com");
    const device = await deviceOf(cloud, "first@example.com");
    assert.deepEqual(await device.keys.status(), {
        keys: "none", generation: undefined, devices: 0, hasUnseenWords: false, next: "The first save of an encrypted value makes keys",
    });
    assert.equal((await refusal(device.keys.devices())).ckErrorCode, "ENCRYPTION_KEYS_REQUIRED");
    await Promise.all(["a", "b", "c"].map((recordName) => saved(device, { recordName, fields: { diagnosis: secret(recordName) } })));
    for (const name of ["a", "b", "c"]) assert.equal((await fetched(device, name)).fields.diagnosis.value, name);
    const { keys, devices, generation, hasUnseenWords } = await device.keys.status();
    assert.deepEqual([keys, devices, generation, hasUnseenWords], ["here", 1, 1, true]);
});

test("a device without keys reads plain fields alone, sends nothing sealed, and a plain save leaves the values as they are", async () => {
    const device = await firstDevice("without@example.com");
    const other = await deviceOf(cloud, "without@example.com");
    const record = await fetched(other, "note");
    assert.deepEqual(Object.keys(record.fields), ["title"]);
    const error = await refusal(saved(other, { ...record, fields: { diagnosis: secret("forged") } }));
    assert.equal(error.ckErrorCode, "ENCRYPTION_KEYS_REQUIRED");
    assert.ok(!other.sent.some(({ endpoint }) => endpoint === "records/modify"));
    await saved(other, { ...record, fields: { title: "changed" } });
    const { fields } = await fetched(device, "note");
    assert.deepEqual([fields.title.value, fields.diagnosis.value], ["changed", "flu"]);
    assert.equal((await other.keys.status()).keys, "elsewhere");
    assert.equal((await refusal(other.keys.waiting())).ckErrorCode, "ENCRYPTION_KEYS_REQUIRED");
});

test("a device is enrolled when its user has typed each device's code on the other", async () => {
    const device = await firstDevice("codes@example.com");
    const other = await deviceOf(cloud, "codes@example.com");
    const [joining, admission] = await enrolled(other, device);
    assert.deepEqual([joining.status, admission.status], ["fulfilled", "fulfilled"], String(joining.reason ?? admission.reason));
    assert.equal((await fetched(other, "note")).fields.diagnosis.value, "flu");
    const devices = await other.keys.devices();
    assert.deepEqual(devices.map(({ isThis }) => isThis), [false, true]);
    assert.equal(devices[1].id, admission.value);
    await saved(other, { ...await fetched(other, "note"), fields: { diagnosis: secret("cold") } });
    assert.equal((await fetched(device, "note")).fields.diagnosis.value, "cold");
    assert.equal((await device.keys.fingerprint()).fingerprint, (await other.keys.fingerprint()).fingerprint);
});

test("a wrong code adds nothing on either side, and the next conversation has others", async () => {
    const device = await firstDevice("wrong@example.com");
    const other = await deviceOf(cloud, "wrong@example.com");
    const codes = [];
    const results = await enrolled(other, device, (code) => { codes.push(code); return "000 0000"; });
    for (const { status, reason } of results) {
        assert.equal(status, "rejected");
        assert.match(reason.reason, /the codes differ/);
    }
    assert.equal(codes[0], codes[1]);
    assert.equal((await device.keys.status()).devices, 1);
    const [joining] = await enrolled(other, device);
    assert.equal(joining.status, "fulfilled");
});

test("keys that the server puts in between two devices give two codes", async () => {
    const device = await firstDevice("between@example.com");
    const other = await deviceOf(cloud, "between@example.com");
    // The server answers the new device with a random number of its own, as if it were the enrolled one.
    other.change = (endpoint, answer) => {
        for (const conversation of endpoint === "keys/enrolment/list" ? answer.conversations : []) {
            if (!conversation.answer) continue;
            const bytes = Buffer.from(conversation.answer, "base64");
            bytes[bytes.length - 1] ^= 1;
            conversation.answer = bytes.toString("base64");
        }
        return answer;
    };
    const codes = [];
    const results = await enrolled(other, device, (code) => { codes.push(code); return code; });
    assert.notEqual(codes[0], codes[1]);
    assert.deepEqual(results.map(({ status }) => status), ["rejected", "rejected"]);
    assert.equal((await device.keys.status()).devices, 1);
});

test("the recovery words enrol a device, and those of another account do not", async () => {
    const device = await firstDevice("words@example.com");
    const { words } = await device.keys.recoveryWords();
    await device.keys.forgetRecoveryWords();
    assert.equal((await refusal(device.keys.recoveryWords())).ckErrorCode, "INVALID_ARGUMENTS");
    const other = await deviceOf(cloud, "words@example.com");
    assert.match((await refusal(other.keys.enrolWithRecoveryWords(words.slice(1).join(" ")))).reason, /there are 23/);
    await other.keys.enrolWithRecoveryWords(words.join("\n"));
    assert.equal((await fetched(other, "note")).fields.diagnosis.value, "flu");
    assert.equal((await device.keys.status()).devices, 2);
    const stranger = await firstDevice("stranger@example.com");
    const third = await deviceOf(cloud, "words@example.com");
    const others = await stranger.keys.recoveryWords();
    assert.match((await refusal(third.keys.enrolWithRecoveryWords(others.words.join(" ")))).reason, /not those of the account/);
});

test("a device that was removed opens nothing that is saved from then on", async () => {
    const device = await firstDevice("removed@example.com");
    const other = await deviceOf(cloud, "removed@example.com");
    await enrolled(other, device);
    const { id } = (await device.keys.devices()).find(({ isThis }) => !isThis);
    assert.equal((await refusal(device.keys.remove((await device.keys.devices())[0].id))).ckErrorCode, "INVALID_ARGUMENTS");
    await device.keys.remove(id);
    await saved(device, { recordName: "later", fields: { diagnosis: secret("new") } });
    const scopes = device.sent.filter(({ endpoint }) => endpoint === "keys/scopes/modify");
    assert.equal(scopes.length, 2);
    assert.equal((await other.keys.status()).keys, "removed");
    assert.deepEqual((await fetched(other, "later")).fields, {});
    // The older key is sealed under the newer one.
    const { words } = await device.keys.recoveryWords();
    const third = await deviceOf(cloud, "removed@example.com");
    await third.keys.enrolWithRecoveryWords(words.join(" "));
    assert.equal((await fetched(third, "note")).fields.diagnosis.value, "flu");
    assert.equal((await fetched(third, "later")).fields.diagnosis.value, "new");
    assert.equal((await third.keys.status()).generation, 2);
});

const inZone = { zoneID: { zoneName: "Theirs" } };

/** A first device, and another one with its ID, which makes the key of a zone of its own. */
async function withKeyOfOther(email) {
    const device = await firstDevice(email);
    const other = await deviceOf(cloud, email);
    await enrolled(other, device);
    await other.database.saveRecordZones(inZone.zoneID);
    await saved(other, { recordName: "theirs", fields: { diagnosis: secret("flu") } }, inZone);
    const { id } = (await other.keys.devices()).find(({ isThis }) => isThis);
    return { device, other, id };
}

/** Checks that a device opens what the removed one has saved, which does not open what is saved from now on. */
async function expectTakenOver(device, other) {
    const theirs = await fetched(device, "theirs", inZone);
    assert.equal(theirs.fields.diagnosis.value, "flu");
    await saved(device, { ...theirs, fields: { diagnosis: secret("a cold") } }, inZone);
    assert.equal((await fetched(device, "theirs", inZone)).fields.diagnosis.value, "a cold");
    assert.deepEqual((await fetched(other, "theirs", inZone)).fields, {});
}

test("a zone whose newest key a device has made gets another one before that device is removed", async () => {
    const { device, other, id } = await withKeyOfOther("before@example.com");
    const sent = device.sent.length;
    await device.keys.remove(id);
    const changes = device.sent.slice(sent).filter(({ endpoint }) => /^keys\/(append|scopes\/modify)$/.test(endpoint));
    assert.deepEqual(changes.map(({ endpoint, body }) => [endpoint, JSON.parse(body).zoneID?.zoneName]), [
        ["keys/scopes/modify", "Theirs"], ["keys/append", undefined],
    ]);
    await expectTakenOver(device, other);
});

test("a zone whose newest key is a removed device's is taken over after the removal, by that call or another one", async () => {
    const { device, other, id } = await withKeyOfOther("after@example.com");
    // As if the device had made the keys only after these answers.
    let hidden = 2;
    device.change = (endpoint, answer) => (endpoint === "zones/list" && (hidden -= 1) >= 0 ? { zones: [] } : answer);
    await device.keys.remove(id);
    const page = await fetched(device, "theirs", inZone).catch((error) => error);
    assert.equal(page.ckErrorCode, "ENCRYPTION_REFUSED");
    await device.keys.remove(id);
    await expectTakenOver(device, other);
    assert.equal((await refusal(device.keys.remove(id))).ckErrorCode, "INVALID_ARGUMENTS");
});

test("a zone that cannot be taken over is named, and the device is removed all the same", async () => {
    const { device, other, id } = await withKeyOfOther("named@example.com");
    device.change = (endpoint, answer, body) => (
        endpoint === "keys/scopes/list" && body.zoneID.zoneName === "Theirs" ? { ...answer, wraps: [] } : answer);
    const error = await refusal(device.keys.remove(id));
    assert.deepEqual([error.ckErrorCode, /zones do not count any more: Theirs$/.test(error.reason)], ["ENCRYPTION_REFUSED", true]);
    assert.match(error.remedy, /Remove the device again/);
    assert.equal((await other.keys.status()).keys, "removed");
    device.change = undefined;
    await device.keys.remove(id);
    await expectTakenOver(device, other);
});

/** A store of texts, as an app has one. */
function keyStore() {
    const texts = new Map();
    return { texts, getKeys: async (name) => texts.get(name), putKeys: async (name, text) => { texts.set(name, text); } };
}

test("a store of the app's keeps the keys for the next program, and one that fails says so before the server has them", async () => {
    const store = keyStore();
    await firstDevice("store@example.com", { keyStore: store });
    assert.equal(store.texts.size, 1);
    const next = await deviceOf(cloud, "store@example.com", { keyStore: store });
    assert.equal((await fetched(next, "note")).fields.diagnosis.value, "flu");
    await next.keys.forgetRecoveryWords();
    const again = await deviceOf(cloud, "store@example.com", { keyStore: store });
    assert.equal((await again.keys.status()).hasUnseenWords, false);
    await cloud.makeUser("full@example.com");
    const full = await deviceOf(cloud, "full@example.com", { keyStore: { getKeys: () => null, putKeys() { throw new Error("full"); } } });
    const error = await refusal(saved(full, { fields: { diagnosis: secret("flu") } }));
    assert.deepEqual([error.ckErrorCode, error.cause.message], ["AUTH_PERSIST_ERROR", "full"]);
    assert.equal((await (await deviceOf(cloud, "full@example.com")).keys.status()).keys, "none");
});

test("a log that was cut or replaced since a device has seen it is refused", async () => {
    const store = keyStore();
    const device = await firstDevice("cut@example.com", { keyStore: store });
    const shown = [];
    device.change = (endpoint, answer) => {
        if (endpoint === "keys/log") shown.push(structuredClone(answer));
        return answer;
    };
    await device.keys.status();
    const other = await deviceOf(cloud, "cut@example.com");
    await enrolled(other, device);
    const next = await deviceOf(cloud, "cut@example.com", { keyStore: store });
    next.change = (endpoint, answer) => (endpoint === "keys/log" ? structuredClone(shown[0]) : answer);
    assert.match((await refusal(next.keys.status())).reason, /the tree of logs does not extend the one that this device has seen/);
    // A device that keeps no tree, as those of earlier versions do not, has the log's head.
    const [[name, text]] = store.texts;
    const { tree, ...before } = JSON.parse(text);
    store.texts.set(name, JSON.stringify(before));
    assert.match((await refusal(next.keys.status())).reason, /the log ends at statement 0, and had statement 1/);
    assert.ok(tree.head);
});

test("a log beside the tree of logs, and a tree that another key signs, are refused", async () => {
    const store = keyStore();
    const device = await firstDevice("tree@example.com", { keyStore: store });
    await firstDevice("leaf@example.com");
    const attacks = {
        "no tree": [(answer) => { delete answer.tree; }, /shows no tree of logs/],
        "another place": [(answer) => { answer.tree.index += 1; }, /is not in the tree of logs/],
        "no proof": [(answer) => { answer.tree.inclusion = []; answer.tree.index = 0; }, /is not in the tree of logs/],
        "another key": [(answer) => { answer.tree.serverKey = Buffer.alloc(32, 7).toString("base64"); }, /with another key than before/],
        "a head that the key has not signed": [(answer) => {
            const head = Buffer.from(answer.tree.head, "base64");
            head[head.length - 1] ^= 1;
            answer.tree.head = head.toString("base64");
        }, /not signed by this server/],
        "no proof that it grew": [(answer) => { answer.tree.consistency = []; }, /does not extend the one that this device has seen/],
    };
    await device.keys.status();
    for (const [attack, [change, reason]] of Object.entries(attacks)) {
        if (attack === "no proof that it grew") await firstDevice("grown@example.com");
        device.change = (endpoint, answer) => {
            if (endpoint === "keys/log") change(answer);
            return answer;
        };
        const error = await refusal(device.keys.status());
        assert.deepEqual([error.ckErrorCode, reason.test(error.reason)], ["ENCRYPTION_REFUSED", true], `${attack}: ${error.reason}`);
    }
    device.change = undefined;
    assert.equal((await device.keys.status()).treesInDoubt.length, 2);
    assert.equal((await fetched(device, "note")).fields.diagnosis.value, "flu");
});

test("a device takes the tree of a server that was put back from a backup when its user says so, and not before", async () => {
    const store = keyStore();
    const device = await firstDevice("backup@example.com", { keyStore: store });
    // The device has seen a tree that is larger than any of the server's.
    const [[name, text]] = store.texts;
    const kept = JSON.parse(text);
    const head = Buffer.from(kept.tree.head, "hex");
    head.writeUInt32BE(1_000_000, head.length - 64 - 8 - 32 - 4);
    store.texts.set(name, JSON.stringify({ ...kept, tree: { ...kept.tree, head: head.toString("hex") } }));
    assert.match((await refusal(device.keys.status())).reason, /tree of logs is smaller.*trustTree/);
    device.change = (endpoint, answer) => (endpoint === "keys/log" ? { ...answer, statements: [] } : answer);
    const { tree } = JSON.parse(store.texts.get(name));
    await refusal(device.keys.trustTree({ signal: AbortSignal.abort() }));
    assert.deepEqual(JSON.parse(store.texts.get(name)).tree, tree);
    device.change = undefined;
    await device.keys.trustTree();
    assert.deepEqual([(await device.keys.status()).keys, (await fetched(device, "note")).fields.diagnosis.value], ["here", "flu"]);
});

test("another user of the same page gets keys of their own", async () => {
    const device = await firstDevice("ada@example.com");
    await cloud.makeUser("ben@example.com");
    await device.container.signIn(await cloud.webAuthToken("ben@example.com"));
    assert.equal((await device.keys.status()).keys, "none");
    await saved(device, { recordName: "note", fields: { diagnosis: secret("ben's") } });
    await device.container.signIn(await cloud.webAuthToken("ada@example.com"));
    assert.equal((await fetched(device, "note")).fields.diagnosis.value, "flu");
    const ben = (await device.keys.fingerprint()).userRecordName;
    assert.equal((await device.keys.fingerprint({ userRecordName: ben })).isEnrolled, true);
});

// The framework's commands

test("a device of the framework lets a page in by code, and renews the key that the page has made", async () => {
    const page = await firstDevice("swift@example.com");
    const { words } = await page.keys.recoveryWords();
    const keys = await commands(cloud, "swift@example.com", "swift");
    const recovering = keys("enrol", "--recovery");
    recovering.type(words.join(" "));
    assert.equal((await recovering.done).status, 0, (await recovering.done).text);
    const other = await deviceOf(cloud, "swift@example.com");
    let admitting;
    await other.keys.enrol({
        waiting: (name) => {
            admitting = keys("approve", name);
            admitting.type("yes");
        },
        compare: async (code) => {
            const [, shown] = await admitting.says(/The code of this device is (\d{3} \d{4})/);
            admitting.type(code);
            return shown;
        },
    });
    assert.equal((await admitting.done).status, 0);
    assert.equal((await fetched(other, "note")).fields.diagnosis.value, "flu");
    // The command opens the zone's keys, which the page made, before it makes the next one.
    const { id } = (await page.keys.devices()).find(({ isThis }) => isThis);
    const { status, text } = await keys("remove", id).done;
    assert.equal(status, 0, text);
    assert.equal((await fetched(other, "note")).fields.diagnosis.value, "flu");
    await saved(other, { recordName: "later", fields: { diagnosis: secret("new") } });
    assert.deepEqual((await fetched(page, "later")).fields, {});
});

test("a record from before all was sealed anew has a conflict when it is saved, and not a refusal", async () => {
    const page = await firstDevice("anew@example.com");
    await page.database.saveRecordZones(inZone.zoneID);
    const old = await saved(page, { recordName: "anew", fields: { title: "a", diagnosis: secret("flu") } }, inZone);
    await enrolled(await deviceOf(cloud, "anew@example.com"), page);
    await page.keys.remove((await page.keys.devices()).find(({ isThis }) => !isThis).id);
    const { words } = await page.keys.recoveryWords();
    const keys = await commands(cloud, "anew@example.com", "anew");
    const recovering = keys("enrol", "--recovery");
    recovering.type(words.join(" "));
    assert.equal((await recovering.done).status, 0, (await recovering.done).text);
    await saved(page, { recordName: "newer", fields: { diagnosis: secret("a cold") } }, inZone);
    const resealing = await keys("reseal").done;
    assert.deepEqual([resealing.status, /Theirs/.test(resealing.text)], [0, true], resealing.text);
    assert.equal((await fetched(page, "anew", inZone)).fields.diagnosis.value, "flu");
    const error = await refusal(saved(page, { ...old, fields: { diagnosis: secret("angina") } }, inZone));
    assert.deepEqual([error.ckErrorCode, error.serverRecord.fields.diagnosis.value], ["CONFLICT", "flu"]);
    await saved(page, { ...error.serverRecord, fields: { diagnosis: secret("angina") } }, inZone);
    assert.equal((await fetched(page, "anew", inZone)).fields.diagnosis.value, "angina");
});

test("a page lets a device of the framework in by code", async () => {
    const page = await firstDevice("page@example.com");
    const keys = await commands(cloud, "page@example.com", "page");
    const joining = keys("enrol");
    const [, name] = await joining.says(/waits as ([0-9a-f]{8})/);
    const device = (await page.keys.waiting()).find((one) => one.name === name);
    await page.keys.approve(device, {
        compare: async (code) => {
            const [, shown] = await joining.says(/The code of this device is (\d{3} \d{4})/);
            joining.type(code);
            return shown;
        },
    });
    const { status, text } = await joining.done;
    assert.equal(status, 0, text);
    assert.ok(text.includes((await page.keys.fingerprint()).fingerprint), text);
    assert.equal((await page.keys.status()).devices, 2);
});
