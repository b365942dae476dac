/**
 * The token that lets this page in. It comes with the address once, is kept for this address alone, and goes
 * out in a header: unlike a cookie it never reaches another server on this machine.
 */

/** Where the page lies; a proxy may have put it below a path of its own. */
export const BASE = new URL(".", globalThis.document?.baseURI ?? "http://localhost/");

const NAME = `lass-token:${BASE.pathname}`;
const storage = globalThis.localStorage as Storage | undefined;

/** The token in a text: itself, or the address that holds it. */
export function tokenIn(text: string): string | null {
  return /(?:^|[?&#]token=)([0-9a-f]{32})(?:$|[&#])/.exec(text.trim())?.[1] ?? null;
}

let token = storage?.getItem(NAME) ?? "";

export const current = (): string => token;

export function keep(given: string): void {
  token = given;
  storage?.setItem(NAME, given);
}

/** Takes the token out of the address, so that it is in no bookmark and on no screenshot. */
export function fromAddress(): void {
  const asked = new URLSearchParams(location.search);
  const given = asked.get("token");
  if (given === null) return;
  keep(given);
  asked.delete("token");
  const rest = asked.toString();
  history.replaceState(history.state, "", `${location.pathname}${rest ? `?${rest}` : ""}${location.hash}`);
}
