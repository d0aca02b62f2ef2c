import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { equal, hex, joined, unhex } from "../src/encryption/bytes.js";
import { wordList } from "../src/encryption/cloudkit-recovery-words.mjs";
import { agreementKey, checkKeys, context, digest, keysOf, signed } from "../src/encryption/crypto.js";
import { answerOf, codeOf, commitmentOf, openingOf, readAnswer, readOpening } from "../src/encryption/enrolment.js";
import { openFile, SealedSource, sentFile } from "../src/encryption/files.js";
import { addition, agreementToJoin, beginning, noDevice, placeOf, readLogs, readStatement, recoveryKey, removal } from "../src/encryption/log.js";
import {
    admissionOf, isWhole, mightWrite, readChain, readRecordManifest, readScopeManifest, recordManifest, ZoneKeys,
} from "../src/encryption/scope.js";
import { keyIDOf, kinds, open, readSealed, seal, valueContext } from "../src/encryption/sealing.js";
import { fieldOf, plaintextOf } from "../src/encryption/values.js";
import { secretOf, wordsOf } from "../src/encryption/words.js";
import { accountKeyOf, openAccountKey, openOlderAccountKeys, wrap } from "../src/encryption/wraps.js";

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

test("a chain of manifests counts for its zone and its owner, and without a permission for a link", async () => {
    const manifests = Object.values(vectors.scope).map(unhex);
    const newest = await log();
    assert.equal((await readChain(manifests.slice(0, 1), place, newest))[0].number, 0);
    await assert.rejects(readChain(manifests, place, newest), /given away by a link/);
    await assert.rejects(readChain(manifests.slice(0, 1), placeOf(account, "Other"), newest), /another scope/);
    await assert.rejects(readChain([], place, newest), /no manifest/);
    const changed = Uint8Array.from(manifests[0]);
    changed[changed.length - 1] ^= 1;
    await assert.rejects(readChain([changed], place, newest), /not signed by device/);
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
    const chain = await Promise.all(Object.values(vectors.scope).map((text) => readScopeManifest(unhex(text))));
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
