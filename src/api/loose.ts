import { z } from "zod";

/**
 * An object that the service answers: unknown fields pass, and a field that is `null` reads as absent, so that only
 * what is named and missing, or of another type, makes an answer unreadable.
 */
export function loose<Shape extends z.ZodRawShape>(shape: Shape) {
  return z.preprocess(withoutNulls, z.looseObject(shape));
}

/** True for an object with members; a list is none. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function withoutNulls(value: unknown): unknown {
  if (!isRecord(value)) return value;
  const fields = Object.entries(value);
  if (fields.every(([, field]) => field !== null)) return value;
  return Object.fromEntries(fields.filter(([, field]) => field !== null));
}

/** A text that is written into a status or a message: one that is longer than this says nothing to anybody. */
export const shortText = z.string().max(1024);

/** A count or a size; computed with, it stays a number that can be stored. */
export const figure = z.number().min(0).max(1e9);
