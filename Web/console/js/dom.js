/// Elements from functions. Text becomes text nodes and nothing else, so that no text of a record is ever markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, props, children) {
    for (const [name, value] of Object.entries(props ?? {})) {
        if (value === undefined || value === null || value === false) continue;
        if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
        else if (name === "style") for (const [property, text] of Object.entries(value)) element.style.setProperty(property, text);
        else if (name === "data") for (const [key, text] of Object.entries(value)) element.dataset[key] = text;
        else if (name === "value" || name === "checked" || name === "indeterminate" || name === "open") element[name] = value;
        else element.setAttribute(name, value === true ? "" : value);
    }
    element.append(...nodes(children));
    return element;
}

/// Flattens children: lists in lists, and nothing for null, undefined and booleans.
function nodes(children) {
    return children.flat(Infinity).filter((child) => child !== null && child !== undefined && typeof child !== "boolean");
}

/// An HTML element. `on…` adds a listener, `style` sets properties, `data` a data set; `value` and `checked` are properties.
export function h(tag, props, ...children) {
    const element = document.createElement(tag);
    // The options of a select exist before one is selected, so `value` comes last.
    const { value, ...others } = props ?? {};
    fill(element, others, children);
    if (value !== undefined && value !== null) element.value = value;
    return element;
}

/// An SVG element.
export function svg(tag, props, ...children) {
    return fill(document.createElementNS(SVG, tag), props, children);
}

/// An icon of `icons.svg`, which assistive technology skips unless it has a label.
export function icon(name, label) {
    const use = svg("use", { href: `icons.svg#${name}` });
    return svg("svg", { class: "icon", viewBox: "0 0 24 24", ...(label ? { role: "img", "aria-label": label } : { "aria-hidden": "true" }) }, use);
}

/// Replaces what is in an element.
export function put(element, ...children) {
    element.replaceChildren(...nodes(children));
    return element;
}

let count = 0;
/// An ID that no other element of the page has.
export const uniqueID = (prefix = "n") => `${prefix}${(count += 1)}`;
