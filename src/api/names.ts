import { z } from "zod";

/** A name that a client gives: of 1 to `max` characters, not only white space, and without U+0000. */
export function nameOf(max: number) {
  const error = `must be a name of 1 to ${max} characters, not only white space and without U+0000`;
  return z
    .string()
    .min(1, { error })
    .max(max, { error })
    .refine((value) => value.trim() !== "" && !value.includes("\0"), { error });
}
