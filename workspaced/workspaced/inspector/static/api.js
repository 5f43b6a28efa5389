/**
 * The API: each path of it gives a view's values as JSON.
 *
 * The address that `workspaced inspect` prints holds the token in its fragment, which no server sees. It moves to this
 * tab's storage and leaves the address, so that a copied link does not hold it.
 */

const KEY = "workspaced-token";

/** An error that the API answered, or that kept it from answering. */
export class ApiError extends Error {
  /**
   * @param {string} code
   * @param {string} message
   * @param {string} hint the step that repairs it
   */
  constructor(code, message, hint) {
    super(message);
    this.code = code;
    this.hint = hint;
  }
}

/** Takes the token, and a moment to show first, out of the address: `#token=...&at=120`. */
export function takeToken() {
  const given = new URLSearchParams(location.hash.slice(1));
  const token = given.get("token");
  if (token === null) return;
  sessionStorage.setItem(KEY, token);
  const at = given.get("at");
  history.replaceState(null, "", at === null ? "#/" : `#/at/${encodeURIComponent(at)}`);
}

/** @returns {boolean} whether this tab has a token */
export const hasToken = () => sessionStorage.getItem(KEY) !== null;

/**
 * Tells this inspector from others that had the same port before: their tabs may still be open.
 * @returns {string}
 */
export const inspectorId = () => (sessionStorage.getItem(KEY) ?? "").slice(0, 8);

/**
 * @param {string} path
 * @param {RequestInit} [options]
 */
async function send(path, options = {}) {
  const headers = { ...options.headers, Authorization: `Bearer ${sessionStorage.getItem(KEY) ?? ""}` };
  let response;
  try {
    response = await fetch(path, { ...options, headers });
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new ApiError("GONE", "The inspector no longer answers.", "Start `workspaced inspect` again, and open its address.");
  }
  if (response.ok) return response;
  const { error } = await response.json();
  throw new ApiError(error.code, error.message, error.hint);
}

/**
 * The values of a view.
 * @template T
 * @param {string} path such as "/api/state"
 * @param {Record<string, string | number | boolean | undefined>} [parameters] undefined ones are left out
 * @param {AbortSignal} [signal]
 * @returns {Promise<T>}
 */
export async function get(path, parameters = {}, signal) {
  const response = await send(addressOf(path, parameters), { signal });
  return response.json();
}

/**
 * @param {string} path
 * @param {Record<string, string | number | boolean | undefined>} parameters
 */
function addressOf(path, parameters) {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined);
  const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
  return given.length ? `${path}?${query}` : path;
}

/**
 * A file that the API gives. (A plain link to it cannot send the token.)
 * @param {string} path
 * @param {Record<string, string | number | boolean | undefined>} [parameters] as of `get`
 * @returns {Promise<{ name: string, content: Blob }>}
 */
export async function file(path, parameters = {}) {
  const response = await send(addressOf(path, parameters));
  const name = /filename="([^"]*)"/.exec(response.headers.get("content-disposition") ?? "")?.[1] ?? "file";
  return { name, content: await response.blob() };
}

/**
 * Sends values, and gives the answer's.
 * @template T
 * @param {string} path
 * @param {object} body
 * @param {AbortSignal} [signal]
 * @returns {Promise<T>}
 */
export async function post(path, body, signal) {
  const headers = { "Content-Type": "application/json" };
  const response = await send(path, { method: "POST", headers, body: JSON.stringify(body), signal });
  return response.json();
}

/**
 * The messages of a stream of server-sent events, until it ends. (`EventSource` cannot send the token.)
 * @param {string} path
 * @param {AbortSignal} signal
 * @returns {AsyncGenerator<{ event: string, data: any }>}
 */
export async function* stream(path, signal) {
  const response = await send(path, { signal });
  if (response.body === null) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let pending = "";
  for (let part; !(part = await reader.read()).done; ) {
    const messages = (pending + part.value).split("\n\n");
    pending = messages.pop() ?? "";
    for (const message of messages) {
      const event = /^event: (.*)$/m.exec(message)?.[1] ?? "message";
      const data = /^data: (.*)$/m.exec(message)?.[1];
      if (data !== undefined) yield { event, data: JSON.parse(data) };
    }
  }
}
