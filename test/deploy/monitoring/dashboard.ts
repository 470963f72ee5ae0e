import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { z } from "zod";

const schema = z.object({
  panels: z.array(
    z.object({
      id: z.int(),
      type: z.enum(["row", "stat", "timeseries"]),
      title: z.string(),
      description: z.string().optional(),
      gridPos: z.object({ x: z.int(), y: z.int(), w: z.int(), h: z.int() }),
      targets: z.array(z.object({ expr: z.string(), legendFormat: z.string() })).optional(),
      fieldConfig: z
        .object({
          defaults: z.object({
            unit: z.string(),
            custom: z.object({ stacking: z.object({ mode: z.string() }).optional() }).optional(),
          }),
        })
        .optional(),
    }),
  ),
});

const file = "deploy/monitoring/dashboard.json";

/** The dashboard that is shipped. */
export const dashboard = schema.parse(JSON.parse(readFileSync(file, "utf8")));

/** Written by the run that draws the picture: the dashboard that it is of. */
export const digestFile = "docs/images/dashboard.sha256";

export function digest(): string {
  return createHash("sha256").update(readFileSync(file)).digest("hex");
}
export type Panel = (typeof dashboard.panels)[number];

/** A query with something in the place of what Grafana would put in for its variables. */
export function filledIn(expression: string, rateInterval: string): string {
  return expression.replaceAll(/\$(namespace|team)\b/g, ".*").replaceAll("$__rate_interval", rateInterval);
}
