/** The address of the public service: the only one allowed unless `--allowed-base-url` is set. */
export const publicServicePattern = "https://console.neon.tech/api/v2";

/** Normal form: host in lower case, no default port or trailing slash; `undefined` if the text is no base URL. */
export function normalisedBaseURL(text: string): string | undefined {
  if (!URL.canParse(text)) return undefined;
  const url = new URL(text);
  if (url.protocol !== "https:" && url.protocol !== "http:") return undefined;
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "") return undefined;
  const path = url.pathname.replaceAll(/\/+/g, "/").replace(/\/$/, "");
  return `${url.protocol}//${url.host}${path}`;
}

/** Whether a normalised base URL matches one of the patterns; `*` matches any characters but `/`. */
export function isAllowedBaseURL(baseURL: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => {
    const parts = withoutDefaultPort(pattern).replace(/\/$/, "").split("*");
    const source = parts.map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)).join("[^/]*");
    return new RegExp(`^${source}$`, "i").test(baseURL);
  });
}

/** As in a normalised base URL. */
function withoutDefaultPort(pattern: string): string {
  return pattern.replace(/^(https:\/\/[^/]*):443(?=\/|$)|^(http:\/\/[^/]*):80(?=\/|$)/i, "$1$2");
}
