import { isJsonObject, type JsonObject } from "../api-server/objects.ts";
import { Dice } from "../dice.ts";
import { seededRandom } from "../random.ts";
import type { Action, Timed } from "./actions.ts";
import type { Script } from "./run-script.ts";

/** The share of runs with connection Secrets, most of them in another namespace. */
const share = 0.2;

/** A copied manifest names the Secret of another Compute. */
const without: readonly Action["do"][] = ["copy"];

const others = ["apps", "more"] as const;

/**
 * Computes name connection Secrets, now here, now there; other namespaces agree to them and no longer; people have
 * Secrets of such names, and delete some of the Computes'. All is from dice of its own. In the end both agree.
 */
export function withSecrets(script: Script): Script {
  const dice = new Dice(seededRandom(script.seed ^ 0x5ec2e7));
  const { actions, calmAtMs, strictSpec } = script;
  if (!dice.chance(share) || strictSpec === true || actions.some(({ action }) => without.includes(action.do)))
    return script;
  const wanted = new Map<string, JsonObject>();
  const named = actions.map(({ atMs, action }): Timed => {
    if (action.do !== "apply" || action.spec["managementPolicy"] !== undefined) return { atMs, action };
    const { name, spec } = action;
    const kept = dice.chance(0.5) ? wanted.get(name) : undefined;
    const connectionSecret = kept ?? secretOf(dice, name);
    wanted.set(name, connectionSecret);
    return { atMs, action: { ...action, spec: { ...spec, ...connectionSecret } } };
  });
  const places = named.flatMap(({ action }) => (action.do === "apply" ? placesIn(action.spec) : []));
  const all = [...named, ...byPeople(dice, places, calmAtMs)].toSorted((a, b) => a.atMs - b.atMs);
  return { ...script, actions: all };
}

function secretOf(dice: Dice, name: string): JsonObject {
  if (dice.chance(0.1)) return {};
  const place = dice.chance(0.15) ? {} : { namespace: dice.pick(others) };
  const connectionSecret = {
    name: dice.chance(0.7) ? `${name}-db` : `${name}-more`,
    database: "neondb",
    role: "neondb_owner",
    ...place,
  };
  return { connectionSecret };
}

interface Place {
  namespace: string;
  name: string;
}

/** The place in another namespace that a spec names. */
function placesIn({ connectionSecret }: JsonObject): Place[] {
  if (!isJsonObject(connectionSecret)) return [];
  const { namespace, name } = connectionSecret;
  return typeof namespace === "string" && typeof name === "string" ? [{ namespace, name }] : [];
}

function byPeople(dice: Dice, places: readonly Place[], calmAtMs: number): Timed[] {
  const any = (action: Action): Timed => ({ atMs: dice.between(0, calmAtMs - 1000), action });
  const atCalm = (action: Action): Timed => ({ atMs: calmAtMs - 500, action });
  const first = others.map(
    (namespace): Timed => ({ atMs: 0, action: { do: "agree", namespace, agrees: dice.chance(0.8) } }),
  );
  const last = others.map((namespace) => atCalm({ do: "agree", namespace, agrees: true }));
  const turns = Array.from({ length: dice.between(0, 4) }, () =>
    any({ do: "agree", namespace: dice.pick(others), agrees: dice.chance(0.5) }),
  );
  if (places.length === 0) return [...first, ...turns, ...last];
  const removals = Array.from({ length: dice.between(0, 4) }, () => any({ do: "remove secret", ...dice.pick(places) }));
  if (dice.chance(0.5)) return [...first, ...turns, ...removals, ...last];
  // Where a Compute finds somebody's Secret, it waits for the end of that.
  const own = dice.pick(places);
  const made: Timed = { atMs: 0, action: { do: "make secret", ...own } };
  return [...first, made, ...turns, ...removals, ...last, atCalm({ do: "remove secret", ...own })];
}
