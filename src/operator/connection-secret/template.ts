import type { Compute } from "../resources/compute.ts";

export type Template = NonNullable<NonNullable<Compute["spec"]["connectionSecret"]>["template"]>;

const placeholder = /\{([a-z-]+)\}/g;

/** From here on a value is a URI. */
const uriBefore = /:\/\/|\{(pooled-)?uri\}/;

/** The most that a template may come to, in characters: what a Secret holds. A service decides how long a URI is. */
const most = 1024 * 1024;

/**
 * The keys that a template adds to a connection Secret. `details` are the keys that the operator writes, which fill the
 * placeholders: as they are, and percent-encoded within a URI. `missing` names what the service does not show.
 */
export function filledIn(
  { data = {} }: Template,
  details: Readonly<Record<string, string>>,
):
  | { kind: "filled"; data: Record<string, string> }
  | { kind: "missing"; key: string; placeholder: string }
  | { kind: "tooLarge" } {
  const filled: Record<string, string> = {};
  let room = most;
  for (const [key, text] of Object.entries(data)) {
    const lacking = [...text.matchAll(placeholder)].find(([, name = ""]) => details[name] === undefined);
    if (lacking !== undefined) return { kind: "missing", key, placeholder: lacking[0] };
    filled[key] = text.replaceAll(placeholder, (_, name: string, at: number) => {
      if (room < 0) return "";
      const value = details[name] ?? "";
      const written = uriBefore.test(text.slice(0, at)) ? withinURI(name, value) : value;
      room -= written.length;
      return written;
    });
    if (room < 0) return { kind: "tooLarge" };
  }
  return { kind: "filled", data: filled };
}

/** The address of a host with colons stands in brackets, and is not encoded. */
function withinURI(name: string, value: string): string {
  const isHost = name === "host" || name === "pooled-host";
  return isHost && value.includes(":") ? `[${value}]` : encodeURIComponent(value);
}
