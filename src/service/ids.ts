import { hash, randomBytes, randomUUID } from "node:crypto";
import type { Random } from "./clock.ts";

/** The source of everything that must be new or unpredictable. */
export interface Ids {
  uuid(): string;
  /** The part of an id after its prefix, e.g. `quiet-river-a1b2c3d4`. */
  name(): string;
  /** The secret of an API key: 64 unpredictable characters. */
  secret(): string;
}

/** Real ids, from the system's randomness. */
export function cryptoIds(): Ids {
  return {
    uuid: () => randomUUID(),
    name: () => nameOf(() => randomBytes(4).readUInt32BE() / 2 ** 32),
    secret: () => randomBytes(48).toString("base64url").replaceAll(/[-_]/g, "0"),
  };
}

/** Ids that are the same in every run with the same `random`: only for tests and the simulation. */
export function seededIds(random: Random): Ids {
  const hex = (digits: number) => Array.from({ length: digits }, () => digit(random)).join("");
  return {
    uuid: () => `${hex(8)}-${hex(4)}-4${hex(3)}-8${hex(3)}-${hex(12)}`,
    name: () => nameOf(random),
    secret: () => hex(64),
  };
}

/** The same UUID for the same text, because accounts of a seed choose their own ids. */
export function uuidOf(text: string): string {
  const hex = hash("sha256", `compute-operator:${text}`);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

function nameOf(random: Random): string {
  const tail = Array.from({ length: 8 }, () => digit(random)).join("");
  return `${pick(adjectives, random)}-${pick(nouns, random)}-${tail}`;
}

function digit(random: Random): string {
  return Math.floor(random() * 16).toString(16);
}

function pick(words: readonly string[], random: Random): string {
  return words[Math.floor(random() * words.length)] ?? "plain";
}

const adjectives = [
  "amber",
  "brisk",
  "calm",
  "dusty",
  "early",
  "fancy",
  "green",
  "hollow",
  "icy",
  "jolly",
  "keen",
  "late",
];
const nouns = ["brook", "cloud", "dune", "field", "grove", "hill", "isle", "lake", "meadow", "pond", "reef", "stone"];
