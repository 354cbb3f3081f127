// A conversation that stays up to date. The server renders it; here it is only fetched again when
// something happened, and the piece of an answer that is being written is appended as it comes.
// Without this file the page works by loading it again.

const LASTING = [
  "run.created", "run.started", "run.completed", "run.failed", "run.cancelled",
  "assistant.message", "tool.call", "tool.result", "tool.approval_required",
  "tool.approval_decided", "context.compacted", "message.deleted",
];
const NEAR_END_PIXELS = 160;

const conversation = document.getElementById("conversation");
let seq = 0;
let refreshing = null;
let isStale = false;
let unshown = []; // pieces that came while the page was being fetched, with their numbers

const talk = () => document.getElementById("talk");
const isNearEnd = () =>
  window.innerHeight + window.scrollY > document.body.scrollHeight - NEAR_END_PIXELS;

function follow() {
  seq = Number(talk().dataset.seq);
  const stream = new EventSource(`${conversation.dataset.stream}?after=${seq}`);
  stream.addEventListener("assistant.delta", (event) => {
    if (!isNews(event)) return;
    const text = JSON.parse(event.data).payload.text ?? "";
    if (refreshing === null) append(text);
    else unshown.push([Number(event.lastEventId), text]);
  });
  for (const type of LASTING) {
    stream.addEventListener(type, (event) => {
      if (isNews(event)) refresh();
    });
  }
}

function isNews(event) {
  const number = Number(event.lastEventId);
  if (number <= seq) return false;
  seq = number;
  return true;
}

function append(text) {
  const wasNearEnd = isNearEnd();
  document.getElementById("live-text").append(text);
  document.getElementById("live").hidden = false;
  if (wasNearEnd) window.scrollTo(0, document.body.scrollHeight);
}

// One fetch at a time; what happens meanwhile asks for another one after it.
async function refresh() {
  if (refreshing !== null) {
    isStale = true;
    return;
  }
  do {
    isStale = false;
    refreshing = fetch(window.location.href, { headers: { Accept: "text/html" } });
    try {
      const answer = await refreshing;
      if (answer.ok && !answer.redirected) show(await answer.text());
    } catch {
      // The next event, or the reader, asks again.
    } finally {
      refreshing = null;
      for (const [, text] of unshown) append(text);
      unshown = [];
    }
  } while (isStale);
}

function show(html) {
  const wasNearEnd = isNearEnd();
  const fresh = new DOMParser().parseFromString(html, "text/html");
  if (!fresh.getElementById("talk")) return;
  const typed = kept();
  talk().replaceWith(fresh.getElementById("talk"));
  for (const id of ["state", "calls", "tokens"]) {
    const here = document.getElementById(id);
    const there = fresh.getElementById(id);
    // Only what is new is announced.
    if (here.innerHTML !== there.innerHTML) here.replaceChildren(...there.childNodes);
  }
  restore(typed);
  const shown = Number(talk().dataset.seq);
  seq = Math.max(seq, shown);
  unshown = unshown.filter(([number]) => number > shown);
  const interrupting = document.getElementById("interrupting");
  if (interrupting) interrupting.hidden = talk().dataset.busy !== "yes";
  if (wasNearEnd) window.scrollTo(0, document.body.scrollHeight);
}

// What a person has typed or chosen in the part that is replaced, and where they are in it.
function kept() {
  const active = document.activeElement;
  const fields = [...talk().querySelectorAll("input[id], select[id], details[id]")];
  return {
    focus: talk().contains(active) ? active.id : "",
    values: fields.map((field) => [field.id, field.value, field.checked]),
  };
}

function restore({ focus, values }) {
  for (const [id, value, checked] of values) {
    const field = document.getElementById(id);
    if (!field || !talk().contains(field)) continue;
    if (field.type === "radio" || field.type === "checkbox") field.checked = checked;
    else field.value = value;
  }
  if (focus) document.getElementById(focus)?.focus();
}

// Forms of the conversation are sent in place; whatever does not fit is loaded as a page.
async function send(event) {
  const form = event.target;
  if (!form.matches("#conversation form")) return;
  event.preventDefault();
  const body = new FormData(form, event.submitter);
  const buttons = [...form.querySelectorAll("button")];
  for (const button of buttons) button.disabled = true;
  try {
    const answer = await fetch(form.action, { method: "POST", body });
    const html = await answer.text();
    if (!answer.ok || !answer.redirected || !samePage(answer.url)) {
      replaceAll(html, answer);
      return;
    }
    if (form.id === "say") form.reset();
    tell(html);
    show(html);
  } finally {
    for (const button of buttons) button.disabled = false;
  }
}

const samePage = (url) => new URL(url).pathname === window.location.pathname;

function replaceAll(html, answer) {
  const fresh = new DOMParser().parseFromString(html, "text/html");
  const here = document.getElementById("content");
  const there = fresh.getElementById("content");
  if (answer.ok && there && fresh.getElementById("talk")) {
    here.replaceWith(there);
    document.querySelector("#content [role=alert]")?.scrollIntoView({ block: "center" });
    return;
  }
  window.location.assign(answer.url);
}

function tell(html) {
  const fresh = new DOMParser().parseFromString(html, "text/html").querySelector(".live");
  const here = document.querySelector(".live");
  if (fresh && here) here.replaceChildren(...fresh.childNodes);
}

if (conversation && talk()) {
  document.addEventListener("submit", send);
  follow();
}
