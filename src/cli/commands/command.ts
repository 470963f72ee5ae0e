import { defaultCreateSettleMs } from "../../operator/flags.ts";
import { isBeingDeleted, placeOf } from "../../operator/objects/object.ts";
import { givenAccount } from "../manifests/accounts.ts";
import { Clients } from "../plan/clients.ts";
import { hasChanges, hasProblems, isLeftForLater, isUnderWay, type Plan } from "../plan/entries.ts";
import { planAll } from "../plan/plan.ts";
import { type Prepared, prepare, withTransport } from "../plan/prepare.ts";
import { tooManyDeletes } from "../plan/prune.ts";
import { renderPlan } from "../plan/render.ts";
import { Application } from "./apply.ts";
import { requireWritable, secretsNote, writeConnections } from "./connections.ts";
import { exportProjects } from "./export.ts";
import {
  type ApplyFlags,
  applySyntax,
  exportSyntax,
  parseApplyFlags,
  parseExportFlags,
  parsePlanFlags,
  planSyntax,
} from "./flags.ts";
import { askForYes, type CliPorts, CommandProblem, complain } from "./ports.ts";
import { reporting } from "./reporting.ts";

/** `compute-operator plan`: returns the exit status, 0 for nothing to do, 2 for changes, 1 for an error. */
export function planCommand(args: readonly string[], ports: CliPorts): Promise<number> {
  return reporting(planSyntax, parsePlanFlags, args, ports, (flags) =>
    withTransport(ports, async (transport) => {
      const options = { ...flags, createSettleMs: defaultCreateSettleMs, writes: false };
      const planned = await planAll(await prepare(options, ports, transport), flags);
      ports.stdout(renderPlan(planned, flags.output, inColour(ports)));
      if (hasProblems(planned)) return 1;
      return hasChanges(planned) ? 2 : 0;
    }),
  );
}

/** `compute-operator apply`: returns the exit status, 0 if everything is as declared. */
export function applyCommand(args: readonly string[], ports: CliPorts): Promise<number> {
  return reporting(applySyntax, parseApplyFlags, args, ports, (flags) =>
    withTransport(ports, async (transport) => {
      if (flags.connectionFile !== undefined) requireWritable(flags.connectionFile);
      const prepared = await prepare({ ...flags, writes: true }, ports, transport);
      const status = await apply(flags, prepared, ports);
      if (status === 0) await handOut(flags, prepared, ports);
      return status;
    }),
  );
}

/** End of an apply that succeeded: the connections, or the command that prints one. */
async function handOut(flags: ApplyFlags, { inventory }: Prepared, ports: CliPorts): Promise<void> {
  const { connectionFile } = flags;
  if (connectionFile !== undefined) return writeConnections(inventory, connectionFile, ports);
  const note = secretsNote(inventory, flags);
  if (note !== undefined) ports.stdout(note);
}

/** Shows the plan, asks, and carries out what was shown: a plan that has changed meanwhile is not applied. */
async function apply(flags: ApplyFlags, prepared: Prepared, ports: CliPorts): Promise<number> {
  const { inventory } = prepared;
  const { tracked } = inventory;
  const leaving = [...tracked.Compute, ...tracked.Branch].filter(({ object }) => isBeingDeleted(object));
  if (leaving.length > 0) {
    const why = "is being deleted in its cluster, where the operator deletes it: remove it from the manifests";
    throw new CommandProblem(leaving.map(({ kind, object }) => `${kind} ${placeOf(object.metadata)} ${why}`));
  }
  const shown = await planAll(prepared, flags);
  ports.stdout(renderPlan(shown, "text", inColour(ports)));
  const tooMany = flags.prune ? tooManyDeletes(inventory, flags.namespace, flags.maxDeletes) : undefined;
  if (tooMany !== undefined) throw new CommandProblem([tooMany]);
  // A change that waits for a window or its turn is not sent, so it is no reason to ask.
  const now = { ...shown, entries: shown.entries.filter((entry) => !isLeftForLater(entry)) };
  if (!hasChanges(now) && !isUnderWay(now)) return hasProblems(shown) ? 1 : 0;
  if (!flags.yes) {
    await askForYes("\nApply this plan?", "apply cannot ask: pass --yes to apply the plan", ports);
    const again = await planAll(prepared, flags);
    if (agreedTo(again) !== agreedTo(shown)) {
      throw new CommandProblem(["the service has changed since the plan was shown; nothing was sent. Run apply again"]);
    }
  }
  ports.stdout("");
  const application = new Application({ inventory, timeoutMs: flags.timeoutMs, say: ports.stdout });
  const { done, waiting, failed } = await application.run();
  const left = Object.entries(waiting).flatMap(([what, count]) =>
    count === 0 ? [] : `, ${count} waiting for ${what}`,
  );
  ports.stdout(`\nApplied: ${done} as declared${left.join("")}${failed === 0 ? "" : `, ${failed} not`}.`);
  return failed === 0 ? 0 : 1;
}

/** The part of a plan that a yes is for: what is sent, at once or after a wait, and what is refused. */
function agreedTo({ entries, branches = [] }: Plan): string {
  const agreed = [...branches, ...entries].flatMap((entry) => {
    // The plan after the answer finds what it adopts linked already.
    const { adopts: _, reason, message, ...what } = entry;
    if (what.step === "none") return [];
    if (what.step !== "wait") return [{ ...what, reason, message }];
    return what.fields.length === 0 ? [] : [what];
  });
  return JSON.stringify(agreed);
}

/** True at a terminal, unless the variable NO_COLOR is set (no-color.org). */
function inColour({ stdoutTerminal, env }: CliPorts): boolean {
  return stdoutTerminal && (env.NO_COLOR ?? "") === "";
}

/** `compute-operator export`: returns the exit status. */
export function exportCommand(args: readonly string[], ports: CliPorts): Promise<number> {
  return reporting(exportSyntax, parseExportFlags, args, ports, (flags) =>
    withTransport(ports, async (transport) => {
      const account = givenAccount({ baseURL: flags.baseURL, env: ports.env });
      const { client } = new Clients({ transport, clock: ports.clock }).of(account);
      const { yaml, notes } = await exportProjects(flags, client, ports.signal);
      if (yaml !== "") ports.stdout(yaml);
      for (const line of notes) complain(ports, "compute-operator export", line);
      return 0;
    }),
  );
}
