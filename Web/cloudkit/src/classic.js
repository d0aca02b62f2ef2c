/** The library as a classic script of a page, and for `require`. */

import { CloudKit, setScriptURL } from "./cloudkit.js";

/** @type {any} Node's, for `require` */
// @ts-ignore: pages have none
const commonJS = typeof module === "undefined" ? undefined : module;

if (typeof document !== "undefined") {
    const script = /** @type {HTMLScriptElement | null} */ (document.currentScript);
    setScriptURL(script?.src);
    /** @type {any} */ (window).CloudKit = CloudKit;
    // A loader of modules that knows the script by another name takes the global, as its "shim" says.
    const { define } = /** @type {any} */ (globalThis);
    if (typeof define === "function" && define.amd) define("cloudkit", [], () => CloudKit);
    window.dispatchEvent(new Event(CloudKit.CLOUDKIT_LOADED));
} else if (typeof commonJS === "object") {
    commonJS.exports = CloudKit;
} else {
    /** @type {any} */ (globalThis).CloudKit = CloudKit;
}
