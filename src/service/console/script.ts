import { assetOf } from "./assets.ts";
import { changesPath, refreshHeader } from "./change-stream.ts";

/**
 * The script adds what HTML cannot do; without it everything else works. It copies texts, and follows the service's
 * changes: after each, it fetches the page again and replaces the parts marked `data-live` that differ. A part in use
 * (focus, an open fold, an edited field, selected text) stays, and only the parts inside it are compared. A page ends
 * with its session. A form is sent once, though its button is clicked twice.
 */
const js = `"use strict";

document.documentElement.classList.add("scripted");

/** The text that a button copies. A page that masks it says which page shows it. */
async function textFor({ copy, from }) {
  let page = document;
  if (from !== undefined) page = await pageAt(from);
  const field = page.getElementById(copy);
  return field?.value ?? field?.textContent;
}

/** Another page, in which nothing that is shown once is spent. */
async function pageAt(address) {
  const answer = await fetch(address, { headers: { "${refreshHeader}": "1" } });
  return new DOMParser().parseFromString(await answer.text(), "text/html");
}

document.addEventListener("click", async ({ target }) => {
  const button = target.closest("[data-copy]");
  if (!button) return;
  const text = await textFor(button.dataset);
  // The session has ended: the page that is loaded asks to sign in. To load this one again could send a form again.
  if (text === undefined) return location.replace(button.dataset.from ?? "/");
  if (navigator.clipboard) await navigator.clipboard.writeText(text);
  else {
    // Browsers hide the clipboard from pages over plain HTTP from another machine.
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
    button.focus();
  }
  button.textContent = "Copied";
});

/** True while a form is on its way: a second click would send it again, and show the answer to that one alone. */
let sent = false;

document.addEventListener("submit", (event) => {
  if (event.target.method !== "post") return;
  if (sent) return event.preventDefault();
  sent = true;
  // The person may have stopped it.
  setTimeout(() => (sent = false), longest);
});
addEventListener("pageshow", () => (sent = false));

const main = document.querySelector("main[data-changes]");

/** The person who is signed in: the form to sign out has a token of the session. */
const person = document.querySelector("header form");

/** Time for which changes are collected before the page is fetched, in milliseconds. */
const gather = 400;

/** The longest such time: a fetch may have lasted for a night in which the machine slept. */
const longest = 10_000;

/** Time after which a stream that was refused is asked for again, in milliseconds; a page after up to twice that. */
const retry = 5000;

/** Time after which a page asks for the stream again, in milliseconds: none ends as the time of its session passes. */
const again = 600_000;

let announced = Number(main?.dataset.changes);
/** Time that the page took when it was fetched last, in milliseconds. */
let took = 0;
let timer;
let skipped = false;

function changed(field) {
  if (field.type === "checkbox") return field.checked !== field.defaultChecked;
  if (field.tagName !== "SELECT") return field.value !== field.defaultValue;
  const usual = [...field.options].findIndex((option) => option.defaultSelected);
  return field.selectedIndex !== Math.max(0, usual);
}

function inUse(part) {
  const selection = getSelection();
  return (
    part.contains(document.activeElement) ||
    part.querySelector("details[open]") !== null ||
    (selection !== null && !selection.isCollapsed && selection.containsNode(part, true)) ||
    [...part.querySelectorAll("select, input:not([type=hidden])")].some(changed)
  );
}

/** The live parts directly inside a part, by id. */
function partsIn(part) {
  const all = [...part.querySelectorAll("[data-live]")];
  return new Map(all.filter((one) => one.parentElement.closest("[data-live], main") === part).map((one) => [one.id, one]));
}

function update(part, next) {
  if (part.isEqualNode(next)) return;
  if (!inUse(part)) {
    part.replaceWith(next);
    return;
  }
  skipped = true;
  const [now, then] = [partsIn(part), partsIn(next)];
  for (const [id, one] of now) {
    if (then.has(id)) update(one, then.get(id));
    else if (!inUse(one)) one.remove();
  }
  const [first] = now.values();
  for (const [id, one] of then) if (!now.has(id)) first?.parentElement.append(one);
}

async function refresh() {
  clearTimeout(timer);
  timer = undefined;
  const begun = performance.now();
  const answer = await fetch(location.href, { headers: { "${refreshHeader}": "1" } }).catch(() => undefined);
  const text = await answer?.text().catch(() => undefined);
  took = performance.now() - begun;
  // Out of reach, as a proxy may say, or without room: the stream of changes may stay open, and show no other one.
  if (text === undefined || answer.status > 500 || answer.status === 429) {
    timer ??= setTimeout(refresh, retry * (1 + Math.random()));
    return;
  }
  const page = new DOMParser().parseFromString(text, "text/html");
  if (main === null) return leave(answer, page);
  if (answer.redirected) return location.replace(answer.url);
  if (!answer.ok) return location.reload();
  const next = page.querySelector("main[data-changes]");
  const header = document.querySelector("header");
  // Another person has signed in, in whose name its forms would act.
  if (next === null || !header.isEqualNode(page.querySelector("header"))) return location.reload();
  skipped = false;
  main.dataset.changes = next.dataset.changes;
  for (const [id, part] of partsIn(main)) {
    const other = page.getElementById(id);
    if (other !== null) update(part, other);
  }
  soon();
}

/** Leaves a page that shows no changes, such as rows of a database, once it is nobody's, or another person's. */
function leave({ status }, page) {
  const other = page.querySelector("header form");
  if (status === 401 || (other !== null && !person.isEqualNode(other))) location.replace("/");
}

/**
 * All open pages hear of a change at one time: each is fetched at a time of its own, and less often where that takes
 * long, so that others are answered in between.
 */
function soon() {
  const wait = Math.min(Math.max(gather, 10 * took), longest) * (1 + Math.random());
  if (timer === undefined && announced > Number(main.dataset.changes)) timer = setTimeout(refresh, wait);
}

let stream;

/** A hidden page follows nothing, because browsers allow six connections to one service. */
function follow() {
  stream?.close();
  if (document.hidden) return;
  stream = new EventSource("${changesPath}");
  if (main === null) stream.addEventListener("open", refresh);
  else stream.addEventListener("changes", ({ data }) => {
    announced = Number(data);
    document.documentElement.classList.add("live");
    soon();
  });
  stream.addEventListener("error", ({ target }) => {
    document.documentElement.classList.remove("live");
    if (target.readyState !== EventSource.CLOSED) return;
    // Refused for good: the session has ended, which the page then shows, many others follow, or a proxy says no.
    refresh();
    setTimeout(follow, retry);
  });
}

if (person !== null) {
  follow();
  setInterval(follow, again);
  document.addEventListener("visibilitychange", follow);
  addEventListener("pagehide", () => stream?.close());
  addEventListener("focusout", () => {
    if (skipped) timer ??= setTimeout(refresh, gather);
  });
}
`;

export const script = assetOf("js", js);
