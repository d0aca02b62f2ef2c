/** The notes of this browser: what the page shows, with a network and without. */

/**
 * A note: its name, its text, and the version of the server that it was made from, as a tag. `isDirty` says that the
 * server has not taken it yet, and `isDeleted` that it is to be deleted there.
 */

const opening = new Promise((resolve, reject) => {
    const request = indexedDB.open("notes", 1);
    request.onupgradeneeded = () => request.result.createObjectStore("notes", { keyPath: "name" });
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
});

/** Tells the other tabs, and this one, that a note has changed. */
const channel = new BroadcastChannel("notes");
const listeners = new Set();
channel.onmessage = () => { for (const listener of listeners) listener(); };
export const onChange = (listener) => listeners.add(listener);

/** Does something in one transaction. `work` begins its requests, and what it answers counts once all is written. */
async function transaction(mode, work) {
    const all = (await opening).transaction("notes", mode);
    const over = new Promise((resolve, reject) => {
        all.oncomplete = resolve;
        all.onabort = () => reject(all.error);
    });
    const begun = work(all.objectStore("notes"));
    await over;
    if (mode === "readwrite") {
        channel.postMessage("changed");
        for (const listener of listeners) listener();
    }
    return begun;
}

export const all = async () => (await transaction("readonly", (notes) => notes.getAll())).result;

export const get = async (name) => (await transaction("readonly", (notes) => notes.get(name))).result;

export const clear = () => transaction("readwrite", (notes) => notes.clear());

export const remove = (name) => transaction("readwrite", (notes) => notes.delete(name));

/** Changes a note, or makes it. `edit` gets what there is, and answers what is to be; nothing leaves it as it is. */
export const change = (name, edit) => transaction("readwrite", (notes) => {
    notes.get(name).onsuccess = ({ target: { result } }) => {
        const note = edit(result);
        if (note) notes.put({ name, ...note });
    };
});

/** The lines of two versions, each once: no line of either is lost. */
export const merged = (server, own) => [...server.split("\n"), ...own.split("\n").filter((line) => !server.split("\n").includes(line))].join("\n");
