/** The page: it shows the store's notes, and changes them. The engine does the rest. */

import * as notes from "./store.js";
import { addUnsent, delegate, pending } from "./sync.js";

const { server, container: containerIdentifier, apiToken } = globalThis.config;
const find = (id) => document.getElementById(id);
const say = (text) => { find("status").textContent = text; };

/** The engine, once the library is there. Until then, changes wait in the store. */
let engine;

// Notes

/**
 * Writes a note down, and tells the engine. `base` is the text that this page knew: what came since is not overwritten.
 */
async function write(name, text, base) {
    await notes.change(name, (own = { at: Date.now(), text: base }) => (
        { ...own, text: own.text === base ? text : notes.merged(own.text, text), isDirty: true }));
    engine?.state.add(pending(name));
}

async function remove(name) {
    await notes.change(name, (own) => own && { ...own, isDeleted: true, isDirty: true });
    engine?.state.add(pending(name, "deleteRecord"));
}

function row(name) {
    const item = document.createElement("li");
    const area = document.createElement("textarea");
    const button = document.createElement("button");
    Object.assign(item.dataset, { name, text: "" });
    area.setAttribute("aria-label", "Note");
    area.addEventListener("input", () => {
        const base = item.dataset.text;
        item.dataset.text = area.value;
        write(name, area.value, base);
    });
    area.addEventListener("blur", show);
    button.type = "button";
    button.textContent = "Delete";
    button.addEventListener("click", () => remove(name));
    item.append(area, button);
    return item;
}

/** Shows the notes. The one that is being written is left alone until it is not. */
async function show() {
    const shown = (await notes.all()).filter(({ isDeleted }) => !isDeleted);
    shown.sort((one, other) => one.at - other.at || (one.name < other.name ? -1 : 1));
    const rows = new Map([...find("list").children].map((item) => [item.dataset.name, item]));
    shown.forEach(({ name, text }, place) => {
        const item = rows.get(name) ?? row(name);
        rows.delete(name);
        const [area] = item.children;
        if (area !== document.activeElement && area.value !== text) [area.value, item.dataset.text] = [text, text];
        if (find("list").children[place] !== item) find("list").insertBefore(item, find("list").children[place] ?? null);
    });
    for (const item of rows.values()) item.remove();
}

notes.onChange(show);
show();
find("add").addEventListener("click", async () => {
    const name = crypto.randomUUID();
    await write(name, "", "");
    await show();
    find("list").querySelector(`[data-name="${name}"] textarea`)?.focus();
});

// The cloud

/** Loads the server's library; without a network, the service worker has it. */
function library() {
    return new Promise((resolve, reject) => {
        const script = document.createElement("script");
        script.src = `${server}/ck/2/cloudkit.js`;
        script.onload = resolve;
        script.onerror = () => reject(new Error("the library is not there"));
        document.head.append(script);
    });
}

/** Says who is signed in, and waits for a user. Without a network nobody knows: it asks again when there is one. */
async function follow(container) {
    try {
        if (await container.setUpAuth() === null) {
            say("Not signed in: notes stay in this browser.");
            await container.whenUserSignsIn();
        }
        say("Signed in.");
        await container.whenUserSignsOut();
    } catch {
        say("No network, or not signed in: notes are sent later.");
        await new Promise((resolve) => { addEventListener("online", resolve, { once: true }); });
    }
    await follow(container);
}

async function begin() {
    await navigator.serviceWorker?.register("worker.js");
    await library();
    const container = CloudKit.configure({
        containers: [{ containerIdentifier, environment: "development", apiTokenAuth: { apiToken, persist: true } }],
    }).getDefaultContainer();
    engine = new CloudKit.SyncEngine({ database: container.privateCloudDatabase, store: CloudKit.SyncEngine.indexedDBStore(), delegate });
    await addUnsent(engine.state);
    await follow(container);
}

begin().catch((error) => say(`No network: notes stay in this browser (${error.message}).`));
