import { withPart } from "../../../scripts/page-part.ts";
import type { Verdicts } from "./verdicts.ts";
import { kinds, viewOf } from "./view.ts";
import type { Row } from "./world.ts";

export const page = "docs/proof/health.md";

const head = ["| state | `Ready` | `Reconciling` | `Stalled` | kstatus, Flux | Argo CD |", "|---|---|---|---|---|---|"];

/** The page with its tables as these rows and verdicts say. */
export function written(text: string, rows: readonly Row[], verdicts: readonly Verdicts[]): string {
  const tables = kinds.map((kind) => {
    const lines = rows.flatMap((row, index) => (row.kind === kind ? [lineOf(row, verdicts[index])] : []));
    return [`### ${kind}`, "", ...head, ...lines.toSorted(), ""].join("\n");
  });
  return withPart(text, "health", tables.join("\n"));
}

function lineOf({ remark, object }: Row, verdicts: Verdicts | undefined): string {
  const { reason, state, ready, reconciling, stalled } = viewOf(object);
  const shown = [reason === "" ? "" : `\`${reason}\``, state === "" || state === reason ? "" : `(${state})`, remark];
  const name = shown.filter((part) => part !== "").join(" ");
  const cells = [name, ready, reconciling, stalled, verdicts?.kstatus ?? "", verdicts?.argocd ?? ""];
  return `| ${cells.join(" | ")} |`;
}
