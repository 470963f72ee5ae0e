import { z } from "zod";
import { refusals } from "../refusal.ts";
import type { Branch } from "../store/branches.ts";

/** Longest lifetime of a branch from now, in milliseconds: 30 days. */
const longestMs = 30 * 86_400_000;

/** A time in ISO 8601 with a time zone; parsed to milliseconds since the epoch. */
export const Time = z.iso
  .datetime({ offset: true, error: "must be a time such as 2026-01-31T12:00:00Z" })
  .transform((value) => Date.parse(value));

/**
 * The time at which a branch ends, in whole seconds: a fraction, as clients written in JavaScript send one, is dropped.
 */
export const ExpiresAt = Time.transform((ms) => Math.floor(ms / 1000) * 1000);

/** Refuses a new end of a branch: one that has passed or lies too far ahead, and any for a branch that must stay. */
export function refuseExpiry(
  { isDefault, isProtected }: Pick<Branch, "isDefault" | "isProtected">,
  expiresAt: number | undefined,
  at: number,
): void {
  if (expiresAt === undefined) return;
  if (isDefault) throw refusals.unprocessable("the default branch of a project cannot expire");
  if (isProtected) throw refusals.unprocessable("a protected branch cannot expire");
  if (expiresAt <= at) throw refusals.invalid("expires_at must be a time in the future");
  if (expiresAt > at + longestMs) throw refusals.invalid("expires_at must be at most 30 days ahead");
}

/** Refuses a child of a branch that ends. */
export function refuseExpiringParent(parent: Branch): void {
  if (parent.expiresAt !== undefined) throw refusals.unprocessable("a branch that expires cannot have child branches");
}

/** Lifetime of a branch when its end was set, in seconds. */
export function ttlSeconds(expiresAt: number, at: number): number {
  return Math.round((expiresAt - at) / 1000);
}

/** The end of a branch that is reset: its interval begins again, as the public service has it. */
export function expiryAfterReset({ details, expiresAt }: Branch, at: number): number | undefined {
  const { ttl_interval_seconds: seconds } = details;
  if (expiresAt === undefined || seconds === undefined) return expiresAt;
  return (Math.floor(at / 1000) + seconds) * 1000;
}
