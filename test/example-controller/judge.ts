import type { MirrorWorld } from "./world.ts";

/** A ConfigMap that no Mirror made: where it stands, and what a person wrote into it. */
export type Strangers = ReadonlyMap<string, string>;

/** What is wrong once the controller is left alone, and what was twice meanwhile; nothing where every promise holds. */
export function complaints(world: MirrorWorld, strangers: Strangers): string[] {
  const maps = world.maps();
  const mirrors = world.mirrors();
  const value = maps.find(({ namespace, owner }) => namespace === "shop" && owner === undefined)?.value;
  const uids = mirrors.map(({ uid }) => uid);
  return [
    ...[...world.twice].map((copies) => `twice: ${copies}`),
    ...maps
      .filter(({ owner }) => owner !== undefined && !uids.includes(owner))
      .map(({ namespace }) => `leaked: the copy in ${namespace} has no Mirror`),
    ...[...strangers].flatMap(([namespace, written]) => {
      const map = maps.find((each) => each.namespace === namespace && each.owner === undefined);
      const isUntouched = map?.value === written;
      return isUntouched ? [] : [`a stranger's: the ConfigMap in ${namespace} was changed or deleted`];
    }),
    ...mirrors.filter(({ isDeleted }) => isDeleted).map(({ name }) => `stuck: ${name} is not gone`),
    ...mirrors.flatMap(({ name, uid, targets, status }) => {
      const wanted = Array.isArray(targets) && value !== undefined ? targets.map(String) : [];
      const free = wanted.filter((target) => !maps.some((map) => map.namespace === target && map.owner === undefined));
      const made = maps.filter(({ owner }) => owner === uid);
      const wrong = made.filter((map) => map.value !== value || !free.includes(map.namespace));
      const missing = free.filter((target) => !made.some(({ namespace }) => namespace === target));
      return [
        ...wrong.map(({ namespace }) => `not as declared: the copy of ${name} in ${namespace}`),
        ...missing.map((target) => `not as declared: ${name} has no copy in ${target}`),
        ...(status["copies"] === free.length ? [] : [`${name} reports ${String(status["copies"])} copies`]),
      ];
    }),
  ];
}
