import { applyJsonPatch } from "../simulation/api-server/json-patch.ts";
import type { JsonObject } from "../simulation/api-server/objects.ts";
import { Refusal } from "../simulation/api-server/refusal.ts";
import { wallIn } from "./calendar.ts";
import { newestVersion, renumbered, textOf, trusted } from "./canonical.ts";
import type { Effect } from "./memory.ts";
import { carriedOut, type Service, shown, type Write } from "./service.ts";
import { type Patch, type World, WorldState } from "./state.ts";
import type { Kube } from "./terms.ts";

/** The API server and the service: what a patch or a write does to them. */
export class Servers extends WorldState {
  protected readonly patched = new Map<string, number | "stale" | "gone">();

  /** Applies a patch if its tests hold; the object's content afterwards, or `undefined`. */
  protected apply(current: World, patch: Patch, version: number): number | undefined {
    if (current.object === 0 || (version !== 0 && version !== newestVersion)) return undefined;
    const key = `${current.object} ${textOf(patch)}`;
    let content = this.patched.get(key);
    if (content === undefined) {
      content = this.patchedContent(current.object, patch);
      this.patched.set(key, content);
    }
    if (typeof content !== "number") return undefined;
    const { metadata } = this.content(content);
    const isGone = metadata.deletionTimestamp !== undefined && (metadata.finalizers ?? []).length === 0;
    if (isGone || content !== current.object) this.writeObject(current, isGone ? 0 : content);
    return content;
  }

  protected patchedContent(content: number, { ops, status }: Patch): number | "stale" {
    const object = this.content(content);
    try {
      const after = trusted<Kube>(applyJsonPatch(trusted<JsonObject>(object), ops));
      const kept = status ? { ...object, status: after.status ?? {} } : { ...after, status: object.status };
      return this.texts.of(textOf(tidied(kept)));
    } catch (error) {
      if (error instanceof Refusal) return "stale";
      throw error;
    }
  }

  /** A newer version: every other one is one older. */
  protected writeObject(current: World, content: number): void {
    if (content === current.object) return;
    const { spec } = this.content(current.object);
    if (content === 0 && (spec.deletionPolicy === "Retain" || spec.managementPolicy === "Observe"))
      current.facts.isRetained = true;
    const applied = content === 0 ? undefined : this.content(content).status.appliedEntry;
    // The status may name the entry whose size a list showed, without a write.
    if (applied !== undefined && applied === current.facts.shownEntry) current.facts.broughtTo = applied;
    const names = new Map<number, number>();
    for (let version = newestVersion; version > newestVersion - 100; version--) names.set(version, version - 1);
    for (const process of current.processes) {
      process.version -= 1;
      process.memory = this.texts.of(renumbered(this.texts.text(process.memory), names));
    }
    // Late patches that test a version fit no more.
    current.late = current.late.filter(({ version }) => version === 0);
    current.before = this.configuration.may["oldStart"] === undefined ? 0 : current.object;
    current.object = content;
  }

  protected carryOut(current: World, write: Write) {
    const before = this.service(current);
    const isTimed = this.configuration.phases.length > 1;
    const now = isTimed ? wallIn(this.configuration, current.phase) : undefined;
    const { service, answer } = carriedOut(before, write, this.configuration, now);
    const bad = this.configuration.forbids(
      write,
      before,
      current.object === 0 ? undefined : this.object(current),
      current.facts,
    );
    if (bad !== undefined && answer.kind === "ok") current.facts.bad = bad;
    this.change(current, service);
    return answer;
  }

  protected change(current: World, service: Service): void {
    const after = this.texts.of(textOf(service));
    if (after === current.service) return;
    if (
      this.configuration.lagInstants > 0 &&
      !current.past.some((one) => one.service === current.service && one.age === 0)
    )
      current.past.push({ service: current.service, age: 0 });
    current.service = after;
  }

  protected listOf(service: number, content: number) {
    const { connectionRef } = this.content(content).spec;
    const { endpoints } = trusted<Service>(JSON.parse(this.texts.text(service)));
    return endpoints
      .filter(({ at }) => at === connectionRef.name)
      .map((endpoint) => shown(endpoint, this.configuration));
  }
}

/** What a patch tests of the object's version, and the rest of it. */
export function splitPatch({ ops, status }: Extract<Effect, { kind: "patch" }>): { patch: Patch; version: number } {
  const isVersion = (op: { path: string }) => op.path === "/metadata/resourceVersion";
  const test = ops.find(isVersion);
  const version = test === undefined ? 0 : Number(String(trusted<{ value: unknown }>(test).value).slice(8));
  return { patch: { ops: ops.filter((op) => !isVersion(op)), status }, version };
}

/** As the API server stores it: without empty lists and maps. */
export function tidied(object: Kube): Kube {
  const { annotations: noted, finalizers: held, ...metadata } = object.metadata;
  return {
    ...object,
    metadata: {
      ...metadata,
      ...(noted !== undefined && Object.keys(noted).length > 0 ? { annotations: noted } : {}),
      ...(held !== undefined && held.length > 0 ? { finalizers: held } : {}),
    },
  };
}
