import { builtInKind, type KubeObject } from "../objects/object.ts";

/** A Secret as the API server stores it. */
export interface Secret extends KubeObject {
  type?: string;
  data?: Record<string, string>;
}

export const secretKind = builtInKind<Secret>("Secret", "secrets");
