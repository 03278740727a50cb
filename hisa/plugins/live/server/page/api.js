// Calls to the server: the token goes in a header, streams are read by fetch and resumed.
import { say, setClass, setText } from "./dom.js";
const KEY = "hisa-token", SILENCE = 60000; // milliseconds without even a ping, after which a stream counts as lost
let worked = false, whenRefused = () => {};
export const onRefused = (handler) => (whenRefused = handler);
export const token = () => sessionStorage[KEY] ?? "";
export const path = (...parts) => "/api/" + parts.map((part) => encodeURIComponent(part)).join("/");
export function keepToken(text) {
  const match = /[#&]token=([^&\s]{1,512})/.exec(text) ?? /^\s*([\w.~-]{8,512})\s*$/.exec(text);
  if (match) [sessionStorage[KEY], worked] = [match[1], false];
  return Boolean(match);
}
const refused = (status, message) => Object.assign(new Error(message), { status });
export function linkState(state) {
  setClass(document.getElementById("link"), `link-state ${state}`);
  setText(document.getElementById("link"), { on: "connected", off: "no connection, trying again", refused: "token needed" }[state]);
}
export async function ask(address, { method = "GET", body, signal, headers = {} } = {}) {
  const sent = { Authorization: `Bearer ${token()}`, ...(body && { "Content-Type": "application/json" }), ...headers };
  const response = await fetch(address, { method, signal, headers: sent, body: body && JSON.stringify(body), cache: "no-store" }).catch((error) => {
    if (error.name === "AbortError") throw error;
    throw linkState("off") ?? refused(0, "The server does not answer. Is hisa serve still running?");
  });
  if (response.status === 401) { whenRefused(worked); throw refused(401, "The token is not valid."); }
  worked = true;
  linkState("on");
  if (response.ok || response.status === 304) return response;
  const { error, fix } = (await response.json().catch(() => null)) ?? {};
  throw refused(response.status, [error ?? `The server answered ${response.status}.`, fix].filter(Boolean).join(" – "));
}
export const get = async (address, signal) => (await ask(address, { signal })).json();
export const send = async (address, body = {}, method = "POST") => (await ask(address, { method, body })).json().catch(() => ({}));
// The picture as an address for <img>, or null if it is as before (304).
export async function picture(address, signal) {
  const response = await ask(address, { signal });
  return response.status === 304 ? null : URL.createObjectURL(await response.blob());
}
// Shows a picture and frees the previous one.
export function putPicture(image, address) { const old = image.src; image.onload = () => old && URL.revokeObjectURL(old); image.src = address; }
export const wait = (milliseconds, signal) => new Promise((resolve) => {
  const done = () => { clearTimeout(timer); signal.removeEventListener("abort", done); resolve(); }, timer = setTimeout(done, milliseconds);
  signal.addEventListener("abort", done);
});
// Takes pieces of an event stream and returns whole events {id, event, data}; a part of a line waits for its rest.
export function streamParser(onEvent) {
  let rest = "", event = "", data = [], id = "";
  const line = (text) => {
    const [, name, value] = /^([^:]*):? ?([^]*)$/.exec(text);
    if (name === "data") data.push(value);
    else if (name === "event") event = value;
    else if (name === "id") id = value;
    if (text === "" && data.length) onEvent({ id, event, data: data.join("\n") });
    if (text === "") [event, data] = ["", []];
  };
  return (piece) => {
    const lines = (rest + piece).split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop();
    if (rest.length > 8e6) throw new Error("a line of the stream is too long");
    lines.forEach(line);
  };
}

async function readStream(response, feed) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let part = {}; !part.done; ) {
    const silent = setTimeout(() => reader.cancel(), SILENCE);
    part = await reader.read().finally(() => clearTimeout(silent));
    if (part.value) feed(part.value);
  }
}
// Follows an event stream until `signal`; `handlers`, by the event's name, take its data. A lost stream is resumed
// after the last event that came, with growing pauses.
export async function follow(address, handlers, signal) {
  let last = "", pause = 500;
  const feed = () => streamParser(({ id, event, data }) => { [last, pause] = [id || last, 500]; handlers[event]?.(JSON.parse(data)); });
  while (!signal.aborted) {
    try {
      const headers = { Accept: "text/event-stream", ...(last && { "Last-Event-ID": last }) };
      await readStream(await ask(address, { signal, headers }), feed());
    } catch (error) { if (signal.aborted || [401, 404].includes(error.status)) return; if (error.status === undefined) console.warn("stream", error); }
    if (!signal.aborted) linkState("off") ?? say("The connection is lost; trying again.");
    await wait(pause * (0.7 + 0.6 * Math.random()), signal);
    pause = Math.min(pause * 2, 15000);
  }
}
