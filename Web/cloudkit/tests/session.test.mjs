import assert from "node:assert/strict";
import { test } from "node:test";

import CloudKit from "../src/module.js";
import { Services } from "../src/transport.js";
import { containerIdentifier, refusal } from "./support/cloud.mjs";

/** A store as an app has one, which notes what it is given. */
function storing(token = null) {
    const puts = [];
    const putToken = async (id, next) => {
        assert.equal(id, containerIdentifier);
        puts.push(next);
    };
    return { puts, putToken, getToken: () => (puts.length > 0 ? puts.at(-1) : token) };
}

/** A container whose server is `answer`, which is given the token of each request. */
function scripted(authTokenStore, answer) {
    const fetch = async (url) => {
        const { pathname, searchParams } = new URL(url);
        const { status = 200, body = { zones: [] }, token, session } = await answer(searchParams.get("ckWebAuthToken"), pathname);
        const headers = Object.entries({ "X-Apple-CloudKit-Web-Auth-Token": token, "X-Apple-CloudKit-Session": session });
        return new Response(JSON.stringify(body), { status, headers: headers.filter(([, value]) => value) });
    };
    return CloudKit.configure({
        serverURL: "https://cloud.example", services: { fetch, authTokenStore },
        containers: [{ containerIdentifier, environment: "development", apiTokenAuth: { apiToken: "api" } }],
    }).getDefaultContainer();
}

test("the token of each answer is the next request's, whichever header it stands in", async () => {
    const seen = [];
    const answers = [{ token: "2", session: "other" }, { session: "3+/=" }, {}];
    const { privateCloudDatabase } = scripted(storing("1"), (token) => { seen.push(token); return answers[seen.length - 1]; });
    for (const _ of answers) await privateCloudDatabase.fetchAllRecordZones();
    assert.deepEqual(seen, ["1", "2", "3+/="]);
});

test("an error carries the next token too", async () => {
    const store = storing("1");
    const { privateCloudDatabase } = scripted(store, () => ({ status: 500, token: "2", body: { serverErrorCode: "INTERNAL_ERROR", reason: "no" } }));
    assert.equal((await refusal(privateCloudDatabase.fetchAllRecordZones())).ckErrorCode, "INTERNAL_ERROR");
    assert.deepEqual(store.puts, ["2"]);
});

test("an answer that comes after the session's end, or to another user's request, brings no token", async () => {
    const store = storing("ada");
    let release;
    const late = new Promise((resolve) => { release = resolve; });
    const container = scripted(store, async (token, path) => {
        if (path.endsWith("zones/list")) { await late; return { token: "ada, newer" }; }
        return { body: { userRecordName: "_b" } };
    });
    const answer = container.privateCloudDatabase.fetchAllRecordZones();
    await container.signIn("ben");
    release();
    await answer;
    assert.deepEqual(store.puts, [null, "ben"]);
});

test("a session that has ended on the server ends here: the store is told, and who waits for it", async () => {
    const store = storing("old");
    const body = { serverErrorCode: "AUTHENTICATION_REQUIRED", redirectURL: "https://cloud.example/sign-in" };
    const container = scripted(store, () => ({ status: 421, body }));
    const left = container.whenUserSignsOut();
    const error = await refusal(container.privateCloudDatabase.fetchAllRecordZones());
    assert.deepEqual([error.ckErrorCode, error.redirectURL], ["AUTHENTICATION_REQUIRED", "https://cloud.example/sign-in"]);
    await left;
    assert.deepEqual(store.puts, [null]);
});

test("a store that fails is an error of the sign-in, and of who waits for it", async () => {
    const container = scripted({ getToken: () => null, putToken: () => { throw new Error("full"); } }, () => ({ body: {} }));
    const [waiting, signing] = [refusal(container.whenUserSignsIn()), refusal(container.signIn("token"))];
    assert.equal((await waiting).ckErrorCode, "AUTH_PERSIST_ERROR");
    assert.equal((await signing).ckErrorCode, "AUTH_PERSIST_ERROR");
});

test("a sign-out that the server does not hear of ends the session here", async () => {
    const store = storing("1");
    const container = scripted(store, () => { throw new TypeError("offline"); });
    assert.equal((await refusal(container.signOut())).ckErrorCode, "NETWORK_ERROR");
    assert.deepEqual(store.puts, [null]);
});

test("an answer that comes while the server ends the session brings no token", async () => {
    const store = storing("1");
    let release;
    const late = new Promise((resolve) => { release = resolve; });
    const container = scripted(store, async (_, path) => {
        if (path.endsWith("zones/list")) { await late; return { token: "1, newer" }; }
        release();
        await answer;
        return { body: {} };
    });
    const answer = container.privateCloudDatabase.fetchAllRecordZones();
    await container.signOut();
    assert.deepEqual(store.puts, [null]);
});

test("a token that a slow store is just taking is given up with the session", { timeout: 10_000 }, async () => {
    const store = storing("1");
    const { putToken } = store;
    let release, isTaking;
    const taking = new Promise((resolve) => { isTaking = resolve; });
    const late = new Promise((resolve) => { release = resolve; });
    store.putToken = async (id, token) => {
        if (token !== null) { isTaking(); await late; }
        await putToken(id, token);
    };
    const container = scripted(store, () => ({ token: "2" }));
    const answer = container.privateCloudDatabase.fetchAllRecordZones();
    await taking;
    const left = container.signOut();
    // A sign-out that does not wait for the store would have put its own by then.
    await new Promise((resolve) => { setImmediate(resolve); });
    release();
    await Promise.all([answer, left]);
    assert.deepEqual(store.puts, ["2", null]);
});

test("a request whose signal ends while its answer comes rejects with the signal's reason", async () => {
    const aborting = new AbortController();
    const fetch = async (_, { signal }) => new Response(new ReadableStream({
        start: (controller) => { signal.addEventListener("abort", () => controller.error(signal.reason)); },
        pull: () => aborting.abort(new DOMException("too slow", "TimeoutError")),
    }));
    const { publicCloudDatabase } = CloudKit.configure({
        serverURL: "https://cloud.example", services: { fetch },
        containers: [{ containerIdentifier, environment: "development", apiTokenAuth: { apiToken: "api" } }],
    }).getDefaultContainer();
    assert.equal((await refusal(publicCloudDatabase.fetchAllRecordZones({ signal: aborting.signal }))).name, "TimeoutError");
});

test("a pause whose signal has ended already is over at once", { timeout: 5000 }, async () => {
    await new Services().pause(20_000, AbortSignal.abort());
});

test("answers that are none of CloudKit's are told apart", async () => {
    const answering = (status, text, headers) => CloudKit.configure({
        serverURL: "https://cloud.example", services: { fetch: async () => new Response(text, { status, headers }) },
        containers: [{ containerIdentifier, environment: "development", apiTokenAuth: { apiToken: "api" } }],
    }).getDefaultContainer().publicCloudDatabase.fetchAllRecordZones();
    const away = await refusal(answering(503, "<html>", { "Retry-After": "7" }));
    assert.deepEqual([away.ckErrorCode, away.retryAfter, away.isServerError], ["SERVICE_UNAVAILABLE", 7, false]);
    assert.equal((await refusal(answering(200, "<html>"))).ckErrorCode, "UNEXPECTED_SERVER_RESPONSE");
    assert.equal((await refusal(answering(404, "null"))).ckErrorCode, "UNEXPECTED_SERVER_RESPONSE");
    const throttled = await refusal(answering(429, JSON.stringify({ serverErrorCode: "THROTTLED", retryAfter: 3 })));
    assert.deepEqual([throttled.ckErrorCode, throttled.retryAfter], ["THROTTLED", 3]);
});
