import { z } from "zod";
import { objectMeta, type Parsed, parseWith } from "../../operator/objects/object.ts";
import type { Secret } from "../../operator/resources/secret.ts";

const text = z.record(z.string(), z.string());

const manifest = z.object({
  kind: z.string().optional(),
  metadata: objectMeta,
  type: z.string().optional(),
  data: text.optional(),
  stringData: text.optional(),
});

/** A Secret as the API server would store it: `stringData` replaces values of `data`. */
export function secretOf(raw: unknown): Parsed<Secret> {
  const parsed = parseWith(manifest, raw);
  if (!parsed.ok) return parsed;
  const { metadata, type, data, stringData = {} } = parsed.value;
  const written = Object.entries(stringData).map(([key, value]) => [
    key,
    Buffer.from(value, "utf8").toString("base64"),
  ]);
  const merged: Record<string, string> = { ...data, ...Object.fromEntries(written) };
  return { ok: true, value: { kind: "Secret", metadata, ...(type === undefined ? {} : { type }), data: merged } };
}
