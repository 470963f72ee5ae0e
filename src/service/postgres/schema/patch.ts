import { createTwoFilesPatch } from "diff";
import type { Comparison } from "../../domain/catalog.ts";

/** The largest number of lines that are added or removed in a comparison: its cost grows with the square. */
export const mostEdits = 5000;

/** The difference of two schemas as a patch, empty where they are the same; `undefined` for more than `mostEdits`. */
export function patchOf({ name, before, after }: Comparison): string | undefined {
  if (before === after) return "";
  const options = { maxEditLength: mostEdits };
  const patch = createTwoFilesPatch(`a/${name}`, `b/${name}`, before, after, undefined, undefined, options);
  return patch?.slice(patch.indexOf("\n") + 1);
}
