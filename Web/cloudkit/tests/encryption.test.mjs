import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { equal, hex, joined, unhex } from "../src/encryption/bytes.js";
import { wordList } from "../src/encryption/cloudkit-recovery-words.mjs";
import { agreementKey, checkKeys, context, digest, keysOf, signed } from "../src/encryption/crypto.js";
import { answerOf, codeOf, commitmentOf, openingOf, readAnswer, readOpening } from "../src/encryption/enrolment.js";
import { openFile, SealedSource, sentFile } from "../src/encryption/files.js";
import { addition, agreementToJoin, beginning, noDevice, placeOf, readLogs, readStatement, recoveryKey, removal } from "../src/encryption/log.js";
import { keepWishes, meetList, nextManifest, nextParticipants, wishesIn, wishesOf } from "../src/encryption/participants.js";
import {
    admissionOf, isWhole, mightWrite, readChain, readRecordManifest, readScopeManifest, recordManifest, ZoneKeys,
} from "../src/encryption/scope.js";
import { keyIDOf, kinds, open, readSealed, seal, valueContext } from "../src/encryption/sealing.js";
import { fieldOf, plaintextOf } from "../src/encryption/values.js";
import { extendsTree, includes, readTreeHead, takeTree } from "../src/encryption/tree.js";
import { secretOf, wordsOf } from "../src/encryption/words.js";
import { accountKeyOf, openAccountKey, openOlderAccountKeys, readWrap, wrap } from "../src/encryption/wraps.js";

const vectors = JSON.parse(readFileSync(new URL("../../../Scripts/encryption/vectors.json", import.meta.url), "utf8"));
const secret = (name) => unhex(vectors.secrets[name]);
const names = vectors.place;
const account = { container: names.container, environment: names.environment, user: names.user };
const place = placeOf(account, names.zone);
const record = { place, type: "Note", name: "note" };
const scope = vectors.secrets.scope.slice(0, 32);
const scopeKey = (version) => ({ scope, version, secret: secret(`scope key ${version}`) });
const device = (name) => keysOf(secret(`${name} signs`), secret(`${name} agrees`));
const statements = Object.values(vectors.statements).map(unhex);
const log = async () => (await readLogs(statements.slice(0, 4), account))[0];

test("the statements of a log are those of the vectors, and verify", async () => {
    const [own, phone, tablet] = [await device("device"), await device("phone"), await device("tablet")];
    const [first, second] = [await recoveryKey(secret("recovery key 1"), account), await recoveryKey(secret("recovery key 2"), account)];
    const keys = await Promise.all([1, 2, 3].map((generation) => accountKeyOf(generation, secret(`account key ${generation}`))));
    const begun = await beginning(account, own, first, keys[0].agreement);
    assert.equal(hex(begun), vectors.statements["0 begin"]);
    const [beginner] = await readLogs([begun], account);
    assert.equal(beginner.fingerprint, vectors.account.fingerprint);
    const added = await addition(beginner.head, phone, await agreementToJoin(phone, beginner.head), own, own.id);
    assert.equal(hex(added), vectors.statements["1 add device"]);
    const replaced = await (await beginner.grown(added)).grown(statements[2]);
    assert.deepEqual(replaced.recovery, { signing: second.signing, agreement: second.agreement });
    assert.equal(hex(await removal(replaced.head, phone.id, keys[2].agreement, { ...second, id: noDevice })), vectors.statements["3 remove device"]);
    const whole = (await readLogs(statements, account))[0];
    assert.ok(whole.isReset);
    assert.deepEqual(whole.successor, { signing: tablet.signing, agreement: tablet.agreement });
    assert.equal((await log()).generation, 3);
    assert.deepEqual((await log()).enrolled.map(({ id }) => id), [own.id]);
});

test("a log that is cut, reordered or changed by a bit is refused", async () => {
    const [begin, add, replace] = statements;
    for (const wrong of [[add], [begin, replace], [begin, begin], [begin, add, add]]) {
        await assert.rejects(readLogs(wrong, account), { code: "ENCRYPTION_REFUSED" });
    }
    await assert.rejects(readLogs([begin], { ...account, user: "_eve" }), /another account/);
    for (const bytes of statements.slice(0, 3)) {
        for (let place = 0; place < bytes.length; place += 17) {
            const changed = Uint8Array.from(bytes);
            changed[place] ^= 1;
            const shown = statements.map((one) => (one === bytes ? changed : one));
            await assert.rejects(readLogs(shown.slice(0, 4), account), { code: "ENCRYPTION_REFUSED" }, `byte ${place}`);
        }
    }
});

test("an account that begins without the signature of its recovery key is refused, and so is another recovery key without one", async () => {
    const [own, phone] = [await device("device"), await device("phone")];
    const known = await recoveryKey(secret("recovery key 1"), account);
    const { agreement } = await accountKeyOf(1, secret("account key 1"));
    // The server knows the public key of the words alone, and signs with a key of its own.
    const begun = await beginning(account, own, { ...known, signs: phone.signs }, agreement);
    await assert.rejects(readLogs([begun], account), /statement 0 is not signed/);
    const replaced = Uint8Array.from(statements[2]);
    // The consent is the last part of the body, before the signer and the signature.
    replaced[replaced.length - 16 - 64 - 1] ^= 1;
    const forged = await signed(phone, replaced.slice(0, -64));
    await assert.rejects(readLogs([...statements.slice(0, 2), forged], account), /statement 2 is not signed/);
});

test("a key of small order enters no log", async () => {
    const good = await device("phone");
    await checkKeys(good);
    for (const wrong of ["00".repeat(32), `01${"00".repeat(31)}`, `ec${"ff".repeat(30)}7f`, `${"00".repeat(31)}80`]) {
        await assert.rejects(checkKeys({ ...good, signing: wrong }), /small order/);
    }
    for (const wrong of ["00".repeat(32), `01${"00".repeat(31)}`, "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"]) {
        await assert.rejects(checkKeys({ ...good, agreement: wrong }), /small order/);
    }
});

test("account keys are wrapped as the vectors have them, and open", async () => {
    const own = await device("device");
    const newest = await log();
    const recovery = await recoveryKey(secret("recovery key 2"), account);
    const about = { secret: secret("account key 3"), fingerprint: newest.fingerprint, generation: 3, place: placeOf(account) };
    const recipients = [["account key for device", own, own.id], ["account key for recovery", recovery, noDevice]];
    for (const [index, [name, recipient, id]] of recipients.entries()) {
        const ephemeral = await agreementKey(secret(`ephemeral of account key ${index + 1}`));
        const made = await wrap("account", id, { ...about, key: recipient.agreement }, own, ephemeral);
        assert.equal(hex(made), vectors.wraps[name]);
        const key = await openAccountKey([made], recipient, id, newest);
        assert.equal(hex(key.secret), vectors.secrets["account key 3"]);
        made[100] ^= 1;
        await assert.rejects(openAccountKey([made], recipient, id, newest), { code: "ENCRYPTION_REFUSED" });
    }
    const key = await accountKeyOf(3, secret("account key 3"));
    const [older] = await openOlderAccountKeys(key, [unhex(vectors.keys["older account key"])], newest);
    assert.equal(hex(older.secret), vectors.secrets["account key 2"]);
});

test("a wrap by a device that is not enrolled is not opened", async () => {
    const [own, tablet, newest] = [await device("device"), await device("tablet"), await log()];
    const about = { secret: secret("account key 3"), key: own.agreement, fingerprint: newest.fingerprint, generation: 3, place: placeOf(account) };
    await assert.rejects(openAccountKey([await wrap("account", own.id, about, tablet)], own, own.id, newest), /not enrolled or did not sign/);
});

test("the keys of a scope open from their wrap and under each other", async () => {
    const [own, newest] = [await device("device"), await log()];
    const about = {
        secret: secret("scope key 2"), key: newest.accountKeys[2], fingerprint: newest.fingerprint, generation: 3, place,
    };
    const made = await wrap("scope", keyIDOf(scope, 2), about, own, await agreementKey(secret("ephemeral 1")));
    assert.equal(hex(made), vectors.wraps["scope key"]);
    const manifest = await readScopeManifest(unhex(vectors.scope["manifest 1"]));
    const accountKey = await accountKeyOf(3, secret("account key 3"));
    const shown = { wraps: [made], olderKeys: [unhex(vectors.keys["older key"])] };
    const keys = await ZoneKeys.open(shown, place, [manifest], { log: newest, device: own, accountKeys: [accountKey] });
    assert.deepEqual(keys.keys.map((key) => hex(key.secret)), [vectors.secrets["scope key 2"], vectors.secrets["scope key 1"]]);
    const about2 = await context("nacre older key", place);
    const id = keyIDOf(scope, 2);
    const sealed = await seal(kinds.olderKey, id, secret("scope key 2"), about2, secret("scope key 1"), secret("salt of older key"));
    assert.equal(hex(sealed), vectors.keys["older key"]);
    const link = readSealed(unhex(vectors.keys.link));
    const opened = await open(link, kinds.link, id, secret("link"), await context("nacre link", place));
    assert.equal(hex(opened), vectors.secrets["scope key 2"]);
});

/** The manifests of the vectors, as texts. */
const scopeManifests = () => Object.entries(vectors.scope).filter(([name]) => !name.startsWith("ID")).map(([, text]) => text);

test("a chain of manifests counts for its zone and its owner, and without a permission for a link", async () => {
    const manifests = scopeManifests().map(unhex);
    const newest = await log();
    assert.equal((await readChain(manifests.slice(0, 1), place, newest))[0].number, 0);
    await assert.rejects(readChain(manifests, place, newest), /given away by a link/);
    await assert.rejects(readChain(manifests.slice(0, 1), placeOf(account, "Other"), newest), /another scope/);
    await assert.rejects(readChain([], place, newest), /no manifest/);
    const changed = Uint8Array.from(manifests[0]);
    changed[changed.length - 1] ^= 1;
    await assert.rejects(readChain([changed], place, newest), /not signed by device/);
});

test("a chain of manifests with participants verifies by their logs, and no manifest takes away and keeps the key", async () => {
    const [own, grace, log] = [await device("device"), await device("tablet"), (await readLogs(statements.slice(0, 2), account))[0]];
    const theirs = { ...account, user: "_grace" };
    const graces = (await readLogs([await beginning(theirs, grace, await recoveryKey(secret("recovery key 1"), theirs),
        (await accountKeyOf(1)).agreement)], theirs))[0];
    const keys = { device: own, log, accountKeys: [await accountKeyOf(1, secret("account key 1"))] };
    const first = await nextManifest(place, keys, 1000);
    const shown = [first.manifest];
    const opened = async (wraps, olderKeys = []) => ZoneKeys.open({ wraps, olderKeys }, place, await readChain(shown, place, log, [graces]), keys,
        { accounts: new Map([["_grace", [graces]]]) });
    const alone = await opened(first.wraps);
    const logs = new Map([["_grace", graces]]);
    const wish = { participant: "1", user: "_grace", permission: 3, role: 3 };
    const participants = nextParticipants(alone.manifest, log, [wish], undefined, logs);
    const second = await nextManifest(place, keys, 1000, { last: alone, participants, logs });
    shown.push(second.manifest);
    // The owner has the key: Grace alone gets it now.
    assert.deepEqual(second.wraps.map((bytes) => readWrap(bytes).fingerprint), [graces.fingerprint]);
    assert.equal(second.olderKey, undefined);
    const both = await opened(first.wraps);
    assert.ok(both.isShared && both.isOwn && both.mayWrite);
    assert.equal(await nextManifest(place, keys, 1000, { last: both, participants, logs }), undefined);
    const less = [{ ...participants.find(({ user }) => user === "_grace"), permission: 2 }, ...participants.filter(({ role }) => role === 1)]
        .sort((one, other) => (one.user < other.user ? -1 : 1));
    const third = await nextManifest(place, keys, 1000, { last: both, participants: less, logs });
    assert.equal(third.wraps.length, 2);
    await readChain([...shown, third.manifest], place, log, [graces]);
    // The same list under the key of before, as a device would sign it that spares a key.
    const spared = third.manifest.slice(0, -64);
    const forged = await signed(own, await withVersion(spared, both));
    await assert.rejects(readChain([...shown, forged], place, log, [graces]), /takes a permission away and keeps the key/);
    // Grace is no administrator, and signs none.
    const bytes = third.manifest.slice(0, -64 - 16 - 32);
    const hers = await signed(grace, joined(bytes, unhex(graces.fingerprint + grace.id)));
    await assert.rejects(readChain([...shown, hers], place, log, [graces]), /may not sign manifest 2/);
});

/** A manifest of version 2 with the version and the proofs of version 1, which is the newest of `keys`. */
async function withVersion(bytes, keys) {
    const [text, { proofs }] = [hex(bytes), keys.manifest];
    const [, last] = (await readScopeManifest(joined(bytes, new Uint8Array(64)))).proofs;
    return unhex(text.replace(`00000002000000010002${proofs[0]}${last}`, `00000001000000010001${proofs[0]}`));
}

test("the server's list takes from the signed one, and a wish alone gives", async () => {
    const { fingerprint, head } = await log();
    const own = { account, fingerprint, head };
    const logOf = (fingerprint) => ({ fingerprint, head: { number: 0, hash: "" }, isReset: false });
    const logs = new Map(["_ben", "_cleo", "_eve"].map((user) => [user, logOf(user)]));
    const one = (user, permission, type = "USER") => ({ participantId: user, userIdentity: { userRecordName: user }, permission, type });
    const signedFor = (user, permission) => ({ user, fingerprint: logs.get(user).fingerprint, head, permission, role: 3 });
    const newest = { number: 3, participants: [{ user: account.user, role: 1 }, signedFor("_ben", 2), signedFor("_cleo", 3)] };
    const next = (wishes, list) => Object.fromEntries(nextParticipants(newest, own, wishes, list, logs)
        .filter(({ role }) => role !== 1).map(({ user, permission, role }) => [user, [permission, role]]));
    assert.deepEqual(next([], [one("_ben", "READ_WRITE"), one("_cleo", "READ_WRITE"), one("_eve", "READ_WRITE", "ADMINISTRATOR")]),
        { _ben: [2, 3], _cleo: [3, 3] });
    assert.deepEqual(next([], [one("_cleo", "READ_ONLY")]), { _cleo: [2, 3] });
    assert.deepEqual(next([], [{ ...one("_cleo", "READ_WRITE"), acceptanceStatus: "REMOVED" }]), {});
    const wish = (user, permission, role = 3) => ({ participant: user, user, permission, role });
    const list = [one("_ben", "READ_WRITE"), one("_cleo", "READ_WRITE"), one("_eve", "READ_ONLY")];
    assert.deepEqual(next([wish("_eve", 3, 2)], list), { _ben: [2, 3], _cleo: [3, 3], _eve: [2, 3] });
    assert.deepEqual(next([wish("_ben", 3), wish("_cleo", 1)], list), { _ben: [3, 3] });
});

test("a change adds nobody whom the page has not added, and raises what the page has raised above all that was shown", async () => {
    const { fingerprint, head } = await log();
    const own = { account, fingerprint, head };
    const logs = new Map(["_ben", "_eve"].map((user) => [user, { fingerprint: user, head: { number: 0, hash: "" }, isReset: false }]));
    const ben = { user: "_ben", fingerprint: "_ben", head, permission: 2, role: 3 };
    const newest = { number: 3, participants: [{ user: account.user, role: 1 }, ben] };
    const shown = (permission, role = 3) => ({ shown: { permission, role } });
    const given = (wish) => Object.fromEntries(nextParticipants(newest, own, [{ participant: "x", role: 3, ...wish }], undefined, logs)
        .filter(({ role }) => role !== 1).map(({ user, permission, role }) => [user, [permission, role]]));
    assert.deepEqual(given({ user: "_eve", permission: 2, ...shown(3) }), { _ben: [2, 3] });
    assert.deepEqual(given({ user: "_eve", permission: 3, ...shown(2) }), { _ben: [2, 3] });
    assert.deepEqual(given({ user: "_ben", permission: 3, ...shown(2) }), { _ben: [3, 3] });
    assert.deepEqual(given({ user: "_ben", permission: 3, ...shown(3, 2) }), { _ben: [2, 3] }, "the server has shown another role");
    assert.deepEqual(given({ user: "_ben", permission: 1, ...shown(3) }), {});
    const kept = { scopes: {} };
    keepWishes(kept, [{ participant: "b", user: "_ben", permission: 2, role: 3 }], "Trip");
    keepWishes(kept, [{ participant: "b", user: "_eve", permission: 3, role: 3, ...shown(2) }], "Trip");
    assert.deepEqual(wishesIn(kept, "Trip"), [{ participant: "b", user: "_ben", permission: 3, role: 3 }], "the page has added Ben");
});

test("a wish is for whom the page names or changes, and ends with its manifest, its refusal or 90 days of an address", () => {
    const ben = { participantId: "b", userIdentity: { userRecordName: "_ben" }, permission: "READ_ONLY", type: "USER" };
    const shown = new Map([["b", { permission: 2, role: 3, user: "_ben" }], ["c", { permission: 3, role: 3, user: "_cleo" }]]);
    const owner = { participantId: "o", type: "OWNER", permission: "READ_WRITE" };
    assert.deepEqual(wishesOf([owner, ben], shown).wishes,
        [{ participant: "c", user: "_cleo", permission: 1, role: 3, shown: { permission: 3, role: 3 } }]);
    const cleo = { ...ben, participantId: "c", userIdentity: { userRecordName: "_cleo" }, permission: "READ_WRITE" };
    const raised = { ...ben, permission: "READ_WRITE" };
    assert.deepEqual(wishesOf([owner, raised, cleo], shown).wishes,
        [{ participant: "b", user: "_ben", permission: 3, role: 3, shown: { permission: 2, role: 3 } }]);
    const eve = { ...ben, participantId: "e", userIdentity: { userRecordName: "_eve" } };
    const { participants: [, added], wishes: [wish] } = wishesOf([cleo, { ...eve, participantId: undefined }, eve, ben], shown);
    assert.deepEqual([wish.participant, wish.user], [added.participantId, "_eve"]);
    const oneTime = { type: "USER", permission: "READ_ONLY", nacre: { oneTime: true } };
    assert.deepEqual(wishesOf([oneTime, ben, cleo], shown).wishes, []);
    const kept = { scopes: {} };
    const address = { participant: "x", permission: 2, role: 3 };
    keepWishes(kept, [address], "__proto__", true);
    assert.deepEqual(wishesIn(kept, "__proto__"), [{ ...address, isPending: true }]);
    keepWishes(kept, [address], "__proto__");
    const listed = { participantId: "x", userIdentity: { userRecordName: "_ben" }, type: "USER" };
    meetList(kept, [listed], "__proto__", wishesIn(kept, "__proto__"), 1000);
    assert.deepEqual(wishesIn(kept, "__proto__"), [{ ...address, user: "_ben", since: 1000, isNamedByServer: true }]);
    meetList(kept, [listed], "__proto__", wishesIn(kept, "__proto__"), 1000 + 90 * 86_400_000);
    assert.deepEqual(wishesIn(kept, "__proto__"), []);
    keepWishes(kept, [{ ...address, user: "_ben" }], "Trip");
    meetList(kept, [], "Trip", [], 1000);
    assert.equal(wishesIn(kept, "Trip").length, 1, "a list that was asked for before says nothing of it");
    meetList(kept, [], "Trip", wishesIn(kept, "Trip"), 1000);
    assert.deepEqual(wishesIn(kept, "Trip"), []);
});

/** The digest of a part of a tree of RFC 9162. */
async function treeRoot(leaves) {
    if (leaves.length < 2) return leaves.length ? digest([0], leaves[0]) : digest();
    const middle = 2 ** (Math.ceil(Math.log2(leaves.length)) - 1);
    return digest([1], await treeRoot(leaves.slice(0, middle)), await treeRoot(leaves.slice(middle)));
}

/** The proof that a leaf is in a tree, and that a tree extends its first leaves. */
async function inclusion(index, leaves) {
    if (leaves.length < 2) return [];
    const middle = 2 ** (Math.ceil(Math.log2(leaves.length)) - 1);
    const [left, right] = [leaves.slice(0, middle), leaves.slice(middle)];
    if (index < middle) return [...await inclusion(index, left), await treeRoot(right)];
    return [...await inclusion(index - middle, right), await treeRoot(left)];
}

async function consistency(size, leaves, isWhole = true) {
    if (size === leaves.length) return isWhole ? [] : [await treeRoot(leaves)];
    const middle = 2 ** (Math.ceil(Math.log2(leaves.length)) - 1);
    const [left, right] = [leaves.slice(0, middle), leaves.slice(middle)];
    if (size <= middle) return [...await consistency(size, left, isWhole), await treeRoot(right)];
    return [...await consistency(size - middle, right, false), await treeRoot(left)];
}

test("a tree of any size includes its leaves and extends each smaller one, by its proofs and no others", async () => {
    const leaves = Array.from({ length: 9 }, (_, place) => Uint8Array.of(place));
    const head = async (count) => ({ size: count, root: hex(await treeRoot(leaves.slice(0, count))) });
    for (let size = 1; size <= leaves.length; size += 1) {
        const [now, part] = [await head(size), leaves.slice(0, size)];
        for (let index = 0; index < size; index += 1) {
            const proof = await inclusion(index, part);
            assert.ok(await includes(now, leaves[index], index, proof), `${index} in ${size}`);
            assert.ok(!await includes(now, Uint8Array.of(99), index, proof));
            assert.ok(!await includes(now, leaves[index], index, [...proof, now.root].map((one) => (typeof one === "string" ? unhex(one) : one))));
            if (proof.length > 0) assert.ok(!await includes(now, leaves[index], index, proof.slice(1)));
        }
        for (let older = 0; older <= size; older += 1) {
            const proof = older === 0 ? [] : await consistency(older, part);
            assert.ok(await extendsTree(now, await head(older), proof), `${older} to ${size}`);
            assert.ok(!await extendsTree(now, { size: older, root: "11".repeat(32) }, proof));
            if (older > 0 && older < size) assert.ok(!await extendsTree(now, await head(older), proof.slice(1)));
        }
    }
});

test("two trees of one size that the server has signed are a proof, which the device keeps", async () => {
    const server = await keysOf(secret("server signs"), secret("device agrees"));
    const vector = readTreeHead(unhex(vectors.account["tree head"]));
    assert.ok(await vector.isSignedBy(server.signing));
    const other = Uint8Array.from(vector.bytes.slice(0, -64));
    other[other.length - 8 - 1] ^= 1;
    const forked = await signed(server, other);
    const base64Of = (bytes) => Buffer.from(bytes).toString("base64");
    const shown = (bytes) => ({ head: base64Of(bytes), serverKey: base64Of(unhex(server.signing)) });
    const kept = { scopes: {} };
    assert.equal(await takeTree(kept, shown(vector.bytes), [], account, undefined), "taken");
    const refused = await takeTree(kept, shown(forked), [], account, kept.tree);
    assert.match(refused.message, /has signed two trees/);
    assert.deepEqual(kept.tree.doubt, [hex(vector.bytes), hex(forked)]);
    assert.equal(kept.tree.head, hex(vector.bytes));
    assert.equal(await takeTree(kept, shown(forked), [], account, undefined), "askAgain");
});

test("each sealed value of the vectors opens, and is made of its plaintext", async () => {
    const key = secret("scope key 2");
    for (const [field, text] of Object.entries(vectors.values)) {
        const about = await valueContext(record, field);
        const plain = await open(readSealed(unhex(text)), kinds.value, keyIDOf(scope, 2), key, about);
        assert.equal(hex(plain), vectors.plaintexts[field], field);
        assert.equal(hex(await seal(kinds.value, keyIDOf(scope, 2), key, about, plain, secret("salt"))), text, field);
        assert.ok(fieldOf(plain), field);
        await assert.rejects(open(readSealed(unhex(text)), kinds.value, keyIDOf(scope, 2), key, await valueContext(record, "other")), field);
        await assert.rejects(open(readSealed(unhex(text)), kinds.value, keyIDOf(scope, 2), secret("scope key 1"), about), field);
    }
});

test("values become the vectors' plaintexts again, with numbers as texts to the last digit", () => {
    let count = 0;
    for (const [field, text] of Object.entries(vectors.plaintexts)) {
        const found = fieldOf(unhex(text), true);
        // Numbers that are none are never saved, the web's times are whole milliseconds, and a text tells no -0 from 0.
        const isExact = !JSON.stringify(found.value).match(/NaN|Infinity|null/) && !/TIMESTAMP|LOCATION/.test(found.type);
        if (!isExact || field === "field9") continue;
        assert.equal(hex(plaintextOf(found, field).bytes), text, field);
        count += 1;
    }
    assert.ok(count >= 15, `${count}`);
    const date = { value: 1_700_000_000_123, type: "TIMESTAMP" };
    assert.deepEqual(fieldOf(plaintextOf(date, "at").bytes), date);
    const [latitude, longitude] = [52.5, 13.25];
    assert.deepEqual(fieldOf(plaintextOf({ value: { latitude, longitude, timestamp: 5 } }, "place").bytes).value, {
        latitude, longitude, altitude: 0, horizontalAccuracy: 0, verticalAccuracy: -1, course: -1, speed: -1, timestamp: 5,
    });
    assert.equal(fieldOf(plaintextOf({ value: "9223372036854775807", type: "INT64" }, "n").bytes, true).value, "9223372036854775807");
});

test("a value that is not of its type, or of none, is refused before it is sealed", () => {
    const wrong = [
        { value: 1 }, { value: [] }, { value: "a", type: "INT64" }, { value: "9223372036854775808", type: "INT64" }, { value: 1.5, type: "INT64" },
        { value: [1, "a"], type: "INT64_LIST" }, { value: "a", type: "STRING_LIST" }, { value: "§", type: "BYTES" }, { value: NaN, type: "DOUBLE" },
        { value: { recordName: "a" }, type: "REFERENCE" }, { value: {}, type: "LOCATION" }, { value: [{}], type: "ASSETID_LIST" },
    ];
    for (const field of wrong) assert.throws(() => plaintextOf(field, "f"), { code: "INVALID_ARGUMENTS" }, JSON.stringify(field));
});

test("bytes that are no plaintext are none", () => {
    for (const wrong of ["", "00", "80", "01", "01".repeat(16), "0180", `03${"00".repeat(7)}80${"00".repeat(7)}`, `81ffffffff80${"00".repeat(10)}`]) {
        assert.equal(fieldOf(unhex(wrong)), undefined, wrong);
    }
});

test("a record's manifest is that of the vectors, also of a moved record, and says what belongs together", async () => {
    const [own, newest, key] = [await device("device"), await log(), scopeKey(2)];
    const chain = await Promise.all(scopeManifests().map((text) => readScopeManifest(unhex(text))));
    const hashes = new Map();
    for (const [field, text] of Object.entries(vectors.values)) hashes.set(field, hex(await digest(unhex(text))));
    const stamp = 1_700_000_000_002;
    const parts = {
        keyID: keyIDOf(scope, 2), number: 1, stamp, writer: own.id, parent: "chapter",
        fields: [...hashes].map(([name, hash]) => ({ name, hash })), files: [{ name: "scan", roots: [vectors.files.root] }],
    };
    const made = await recordManifest(parts, key, record, own);
    assert.equal(hex(made), vectors.records.manifest);
    const elsewhere = /** @type {any} */ ({ scope: "00".repeat(16), parts: {} });
    const admission = await admissionOf(elsewhere, { scope, number: 1, stamp }, record, own, true);
    assert.equal(hex(await recordManifest({ ...parts, admission }, key, record, own)), vectors.records["manifest of a moved record"]);
    const manifest = await readRecordManifest(made);
    const asked = new Set(hashes.keys());
    assert.ok(await mightWrite(manifest, chain, [newest]));
    assert.ok(await isWhole(manifest, key, record, { hashes, parent: "chapter", asked }));
    const fewer = new Map([...hashes].slice(1));
    const swapped = new Map(hashes).set("field0", hashes.get("field1"));
    for (const [what, shown] of Object.entries({
        dropped: { hashes: fewer, parent: "chapter", asked }, moved: { hashes: swapped, parent: "chapter", asked },
        "another parent": { hashes, parent: "", asked },
        "one too many": { hashes: new Map(hashes).set("more", "00".repeat(32)), parent: "chapter", asked },
    })) assert.ok(!await isWhole(manifest, key, record, shown), what);
    assert.ok(!await isWhole(manifest, key, { ...record, name: "other" }, { hashes, parent: "chapter", asked }));
    const changed = await readRecordManifest(joined(made.slice(0, -1), [made[made.length - 1] ^ 1]));
    assert.ok(!await mightWrite(changed, chain, [newest]));
});

test("forms that are cut, or have a byte more, cannot be read", async () => {
    const readers = [
        [readStatement, vectors.statements["1 add device"]], [readScopeManifest, vectors.scope["manifest 1"]],
        [readRecordManifest, vectors.records["manifest of a moved record"]], [async (bytes) => readOpening(bytes), vectors.enrolment.opening],
        [async (bytes) => readAnswer(bytes), vectors.enrolment.answer],
    ];
    for (const [read, text] of readers) {
        const bytes = unhex(text);
        await read(bytes);
        const [cut, longer, suite] = [bytes.slice(0, -1), joined(bytes, [0]), joined([2], bytes.slice(1))];
        for (const wrong of [cut, longer, suite, joined([1, 99], bytes.slice(2)), new Uint8Array()]) {
            await assert.rejects(read(wrong), { code: "ENCRYPTION_REFUSED" });
        }
    }
});

test("the messages of an enrolment and its code are those of the vectors", async () => {
    const [phone, newest, own] = [await device("phone"), await log(), await device("device")];
    const random = secret("phone's random");
    const commitment = await commitmentOf(phone, random);
    assert.equal(hex(commitment), vectors.enrolment.commitment);
    const answer = await answerOf(commitment, { fingerprint: newest.fingerprint, head: newest.head, device: own.id }, secret("device's random"));
    assert.equal(hex(answer), vectors.enrolment.answer);
    const opening = await openingOf(phone, random, readAnswer(answer).head);
    assert.equal(hex(opening), vectors.enrolment.opening);
    assert.equal(await codeOf(commitment, answer, readOpening(opening).keys, readOpening(opening).number), vectors.enrolment.code);
});

test("the recovery words are those of the framework's list, and any mistake in them is found", async () => {
    const source = readFileSync(new URL("../../../Sources/NacreCrypto/RecoveryWords/RecoveryWordList.swift", import.meta.url), "utf8");
    assert.deepEqual(wordList, /"""\n([^"]*)"""/.exec(source)[1].trim().split(/\s+/));
    const words = await wordsOf(secret("recovery key 1"));
    assert.equal(words.length, 24);
    const typed = words.map((word, place) => `${place + 1}. ${word.slice(0, 5).toUpperCase()}`).join("\n");
    assert.ok(equal(await secretOf(typed), secret("recovery key 1")));
    await assert.rejects(secretOf(words.slice(1).join(" ")), /there are 23/);
    await assert.rejects(secretOf(["zzzz", ...words.slice(1)].join(" ")), /word 1 is not in the list/);
    await assert.rejects(secretOf([words[1], words[0], ...words.slice(2)].join(" ")), /one of them is another/);
});

test("a log that follows a signed reset names it, and the device of the reset begins it", async () => {
    const [own, tablet] = [await device("device"), await device("tablet")];
    const key = await accountKeyOf(1);
    const recovery = await recoveryKey(secret("recovery key 1"), account);
    const [reset] = await readLogs(statements, account);
    const next = await beginning(account, tablet, recovery, key.agreement, reset.head.hash);
    assert.equal((await readLogs([...statements, next], account)).length, 2);
    const unnamed = await beginning(account, tablet, recovery, key.agreement);
    const other = await beginning(account, own, recovery, key.agreement, reset.head.hash);
    for (const wrong of [unnamed, other]) await assert.rejects(readLogs([...statements, wrong], account), /no signed reset leads to it/);
    await assert.rejects(readLogs([...statements.slice(0, 4), next], account), /no signed reset leads to it/);
});

test("a file's chunks and root are those of the vectors, and open", async () => {
    const key = scopeKey(2);
    const sealer = new SealedSource(new Blob(["a short file"]), { newest: key, place });
    const sealed = new Uint8Array(await (await sealer.whole()).arrayBuffer());
    assert.equal(hex(sealed), vectors.files.chunk);
    const asset = {};
    sealer.note(asset);
    assert.equal(sentFile(asset).root, vectors.files.root);
    const keys = { place, key: (id) => (id === keyIDOf(scope, 2) ? key : undefined) };
    const shown = { size: sealed.length, encryptionRoot: vectors.files.root };
    assert.equal(await (await openFile(keys, shown, [sealed.subarray(0, 40), sealed.subarray(40)])).text(), "a short file");
});
