// Calls to the server: the token goes in a header, streams are read by fetch and taken up again.

import { setText, setClass, say } from "./dom.js";

const KEY = "hisa-token";
const SILENCE = 60000; // milliseconds without even a ping, after which a stream counts as lost
let worked = false;
let whenRefused = () => {};

export const onRefused = (handler) => (whenRefused = handler);
export const token = () => sessionStorage.getItem(KEY) ?? "";

export function keepToken(text) {
  const match = /(?:^|[#&])token=([^&\s]{1,512})/.exec(text) ?? /^\s*([\w.~-]{8,512})\s*$/.exec(text);
  if (!match) return false;
  sessionStorage.setItem(KEY, decodeURIComponent(match[1]));
  worked = false;
  return true;
}

export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

export function linkState(state) {
  const words = { on: "connected", off: "no connection, trying again", refused: "not allowed in" };
  const element = document.getElementById("link");
  setClass(element, `link-state ${state}`);
  setText(element, words[state] ?? "");
}

async function problem(response) {
  const body = await response.json().catch(() => null);
  const text = body?.error ?? body?.detail ?? `the server answered ${response.status}`;
  return new Refused(response.status, typeof text === "string" ? text : JSON.stringify(text));
}

export async function ask(path, { method = "GET", body, signal, headers = {} } = {}) {
  const sent = { Authorization: `Bearer ${token()}`, ...headers };
  if (body !== undefined) sent["Content-Type"] = "application/json";
  let response;
  try {
    const text = body === undefined ? undefined : JSON.stringify(body);
    response = await fetch(path, { method, signal, headers: sent, body: text, cache: "no-store" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    linkState("off");
    throw new Refused(0, "The server does not answer. Is hisa serve still running?");
  }
  if (response.status === 401) {
    linkState("refused");
    whenRefused(worked);
    throw new Refused(401, "The token is not valid.");
  }
  worked = true;
  linkState("on");
  if (!response.ok && response.status !== 304) throw await problem(response);
  return response;
}

export const get = async (path, signal) => (await ask(path, { signal })).json();
export const send = async (path, body, method = "POST") => {
  const text = await (await ask(path, { method, body: body ?? {} })).text();
  return text ? JSON.parse(text) : {};
};
export const path = (...parts) => "/api/" + parts.map((part) => encodeURIComponent(part)).join("/");

// The picture as an address for <img>, or null where it is as before (304).
export async function picture(address, signal) {
  const response = await ask(address, { signal });
  return response.status === 304 ? null : URL.createObjectURL(await response.blob());
}

// Shows a picture and lets go of the one before.
export function putPicture(image, address) {
  const old = image.src;
  image.onload = () => old.startsWith("blob:") && URL.revokeObjectURL(old);
  image.src = address;
}

export const wait = (milliseconds, signal) => new Promise((resolve) => {
  const timer = setTimeout(resolve, milliseconds);
  signal?.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
});

// Lines of an event stream to events {id, event, data}; a part of a line waits for its rest.
export function streamParser(onEvent) {
  let rest = "", fields = { event: "", data: [], id: undefined };
  const line = (text) => {
    if (text === "") {
      if (fields.data.length) onEvent({ ...fields, event: fields.event || "message", data: fields.data.join("\n") });
      fields = { event: "", data: [], id: fields.id };
      return;
    }
    const colon = text.indexOf(":");
    const name = colon < 0 ? text : text.slice(0, colon);
    const value = colon < 0 ? "" : text.slice(colon + 1).replace(/^ /, "");
    if (name === "data") fields.data.push(value);
    else if (name === "event" || name === "id") fields[name] = value;
  };
  return (chunk) => {
    const lines = (rest + chunk).split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop();
    if (rest.length > 4e6) throw new Error("a line of the stream is too long");
    lines.forEach(line);
  };
}

// Follows an event stream until `signal`; `handlers` by the event's name take its data.
export async function follow(address, handlers, signal) {
  let last = "", pause = 500;
  while (!signal.aborted) {
    try {
      const headers = { Accept: "text/event-stream", ...(last && { "Last-Event-ID": last }) };
      const response = await ask(address, { signal, headers });
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      const feed = streamParser(({ id, event, data }) => {
        if (id) last = id;
        pause = 500;
        if (handlers[event]) handlers[event](JSON.parse(data), id);
      });
      for (let done = false; !done; ) {
        const silent = setTimeout(() => reader.cancel(), SILENCE);
        const part = await reader.read();
        clearTimeout(silent);
        if (!(done = part.done)) feed(part.value);
      }
      if (handlers.closed?.()) return;
    } catch (error) {
      if (signal.aborted || error.status === 401) return;
      if (error.status === 404) return handlers.missing?.(error);
      if (!(error instanceof Refused)) console.warn("stream", error);
    }
    if (signal.aborted) return;
    linkState("off");
    say("The connection is lost; trying again.");
    await wait(pause * (0.7 + 0.6 * Math.random()), signal);
    pause = Math.min(pause * 2, 15000);
  }
}
