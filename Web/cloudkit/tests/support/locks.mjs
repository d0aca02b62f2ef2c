/** Locks of a browser, as far as the library asks for them. */

export function makeLocks() {
    const states = new Map();

    function next(state) {
        if (state.holder || state.queue.length === 0) return;
        const entry = state.holder = state.queue.shift();
        const release = () => {
            if (state.holder !== entry) return;
            state.holder = undefined;
            next(state);
        };
        entry.free = release;
        Promise.resolve().then(entry.callback).then(entry.resolve, entry.reject).finally(release);
    }

    return {
        request(name, { signal, steal = false }, callback) {
            if (!states.has(name)) states.set(name, { queue: [] });
            const state = states.get(name);
            return new Promise((resolve, reject) => {
                if (signal?.aborted) return reject(signal.reason);
                const entry = { callback, resolve, reject };
                if (steal) {
                    const { holder } = state;
                    state.holder = undefined;
                    state.queue.unshift(entry);
                    holder?.reject(new DOMException("stolen", "AbortError"));
                } else {
                    state.queue.push(entry);
                }
                signal?.addEventListener("abort", () => {
                    const place = state.queue.indexOf(entry);
                    if (place < 0) return;
                    state.queue.splice(place, 1);
                    reject(signal.reason);
                });
                next(state);
            });
        },
        /** Frees what is held, as the end of a tab does. */
        free() {
            for (const { holder } of [...states.values()]) holder?.free();
        },
    };
}
