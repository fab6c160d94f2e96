// What the coordinator tells: methods of its service that only read, as proto3 JSON (see
// coordinator/live/gateway.h). Counts of 64 bits come as text.

export type Params = Record<string, string | number | boolean | string[]>;

/** What the coordinator refused, or that it could not be asked ("UNREACHABLE"). */
export class Refused extends Error {
  constructor(readonly code: string, message: string) {
    super(message);
  }
}

function url(method: string, params: Params): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    for (const one of Array.isArray(value) ? value : [value]) query.append(name, String(one));
  }
  return `/api/${method}?${query}`;
}

async function request(method: string, params: Params, signal?: AbortSignal): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(url(method, params), signal ? { signal } : {});
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Refused("UNREACHABLE", "The coordinator does not answer.");
  }
  if (response.ok) return response;
  const told = await response.json().catch(() => undefined) as { error?: { code: string; message: string } } | undefined;
  throw new Refused(told?.error?.code ?? "UNKNOWN", told?.error?.message ?? `HTTP ${response.status}`);
}

/** Whether the same question may be answered later: nobody was reached, or too much was asked at once. */
export function isPassing(error: unknown): boolean {
  return !(error instanceof Refused) || ["UNREACHABLE", "UNAVAILABLE", "RESOURCE_EXHAUSTED", "DEADLINE_EXCEEDED", "CANCELLED"].includes(error.code);
}

export async function ask<T>(method: string, params: Params = {}, signal?: AbortSignal): Promise<T> {
  return await (await request(method, params, signal)).json() as T;
}

export async function text(method: string, params: Params, signal?: AbortSignal): Promise<string> {
  return (await request(method, params, signal)).text();
}

/** The first message of a stream, which is then left. */
export async function glance<T>(method: string, params: Params, signal: AbortSignal): Promise<T | undefined> {
  const own = new AbortController();
  const leave = () => own.abort();
  signal.addEventListener("abort", leave, { once: true });
  try {
    const reader = (await request(method, params, own.signal)).body?.pipeThrough(new TextDecoderStream()).getReader();
    let heard = "";
    for (let piece = await reader?.read(); piece && !piece.done; piece = await reader?.read()) {
      heard += piece.value;
      const message = /^data: (.*)\n\n/m.exec(heard)?.[1];
      if (message !== undefined) return /^event: /m.test(heard) ? undefined : JSON.parse(message) as T;
    }
    return undefined;
  } finally {
    signal.removeEventListener("abort", leave);
    own.abort();
  }
}

/** Where a stream of `method` goes on after the event of that id: see coordinator/live/event_place.h. */
function after(method: string, id: string): Params {
  if (!id) return {};
  if (method === "WatchSweep") return { resume_token: id };
  const [lease = "0", step = "0"] = id.split(":");
  return { lease, after_step: step };
}

export interface Listener<T> {
  message(what: T): void;
  /** True while the stream is open; false: it is tried again by itself. */
  connected(is: boolean): void;
  /** There will be no more: it has ended, or the coordinator refused it. */
  ended(refused?: Refused): void;
}

const TRY_AGAIN_MS = 2000;

/**
 * Messages of a stream as they come, until `signal` is aborted. A tab that nobody sees is not
 * connected: a browser has six connections to a host for all its tabs. It goes on where it was.
 */
export function listen<T>(method: string, params: Params, signal: AbortSignal, listener: Listener<T>): void {
  let source: EventSource | undefined;
  let place = "";
  let again = 0;
  const close = () => {
    source?.close();
    source = undefined;
    clearTimeout(again);
  };
  const end = (refused?: Refused) => {
    close();
    document.removeEventListener("visibilitychange", look);
    listener.ended(refused);
  };
  const open = () => {
    close();
    source = new EventSource(url(method, { ...params, ...after(method, place) }));
    source.onopen = () => listener.connected(true);
    source.onmessage = (event: MessageEvent<string>) => {
      place = event.lastEventId;
      listener.message(JSON.parse(event.data) as T);
    };
    source.addEventListener("end", () => end());
    source.addEventListener("failed", (event) => {
      const { error } = JSON.parse((event as MessageEvent<string>).data) as { error: { code: string; message: string } };
      const refused = new Refused(error.code, error.message);
      if (isPassing(refused)) lost();
      else end(refused);
    });
    source.onerror = lost;
  };
  // What EventSource does by itself is not enough: it gives up where it is refused, and a
  // coordinator that starts anew is refused for a while.
  const lost = () => {
    close();
    listener.connected(false);
    again = setTimeout(() => void comeBack(), TRY_AGAIN_MS);
  };
  // An EventSource does not say why it was refused.
  const comeBack = async () => {
    try {
      await ask("GetVersion", {}, signal);
      open();
    } catch (error) {
      if (signal.aborted) return;
      if (isPassing(error)) lost();
      else end(error as Refused);
    }
  };
  const look = () => {
    if (document.hidden) close();
    else if (!source) open();
  };
  document.addEventListener("visibilitychange", look);
  signal.addEventListener("abort", () => {
    close();
    document.removeEventListener("visibilitychange", look);
  });
  look();
}
