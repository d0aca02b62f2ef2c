/// Asks again and again for what is new, while the page is seen and no longer.

/// Calls `ask(signal)` at once, and then `every` milliseconds after each answer. While the page is hidden it asks nothing, and at once when the page
/// is seen again. After a failure it waits twice as long each time, a minute at most. Tests give `page`, `later` and `never`.
export function live(ask, { every = 1000, onerror = () => {}, page = document, later = setTimeout, never = clearTimeout } = {}) {
    let timer;
    let under;
    let failures = 0;
    let isStopped = false;

    async function turn() {
        if (isStopped || page.hidden || under) return;
        never(timer);
        const mine = (under = new AbortController());
        try {
            await ask(mine.signal);
            failures = 0;
        } catch (error) {
            if (mine.signal.aborted) return;
            failures += 1;
            onerror(error);
        } finally {
            if (under === mine) under = undefined;
        }
        if (!isStopped && !page.hidden) timer = later(turn, pause(every, failures));
    }

    function giveUp() {
        never(timer);
        under?.abort();
        under = undefined;
    }

    const seen = () => (page.hidden ? giveUp() : turn());
    page.addEventListener("visibilitychange", seen);
    turn();
    return {
        now: turn,
        stop() {
            isStopped = true;
            giveUp();
            page.removeEventListener("visibilitychange", seen);
        },
    };
}

/// Milliseconds until the next question, after so many failures in a row.
export function pause(every, failures) {
    return failures === 0 ? every : Math.min(Math.max(every, 1000) * 2 ** failures, 60_000);
}
