import type { HealthWorld } from "../world.ts";

/** Brings objects into the states that it is about, and records each as a row. */
export type Play = () => Promise<HealthWorld>;
