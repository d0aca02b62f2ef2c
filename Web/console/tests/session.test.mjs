import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

/// The storage that all tabs of a browser have; only this one is asked for.
const held = new Map();
globalThis.localStorage = { getItem: (key) => held.get(key) ?? null, setItem: (key, text) => held.set(key, text) };
const events = new EventTarget();
globalThis.addEventListener = events.addEventListener.bind(events);
globalThis.document = { baseURI: "http://127.0.0.1:4000/console/" };

const { api, session } = await import("../js/api.js");
const { kept, may, store } = await import("../js/store.js");

/// What another tab keeps.
function elsewhere(name, value) {
    held.set(`nacre.${name}`, JSON.stringify(value));
    events.dispatchEvent(Object.assign(new Event("storage"), { key: `nacre.${name}` }));
}

const answer = (status, text, type = "application/json") => new Response(text, { status, headers: { "Content-Type": type } });

beforeEach(() => {
    held.clear();
    store.session.set(null);
    store.key.set("mine");
    session.onEnd = () => assert.fail("the session has ended");
});

test("what another tab keeps is taken, and told once", () => {
    const value = kept("word", "none");
    const told = [];
    value.follow(() => told.push(value.get()));
    elsewhere("other", "nothing");
    elsewhere("word", "theirs");
    assert.deepEqual(told, ["theirs"]);
    held.set("nacre.word", JSON.stringify("unheard"));
    assert.equal(value.get(), "theirs");
    assert.equal(value.renew(), "unheard");
});

test("a request that is refused since another tab has signed in is sent again with its key", async () => {
    const sent = [];
    globalThis.fetch = async (url, { headers }) => {
        sent.push(headers["X-Nacre-Console"]);
        return headers["X-Nacre-Console"] === "theirs" ? answer(200, "{\"version\":\"1\"}") : answer(401, "{}");
    };
    held.set("nacre.key", JSON.stringify("theirs"));
    assert.deepEqual(await api.get("server"), { version: "1" });
    assert.deepEqual(sent, ["mine", "theirs"]);
});

test("a session ends when no other tab has signed in, and after one more request at most", async () => {
    let [asked, ends] = [0, 0];
    session.onEnd = () => { ends += 1; };
    globalThis.fetch = async () => { asked += 1; return answer(401, "{}"); };
    await assert.rejects(api.get("server"));
    assert.deepEqual([asked, ends], [1, 1]);
    held.set("nacre.key", JSON.stringify("theirs"));
    await assert.rejects(api.get("server"));
    assert.deepEqual([asked, ends], [3, 2]);
});

test("an answer that was cut off is an error that says what to do", async () => {
    globalThis.fetch = async () => answer(200, "{\"members\": [");
    await assert.rejects(api.get("team"), (error) => error.reason === "The server's answer was cut off." && error.remedy.length > 0);
    globalThis.fetch = async () => answer(502, "{\"code\": ");
    await assert.rejects(api.get("team"), (error) => error.status === 502 && error.reason.length > 0);
    globalThis.fetch = async () => answer(200, "as text", "text/plain");
    assert.equal(await api.get("metrics"), "as text");
});

test("a role may ask what its session names, and the page hides no more than that", () => {
    assert.equal(may("POST team"), true, "nobody is signed in: there is nothing to hide");
    store.session.set({ role: "viewer", actions: ["GET /admin/1/server"] });
    assert.deepEqual([may("GET server"), may("POST server"), may("POST team")], [true, false, false]);
});
