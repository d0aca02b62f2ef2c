/** The page's files without a network: each is fetched anew where there is one, and kept for when there is none. */

const kept = "notes-1";
const files = ["./", "notes.css", "notes.js", "store.js", "sync.js", "config.js", "icon.svg", "manifest.webmanifest"];

addEventListener("install", (event) => {
    event.waitUntil(caches.open(kept).then((cache) => cache.addAll(files)).then(() => skipWaiting()));
});

addEventListener("activate", (event) => event.waitUntil(clients.claim()));

/** The page's own files and the library; the cloud's answers are never kept. */
const isFile = ({ method, url }) => method === "GET" && (url.startsWith(registration.scope) || /\/ck\/\d\/cloudkit\.js$/.test(url));

addEventListener("fetch", (event) => {
    if (isFile(event.request)) event.respondWith(newest(event.request));
});

async function newest(request) {
    const cache = await caches.open(kept);
    try {
        const answer = await fetch(request);
        // A script of another origin has no status that a page may read.
        if (answer.ok || answer.type === "opaque") await cache.put(request, answer.clone());
        return answer;
    } catch (error) {
        const known = await cache.match(request, { ignoreSearch: true });
        if (!known) throw error;
        return known;
    }
}
