/// Figures, sizes and times: read as people write them, and written as people read them.

import { bytes, number } from "./ui.js";

const factors = { "": 1, B: 1, K: 1024, M: 1024 ** 2, G: 1024 ** 3, T: 1024 ** 4 };

/// The bytes of a text such as `250M`; undefined if it is no size.
export function size(text) {
    const found = /^(\d+(?:\.\d+)?)\s*([BKMGT]?)B?$/i.exec(text.trim());
    return found ? Math.round(Number(found[1]) * factors[found[2].toUpperCase()]) : undefined;
}

/// The seconds of a text such as `30d`, `48h`, `5m` or `10s`; undefined if it is none.
export function seconds(text) {
    const found = /^(\d+(?:\.\d+)?)\s*([smhd]?)$/.exec(text.trim());
    return found ? Number(found[1]) * { "": 1, s: 1, m: 60, h: 3600, d: 86_400 }[found[2]] : undefined;
}

/// A time as people say it: 90 s, 5 min, 2 h, 3 d.
export function span(value) {
    for (const [unit, name] of [[86_400, "d"], [3600, "h"],
        [60, "min"]]) if (value >= unit) return `${Number((value / unit).toPrecision(3))} ${name}`;
    return `${Number(value.toPrecision(3))} s`;
}

// MARK: Alerts

/// The number of a limit as people write it, by its unit; undefined if it is none.
export function limit(text, unit) {
    const plain = text.trim();
    if (unit === "bytes") return size(plain);
    if (unit === "seconds") return seconds(plain);
    const found = { percent: /^(\d+(?:\.\d+)?)\s*%?$/, milliseconds: /^(\d+(?:\.\d+)?)\s*(ms|s)?$/ }[unit]?.exec(plain)
        ?? /^(\d+(?:\.\d+)?)$/.exec(plain);
    return found ? Number(found[1]) * (found[2] === "s" ? 1000 : 1) : undefined;
}

/// A figure in words, by its unit.
export function figure(value, unit) {
    if (value === undefined || value === null) return "–";
    return { percent: () => `${Number(value.toPrecision(3))} %`, bytes: () => bytes(value), seconds: () => span(value),
        perMinute: () => `${number(Math.round(value * 10) / 10)} a minute`,
        milliseconds: () => `${Number(value.toPrecision(3))} ms`, deviations: () => `${Number(value.toPrecision(3))} ×` }[unit]?.() ?? number(value);
}

// MARK: Telemetry

const names = { requests: "requests", errorRate: "the error rate", latency: "the latency" };

/// How a figure has changed, in words; nothing without a figure to compare with.
export function change(before, after) {
    if (before === undefined || after === undefined || before === null || after === null || (before === 0 && after === 0)) return undefined;
    if (before === 0) return { text: "new", tone: "up" };
    const part = (after - before) / before;
    if (Math.abs(part) < 0.005) return { text: "same", tone: "" };
    const amount = part >= 10 ? `${Math.round(after / before)} ×` : `${Math.round(Math.abs(part) * 100)} %`;
    return { text: `${part > 0 ? "↑" : "↓"} ${amount}`, tone: part > 0 ? "up" : "down" };
}

export const percent = (part) => `${Number((part * 100).toPrecision(part < 0.1 ? 2 : 3))} %`;
/// The part of requests that were refused.
export const rate = (line) => (line?.requests ? (line.clientErrors + line.serverErrors) / line.requests : 0);
export const latency = (value) => (value === undefined ? "–" : value >= 1000 ? `${(value / 1000).toFixed(1)} s`
    : `${Number(value.toPrecision(3))} ms`);

/// One change in a sentence.
export function sentence({ figure, before, after, causes }) {
    const isMore = after > before;
    const amounts = figure === "errorRate" ? [percent(before), percent(after)] : figure === "latency" ? [latency(before), latency(after)]
        : [number(before), number(after)];
    const because = causes.map(({ property, name, share }) => `${property} ${name} (${share > 1 ? "more than all" : percent(share)})`);
    const name = names[figure] ?? figure;
    return { head: `${name[0].toUpperCase()}${name.slice(1)} went ${isMore ? "up" : "down"} from ${amounts[0]} to ${amounts[1]}.`, because };
}
